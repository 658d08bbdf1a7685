# SPDX-License-Identifier: Apache-2.0
"""Steps that run out of memory: done again in smaller pieces of the same batch, and a batch size
that fits found by trials. Any thread."""
from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import threading
import traceback
import warnings
import weakref
from typing import Any, Callable, Optional, Tuple, Type, TypeVar

from . import _abi, _errors as errors
from ._library import call, check, close_quietly, last_error
from ._units import Size, bytes_of
from ._provider import free_memory, is_out_of_memory
from ._session import Session, session as default_session

Function = TypeVar('Function', bound=Callable[..., Any])
Kinds = Tuple[Type[BaseException], ...]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a step is done: batch_size * accumulation is the batch, always."""
    batch_size: int  # Samples at once.
    accumulation: int
    failures: int  # How often memory ran out, so far.
    remembered: bool  # It began with what has worked in an earlier run.


class Batch:
    """A batch that can be done in pieces; retry_on_oom() is made of it. In C it is berth_batch."""

    def __init__(self, batch_size: int, *, largest: int = 0, smallest: int = 1,
                 grow_after: int = 0, sample: Size = 0, fingerprint: Optional[str] = None,
                 directory: Optional[str] = None, device: int = 0,
                 session: Optional[Session] = None) -> None:
        options = _abi.berth_batch_options(
            device=device, batch=batch_size, micro_max=largest, micro_min=smallest,
            grow_after=grow_after, bytes_per_sample=bytes_of(sample, 'sample'),
            fingerprint=None if fingerprint is None else fingerprint.encode(),
            directory=None if directory is None else os.fsencode(directory))
        of = default_session() if session is None else session
        handle = ctypes.c_uint64()
        check('berth_batch_create', of.handle, options, handle)
        self.handle = handle.value
        self._close = weakref.finalize(self, close_quietly, 'berth_batch_destroy', self.handle)
        self._has_warned = False

    def _told(self, name: str) -> Tuple[int, Plan]:
        told = _abi.berth_batch_plan()
        status = call(name, self.handle, told)
        plan = Plan(batch_size=int(told.micro), accumulation=int(told.accumulation),
                    failures=int(told.failures), remembered=bool(told.remembered))
        return status, plan

    def plan(self) -> Plan:
        return self._ask('berth_batch_current')

    def out_of_memory(self) -> Plan:
        """The step ran out of memory and its memory was freed: what to try it again with, from its
        beginning. OutOfMemory, with what to change, where there is nothing smaller."""
        return self._ask('berth_batch_out_of_memory')

    def _ask(self, name: str) -> Plan:
        status, plan = self._told(name)
        if status != _abi.STATUS['OK']:
            raise errors.of_status(status, last_error())
        return plan

    def step_done(self) -> Plan:
        """The step was done: what to do the next one with. What works is remembered on disk, if
        there is a fingerprint; that it could not be is warned of once."""
        status, plan = self._told('berth_batch_step_done')
        if status == _abi.STATUS['IO'] and not self._has_warned:
            self._has_warned = True
            warnings.warn(f'berth: the batch size that works is not remembered: {last_error()}',
                          RuntimeWarning, stacklevel=2)
        elif status not in (_abi.STATUS['OK'], _abi.STATUS['IO']):
            raise errors.of_status(status, last_error())
        return plan


def retry_on_oom(*, batch_size: int, catch: Optional[Kinds] = None,
                 free: Optional[Callable[[], Any]] = None, smallest: int = 1, largest: int = 0,
                 grow_after: int = 0, sample: Size = 0, fingerprint: Optional[str] = None,
                 directory: Optional[str] = None, device: int = 0,
                 session: Optional[Session] = None) -> Callable[[Function], Function]:
    """Calls the function with `batch_size` and `accumulation`, keyword arguments whose product is
    always the batch. Where it runs out of memory, what it held is freed, the one is halved and the
    other doubled, and it is called again: it has to begin its step anew, and to change weights only
    when all pieces are done. At the smallest size it raises OutOfMemory, which says what to change,
    from the error that the function raised.

        @berth.retry_on_oom(batch_size=64)
        def train_step(samples, *, batch_size, accumulation):
            optimizer.zero_grad()
            for part in samples.split(batch_size):
                (loss_of(part) / accumulation).backward()
            optimizer.step()

    catch: which errors are meant; without it those that is_out_of_memory() knows.
    free: instead of free_memory(), which collects garbage and empties PyTorch's cache.
    largest: what to begin with; 0: the whole batch.
    grow_after: after so many steps without trouble the next larger size is tried; 0: 100.
    sample: bytes of one, so that growth is tried only where it fits.
    fingerprint: what the size that works is remembered by for the next run, in `directory` (of the
        user's state).

    The decorated function has `plan()`.
    """
    lock = threading.Lock()
    made: dict[int, Batch] = {}  # By process: the child of a fork has its own.

    def batch() -> Batch:
        with lock:
            if os.getpid() not in made:
                made.clear()
                made[os.getpid()] = Batch(batch_size, largest=largest, smallest=smallest,
                                          grow_after=grow_after, sample=sample,
                                          fingerprint=fingerprint, directory=directory,
                                          device=device, session=session)
            return made[os.getpid()]

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def retried(*arguments: Any, **named: Any) -> Any:
            plan = batch().plan()
            while True:
                fits, result = _attempt(function, arguments, named, plan, catch)
                if fits:
                    batch().step_done()
                    return result
                (free or functools.partial(free_memory, device))()
                try:
                    plan = batch().out_of_memory()
                except errors.OutOfMemory as error:
                    raise error from result

        retried.plan = lambda: batch().plan()  # type: ignore[attr-defined]
        return retried  # type: ignore[return-value]

    return decorate


def _is_meant(error: BaseException, catch: Optional[Kinds]) -> bool:
    return isinstance(error, catch) if catch is not None else is_out_of_memory(error)


def _attempt(function: Callable[..., Any], arguments: Tuple[Any, ...], named: Any, plan: Plan,
             catch: Optional[Kinds]) -> Tuple[bool, Any]:
    """What it returned; or False, and the error, which holds nothing of it any more."""
    try:
        return True, function(*arguments, **named, batch_size=plan.batch_size,
                              accumulation=plan.accumulation)
    except Exception as error:
        if not _is_meant(error, catch):
            raise
        return False, _let_go(error)


def _let_go(error: BaseException) -> BaseException:
    """An error holds the frames that it came through, and these what they have allocated."""
    seen: Optional[BaseException] = error
    while seen is not None:
        if seen.__traceback__ is not None:
            traceback.clear_frames(seen.__traceback__)
        seen = seen.__context__
    return error


def find_batch_size(trial: Optional[Callable[[int], Any]] = None, *, model: Size = 0,
                    overhead: Size = 0, factor: float = 0, margin: float = 0, largest: int = 0,
                    catch: Optional[Kinds] = None, device: int = 0,
                    session: Optional[Session] = None) -> int:
    """The largest batch that fits, less a margin (5 %). trial(n) does one step of n samples: it
    fits unless that runs out of memory (see retry_on_oom), or returns False. Other errors end the
    search. OutOfMemory: not even one sample fits.

    It begins with max(1, floor((free - overhead) / (model * factor))), of what is free on the
    device and in the budget; `factor`, 2.5, is what a sample takes, in models. Without `trial` that
    is the answer.
    """
    raised = []

    def fits(_user: object, size: int) -> int:
        try:
            fitted = trial is not None and trial(size) is not False
        except BaseException as error:  # Nothing goes into the library.
            if not _is_meant(error, catch):
                raised.append(error)
                return _abi.STATUS['INTERNAL']
            _let_go(error)
            fitted = False
        free_memory(device)
        return _abi.STATUS['OK'] if fitted else _abi.STATUS['OUT_OF_MEMORY']

    search = _abi.berth_batch_search(device=device, model_bytes=bytes_of(model, 'model'),
                                     overhead_bytes=bytes_of(overhead, 'overhead'), factor=factor,
                                     margin=margin, batch_max=largest)
    if trial is not None:
        search.trial = _abi.Trial(fits)
    of = default_session() if session is None else session
    found = ctypes.c_uint64()
    status = call('berth_find_batch_size', of.handle, search, found)
    text = '' if status == _abi.STATUS['OK'] else last_error()
    if raised:
        raise raised[0]
    if status != _abi.STATUS['OK']:
        raise errors.of_status(status, text)
    return int(found.value)
