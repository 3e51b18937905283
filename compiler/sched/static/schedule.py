"""Cycle-accurate schedules as data: initiation intervals, the cycle of every instance, and what follows from both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import prod

import islpy as isl

from compiler.analysis.affine import extremes, linear_function, pieces
from compiler.analysis.dependences import (
    Dependence,
    constant_bounds,
    recurrences,
)
from compiler.analysis.instance_budget import are_few, count_instances
from compiler.analysis.points import some_points, values_at
from compiler.ir.expr import Const, Store
from compiler.ir.program import Statement
from compiler.sched.streams.streams import StagedProgram

__all__ = ["UNIT_II", "InitiationIntervals", "Loop", "Schedule", "StatementSchedule", "constant_statements",
           "loop_trips", "timed_dependences"]


Loop = tuple[str, str]
"""Statement and iterator."""


@dataclass(frozen=True)
class InitiationIntervals:
    """The initiation interval of innermost loops: of all, or of those around the statements in `slow` and others by way
    of which their values come back to them; `elsewhere` is that of the rest. `idle`: of outer loops, (statement,
    iterator), cycles in which nothing starts at the end of every iteration: they drain what the next one waits for."""

    interval: int = 1
    slow: frozenset[str] | None = None
    elsewhere: int = 1
    idle: tuple[tuple[Loop, int], ...] = ()

    def __str__(self) -> str:
        where = f" for {', '.join(sorted(self.slow))}, {self.elsewhere} for others" if self.slow else ""
        after = [f"; {cycles} idle cycles per iteration of loop {loop} of {name}"
                 for (name, loop), cycles in self.idle]
        return f"{self.interval}{where}{''.join(after)}"

    @property
    def least(self) -> int:
        """The shortest interval of any loop."""
        return self.interval if self.slow is None else min(self.interval, self.elsewhere)

    def idling(self, loop: Loop, cycles: int) -> InitiationIntervals:
        """With so many idle cycles in every iteration of a loop."""
        return replace(self, idle=tuple({**dict(self.idle), loop: cycles}.items()))


UNIT_II = InitiationIntervals()
"""One instance in every cycle."""


@dataclass(frozen=True)
class StatementSchedule:
    """Cycle of instance ``(tile, i)`` inside its tile: ``offset + sum(stride[n] * (i[n] - low[n]))``.

    `strides`, `low` and `trips` are keyed by the inner iterators, outermost first.
    """

    statement: str
    strides: Mapping[str, int]
    low: Mapping[str, int]
    trips: Mapping[str, int]
    offset: int

    @property
    def span(self) -> int:
        """Cycles from the first to the last instance of a tile, both included."""
        return 1 + sum(self.strides[n] * (self.trips[n] - 1) for n in self.strides)

    @property
    def last(self) -> int:
        """Cycle of the last instance in its tile."""
        return self.offset + self.span - 1

    def __str__(self) -> str:
        terms = [f"{self.strides[n]}*{n}" if not self.low[n] else f"{self.strides[n]}*({n} - {self.low[n]})"
                 for n in self.strides]
        return f"{self.statement}: cycle = {' + '.join([str(self.offset), *terms])}"


@dataclass(frozen=True)
class Schedule:
    """Schedules of all statements of one staged program. Tile t starts ``t * period`` cycles after tile 0.

    `pace` says how fast innermost loops are, `alignment` is what loop lengths were rounded up to.
    `levels`: of every loop the number of its level and its rate there. `method`: how the starts were found, with shared
    units their turns, and how far they are from the optimum.
    """

    staged: StagedProgram
    dependences: tuple[Dependence, ...]
    statements: dict[str, StatementSchedule]
    period: int
    alignment: int = 1
    pace: InitiationIntervals = UNIT_II
    method: str = ""
    levels: Mapping[Loop, tuple[int, int]] = field(default_factory=dict)
    _distances: dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[isl.Map, int, int]] = field(
        default_factory=dict, repr=False, compare=False)
    """By relation and strides of both ends: the relation, which keeps its number, and the distances of statements that
    start together."""

    @cached_property
    def timed(self) -> tuple[Dependence, ...]:
        """The dependences whose values are there from some cycle on: all but those on constants."""
        return timed_dependences(self.staged, self.dependences)

    @property
    def end(self) -> int:
        """Logical cycle after the last one in which an output is computed or something is asserted."""
        last = max(self.statements[name].last for name in self.staged.roots)
        return (self.staged.tiles - 1) * self.period + last + 1

    @cached_property
    def _instances(self) -> dict[str, int]:
        """Of every statement, how many instances outputs depend on, of all tiles together."""
        live = _live_instances(self.staged, self.dependences, list(self.statements))
        return {name: _count(self.staged.program.statement(name), instances) for name, instances in live.items()}

    @property
    def lower_bound(self) -> int:
        """Cycles that no schedule with one unit per statement can beat: the most instances of any one statement that
        outputs depend on."""
        return self.least_cycles({})

    def least_cycles(self, asked: Mapping[str, int]) -> int:
        """`lower_bound` if there are only so many instances of the statements in `asked`, as in the user's program."""
        return max(self.needed(asked).values())

    def needed(self, asked: Mapping[str, int]) -> dict[str, int]:
        """Of every statement, how many instances outputs depend on, no more than `asked` says."""
        return {name: min(count, asked.get(name, count)) for name, count in self._instances.items()}

    def time(self, name: str) -> isl.Aff:
        """Logical cycle inside the tile as a function on the instances of statement `name`."""
        entry = self.statements[name]
        statement = self.staged.program.statement(name)
        constant = entry.offset - sum(entry.strides[n] * entry.low[n] for n in entry.strides)
        return linear_function(statement.domain, entry.strides, constant)

    def distance(self, dependence: Dependence) -> tuple[int, int]:
        """Smallest and largest number of cycles from producing a value to this read of it."""
        source, sink = self.statements[dependence.source], self.statements[dependence.sink]
        key = id(dependence.relation), tuple(source.strides.values()), tuple(sink.strides.values())
        if key not in self._distances:
            found = _distance(dependence, self.time(dependence.source), self.time(dependence.sink))
            apart = sink.offset - source.offset
            self._distances[key] = dependence.relation, found[0] - apart, found[1] - apart
        _, low, high = self._distances[key]
        return low + sink.offset - source.offset, high + sink.offset - source.offset

    def carrying_loop(self, dependence: Dependence) -> tuple[Loop, int] | None:
        """The outermost loop that carries a dependence where its distance is smallest: (statement that reads, iterator)
        and the iterations between producing and reading a value; None if no loop does."""
        source, sink = self.statements[dependence.source], self.statements[dependence.sink]
        found = _closest(dependence, self.time(dependence.source), self.time(dependence.sink))
        iterators = [self.staged.program.statement(name).iterators for name in (dependence.source, dependence.sink)]
        producer, reader = (dict(zip(names, point, strict=True)) for names, point in zip(iterators, found, strict=True))
        for name, stride in sink.strides.items():
            level, rate = self.levels[dependence.sink, name]
            cycles = stride * (reader[name] - sink.low[name])
            cycles -= sum(source.strides[n] * (producer[n] - source.low[n]) for n in source.strides
                          if self.levels[dependence.source, n][0] == level)
            if cycles > 0:
                return (dependence.sink, name), cycles * rate // stride
        return None

    def idling(self, carried: Iterable[Dependence], excess: int,
               may_idle: Callable[[Loop], bool] = lambda _: True) -> InitiationIntervals | None:
        """The initiation intervals with more idle cycles in every iteration of a loop that carries a recurrence for
        which `excess` cycles are missing: the outermost one that may idle and carries one of its dependences `carried`;
        None if there is none."""
        found = [loop for d in carried if (loop := self.carrying_loop(d)) is not None and may_idle(loop[0])]
        if not found:
            return None
        loop, steps = max(found, key=lambda each: self.statements[each[0][0]].strides[each[0][1]])
        return self.pace.idling(loop, self._idle(loop) + -(-excess // steps))

    def _idle(self, loop: Loop) -> int:
        """The idle cycles in an iteration of a loop: those of any loop of its level, whose iterations are its own."""
        level = self.levels[loop][0]
        return max((cycles for known, cycles in self.pace.idle if self.levels[known][0] == level), default=0)

    def is_innermost(self, loop: Loop) -> bool:
        """Whether no statement has a loop inside of this one."""
        level = self.levels[loop][0]
        return all(name == [*entry.strides][-1] for entry in self.statements.values()
                   for name in entry.strides if self.levels[entry.statement, name][0] == level)

    def encloses(self, outer: Loop, inner: Loop) -> bool:
        """Whether a statement has a loop of the level of `inner` inside of one of the level of `outer`."""
        levels = self.levels[outer][0], self.levels[inner][0]
        return any((self.levels[name, one][0], self.levels[name, other][0]) == levels
                   for name, entry in self.statements.items() for one, other in combinations(entry.strides, 2))

    def __str__(self) -> str:
        head = f"tiles: {self.staged.tiles}, period: {self.period} cycles"
        if self.method:
            head += f"\nstarts: {self.method}"
        return "\n".join([head, *map(str, self.statements.values())])


def constant_statements(staged: StagedProgram) -> frozenset[str]:
    """The statements that store constants for others to read: these take the constant as it is, whenever they want."""
    outputs = {footprint.statement for footprint in staged.outputs}
    return frozenset(s.name for s in staged.program.statements
                     if isinstance(s.value, Const) and s.name not in outputs)


def timed_dependences(staged: StagedProgram, dependences: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """All dependences but those on constants; units that statements share are given these like other words."""
    free = constant_statements(staged)
    shared = {name for group in staged.program.shared for name in group}
    return tuple(d for d in dependences if d.source not in free or d.sink in shared)


def _live_instances(staged: StagedProgram, dependences: tuple[Dependence, ...], order: list[str]) -> dict[str, isl.Set]:
    """Of every statement, producers first, the instances whose values reach an output or an assertion; all of a
    statement that goes on from its own values, and of one that fills a memory, any word of which may be loaded."""
    carried = recurrences(staged.program, dependences)
    statements = {name: staged.program.statement(name) for name in order}
    live = {n: s.domain if n in staged.roots else isl.Set.empty(s.domain.get_space()) for n, s in statements.items()}
    for name in reversed(order):
        for dependence in dependences:
            if dependence.sink == name and not live[name].is_empty():
                source = statements[dependence.source]
                whole = dependence.key in carried or isinstance(source.value, Store)
                reached = source.domain if whole else live[name].apply(dependence.relation)
                live[dependence.source] = live[dependence.source].union(reached).coalesce()
    return live


def _count(statement: Statement, instances: isl.Set) -> int:
    """Number of `instances` of a statement; quickly, if these are all, which of many pieces isl finds out slowly."""
    if not are_few(statement.domain) and statement.domain.is_subset(instances):
        return prod(loop_trips(statement).values())
    return count_instances(instances)


def _distance(dependence: Dependence, source: isl.Aff, sink: isl.Aff) -> tuple[int, int]:
    lows, highs = zip(*(extremes(domain, gap) for domain, gap in _gaps(dependence, source, sink)), strict=True)
    return min(lows), max(highs)


def _gaps(dependence: Dependence, source: isl.Aff, sink: isl.Aff) -> Iterator[tuple[isl.Set, isl.Aff]]:
    """Cycles from producing a value to this read of it, as functions on parts of the reader's domain."""
    for domain, function in pieces(dependence.relation):
        yield domain, sink.sub(source.pullback_multi_aff(function))


def _closest(dependence: Dependence, source: isl.Aff, sink: isl.Aff) -> tuple[list[int], list[int]]:
    """Iterators of a producer and of the reader that reads its value after the fewest cycles."""
    gaps = [(extremes(domain, gap)[0], domain, gap) for domain, gap in _gaps(dependence, source, sink)]
    low, domain, gap = min(gaps, key=lambda found: found[0])
    least = isl.Aff.val_on_domain_space(gap.get_domain_space(), isl.Val(low))
    reader = some_points(domain.intersect(gap.sub(least).zero_basic_set().to_set()), 1)
    _, producer = values_at(dependence.relation, reader)
    return [int(value) for value in producer[0]], [int(value) for value in reader[0]]


def loop_trips(statement: Statement) -> dict[str, int]:
    """Iterations of every loop of a statement, outermost first."""
    return {name: high - low + 1 for name, (low, high) in constant_bounds(statement).items()}
