"""What a kernel does in each of its ticks, and where it does the same over and over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

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
class _Row:
    """An iteration of a counter: its value, ticks `start` to `end`, and what it is like."""

    value: int
    start: int
    end: int
    kind: bytes


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

    def _rows(self, level: int) -> list[list[_Row]]:
        """The iterations of a counter, for each vector of those around it."""
        outer = self.columns[:level + 1]
        starts = np.flatnonzero(np.append(True, (outer[:, 1:] != outer[:, :-1]).any(axis=0)))
        ends = np.append(starts[1:], self.ticks)
        around = (outer[:-1, starts[1:]] != outer[:-1, starts[:-1]]).any(axis=0)
        rows = [_Row(int(outer[-1, s]), int(s), int(e), self.columns[level + 1:, s:e].tobytes()
                     + self.kinds[s:e].tobytes()) for s, e in zip(starts, ends, strict=True)]
        cuts = [0, *(np.flatnonzero(around) + 1).tolist(), len(rows)]
        return [rows[first:last] for first, last in pairwise(cuts)]

    def _nests(self, predicate: Predicate) -> list[LoopNest]:
        """The loops in which a node that fires where `predicate` holds does so all the time: of every counter the one
        in all iterations of those around it, and where these differ, that with the most iterations."""
        bits, nests = self._bits[predicate], []
        for level in range(len(self.columns)):
            runs = [run for rows in self.rows(level) if (run := _same_run(rows, bits))]
            found = self._nest(level, bits, runs)
            if found is None and len(runs) > 1:
                found = self._nest(level, bits, [max(runs, key=len)])
            nests += [] if found is None else [found]
        return nests

    def _nest(self, level: int, bits: np.ndarray, runs: Sequence[Sequence[_Row]]) -> LoopNest | None:
        """The loop of a counter in all these iterations of those around it, whose rows are alike."""
        if not runs:
            return None
        low, high = max(run[0].value for run in runs), min(run[-1].value for run in runs)
        target = high + all(self._goes_on(level, run, high) for run in runs)
        if target - low < 2:
            return None
        begun = [next(row for row in run if row.value == low) for run in runs]
        phases = {(row.end - row.start, tuple(np.flatnonzero(bits[row.start:row.end]).tolist())) for row in begun}
        lows, highs = (ends(self.columns[:level, [row.start for row in begun]], axis=1).tolist()
                       for ends in (np.min, np.max))
        [(period, fires), *others] = phases
        if others or not 0 < len(fires) <= _MOST_PHASES or not self._is_box(level, lows, highs, len(begun)):
            return None
        windows = tuple(Window(level, row.start, period, low, target) for row in begun)
        return LoopNest(windows, fires, tuple(lows), tuple(highs))

    def _goes_on(self, level: int, run: Sequence[_Row], value: int) -> bool:
        """Whether a counter gets beyond a value before those around it step."""
        last, end = run[-1].value, run[-1].end
        within = end < self.ticks and (self.columns[:level, end] == self.columns[:level, end - 1]).all()
        return value < last or bool(within)

    def _is_box(self, level: int, lows: Sequence[int], highs: Sequence[int], count: int) -> bool:
        """Whether there are as many vectors of the counters outside a level between these."""
        starts = [rows[0].start for rows in self.rows(level)]
        vectors = self.columns[:level, starts]
        inside = (vectors >= np.array(lows, int)[:, None]) & (vectors <= np.array(highs, int)[:, None])
        return int(inside.all(axis=0).sum()) == count

    def is_steady(self, pieces: Sequence[Piece], level: int) -> bool:
        """Whether a function of the counters is the same in all iterations of a window of counter number `level`."""
        values = [value for where, value in pieces for value in
                  (value, *(constraint.value for case in where for constraint in case))]
        return not any(_depends(value, level) for value in values)


def _depends(function: Affine, level: int) -> bool:
    return bool(function.coefficients[level]) or any(_depends(floor.inner, level) for floor in function.floors)


def _same_run(rows: Sequence[_Row], bits: np.ndarray) -> Sequence[_Row]:
    """The longest run of equal iterations with a tick in which `bits` holds."""
    best, first = (0, 0), 0
    for number, row in enumerate(rows):
        if row.kind != rows[first].kind:
            first = number
        if bits[row.start:row.end].any():
            best = max(best, (number - first + 1, -first))
    return rows[-best[1]:best[0] - best[1]]


def name_of(node: NodeSpec) -> str:
    """What a node belongs to."""
    return f"statement '{node.name}'" + (f" ({node.source})" if node.source else "")
