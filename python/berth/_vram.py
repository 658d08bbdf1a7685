# SPDX-License-Identifier: Apache-2.0
"""The keeper of a training loop's memory: VramManager. Its callbacks are called in the thread that
calls step() or cleanup(), which may be any; one step at a time."""
from __future__ import annotations

import ctypes
import dataclasses
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from . import _abi, _errors as errors
from ._library import call, check, close_quietly, last_error
from ._units import Size, bytes_of, mib, ns_of
from ._measure import Figure, Measurement, figure_of, measurement_of
from ._provider import Provider, TorchProvider
from ._session import Session, outcome_of, session as default_session

Threshold = Union[int, float, str]
_ACTIONS = {'cleanup': _abi.CLEANUP, 'checkpoint': _abi.CHECKPOINT, 'shrink': _abi.SHRINK,
            'offload': _abi.OFFLOAD, 'pause': _abi.PAUSE}
_NAMES = {number: name for name, number in _ACTIONS.items()}


class Report(NamedTuple):  # One is made in each step, and this is the fastest to make.
    """What came of a step."""
    step: int
    level: str  # 'unknown', 'normal', 'warn', 'cleanup', 'critical'
    used: Optional[int]  # Bytes of what is watched,
    whole: Optional[int]  # of how many.
    freed: int  # Bytes, by cleanups of this step.
    done: Tuple[str, ...]  # What was done in this step,
    wanted: Optional[str]  # and what the program is to do now, and to answer.


@dataclasses.dataclass(frozen=True)
class Event:
    kind: str  # 'level', 'cleanup', 'checkpoint', 'measure', 'phase', 'leak', 'host_leak', …
    number: int
    step: int
    time: float  # Seconds since 1970.
    used: Optional[int]
    whole: Optional[int]
    level: str
    bytes: int
    copies: int
    action: Optional[str]
    value: int
    name: str
    text: str  # One line for people.


@dataclasses.dataclass(frozen=True)
class Phase:
    name: str
    step: int
    time: float
    used: Figure  # What is watched.
    allocated: Figure  # By the provider.
    copies: int  # So far.


@dataclasses.dataclass(frozen=True)
class Counts:
    level: str
    steps: int
    copies: int
    copied_bytes: int
    cleanups: int
    freed_bytes: int
    checkpoints: int  # Emergency ones that were saved.
    warn_bytes: Optional[int]  # The thresholds as they count; None: not known yet.
    cleanup_bytes: Optional[int]
    critical_bytes: Optional[int]
    leaks: bool  # Device memory does now,
    leaks_host: bool  # and host memory.
    growth_per_step: float  # Bytes; 0 without a leak.
    host_growth_per_step: float


def _names_of(actions: int) -> Tuple[str, ...]:
    return tuple(name for name, bit in _ACTIONS.items() if actions & bit)


def _event_of(told: Any) -> Event:
    known = told.kind < len(_abi.EVENTS)
    return Event(kind=(_abi.EVENTS[told.kind] if known else None) or str(told.kind),
                 number=told.number, step=told.step, time=told.time_unix_ms / 1_000,
                 used=told.used_bytes if told.used_known else None,
                 whole=told.whole_bytes or None, level=_abi.LEVELS[told.level],
                 bytes=told.bytes, copies=told.copies, action=_NAMES.get(told.action),
                 value=told.value, name=told.name.decode('utf-8', 'replace'),
                 text=told.text.decode('utf-8', 'replace'))


class _Calls:
    """What the library calls. No exception goes into it: the first is kept, and raised by the
    method that was called, when the library has done the rest. It does not know the manager, so
    that the manager can die."""

    def __init__(self, provider: Optional[Provider], handlers: Dict[int, Callable[[], Any]],
                 on_event: Optional[Callable[[Event], Any]]) -> None:
        self._provider = provider
        self._handlers = handlers
        self._on_event = on_event
        self._raised = threading.local()

    def kept(self, call_it: Callable[[], int], otherwise: int) -> int:
        try:
            return call_it()
        except BaseException as error:  # KeyboardInterrupt too: nothing may be lost.
            if getattr(self._raised, 'error', None) is None:
                self._raised.error = error
            return otherwise

    def reraise(self) -> None:
        error = getattr(self._raised, 'error', None)
        if error is not None:
            self._raised.error = None
            raise error

    def c_provider(self) -> Optional[_abi.berth_provider]:
        provider = self._provider
        if provider is None:
            return None

        def told(ask: Callable[[int], Optional[int]]) -> Any:
            def answer(device: int, to: Any) -> int:
                known = ask(device)
                if known is None:
                    return 1
                to[0] = known
                return 0
            return _abi.Told(lambda _user, device, to: self.kept(lambda: answer(device, to), 1))

        def done(do: Callable[[int], bool]) -> Any:
            return _abi.Do(lambda _user, device: self.kept(lambda: 0 if do(device) else 1, 1))

        return _abi.berth_provider(
            allocated=told(provider.allocated), reserved_bytes=told(provider.reserved),
            empty_cache=done(provider.empty_cache), synchronize=done(provider.synchronize))

    def _act(self, action: int) -> int:
        handler = self._handlers.get(action)
        return _abi.NOT_DONE if handler is None else outcome_of(handler())

    def c_callbacks(self) -> _abi.berth_vram_callbacks:
        callbacks = _abi.berth_vram_callbacks()
        if self._handlers:
            callbacks.act = _abi.Do(
                lambda _user, action: self.kept(lambda: self._act(action), _abi.NOT_DONE))
        on_event = self._on_event
        if on_event is not None:
            def tell(event: Any) -> int:
                on_event(_event_of(event.contents))
                return 0
            callbacks.event = _abi.Tell(
                lambda _user, event: self.kept(lambda: tell(event), 0) and None)
        return callbacks


