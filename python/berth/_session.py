# SPDX-License-Identifier: Apache-2.0
"""The lease and the devices of this process, what can be measured of them, and what the daemon
asks. Any thread may call anything."""
from __future__ import annotations

import ctypes
import dataclasses
import math
import os
import sys
import threading
import weakref
from typing import Any, Callable, List, Optional

from . import _abi, _errors as errors
from ._library import call, check, close_quietly, last_error
from ._units import Size, bytes_of, ms_of, ns_of
from ._measure import Measurement, Room, figure_of, measurement_of

Handler = Callable[['Ask'], Any]
UNCONFIRMED = 'unconfirmed'
_ACTIONS = {_abi.CHECKPOINT: 'checkpoint', _abi.CLEANUP: 'cleanup', _abi.RELEASE: 'release'}


@dataclasses.dataclass(frozen=True)
class Device:
    index: int  # In the order in which this process sees them, as CUDA numbers them.
    driver_index: Optional[int]
    uuid: str
    name: Optional[str]
    total: Optional[int]  # Bytes


@dataclasses.dataclass(frozen=True)
class Ask:
    """What the daemon asks of this program."""
    action: str  # 'checkpoint', 'cleanup' or 'release'
    number: int  # Of a checkpoint.
    within: Optional[float]  # Seconds; what comes later counts as not done.
    reason: str


def outcome_of(value: Any) -> int:
    """What a handler has returned: nothing or True, it was done; False, it was not; UNCONFIRMED,
    it may have been, and nothing counts on it."""
    if value == UNCONFIRMED:
        return _abi.UNCONFIRMED
    return _abi.DONE if value is None or value else _abi.NOT_DONE


