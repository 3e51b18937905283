"""The fewest idle ticks with which the recurrences of a schedule go at full rate, over all loops at once.

Idle ticks come after the runs of a counter: as many after each, or as many as a run is shorter than so many values
(`Idle`), where the counters outside it are in the box of some node's firing times. Every word of a recurrence crosses
the ends of some runs on its way, which adds up to the ticks that it has. With node delays as further unknowns that is a
linear program of integers with a row for each word that differs from others.

Runs one level inside the innermost counter are single ticks: idle ticks behind them are a greater initiation interval
of the times in that box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from ortools.linear_solver import pywraplp

from compiler.bind.dataflow.iteration_counters import Idle, TickClock
from compiler.bind.dataflow.timing import Need
from compiler.bind.dataflow.word_ticks import CountedTicks

__all__ = ["Box", "IdleModel"]

_MOST_IDLE = 256
"""Most idle ticks after one run, for one reason."""

_MOST_LENGTHS = 48
"""Different lengths of the runs of a level that may be filled up to so many ticks."""

_MOST_ROWS = 4000
"""Most words that differ."""

_EFFORT = "limits/nodes = 50\nlimits/gap = 0.02"
"""Nodes of the tree of a search, or how near to the bound its best result is, at which it ends."""

Box = tuple[tuple[int, int], ...]
"""First and last value of each counter."""


@dataclass(frozen=True)
class _RunClass:
    """Runs of a `level` with as many values, `length` (0: of any number), in the same `boxes`.
    `ended`: how many of them end before each tick, int64 of shape [ticks + 1], but for those after everything."""

    level: int
    length: int
    boxes: tuple[Box, ...]
    ended: np.ndarray

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.ended[-1])


@dataclass(frozen=True)
class _Words:
    """Those of one edge that differ: ticks from write to read (shape [words]), and ends of runs on their way, by class
    (shape [classes, words])."""

    ticks: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True)
class IdleModel:
    """The words `moved` on edges between nodes under `clock`, whose first `sizes` counters do not count; `boxes` of
    times in which idle ticks may differ, the first of which has all times."""

    clock: TickClock
    moved: Sequence[CountedTicks]
    sizes: int
    boxes: Sequence[Box]

    @cached_property
    def _classes(self) -> list[_RunClass]:
        return list(self._run_classes())

    @cached_property
    def _words(self) -> list[_Words]:
        ended = np.stack([each.ended for each in self._classes])
        return [_different(words, ended) for words in self.moved]

    @property
    def fits(self) -> bool:
        """Whether the words that differ are few enough."""
        return sum(len(words.ticks) for words in self._words) <= _MOST_ROWS

    def bound(self, needs: Sequence[Need]) -> int | None:
        """Idle ticks that there are at least, whatever they depend on; None if there are never enough."""
        program = _Program("GLOP", self._classes, self.boxes[0])
        program.free()
        return None if not self._solved(program, needs) else ceil(program.objective - 1e-6)

    def solve(self, needs: Sequence[Need]) -> tuple[Idle, ...] | None:
        """The fewest idle ticks with which there are node delays for `needs`, those of the edges in their order; None
        if there are none."""
        found = [program for filled in (False, True) if (program := self._chosen(needs, filled)) is not None]
        if not found:
            return None
        best = min(found, key=lambda program: program.objective)
        return self._needed(list(best.choices()))

    def _chosen(self, needs: Sequence[Need], filled: bool) -> _Program | None:
        program = _Program("SCIP", self._classes, self.boxes[0])
        program.choose(filled)
        return program if self._solved(program, needs) else None

    def _needed(self, idle: list[Idle]) -> tuple[Idle, ...]:
        """`idle` without what adds nothing to the others."""
        amounts = {level: self.clock.runs(level) for level in {each.level for each in idle}}
        for each in list(idle):
            same = [other for other in idle if other.level == each.level]
            rest = [other for other in same if other is not each]
            runs = amounts[each.level]
            if (runs.idle_ticks(same) == runs.idle_ticks(rest)).all():
                idle = [other for other in idle if other is not each]
        return tuple(idle)

    def _solved(self, program: _Program, needs: Sequence[Need]) -> bool:
        for need, words in zip(needs, self._words, strict=True):
            program.require(need, words)
        return program.solve()

    def _run_classes(self) -> Iterator[_RunClass]:
        done = self.clock.runs(self.sizes).last
        for level in range(self.sizes + 1, len(self.clock.counters) + 1):
            runs = self.clock.runs(level)
            lengths = np.minimum(runs.lengths, _MOST_IDLE)
            if len(np.unique(lengths)) > _MOST_LENGTHS:
                lengths = np.zeros_like(lengths)
            boxes = list(dict.fromkeys(box[:level] for box in self.boxes))
            inside = [Idle(level, 0, False, box).inside(runs.outer) for box in boxes]
            kinds, numbers = np.unique(np.vstack([lengths, *inside]), axis=1, return_inverse=True)
            for number, kind in enumerate(kinds.T.tolist()):
                ends = np.zeros(self.clock.ticks + 1, np.int64)
                ends[runs.last[numbers.ravel() == number] + 1] = 1
                ends[done + 1] = 0
                yield _RunClass(level, kind[0], tuple(box for box, some in zip(boxes, kind[1:], strict=True) if some),
                                np.cumsum(ends))


def _different(words: CountedTicks, ended: np.ndarray) -> _Words:
    ends = ended[:, words.read] - ended[:, words.written]
    rows = np.unique(np.vstack([words.read - words.written, ends]), axis=1)
    return _Words(rows[0], rows[1:])


class _Program:
    """One linear program for the idle ticks behind the runs of each class, and node delays."""

    def __init__(self, solver: str, classes: Sequence[_RunClass], whole: Box) -> None:
        self.solver: Any = pywraplp.Solver.CreateSolver(solver)
        self.classes, self.whole = classes, whole
        self.amounts: list[Any] = []
        self.delays: dict[str, Any] = {}
        self.added: dict[tuple[int, Box], Any] = {}
        self.least: dict[tuple[int, Box], Any] = {}

    def free(self) -> None:
        """Any idle ticks behind each class of runs."""
        self.amounts = [self.solver.NumVar(0, self.solver.infinity(), "") for _ in self.classes]

    def choose(self, filled: bool) -> None:
        """Idle ticks that are `Idle`'s in every box; with `filled` also those that depend on a run's
        length, which are the same in all boxes: the first one is everything."""
        keys = sorted({(each.level, box) for each in self.classes for box in each.boxes})
        self.added = {key: self.solver.IntVar(0, _MOST_IDLE, "") for key in keys}
        if filled:
            levels = {each.level: None for each in self.classes if each.length}
            self.least = {(level, self.whole[:level]): self.solver.IntVar(0, _MOST_IDLE, "") for level in levels}
        self.amounts = [self._amount(each) for each in self.classes]

    def _amount(self, runs: _RunClass) -> Any:
        """Idle ticks behind each run of a class."""
        amount = self.solver.NumVar(0, self.solver.infinity(), "")
        added = sum(self.added[runs.level, box] for box in runs.boxes)
        if runs.length and (runs.level, self.whole[: runs.level]) in self.least:
            added += self._filling(runs, self.least[runs.level, self.whole[: runs.level]])
        self.solver.Add(amount == added)
        return amount

    def _filling(self, runs: _RunClass, least: Any) -> Any:
        """Ticks that fill a run up to `least`."""
        filling, some = self.solver.NumVar(0, _MOST_IDLE, ""), self.solver.BoolVar("")
        self.solver.Add(filling >= least - runs.length)
        self.solver.Add(filling <= least - runs.length + 2 * _MOST_IDLE * (1 - some))
        self.solver.Add(filling <= _MOST_IDLE * some)
        return filling

    def require(self, need: Need, words: _Words) -> None:
        """Ticks and idle ticks on the way of each word are enough for what its edge needs."""
        for name in (need.source, need.sink):
            if name not in self.delays:
                self.delays[name] = self.solver.NumVar(0, self.solver.infinity(), "")
        for ticks, ends in zip(words.ticks.tolist(), words.ends.T, strict=True):
            row = self.solver.RowConstraint(need.ticks - ticks, self.solver.infinity(), "")
            if need.sink != need.source:
                row.SetCoefficient(self.delays[need.sink], 1)
                row.SetCoefficient(self.delays[need.source], -1)
            for number in np.flatnonzero(ends).tolist():
                row.SetCoefficient(self.amounts[number], int(ends[number]))

    @property
    def objective(self) -> float:
        """Idle ticks in all."""
        return self.solver.Objective().Value()

    def solve(self) -> bool:
        """Whether there is a solution."""
        self.solver.Minimize(sum(each.count * amount for each, amount in zip(self.classes, self.amounts, strict=True)))
        self.solver.SetSolverSpecificParametersAsString(_EFFORT * bool(self.added))
        return self.solver.Solve() in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE)

    def choices(self) -> Iterator[Idle]:
        """What was chosen."""
        for least, variables in ((True, self.least), (False, self.added)):
            for (level, box), variable in variables.items():
                if ticks := round(variable.solution_value()):
                    yield Idle(level, ticks, least, () if box == self.whole[:level] else box)
