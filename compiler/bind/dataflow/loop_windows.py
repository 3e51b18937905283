"""What a kernel does in each of its ticks, and where it does the same over and over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hw.dataflow.affine import predicate_column
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import Affine, ChannelSpec, KernelSpec, NodeSpec, Piece, Predicate

__all__ = ["KernelFacts", "LoopNest", "NotQuiet", "Window", "name_of"]

_MOST_TICKS = 1 << 20
"""Ticks of a kernel that are looked at one by one."""


_NOTHING = -(1 << 30)
"""What is no lag."""

_MOST_PHASES = 128
"""Values of an iteration that may say together that a loop ends."""


class NotQuiet(Exception):
    """Why a loop makes all its iterations."""


@dataclass(frozen=True)
class Window:
    """Iterations of counter number `level`, of `period` ticks each, in which the same nodes fire at the same places:
    those from tick `start`, where the counter is `low`, to that before `target`, to which it may jump: the one behind
    where that is in the same loop, else the last one."""

    level: int
    start: int
    period: int
    low: int
    target: int

    @property
    def behind(self) -> int:
        """The tick of `target`."""
        return self.start + (self.target - self.low) * self.period


@dataclass(frozen=True)
class LoopNest:
    """A loop in which a node fires at `phases` of every iteration, in the iterations of the loops around it in which
    it does: a window for each. The counters around it are then `lows` to `highs`."""

    windows: tuple[Window, ...]
    phases: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]

    @property
    def looks(self) -> int:
        """Iterations of a window."""
        return self.windows[0].target - self.windows[0].low

    @property
    def ticks(self) -> int:
        """Ticks of all windows."""
        return len(self.windows) * self.looks * self.windows[0].period


@dataclass(frozen=True)
class _Rows:
    """The iterations of a counter: their values, the ticks at which they start and end (shape [iterations]), and
    `begun`, the first ones inside those of the counters around it. `first`, `behind`, `loop`: runs of iterations that
    are alike, and in which of these each is (shape [runs])."""

    values: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    begun: np.ndarray
    first: np.ndarray
    behind: np.ndarray
    loop: np.ndarray

    def longest(self, bits: np.ndarray) -> np.ndarray:
        """The numbers of the longest runs with a tick in which `bits` holds, the first of several, one in each loop
        that has any."""
        runs = np.flatnonzero(np.logical_or.reduceat(bits, self.starts[self.first]))
        runs = runs[np.lexsort([runs, self.first[runs] - self.behind[runs], self.loop[runs]])]
        return runs[np.diff(self.loop[runs], prepend=-1) > 0]


class KernelFacts:
    """What a kernel does in each tick. Raises `NotQuiet` if there are too many."""

    def __init__(self, kernel: KernelSpec):
        self.kernel = kernel
        if kernel.sizes or kernel.ticks > _MOST_TICKS:
            raise NotQuiet("sizes are known at run time only, or there are too many ticks")
        self.columns = np.stack(counter_columns(kernel.counters))
        self._bits: dict[Predicate, np.ndarray] = {}
        self._lags: dict[ChannelSpec, np.ndarray] = {}
        for node in kernel.nodes:
            self._add(node.fires)
            for read in node.reads:
                for source in read.sources:
                    self._add(source.select)
        for channel in kernel.channels:
            self._add(channel.push)
            self._add(channel.pop)
            self._add_lags(channel)
        self.kinds = self._kinds()
        self.rows, self.nests = cache(self._rows), cache(self._nests)

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

    def moves(self, channel: ChannelSpec, window: Window) -> bool:
        """Whether a channel that is no delay takes or gives words in the iterations of a window."""
        moves = (channel.push, channel.pop) if channel.kind in ("fifo", "register") else (channel.push,)
        return channel.kind != "delay" and any(self.phases(predicate, window) for predicate in moves)

    def same(self, first: int, other: int, ticks: int) -> bool:
        """Whether the same nodes fire, with operands from as many ticks before, in as many ticks from two on."""
        return np.array_equal(self.kinds[first:first + ticks], self.kinds[other:other + ticks])

    def turns(self, channel: ChannelSpec, window: Window) -> bool:
        """Whether a queue gives as many words as it takes in every iteration of a window."""
        balanced = len(self.phases(channel.push, window)) == len(self.phases(channel.pop, window))
        return balanced and channel in self._lags

    def lag(self, channel: ChannelSpec, tick: int) -> int | None:
        """How many ticks before it is read in `tick` a word was put into a queue; None if none is read."""
        found = int(self._lags[channel][tick])
        return None if found == _NOTHING else found

    def longest_lag(self, channel: ChannelSpec) -> int:
        """The most ticks that a word waits in a channel."""
        return channel.depth if channel.kind == "delay" else int(self._lags[channel].max(initial=0)) \
            if channel in self._lags else 0

    def _add_lags(self, channel: ChannelSpec) -> None:
        """When what a queue gives was put there."""
        puts, reads = np.flatnonzero(self._bits[channel.push]), np.flatnonzero(self._bits[channel.pop])
        if channel.kind in ("fifo", "register") and len(puts) == len(reads):
            self._lags[channel] = lags = np.full(self.ticks, _NOTHING, np.int32)
            lags[reads] = reads - puts

    def _kinds(self) -> np.ndarray:
        """A number for what happens in each tick, the same for the same."""
        packed = np.packbits(np.stack(list(self._bits.values())), axis=0)
        kinds = np.unique(packed, axis=1, return_inverse=True)[1].ravel()
        for lags in self._lags.values():
            kinds = np.unique((kinds << 32) + lags, return_inverse=True)[1].ravel()
        return kinds.astype(np.int32)

    def _rows(self, level: int) -> _Rows:
        """The iterations of a counter."""
        outer = self.columns[:level + 1]
        starts = np.flatnonzero(np.append(True, (outer[:, 1:] != outer[:, :-1]).any(axis=0)))
        begun = np.append(True, (outer[:-1, starts[1:]] != outer[:-1, starts[:-1]]).any(axis=0))
        ends = np.append(starts[1:], self.ticks)
        kinds = self._row_kinds(level, starts, ends)
        first = np.flatnonzero(begun | np.append(True, kinds[1:] != kinds[:-1]))
        return _Rows(outer[-1, starts], starts, ends, np.flatnonzero(begun), first, np.append(first[1:], len(starts)),
                     np.cumsum(begun)[first] - 1)

    def _row_kinds(self, level: int, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """A number for what each iteration is like: what happens in its ticks, and the counters inside."""
        kinds = self.kinds.astype(np.int64)
        for column in self.columns[level + 1:]:
            if column.min() < column.max():
                kinds = np.unique((kinds << 32) + (column - column.min()), return_inverse=True)[1].ravel()
        if len(starts) == self.ticks:
            return kinds
        numbers: dict[bytes, int] = {}
        return np.array([numbers.setdefault(kinds[start:end].tobytes(), len(numbers))
                         for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])

    def _nests(self, predicate: Predicate) -> list[LoopNest]:
        """The loops in which a node that fires where `predicate` holds does so all the time: of every counter the one
        in all iterations of those around it, and where these differ, that with the most iterations."""
        bits, nests = self._bits[predicate], []
        for level in range(len(self.columns)):
            rows = self.rows(level)
            runs = rows.longest(bits)
            found = self._nest(level, bits, runs)
            if found is None and len(runs) > 1:
                found = self._nest(level, bits, runs[[np.argmax(rows.behind[runs] - rows.first[runs])]])
            nests += [] if found is None else [found]
        return nests

    def _nest(self, level: int, bits: np.ndarray, runs: np.ndarray) -> LoopNest | None:
        """The loop of a counter in all these iterations of those around it, whose rows are alike."""
        if not len(runs):
            return None
        rows = self.rows(level)
        first, last = rows.first[runs], rows.behind[runs] - 1
        low, high = int(rows.values[first].max()), int(rows.values[last].min())
        target = high + bool((self._goes_on(level, rows.ends[last]) | (high < rows.values[last])).all())
        if target - low < 2:
            return None
        begun = first + low - rows.values[first]
        starts, period = rows.starts[begun], int(rows.ends[begun[0]] - rows.starts[begun[0]])
        fires = bits[starts[0]:starts[0] + period]
        if (rows.ends[begun] - starts != period).any() or not 0 < fires.sum() <= _MOST_PHASES or \
                (bits[starts[:, None] + np.arange(period)] != fires).any():
            return None
        lows, highs = (ends(self.columns[:level, starts], axis=1).tolist() for ends in (np.min, np.max))
        if not self._is_box(level, lows, highs, len(begun)):
            return None
        windows = tuple(Window(level, start, period, low, target) for start in starts.tolist())
        return LoopNest(windows, tuple(np.flatnonzero(fires).tolist()), tuple(lows), tuple(highs))

    def _goes_on(self, level: int, ends: np.ndarray) -> np.ndarray:
        """Whether a counter has another value before those around it step, after each of these ticks."""
        later = np.minimum(ends, self.ticks - 1)
        return (ends < self.ticks) & (self.columns[:level, later] == self.columns[:level, later - 1]).all(axis=0)

    def _is_box(self, level: int, lows: Sequence[int], highs: Sequence[int], count: int) -> bool:
        """Whether there are as many vectors of the counters outside a level between these."""
        rows = self.rows(level)
        vectors = self.columns[:level, rows.starts[rows.begun]]
        inside = (vectors >= np.array(lows, int)[:, None]) & (vectors <= np.array(highs, int)[:, None])
        return int(inside.all(axis=0).sum()) == count

    def is_steady(self, pieces: Sequence[Piece], level: int) -> bool:
        """Whether a function of the counters is the same in all iterations of a window of counter number `level`."""
        values = [value for where, value in pieces for value in
                  (value, *(constraint.value for case in where for constraint in case))]
        return not any(_depends(value, level) for value in values)


def _depends(function: Affine, level: int) -> bool:
    return bool(function.coefficients[level]) or any(_depends(floor.inner, level) for floor in function.floors)


def name_of(node: NodeSpec) -> str:
    """What a node belongs to."""
    return f"statement '{node.name}'" + (f" ({node.source})" if node.source else "")
