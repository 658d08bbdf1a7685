# SPDX-License-Identifier: Apache-2.0
"""What calls into libberth raise: each says which thing it is about and, where there is one, the
cure. They are all BerthError."""
from __future__ import annotations

from . import _abi


class BerthError(Exception):
    """Something that libberth could not do. `status` is the name that the C interface has for it:
    'CONFLICT', 'IO', …"""
    status = 'INTERNAL'


class LibraryNotFound(BerthError, ImportError):
    """libberth.so.1 is not where it was looked for, or is of another version."""
    status = 'UNAVAILABLE'


class InvalidArgument(BerthError, ValueError):
    """An argument makes no sense."""
    status = 'INVALID'


class Stale(BerthError):
    """The session or manager is closed, or from before a fork: attach anew."""
    status = 'STALE'


class NotFound(BerthError, LookupError):
    """Nothing has that number or name."""
    status = 'NOT_FOUND'


class NotPermitted(BerthError):
    """Not yours, or the system does not let us."""
    status = 'PERMISSION'


class Unavailable(BerthError):
    """There is no daemon, no lease or no device."""
    status = 'UNAVAILABLE'


class TimedOut(BerthError):
    status = 'TIMED_OUT'


class Conflict(BerthError):
    """Another one has it: there is no room, not within the time that was given."""
    status = 'CONFLICT'


class Busy(BerthError):
    """Such a call is under way, in another thread or further up in this one."""
    status = 'BUSY'


class OutOfMemory(BerthError, MemoryError):
    """The smallest piece does not fit. The text says what to change."""
    status = 'OUT_OF_MEMORY'


_BY_NAME = {kind.status: kind
            for kind in (InvalidArgument, Stale, NotFound, NotPermitted, Unavailable, TimedOut,
                         Conflict, Busy, OutOfMemory)}


def of_status(status: int, text: str) -> BerthError:
    name = next((name for name, number in _abi.STATUS.items() if number == status), 'INTERNAL')
    error = _BY_NAME.get(name, BerthError)(text or name)
    error.status = name
    return error
