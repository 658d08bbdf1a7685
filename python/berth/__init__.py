# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU inside a program, by libberth: the lease of `berth run` or one of its own, what
is used and by whom, a keeper for the training loop, and steps that are tried again in smaller
pieces. It works without a daemon, a lease and a GPU: what is missing is said once, and what is not
known is None. docs/python.md tells the rest.

    session = berth.session()
    print(session.measure())

Any thread may call anything. Callbacks are called in the thread that called what needs them.
"""
from ._library import version
from ._batch import Batch, Plan, find_batch_size, retry_on_oom
from ._commands import Ended, Fit, Gpu, Held, Status, fit, run, status, submit, wait
from ._errors import (BerthError, Busy, Conflict, InvalidArgument, LibraryNotFound, NotFound,
                     NotPermitted, OutOfMemory, Stale, TimedOut, Unavailable)
from ._gpu import Estimate, estimate, get_gpu_info, has_room, unwrap, wrap_multi_gpu
from ._measure import Figure, Measurement, Room
from ._provider import (Provider, TorchProvider, cap_torch, free_memory, is_out_of_memory)
from ._session import UNCONFIRMED, Ask, Device, Lease, Session, acquire, session
from ._vram import Counts, Event, Phase, Report, VramManager

__all__ = [
    'Ask', 'Batch', 'BerthError', 'Busy', 'Conflict', 'Counts', 'Device', 'Ended', 'Estimate',
    'Event', 'Figure', 'Fit', 'Gpu', 'Held', 'InvalidArgument', 'Lease', 'LibraryNotFound',
    'Measurement', 'NotFound', 'NotPermitted', 'OutOfMemory', 'Phase', 'Plan', 'Provider', 'Report',
    'Room', 'Session', 'Stale', 'Status', 'TimedOut', 'TorchProvider', 'UNCONFIRMED', 'Unavailable',
    'VramManager', 'acquire', 'cap_torch', 'estimate', 'find_batch_size', 'fit', 'free_memory',
    'get_gpu_info', 'has_room', 'is_out_of_memory', 'retry_on_oom', 'run', 'session', 'status',
    'submit', 'unwrap', 'version', 'wait', 'wrap_multi_gpu',
]