class VramManager:
    """Watches the memory of a training loop: warns, cleans up, counts copies, notes phases, finds
    leaks, and has the program save itself before memory comes to its end.

    warn, cleanup_at, critical: where a level begins: bytes (10 << 30, '10G'), or a share of the
        budget or the device (0.62); 0.62, 0.75 and 0.88 if nothing else is said.
    basis: of what: 'auto' (the budget if there is one, else the device), 'budget', 'device',
        'allocator' (what the provider has reserved: thresholds in bytes only).
    cleanup_every: also every so many steps; 0: above the threshold only.
    sample_every, checkpoint_cool_down: seconds.
    provider: a Provider; None; 'auto': PyTorch, if the program has imported it already.
    cleanup, checkpoint, shrink, offload, pause: what the program can do; nothing or True
        returned: it was done; False: not; berth.UNCONFIRMED. Without any of them what there is to
        do stands in the report of a step (`wanted`), and is answered with answer().
    on_event: gets each Event; else events() has them.

    What a callback raises counts as not done; the rest of the step is done, and then it is raised.
    """

    def __init__(self, session: Optional[Session] = None, *, device: int = 0, basis: str = 'auto',
                 warn: Optional[Threshold] = None, cleanup_at: Optional[Threshold] = None,
                 critical: Optional[Threshold] = None, cleanup_every: int = 0,
                 sample_every: float = 0, checkpoint_cool_down: float = 0,
                 provider: Union[Provider, str, None] = 'auto',
                 cleanup: Optional[Callable[[], Any]] = None,
                 checkpoint: Optional[Callable[[], Any]] = None,
                 shrink: Optional[Callable[[], Any]] = None,
                 offload: Optional[Callable[[], Any]] = None,
                 pause: Optional[Callable[[], Any]] = None,
                 on_event: Optional[Callable[[Event], Any]] = None) -> None:
        if basis not in _abi.BASES:
            raise errors.InvalidArgument(f'basis is {basis!r}, and none of {", ".join(_abi.BASES)}')
        options = _abi.berth_vram_options(
            device=device, basis=_abi.BASES.index(basis), cleanup_every=cleanup_every,
            sample_every_ns=ns_of(sample_every, 'sample_every'),
            checkpoint_cool_down_ns=ns_of(checkpoint_cool_down, 'checkpoint_cool_down'))
        for name, given in (('warn', warn), ('cleanup', cleanup_at), ('critical', critical)):
            _set_threshold(options, name, given)
        given = {'cleanup': cleanup, 'checkpoint': checkpoint, 'shrink': shrink,
                 'offload': offload, 'pause': pause}
        self._calls = _Calls(_provider_of(provider),
                             {_ACTIONS[name]: do for name, do in given.items() if do is not None},
                             on_event)
        # Held as long as this: a finalizer comes before what it held is gone.
        self._c_provider = self._calls.c_provider()
        self._c_callbacks = self._calls.c_callbacks()
        of = default_session() if session is None else session
        handle = ctypes.c_uint64()
        check('berth_vram_manager_create', of.handle, options, handle)
        self.handle = handle.value
        self._close = weakref.finalize(self, close_quietly, 'berth_vram_manager_destroy',
                                       self.handle)
        if self._c_provider is not None:
            check('berth_vram_manager_set_provider', self.handle, self._c_provider)
        check('berth_vram_manager_set_callbacks', self.handle, self._c_callbacks)

    def _have(self, name: str, *arguments: Any) -> int:
        """The status, where it is not a failure of a callback: that is raised as it is."""
        status = call(name, self.handle, *arguments)
        text = '' if status == _abi.STATUS['OK'] else last_error()
        self._calls.reraise()
        if status != _abi.STATUS['OK']:
            raise errors.of_status(status, text)
        return status

    def step(self) -> Report:
        """To be called once a training step, where the least memory is in use: measures if it is
        time to, decides, and has done what is due. Busy: a step is under way."""
        told = _abi.berth_vram_report()
        self._have('berth_vram_manager_step', told)
        return Report(step=told.step, level=_abi.LEVELS[told.level],
                      used=told.used_bytes if told.used_known else None,
                      whole=told.whole_bytes or None, freed=told.freed_bytes,
                      done=_names_of(told.done) if told.done else (),
                      wanted=_NAMES.get(told.wanted))

    def answer(self, action: str, outcome: Any = True) -> None:
        """How `wanted` of the last report went, as a callback would have returned it. What is to
        be done next comes with the next step."""
        if action not in _ACTIONS:
            raise errors.InvalidArgument(f'action is {action!r}, and none of {", ".join(_ACTIONS)}')
        self._have('berth_vram_manager_answer', _ACTIONS[action], outcome_of(outcome))

    def cleanup(self) -> int:
        """Cleans up now: bytes that were freed. Unavailable: nothing could be."""
        freed = ctypes.c_uint64()
        self._have('berth_vram_manager_cleanup', freed)
        return int(freed.value)

    def measure(self, *, max_age: float = 0) -> Measurement:
        """As Session.measure(), with the provider's figures."""
        told = _abi.berth_measurement()
        self._have('berth_vram_manager_measure', ns_of(max_age, 'max_age'), told)
        return measurement_of(told)

    def count_copy(self, size: Size) -> None:
        """The program has copied a model or a part of one, of so many bytes."""
        check('berth_vram_manager_count_copy', self.handle, bytes_of(size))

    def phase(self, name: str) -> None:
        """A phase begins (47 bytes of UTF-8 at most); the memory is noted."""
        self._have('berth_vram_manager_phase', name.encode())

    def phases(self) -> List[Phase]:
        """The latest 256, oldest first."""
        marks = (_abi.berth_phase_mark * 256)()
        count = ctypes.c_uint32()
        check('berth_vram_manager_phases', self.handle, marks,
              ctypes.sizeof(_abi.berth_phase_mark), len(marks), count)
        return [Phase(name=mark.name.decode('utf-8', 'replace'), step=mark.step,
                      time=mark.time_unix_ms / 1_000, used=figure_of(mark.used),
                      allocated=figure_of(mark.allocated), copies=mark.copies)
                for mark in marks[:count.value]]

    def counts(self) -> Counts:
        told = _abi.berth_vram_counts()
        check('berth_vram_manager_counts', self.handle, told)
        values = {field.name: getattr(told, field.name) for field in dataclasses.fields(Counts)}
        values.update(level=_abi.LEVELS[told.level], leaks=bool(told.leaks),
                      leaks_host=bool(told.leaks_host))
        for name in ('warn_bytes', 'cleanup_bytes', 'critical_bytes'):
            values[name] = values[name] or None
        return Counts(**values)

    def events(self) -> List[Event]:
        """Those that nobody was given yet; 256 are kept. With `on_event` there are none."""
        found = []
        told = _abi.berth_event()
        while call('berth_vram_manager_next_event', self.handle, told) == _abi.STATUS['OK']:
            found.append(_event_of(told))
        return found

    def status_line(self) -> str:
        """'VRAM: 8192 MiB | Copies: 35 | Cleanups: 5'"""
        text = ctypes.create_string_buffer(256)
        check('berth_vram_manager_status_line', self.handle, text, len(text),
              ctypes.byref(ctypes.c_size_t()))
        return text.value.decode()

    def close(self) -> None:
        self._close()

    def __enter__(self) -> VramManager:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._close.alive:
            return '<berth.VramManager: closed>'
        return f'<berth.VramManager: {self.status_line()}>'

    def _repr_html_(self) -> str:
        if not self._close.alive:
            return '<p>closed</p>'
        counts = self.counts()
        leak = f' Leaks {mib(counts.growth_per_step)} a step.' if counts.leaks else ''
        return f'<p><b>{self.status_line()}</b> Level: {counts.level}.{leak}</p>'


def _set_threshold(options: _abi.berth_vram_options, name: str,
                   given: Optional[Threshold]) -> None:
    if isinstance(given, float):
        if not 0 < given <= 1:
            raise errors.InvalidArgument(
                f'{name} is {given}: a share is above 0 and at most 1, and bytes are an int')
        setattr(options, name + '_share', given)
    elif given is not None:
        setattr(options, name + '_bytes', bytes_of(given, name))


def _provider_of(given: Union[Provider, str, None]) -> Optional[Provider]:
    if given == 'auto':
        return TorchProvider() if 'torch' in sys.modules else None
    if isinstance(given, str):
        raise errors.InvalidArgument(f"provider is {given!r}: 'auto', None, or a berth.Provider")
    return given
