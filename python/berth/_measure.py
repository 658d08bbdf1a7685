# SPDX-License-Identifier: Apache-2.0
"""What is known of memory: each figure with its source and its age. Unknown is None, and never
0."""
from __future__ import annotations

import dataclasses
import html
from typing import Any, Iterator, Optional, Tuple

from . import _abi
from ._units import mib


@dataclasses.dataclass(frozen=True)
class Figure:
    """Bytes that are known, or not."""
    bytes: Optional[int] = None
    source: Optional[str] = None  # 'driver', 'ledger', 'environment', 'provider', '/proc'
    age: Optional[float] = None  # Seconds since it was measured.

    @property
    def known(self) -> bool:
        return self.bytes is not None

    def __str__(self) -> str:
        return mib(self.bytes) + (f' ({self.source})' if self.known else '')


def figure_of(figure: Any) -> Figure:
    if figure.source == 0:
        return Figure()
    # A source of a later version is told by its number.
    source = (_abi.SOURCES[figure.source] if figure.source < len(_abi.SOURCES)
              else str(figure.source))
    return Figure(int(figure.bytes), source, figure.age_ns / 1e9)


class Figures:
    """For dataclasses of figures: a table, in terminals and notebooks."""

    def rows(self) -> Iterator[Tuple[str, Figure]]:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Figure):
                yield field.name, value

    def __str__(self) -> str:
        return '\n'.join(f'{name} {figure}' for name, figure in self.rows())

    def _repr_html_(self) -> str:
        cells = ''.join(f'<tr><th>{name}</th><td>{html.escape(str(figure))}</td></tr>'
                        for name, figure in self.rows())
        return f'<table>{cells}</table>'


@dataclasses.dataclass(frozen=True)
class Measurement(Figures):
    """Of one device, this process and its lease."""
    device: int
    device_total: Figure
    device_used: Figure  # By all processes.
    device_free: Figure
    process_used: Figure  # By this process, on the device.
    lease_used: Figure  # By all processes of the lease, on the device.
    lease_budget: Figure
    provider_allocated: Figure  # In tensors.
    provider_reserved: Figure  # Taken from the device, cached blocks included.
    host_used: Figure  # Resident memory of this process.

    __str__ = Figures.__str__


def measurement_of(told: Any) -> Measurement:
    names = [field.name for field in dataclasses.fields(Measurement) if field.name != 'device']
    return Measurement(device=int(told.device),
                       **{name: figure_of(getattr(told, name)) for name in names})


@dataclasses.dataclass(frozen=True)
class Room(Figures):
    """Whether so many bytes would find room. It is true only where the answer is yes."""
    answer: Optional[bool]  # None: unknown.
    wanted: int
    device_free: Figure
    budget_left: Figure  # Unknown without a lease too, where it counts for nothing.

    def __bool__(self) -> bool:
        return self.answer is True

    def __str__(self) -> str:
        word = {True: 'yes', False: 'no', None: 'unknown'}[self.answer]
        return (f'{word}: {mib(self.wanted)} wanted, {mib(self.device_free.bytes)} free on the '
                f'device, {mib(self.budget_left.bytes)} left of the budget')
