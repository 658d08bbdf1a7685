# SPDX-License-Identifier: Apache-2.0
"""Jobs and questions about all GPUs, by the command `berth`: what a script asks that is no part of
a training program itself. Each call starts it once. BERTH_PROGRAM says where it is; else PATH."""
from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _errors as errors
from ._units import Size, bytes_of

Reference = Union[int, str]

# By the exit status that docs/cli.md lists.
_BY_EXIT = {64: errors.InvalidArgument, 66: errors.NotFound, 69: errors.Unavailable,
            75: errors.Conflict, 77: errors.NotPermitted, 78: errors.InvalidArgument,
            124: errors.TimedOut}


@dataclass(frozen=True)
class Gpu:
    """A GPU; what is not known is None. Sizes are bytes."""
    index: int
    uuid: str
    model: str
    total: Optional[int]
    used: Optional[int]
    grantable: int


@dataclass(frozen=True)
class Held:
    """A lease as others see it. Times are as ISO 8601 has them."""
    number: int
    user: Optional[str]
    name: Optional[str]
    state: str
    granted: Optional[int]
    used: Optional[int]
    queue_position: Optional[int]
    expected_end: Optional[str]


@dataclass(frozen=True)
class Status:
    """`simulated`: these are no real GPUs. `queue`: requests that wait, next first."""
    gpus: List[Gpu]
    leases: List[Held]
    queue: List[Held]
    simulated: bool


@dataclass(frozen=True)
class Fit:
    """Whether a request would be granted now. `check_again_after`: seconds; None if it fits."""
    fits: bool
    largest: int
    ahead: int
    expected_start: Optional[str]
    check_again_after: Optional[float]

    def __bool__(self) -> bool:
        return self.fits


@dataclass(frozen=True)
class Ended:
    """How a lease ended: `result` is 'ok', 'failed', 'killed', …"""
    number: int
    result: str
    exit_code: Optional[int]
    exit_signal: Optional[int]

    @property
    def ok(self) -> bool:
        return self.result == 'ok'


def _program() -> str:
    return os.environ.get('BERTH_PROGRAM') or 'berth'


def _start(*words: str, **how: Any) -> 'subprocess.CompletedProcess[str]':
    how.setdefault('text', True)
    try:
        return subprocess.run([_program(), *words], check=False, **how)
    except OSError as error:
        raise errors.Unavailable(f'{_program()} cannot be started: {error.strerror}; '
                                 'BERTH_PROGRAM says where it is') from error


def _failed(done: 'subprocess.CompletedProcess[str]') -> errors.BerthError:
    said = (done.stderr or '').strip().splitlines()
    text = said[-1] if said else f'berth ended with {done.returncode}'
    for prefix in ('berth: ', 'berth submit: ', 'berth fit: '):
        text = text[len(prefix):] if text.startswith(prefix) else text
    return _BY_EXIT.get(done.returncode, errors.BerthError)(text)


def _ask(*words: str, fine: Sequence[int] = (0,)) -> Any:
    done = _start(*words, '--json', capture_output=True)
    if done.returncode not in fine:
        raise _failed(done)
    return json.loads(done.stdout)


def _room(memory: Optional[Size], exclusive: bool, gpus: Optional[int]) -> List[str]:
    words = []
    if memory is not None:
        words += ['-m', memory if memory == 'auto' else f'{bytes_of(memory, "memory")}B']
    if exclusive:
        words.append('-x')
    if gpus is not None:
        words += ['-g', str(gpus)]
    return words


def _held(lease: Dict[str, Any]) -> Held:
    return Held(number=lease['id'], user=lease['user'], name=lease['name'], state=lease['state'],
                granted=lease['vram_granted_bytes'], used=lease['vram_used_bytes'],
                queue_position=lease['queue_position'], expected_end=lease['expected_end'])


def status() -> Status:
    """All GPUs, leases and requests that wait. Unavailable: there is no daemon, and none can be
    started."""
    told = _ask('status')
    gpus = [Gpu(index=one['index'], uuid=one['uuid'], model=one['model'],
                total=one['vram_total_bytes'], used=one['vram_used_bytes'],
                grantable=one['vram_grantable_bytes']) for one in told['devices']]
    return Status(gpus=gpus, leases=[_held(one) for one in told['leases']],
                  queue=[_held(one) for one in told['queue']], simulated=told['simulated'])


def fit(memory: Size, gpus: int = 1) -> Fit:
    """Whether so much memory on each of so many GPUs would be granted now. It asks for nothing and
    holds no place."""
    told = _ask('fit', *_room(memory, False, gpus), fine=(0, 75))
    again = told['check_again_after_ms']
    return Fit(fits=told['fits'], largest=told['vram_largest_bytes'], ahead=told['ahead_count'],
               expected_start=told['expected_start'],
               check_again_after=None if again is None else again / 1000)


def submit(command: Sequence[str], memory: Optional[Size] = None, *, exclusive: bool = False,
           gpus: Optional[int] = None, name: Optional[str] = None, priority: Optional[str] = None,
           after_ok: Sequence[Reference] = (), retry: int = 0, key: Optional[str] = None,
           cwd: Optional[str] = None, options: Sequence[str] = ()) -> int:
    """A job that outlives this program: its number. `memory` may be 'auto'. With a `key` that was
    given before it is the job of then. `options`: further ones of `berth submit`, as words."""
    words = _room(memory, exclusive, gpus)
    for option, value in (('-n', name), ('-p', priority), ('--key', key), ('--cwd', cwd)):
        if value is not None:
            words += [option, value]
    for lease in after_ok:
        words += ['--after-ok', str(lease)]
    if retry:
        words += ['--retry', str(retry)]
    done = _start('submit', *words, *options, '--', *command, capture_output=True)
    if done.returncode != 0:
        raise _failed(done)
    return int(done.stdout)


def wait(*leases: Reference, timeout: Optional[float] = None) -> List[Ended]:
    """Until all of them have ended: how, in their order. TimedOut after so many seconds."""
    if not leases:
        raise errors.InvalidArgument('wait: name at least one lease')
    until = None if timeout is None else time.monotonic() + timeout
    ended = []
    for lease in leases:
        words = ['wait', str(lease)]
        if until is not None:
            words.append(f'--timeout={max(until - time.monotonic(), 0.001):.3f}s')
        done = _start(*words, capture_output=True)
        told = _ask('show', str(lease))
        if told['state'] != 'ended':
            raise _failed(done)
        ended.append(Ended(number=told['id'], result=told['result'], exit_code=told['exit_code'],
                           exit_signal=told['exit_signal']))
    return ended


def run(command: Sequence[str], memory: Optional[Size] = None, *, exclusive: bool = False,
        gpus: Optional[int] = None, lease: Optional[Reference] = None,
        wait_max: Optional[float] = None, name: Optional[str] = None,
        options: Sequence[str] = (), **how: Any) -> 'subprocess.CompletedProcess[str]':
    """Runs a command with GPU memory of its own, or in `lease`, and returns when it has ended.
    `how` is passed to subprocess.run(). `wait_max`: seconds; 0 is now or never. Where it is not
    granted the return code is 75."""
    words = _room(memory, exclusive, gpus)
    if lease is not None:
        words += ['--lease', str(lease)]
    if name is not None:
        words += ['-n', name]
    if wait_max is not None:
        words.append('--no-wait' if wait_max == 0 else f'--wait={wait_max:.3f}s')
    return _start('run', *words, *options, '--', *command, **how)
