"""What a kernel does in each of its ticks, and where it does the same over and over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hw.dataflow.affine import predicate_column
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import KernelSpec, NodeSpec, Predicate

__all__ = ["KernelFacts", "NotQuiet", "Window", "name_of"]

_MOST_TICKS = 1 << 17
"""Ticks of a kernel that are looked at one by one."""


class NotQuiet(Exception):
    """Why a loop makes all its iterations."""


@dataclass(frozen=True)
class Window:
    """Iterations of counter number `level`, of `period` ticks each, in which the same nodes fire at the same places:
    `count` of them from tick `start`, where the counter is `low`. It may jump to the last or, where that is in the same
    loop, the one behind: that with value `target`."""

    level: int
    start: int
    period: int
    count: int
    low: int
    target: int

    @property
    def behind(self) -> int:
        """The tick of `target`."""
        return self.start + (self.target - self.low) * self.period


class KernelFacts:
    """What a kernel does in each tick. Raises `NotQuiet` if there are too many."""

    def __init__(self, kernel: KernelSpec):
        self.kernel = kernel
        if kernel.sizes or kernel.ticks > _MOST_TICKS:
            raise NotQuiet("sizes are known at run time only, or there are too many ticks")
        self.columns = np.stack(counter_columns(kernel.counters))
        self._bits: dict[Predicate, np.ndarray] = {}
        for node in kernel.nodes:
            self._add(node.fires)
            for read in node.reads:
                for source in read.sources:
                    self._add(source.select)
        for channel in kernel.channels:
            self._add(channel.push)
            self._add(channel.pop)

    def _add(self, predicate: Predicate) -> None:
        if predicate not in self._bits:
            self._bits[predicate] = predicate_column(predicate, list(self.columns), self.ticks)

    @property
    def ticks(self) -> int:
        """Ticks of the counters."""
        return self.columns.shape[1]

    def holds(self, predicate: Predicate, tick: int) -> bool:
        """Whether a predicate holds in a tick."""
        return bool(self._bits[predicate][tick])

    def phases(self, predicate: Predicate, window: Window) -> list[int]:
        """The ticks of an iteration in which a predicate holds, counted from its start."""
        return np.flatnonzero(self._bits[predicate][window.start:window.start + window.period]).tolist()

    def count(self, predicate: Predicate, end: int) -> int:
        """In how many ticks before `end` a predicate holds."""
        return int(self._bits[predicate][:end].sum())

    def windows(self) -> Iterator[Window]:
        """The longest one of every counter."""
        bits = np.stack(list(self._bits.values()))
        for level in range(len(self.columns)):
            outer = self.columns[:level + 1]
            starts = np.flatnonzero(np.append(True, (outer[:, 1:] != outer[:, :-1]).any(axis=0)))
            ends = np.append(starts[1:], self.ticks)
            rows = [(self.columns[:level, s].tobytes(), self.columns[level + 1:, s:e].tobytes(), bits[:, s:e].tobytes())
                    for s, e in zip(starts, ends, strict=True)]
            first, count = _longest_run(rows)
            start, low = int(starts[first]), int(self.columns[level, starts[first]])
            behind = first + count < len(rows) and rows[first + count][0] == rows[first][0]
            if count > 2:
                yield Window(level, start, int(ends[first] - starts[first]), count, low, low + count - (not behind))


def _longest_run(rows: Sequence[object]) -> tuple[int, int]:
    """Where most equal ones follow each other, and how many."""
    best = 0, 0
    start = 0
    for number, row in enumerate(rows):
        if row != rows[start]:
            start = number
        best = max(best, (number - start + 1, -start))
    return -best[1], best[0]


def name_of(node: NodeSpec) -> str:
    """What a node belongs to."""
    return f"statement '{node.name}'" + (f" ({node.source})" if node.source else "")
