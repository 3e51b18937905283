"""Turns on shared units, exactly: where statements start that share units, by constraint programming (CP-SAT).

`compiler.sched.static.reservation` gives every statement the first turn that it finds, in program order (iterative
modulo scheduling, Liu 2023, section 4.3.1). That is mostly as early as the dependences allow, which then is the
optimum. Where it is not, the same problem is stated exactly: with the loops as they are, an offset for each statement,
such that every value is there when it is read, and no two statements of a group ever execute in one cycle. For two
statements that only depends on the difference of their offsets (modulo the period, if there are several tiles), so the
differences at which they collide are enumerated once and left out of the difference's domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from ortools.sat.python import cp_model

from compiler.sched.static.cp_sat import solve_model

__all__ = ["Precedence", "SharedUnitsProblem", "Solution"]

_EFFORT = 2.0
"""Deterministic seconds of the solver: results do not depend on the speed of the machine."""

_MOST_PAIRS = 1 << 22
"""Pairs of instances of two statements beyond which the differences are not enumerated."""


@dataclass(frozen=True)
class Precedence:
    """`sink` starts at least `least` cycles after `source`."""

    source: str
    sink: str
    least: int


@dataclass(frozen=True)
class Solution:
    """Offsets of all statements. `proven`: no other offsets end earlier."""

    offsets: dict[str, int]
    proven: bool


@dataclass(frozen=True)
class SharedUnitsProblem:
    """`cycles`: for every statement the cycles of its instances in one tile, ascending, counted from its first.

    `period`: cycles from tile to tile, None for a single one. `results`: the statements whose last instance counts.
    """

    cycles: Mapping[str, np.ndarray]
    lags: Sequence[Precedence]
    groups: Sequence[Sequence[str]]
    results: Sequence[str]
    period: int | None
    _model: cp_model.CpModel = field(default_factory=cp_model.CpModel)

    def earliest(self) -> dict[str, int]:
        """Offsets that no schedule beats: those without any turns. The longest paths along the lags."""
        offsets = dict.fromkeys(self.cycles, 0)
        for _ in self.cycles:
            before = dict(offsets)
            for lag in self.lags:
                offsets[lag.sink] = max(offsets[lag.sink], offsets[lag.source] + lag.least)
            if offsets == before:
                break
        return offsets

    def last(self, offsets: Mapping[str, int]) -> int:
        """Cycle of the last result."""
        return max(offsets[name] + int(self.cycles[name][-1]) for name in self.results)

    def bound(self) -> int:
        """A cycle before which no last result comes: those without any turns come then, and all instances of a group
        have cycles of their own, behind the first in which one of them can start."""
        offsets = self.earliest()
        members = [[name for name in group if name in self.cycles] for group in self.groups]
        turns = [min(offsets[name] for name in group) + sum(len(self.cycles[name]) for name in group) - 1
                 for group in members if self._all_count(group)]
        return max([self.last(offsets), *turns])

    def _all_count(self, group: Sequence[str]) -> bool:
        """Whether some result waits for every statement of a group, at least for its last instance."""
        awaited = set(self.results)
        for _ in self.cycles:
            awaited |= {lag.source for lag in self.lags if lag.sink in awaited and self._last_is_awaited(lag)}
        return bool(group) and set(group) <= awaited

    def _last_is_awaited(self, lag: Precedence) -> bool:
        """Whether the last instance of the sink cannot come before that of the source."""
        return lag.least + int(self.cycles[lag.sink][-1]) >= int(self.cycles[lag.source][-1])

    def solve(self, known: int) -> Solution | None:
        """The offsets whose last result is earliest, `known` at the latest; None if none were found, or if there are
        too many instances to compare."""
        model = self._model
        low = self.earliest()
        offsets = {name: model.new_int_var(low[name], known, name) for name in self.cycles}
        for lag in self.lags:
            model.add(offsets[lag.sink] - offsets[lag.source] >= lag.least)
        for group in self.groups:
            for pair in combinations([name for name in group if name in self.cycles], 2):
                if not self._keep_apart(pair, offsets, known):
                    return None
        last = model.new_int_var(0, known, "last")
        for name in self.results:
            model.add(last >= offsets[name] + int(self.cycles[name][-1]))
        model.minimize(last)
        return self._solved(offsets)

    def _solved(self, offsets: Mapping[str, cp_model.IntVar]) -> Solution | None:
        solved = solve_model(self._model, _EFFORT)
        if solved is None:
            return None
        solver, optimal = solved
        return Solution({name: solver.value(variable) for name, variable in offsets.items()}, optimal)

    def _keep_apart(self, pair: tuple[str, str], offsets: Mapping[str, cp_model.IntVar], known: int) -> bool:
        """Leave out the differences at which two statements collide; False if there are too many instances."""
        first, second = (self.cycles[name] for name in pair)
        if len(first) * len(second) > _MOST_PAIRS:
            return False
        gaps = np.unique(first[:, None] - second[None, :])
        difference = offsets[pair[1]] - offsets[pair[0]]
        if self.period is None:
            free = _domain(np.setdiff1d(np.arange(-known, known + 1), gaps))
            self._model.add_linear_expression_in_domain(difference, free)
            return True
        allowed = np.setdiff1d(np.arange(self.period), gaps % self.period)
        if not len(allowed):
            self._model.add_bool_or([])
            return True
        turns = known // self.period + 1
        number = self._model.new_int_var(-turns, turns, "")
        place = self._model.new_int_var_from_domain(_domain(allowed), "")
        self._model.add(difference == self.period * number + place)
        return True


def _domain(values: np.ndarray) -> cp_model.Domain:
    """Ascending numbers as intervals."""
    if not len(values):
        return cp_model.Domain.from_values([])
    breaks = np.flatnonzero(np.diff(values) > 1)
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(values) - 1)
    return cp_model.Domain.from_intervals([[int(values[a]), int(values[b])] for a, b in zip(starts, ends, strict=True)])