def _count_of(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2 ** 64:
        raise errors.InvalidArgument(f'{name} must be a whole number from 0 on, not {value!r}')
    return value


_said_lock = threading.Lock()
_has_said = False


def _say_once(line: str) -> None:
    global _has_said
    with _said_lock:
        if _has_said:
            return
        _has_said = True
    print(f'berth: {line}', file=sys.stderr)


def _options(quiet: bool, say: Optional[Callable[[str], None]]) -> _abi.berth_session_options:
    tell = say or _say_once

    @_abi.Say
    def said(_user: object, line: bytes) -> None:
        tell(line.decode('utf-8', 'replace'))

    return _abi.berth_session_options(flags=_abi.QUIET if quiet else 0, say=said)


class Session:
    """The lease of the `berth run` that this process runs under, if there is one, and its devices.
    It is there without a daemon, a lease and a GPU: what is missing is said once, on stderr, and
    what cannot be measured is unknown. A child of a fork needs one of its own."""

    def __init__(self, *, quiet: bool = False, say: Optional[Callable[[str], None]] = None) -> None:
        handle = ctypes.c_uint64()
        check('berth_attach', _options(quiet, say), handle)
        self._take(handle.value)

    def _take(self, handle: int) -> None:
        self.handle = handle
        self._close = weakref.finalize(self, close_quietly, 'berth_detach', handle)

    def close(self) -> None:
        """What was made from it goes on."""
        self._close()

    def _facts(self) -> _abi.berth_session_facts:
        facts = _abi.berth_session_facts()
        check('berth_session_describe', self.handle, facts)
        return facts

    @property
    def lease(self) -> Optional[int]:
        """Its number; None: there is no lease."""
        facts = self._facts()
        return int(facts.lease) if facts.flags & _abi.HAS_LEASE else None

    @property
    def has_driver(self) -> bool:
        return bool(self._facts().flags & _abi.HAS_DRIVER)

    @property
    def simulated(self) -> bool:
        return bool(self._facts().flags & _abi.SIMULATED)

    @property
    def devices(self) -> List[Device]:
        """Those that this process sees."""
        found = []
        for index in range(self._facts().device_count):
            facts = _abi.berth_device_facts()
            check('berth_device_describe', self.handle, index, facts)
            found.append(Device(index=index,
                                driver_index=facts.driver_index if facts.driver_index >= 0
                                else None,
                                uuid=facts.uuid.decode(), name=facts.name.decode() or None,
                                total=int(facts.total_bytes) or None))
        return found

    def measure(self, device: int = 0, *, max_age: float = 0) -> Measurement:
        """No figure is older than `max_age` seconds, where it can be had; 0: all are measured
        now."""
        told = _abi.berth_measurement()
        check('berth_measure', self.handle, device, ns_of(max_age, 'max_age'), told)
        return measurement_of(told)

    def has_room(self, size: Size, device: int = 0, *, max_age: float = 0) -> Room:
        """Whether so much would find room on the device, and in the budget if there is a lease. It
        holds none: what is free now may be taken in a moment."""
        wanted = bytes_of(size)
        told = _abi.berth_room()
        check('berth_has_room', self.handle, device, wanted, ns_of(max_age, 'max_age'), told)
        return Room(answer=_abi.ROOM[told.answer], wanted=wanted,
                    device_free=figure_of(told.device_free),
                    budget_left=figure_of(told.budget_left))

    def resize(self, vram: Size, *, wait: float = 0) -> None:
        """Another budget on each device of the lease. More is granted within `wait` seconds, or
        not at all (Conflict)."""
        check('berth_resize', self.handle, bytes_of(vram, 'vram'), ms_of(wait, 'wait'))

    def renew(self, seconds: float) -> None:
        """A lease that was reserved for a time, for so long from now."""
        check('berth_renew', self.handle, ms_of(seconds, 'seconds'))

    def report_progress(self, done: int, total: Optional[int] = None, *, left: float = 0,
                        note: Optional[str] = None, loss: Optional[float] = None,
                        phase: Optional[str] = None) -> bool:
        """Tells those who wait for memory, and those who look on, that `done` of `total` is done,
        in whatever the program counts, and that the rest takes `left` seconds; 0: by how fast it
        goes. `note`: a line for others to read, of 200 bytes at most. `loss` of the last step of a
        training, and `phase`, what it does now in a word of 32 bytes at most, are for charts; a
        loss that is not finite is not told. To be called as often as the program likes: once a
        second it is told. False: there is no lease, or no daemon."""
        told = _abi.berth_progress(done=_count_of(done, 'done'),
                                   total=0 if total is None else _count_of(total, 'total'),
                                   left_ms=ms_of(left, 'left'),
                                   note=None if note is None else note.encode(),
                                   phase=None if phase is None else phase.encode())
        if loss is not None and math.isfinite(loss):
            told.loss = ctypes.pointer(ctypes.c_double(loss))
        status = call('berth_report_progress', self.handle, told)
        if status in (_abi.STATUS['UNAVAILABLE'], _abi.STATUS['TIMED_OUT']):
            return False
        if status != _abi.STATUS['OK']:
            raise errors.of_status(status, last_error())
        return True

    # ------------------------------------------------------------------------------------- asks

    def next_ask(self, timeout: float = 0) -> Optional[Ask]:
        """What the daemon asks next, waiting so many seconds for it; None: nothing. Unavailable:
        there is no lease. Busy: another thread waits already."""
        found = self._next_ask(timeout)
        return None if found is None else _ask_of(found)

    def _next_ask(self, timeout: float) -> Optional[_abi.berth_ask]:
        told = _abi.berth_ask()
        wait_ms = min(ms_of(timeout, 'timeout'), 2 ** 31)
        status = call('berth_session_next_ask', self.handle, wait_ms, told)
        if status == _abi.STATUS['NOT_FOUND']:
            return None
        if status != _abi.STATUS['OK']:
            raise errors.of_status(status, last_error())
        return told

    def serve(self, *, timeout: float = 0, checkpoint: Optional[Handler] = None,
              cleanup: Optional[Handler] = None, release: Optional[Handler] = None) -> bool:
        """Has one thing done that the daemon asks, in this thread, and answers: to be called
        between two steps, or again and again in a thread of its own. False: nothing was asked, or
        there is no lease. A handler gets the Ask; what it returns is told as outcome_of() says,
        and what it raises counts as not done and is raised here. What has no handler is answered
        so as well."""
        try:
            told = self._next_ask(timeout)
        except errors.Unavailable:
            return False
        if told is None:
            return False
        ask = _ask_of(told)
        handler = {'checkpoint': checkpoint, 'cleanup': cleanup, 'release': release}[ask.action]
        if handler is None:
            self._answer(told, _abi.NOT_DONE, 'the program has no way to')
            return True
        try:
            outcome = outcome_of(handler(ask))
        except BaseException as error:
            self._answer(told, _abi.NOT_DONE, f'{type(error).__name__}: {error}')
            raise
        self._answer(told, outcome, '')
        return True

    def _answer(self, told: _abi.berth_ask, outcome: int, detail: str) -> None:
        check('berth_session_answer', self.handle, told, outcome, detail.encode())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            facts = self._facts()
        except errors.Stale:
            return f'<berth.{type(self).__name__}: closed>'
        lease = f'lease {facts.lease}' if facts.flags & _abi.HAS_LEASE else 'no lease'
        return f'<berth.{type(self).__name__}: {lease}, {facts.device_count} devices>'


def _ask_of(told: _abi.berth_ask) -> Ask:
    return Ask(action=_ACTIONS[told.action], number=int(told.number),
               within=told.within_ms / 1_000 if told.within_ms else None,
               reason=told.reason.decode('utf-8', 'replace'))


class Lease(Session):
    """A lease of the program's own, which ends with the `with` block or the process; or, under
    `berth run`, the one that it has joined, which does not end here."""

    def __init__(self, vram: Optional[Size] = None, *, devices: int = 1,
                 wait: Optional[float] = 0, eta: float = 0, grace: float = 0,
                 name: Optional[str] = None, quiet: bool = False,
                 say: Optional[Callable[[str], None]] = None) -> None:
        request = _abi.berth_request(
            devices=devices, vram_bytes=0 if vram is None else bytes_of(vram, 'vram'),
            wait_ms=ms_of(wait, 'wait'), eta_ms=ms_of(eta, 'eta'), grace_ms=ms_of(grace, 'grace'),
            name=None if name is None else name.encode())
        handle = ctypes.c_uint64()
        check('berth_acquire', _options(quiet, say), request, handle)
        _see_environment()
        self._take(handle.value)

    def release(self) -> None:
        """Its memory stays charged until it is freed, and its variables go out of the environment.
        Conflict: it has joined one."""
        global _default
        try:
            check('berth_release', self.handle)
        finally:
            _see_environment()
            with _default_lock:
                _default = None  # What session() gives from now on has no lease.

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self.release()
        except errors.Conflict:
            pass  # It ends with its `berth run`.
        finally:
            self.close()


_default_lock = threading.Lock()
_default: Optional[Session] = None
_default_pid = 0


def _see_environment() -> None:
    """os.environ was read at the start; the library has changed variables since."""
    entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
    ours = ('CUDA_', 'NVIDIA_', 'BERTH_')
    found = {}
    for entry in entries:
        if entry is None:
            break
        name, _, value = os.fsdecode(entry).partition('=')
        found.setdefault(name, value)
    for name in [name for name in os.environ if name.startswith(ours) and name not in found]:
        del os.environ[name]
    for name, value in found.items():
        if name.startswith(ours) and os.environ.get(name) != value:
            os.environ[name] = value


def session() -> Session:
    """The session of this process: made at the first call, and again in the child of a fork or
    when it was closed."""
    global _default, _default_pid
    with _default_lock:
        if _default is None or _default_pid != os.getpid() or not _default._close.alive:
            _default, _default_pid = Session(), os.getpid()
        return _default


def acquire(vram: Optional[Size] = None, *, devices: int = 1, wait: Optional[float] = 0,
            eta: float = 0, grace: float = 0, name: Optional[str] = None) -> Lease:
    """A lease of `vram` on each of so many devices; without `vram` the devices for itself. To be
    called before other threads are there and before the driver is used, because it sets the
    environment as `berth run` does. `wait`: seconds, 0 is now or not at all (Conflict), None is
    without bound. `grace`: it can be asked to save itself, within so many seconds. `eta`: how long
    it is expected to take. Inside a lease that lasts it joins that one. No daemon is started
    (Unavailable).

        with berth.acquire('2G') as lease:
            train()
    """
    lease = Lease(vram, devices=devices, wait=wait, eta=eta, grace=grace, name=name)
    global _default
    with _default_lock:
        _default = None  # What session() gives from now on has the lease.
    return lease
