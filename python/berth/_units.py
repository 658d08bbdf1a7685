# SPDX-License-Identifier: Apache-2.0
"""Sizes and times as people write them: '8G' is 8 GiB, and times are seconds."""
from __future__ import annotations

import math
import re
from typing import Optional, Union

from . import _abi, _errors as errors

Size = Union[int, str]
_UNITS = {'': 0, 'K': 10, 'M': 20, 'G': 30, 'T': 40}
_SIZE = re.compile(r'\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B)?\s*', re.IGNORECASE)


def bytes_of(size: Size, name: str = 'size') -> int:
    """Bytes; all units are binary. A text needs a unit, a number is bytes."""
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        if match:
            number, unit, suffix = match.groups()
            if float(number) and not unit and not suffix:
                raise errors.InvalidArgument(f"{name}: a size needs a unit; did you mean "
                                             f"'{number}{_meant_unit(float(number))}'?")
            return int(float(number) * (1 << _UNITS[unit.upper()]))
    elif isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2 ** 64:
        return size
    raise errors.InvalidArgument(f"{name} is {size!r}, and no size: bytes, or '512M', '8G'")


def _meant_unit(number: float) -> str:
    """As the command line has it: few are gigabytes, more are megabytes."""
    return 'G' if number < 1024 else 'M' if number < 1 << 24 else 'B'


def ms_of(seconds: Optional[float], name: str) -> int:
    """None: without bound."""
    if seconds is None:
        return _abi.NO_END
    return _checked(seconds, name, 1_000)


def ns_of(seconds: float, name: str) -> int:
    return _checked(seconds, name, 1_000_000_000)


def _checked(seconds: float, name: str, of_a_second: int) -> int:
    """What is not 0 does not become 0, which means something else."""
    if not 0 <= seconds * of_a_second < 2 ** 63:
        raise errors.InvalidArgument(f'{name} is {seconds!r}, and no number of seconds')
    return math.ceil(seconds * of_a_second)


def mib(size: Optional[float]) -> str:
    """'8192 MiB', or 'unknown'."""
    return 'unknown' if size is None else f'{round(size / (1 << 20))} MiB'
