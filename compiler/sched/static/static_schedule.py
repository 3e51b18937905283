"""Cycle-accurate schedules: every statement instance gets the unstalled cycle in which it executes.

The loops of all statements are aligned into common *levels* (Liu 2023, section 4.4.1): a consumer's loop joins the
level of the producer's loop whose values it walks, at the rate at which it walks them. Levels are flattened innermost
first, so that the busiest statement of a level sets its length, and every statement then starts as early as its
dependences allow (section 4.4, equation 4.14). The initiation interval is one, but for loops that a
`InitiationIntervals` slows down.

These are *logical* cycles: arithmetic takes none. Latencies of units and wires are added after routing by retiming,
which shifts every statement by a constant and so keeps all distances.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import pairwise
from math import gcd, lcm, prod

import islpy as isl
import networkx as nx

from compiler.analysis.affine import extremes, linear_function, pieces, slopes
from compiler.analysis.common_loops import shared_loops
from compiler.analysis.dependences import (
    Dependence,
    DependenceError,
    constant_bounds,
    flow,
    recurrence_members,
    recurrences,
    topological_order,
)
from compiler.analysis.points import some_points, values_at
from compiler.ir.expr import Const
from compiler.ir.program import Statement
from compiler.sched.static.lifetime_cpsat import Wait, settle, words_kept
from compiler.sched.static.modulo_cpsat import Precedence, SharedUnitsProblem
from compiler.sched.static.reservation import (
    ReservationConflict,
    ReservationTables,
    default_slack,
    feedback,
    instance_cycles,
)
from compiler.sched.streams.load_stride_padding import in_step
from compiler.sched.streams.streams import StagedProgram
from hw.errors import SluiceError

__all__ = ["UNIT_II", "FusionError", "InitiationIntervals", "Schedule", "StatementSchedule", "schedule_program",
           "sequential_schedule"]


Loop = tuple[str, str]
"""Statement and iterator."""


class FusionError(SluiceError):
    """The asked-for loop fusion level does not exist."""


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

    def idling(self, loop: Loop, cycles: int) -> InitiationIntervals:
        """With so many more idle cycles in every iteration of a loop."""
        known = dict(self.idle)
        return replace(self, idle=tuple({**known, loop: known.get(loop, 0) + cycles}.items()))


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

    @cached_property
    def timed(self) -> tuple[Dependence, ...]:
        """The dependences whose values are there from some cycle on: all but those on constants."""
        return _timed(self.staged, self.dependences)

    @property
    def end(self) -> int:
        """Logical cycle after the last one in which an output is computed."""
        last = max(self.statements[footprint.statement].last for footprint in self.staged.outputs)
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
        return max(min(count, asked.get(name, count)) for name, count in self._instances.items())

    def time(self, name: str) -> isl.Aff:
        """Logical cycle inside the tile as a function on the instances of statement `name`."""
        entry = self.statements[name]
        statement = self.staged.program.statement(name)
        constant = entry.offset - sum(entry.strides[n] * entry.low[n] for n in entry.strides)
        return linear_function(statement.domain, entry.strides, constant)

    def distance(self, dependence: Dependence) -> tuple[int, int]:
        """Smallest and largest number of cycles from producing a value to this read of it."""
        return _distance(dependence, self.time(dependence.source), self.time(dependence.sink))

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

    def __str__(self) -> str:
        head = f"tiles: {self.staged.tiles}, period: {self.period} cycles"
        if self.method:
            head += f"\nstarts: {self.method}"
        return "\n".join([head, *map(str, self.statements.values())])


def _constants(staged: StagedProgram) -> frozenset[str]:
    """The statements that store constants for others to read: these take the constant as it is, whenever they want."""
    outputs = {footprint.statement for footprint in staged.outputs}
    return frozenset(s.name for s in staged.program.statements
                     if isinstance(s.value, Const) and s.name not in outputs)


def _timed(staged: StagedProgram, dependences: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """All dependences but those on constants; units that statements share are given these like other words."""
    free = _constants(staged)
    shared = {name for group in staged.program.shared for name in group}
    return tuple(d for d in dependences if d.source not in free or d.sink in shared)


def _live_instances(staged: StagedProgram, dependences: tuple[Dependence, ...], order: list[str]) -> dict[str, isl.Set]:
    """Of every statement, producers first in `order`, the instances whose values reach an output; all of a statement
    that goes on from its own values."""
    carried = recurrences(staged.program, dependences)
    statements = {name: staged.program.statement(name) for name in order}
    outputs = {footprint.statement for footprint in staged.outputs}
    live = {n: s.domain if n in outputs else isl.Set.empty(s.domain.get_space()) for n, s in statements.items()}
    for name in reversed(order):
        for dependence in dependences:
            if dependence.sink == name and not live[name].is_empty():
                back = dependence.key in carried
                reached = statements[dependence.source].domain if back else live[name].apply(dependence.relation)
                live[dependence.source] = live[dependence.source].union(reached).coalesce()
    return live


def _count(statement: Statement, instances: isl.Set) -> int:
    """Number of `instances` of a statement; quickly, if these are all."""
    if statement.domain.is_subset(instances):
        return prod(_trips(statement).values())
    return instances.count_val().to_python()


def _distance(dependence: Dependence, source: isl.Aff, sink: isl.Aff) -> tuple[int, int]:
    lows, highs = [], []
    for domain, function in pieces(dependence.relation):
        gap = sink.sub(source.pullback_multi_aff(function))
        low, high = extremes(domain, gap)
        lows.append(low)
        highs.append(high)
    return min(lows), max(highs)


def _closest(dependence: Dependence, source: isl.Aff, sink: isl.Aff) -> tuple[list[int], list[int]]:
    """Iterators of a producer and of the reader that reads its value after the fewest cycles."""
    nearest: tuple[int, isl.Set] | None = None
    for domain, function in pieces(dependence.relation):
        gap = sink.sub(source.pullback_multi_aff(function))
        low = extremes(domain, gap)[0]
        if nearest is None or low < nearest[0]:
            least = isl.Aff.val_on_domain_space(gap.get_domain_space(), isl.Val(low))
            nearest = low, domain.intersect(gap.sub(least).zero_basic_set().to_set())
    assert nearest is not None
    reader = some_points(nearest[1], 1)
    _, producer = values_at(dependence.relation, reader)
    return [int(value) for value in producer[0]], [int(value) for value in reader[0]]


_HALO = 1.25
"""Loops may be shared if nothing takes more than so many times longer: the border of an image, but not a loop over
blocks at the rate of one over what is in them."""

class _Levels:
    """Loops joined into levels, each loop with a rate; joins that would contradict a nest's order are refused."""

    def __init__(self, nests: Mapping[str, tuple[str, ...]], slow: frozenset[str] = frozenset()) -> None:
        """Every loop a level of its own. Loops around the statements in `slow` have the initiation interval of a pace,
        if not all have."""
        self.nests = nests
        self.slow = slow
        self.level: dict[Loop, int] = {}
        self.rate: dict[Loop, Fraction] = {}
        for statement, iterators in nests.items():
            for iterator in iterators:
                self.level[statement, iterator] = len(self.level)
                self.rate[statement, iterator] = Fraction(1)

    def snapshot(self) -> tuple[dict[Loop, int], dict[Loop, Fraction]]:
        """What `restore` takes back."""
        return dict(self.level), dict(self.rate)

    def restore(self, before: tuple[dict[Loop, int], dict[Loop, Fraction]]) -> None:
        """Undo all joins since a snapshot."""
        self.level, self.rate = dict(before[0]), dict(before[1])

    def longest(self, trips: Mapping[Loop, int], pace: InitiationIntervals) -> int:
        """Cycles that the slowest nest takes if the loops stay joined as they are."""
        weights = self.weights(trips, 1, pace)
        return max((1 + sum(int(self.rate[s, n]) * weights[self.level[s, n]] * (trips[s, n] - 1) for n in nest)
                    for s, nest in self.nests.items()), default=1)

    def members(self, level: int) -> list[Loop]:
        return [loop for loop, have in self.level.items() if have == level]

    @property
    def joined(self) -> dict[Loop, tuple[int, int]]:
        """Of every loop the number of its level and its rate there."""
        return {loop: (level, int(self.rate[loop])) for loop, level in self.level.items()}

    def by_level(self) -> dict[int, list[Loop]]:
        """The loops of every level."""
        found: dict[int, list[Loop]] = {}
        for loop, level in self.level.items():
            found.setdefault(level, []).append(loop)
        return found

    def inside(self) -> dict[int, set[int]]:
        """Which levels lie directly inside of each."""
        found: dict[int, set[int]] = {level: set() for level in self.level.values()}
        for statement, iterators in self.nests.items():
            for outer, inner in pairwise(self.level[statement, i] for i in iterators):
                found[outer].add(inner)
        return found

    def join(self, producer: Loop, consumer: Loop, slope: Fraction) -> bool:
        """Put `consumer` into `producer`'s level at `slope` times its rate, if that contradicts nothing. The rates of
        a level are the smallest whole numbers."""
        keep, gone = self.level[producer], self.level[consumer]
        if keep == gone:
            return self.rate[consumer] == slope * self.rate[producer]
        statements = [s for s, _ in self.members(keep) + self.members(gone)]
        if len(set(statements)) != len(statements):
            return False
        before = self.snapshot()
        factor = slope * self.rate[producer] / self.rate[consumer]
        for loop in self.members(gone):
            self.level[loop], self.rate[loop] = keep, self.rate[loop] * factor
        inside = self.inside()
        if keep not in _reached(inside, inside[keep]):
            self._make_rates_whole(keep)
            return True
        self.restore(before)
        return False

    def _make_rates_whole(self, level: int) -> None:
        """Scale a level so that its rates are the smallest whole numbers."""
        loops = self.members(level)
        scale = lcm(*(self.rate[loop].denominator for loop in loops))
        common = gcd(*(int(self.rate[loop] * scale) for loop in loops))
        for loop in loops:
            self.rate[loop] = self.rate[loop] * scale / common

    def _slow_levels(self, inside: Mapping[int, set[int]]) -> set[int]:
        """The innermost levels of the nests of slow statements, and all that lie inside these."""
        return _reached(inside, {self.level[name, self.nests[name][-1]] for name in self.slow if self.nests[name]})

    def weights(self, trips: Mapping[Loop, int], alignment: int, pace: InitiationIntervals) -> dict[int, int]:
        """Cycles between two steps of each level: the length of the longest level directly inside it, or its initiation
        interval; idle ones come after that."""
        inside = self.inside()
        slow, members = self._slow_levels(inside), self.by_level()
        idle = self._idle(alignment, pace)
        weight: dict[int, int] = {}
        steps: dict[int, int] = {}
        for level in TopologicalSorter(inside).static_order():
            own = pace.interval if level in slow or pace.slow is None else pace.elsewhere
            weight[level] = max((weight[k] * steps[k] for k in inside[level]), default=own) + idle.get(level, 0)
            steps[level] = self._steps(members[level], trips, alignment)
        return weight

    def _idle(self, alignment: int, pace: InitiationIntervals) -> dict[int, int]:
        """Idle cycles in every step of levels, whole multiples of `alignment`."""
        found: dict[int, int] = {}
        for loop, cycles in pace.idle:
            level = self.level[loop]
            found[level] = max(found.get(level, 0), -(-cycles // alignment) * alignment)
        return found

    def length(self, level: int, trips: Mapping[Loop, int], alignment: int) -> int:
        """Steps of a level: those of its busiest loop, rounded up to a multiple of `alignment`."""
        return self._steps(self.members(level), trips, alignment)

    def _steps(self, loops: list[Loop], trips: Mapping[Loop, int], alignment: int) -> int:
        busiest = max(int(self.rate[loop]) * trips[loop] for loop in loops)
        return -(-busiest // alignment) * alignment


def _reached(inside: Mapping[int, set[int]], first: Collection[int]) -> set[int]:
    """The levels in `first` and all that lie inside of these."""
    found, pending = set(first), list(first)
    while pending:
        new = inside[pending.pop()] - found
        found |= new
        pending += new
    return found


_WORTH = 1.1
"""A program that shares units may take so many times longer if it needs less memory for that: statements that
interleave instead of following each other."""


_NEAR_BOUND = 1.05
"""How many times the bound first fit may take before the exact search is worth its time."""


def schedule_program(staged: StagedProgram, fusion_level: int | None = None, alignment: int = 1,
                     pace: InitiationIntervals = UNIT_II, slack: int | None = None, rhythm: int = 0) -> Schedule:
    """Schedule `staged`, with one instance of innermost loops in as many cycles as `pace` says.

    `fusion_level` is the number of loops inside the tile loops that producers and consumers share step by step:
    None (default) means all of them, 1 lets a consumer start only when whole iterations of the producer's outermost
    loop have finished, 0 when the producer has; loads are no producers in this sense. `alignment` rounds the lengths
    of loops up, for memories that cannot follow them otherwise. Raises `DependenceError` for recurrences,
    `FusionError` for a level that no statement has.

    Statements that share units take turns. Where there are too few cycles for that, either the period grows or a
    multiple of the interval is taken, whatever ends earlier. `slack`: cycles for the way through shared units and back
    to them, by default an estimate. `rhythm`: loads keep step with readers that fetch so many words at once, 0 for
    loads as fast as they can (`compiler.sched.streams.load_stride_padding`).
    """
    try:
        aligned, alone = _apart_where_sooner(_Aligned.of(staged, fusion_level, rhythm, pace), alignment, pace)
    except DependenceError:
        if staged.program.shared:
            raise
        written = _Aligned.of(staged, fusion_level, rhythm, pace, as_written=True)
        for most_idle in (0, _MOST_IDLE):
            with suppress(DependenceError):
                return _settled(_schedule_at(written, (), alignment, pace, 0, most_idle), fusion_level)
        raise
    groups = staged.program.shared
    if not groups:
        return _settled(alone, fusion_level)
    slack = default_slack(staged.program) if slack is None else slack
    best = _schedule_at(aligned, groups, alignment, pace, slack)
    if best.end <= _WORTH * alone.end:
        return best
    for times in range(2, 1 + max(map(len, groups))):
        slower = _schedule_at(aligned, groups, alignment, replace(pace, interval=pace.interval * times), slack)
        if slower.end <= _WORTH * best.end:
            best = slower
    return best


@dataclass(frozen=True)
class _Aligned:
    """A program whose loops are joined into levels, as suits a pace."""

    staged: StagedProgram
    fusion_level: int | None
    dependences: tuple[Dependence, ...]
    order: list[str]
    statements: Mapping[str, Statement]
    nests: Mapping[str, tuple[str, ...]]
    trips: Mapping[Loop, int]
    levels: _Levels
    rhythm: int
    pace: InitiationIntervals
    apart: frozenset[str]

    @staticmethod
    def of(staged: StagedProgram, fusion_level: int | None, rhythm: int, pace: InitiationIntervals,
           apart: frozenset[str] = frozenset(), as_written: bool = False) -> _Aligned:
        """The producers in `apart` share no loops with their consumers; statements that see values of each other share
        those that they do in the program, if they are to be `as_written`. Raises `DependenceError`, and `FusionError`
        for a level that no statement has."""
        dependences = flow(staged.program)
        order = topological_order(staged.program, dependences)
        statements = {name: staged.program.statement(name) for name in order}
        nests = {name: staged.inner_iterators(s) for name, s in statements.items()}
        loads = {footprint.statement for footprint in staged.inputs}
        deepest = max(len(nest) for name, nest in nests.items() if name not in loads)
        if fusion_level is not None and not 0 <= fusion_level <= deepest:
            raise FusionError(f"fusion level {fusion_level} does not exist: the deepest loop nest has {deepest} levels")
        trips = {(s, n): count for s, nest in nests.items() for n, count in _trips(statements[s]).items() if n in nest}
        slow = _slow(_timed(staged, dependences), pace)
        timed = [d for d in _timed(staged, dependences) if d.source not in apart]
        written = shared_loops(staged.program, timed) if as_written else ()
        levels = _align(staged, _Levels(nests, slow), order, timed, trips, written, pace)
        return _Aligned(staged, fusion_level, dependences, order, statements, nests, trips, levels, rhythm, pace, apart)

    def setting_apart(self, name: str) -> _Aligned:
        """The same with one more producer apart."""
        return _Aligned.of(self.staged, self.fusion_level, self.rhythm, self.pace, self.apart | {name})


_SOONER = 1.05
"""How many times sooner a program must end for a producer to share no loops with its consumers: as a rule all of its
values are kept then."""


_MOST_APART = 12
"""Most producers that are tried apart, those that are waited for longest: every one takes a schedule."""


def _apart_where_sooner(aligned: _Aligned, alignment: int, pace: InitiationIntervals) -> tuple[_Aligned, Schedule]:
    """The schedule, of statements that do not take turns, with those producers apart that are there sooner at their own
    rate: one reader of theirs keeps step with them, but another one needs their last values first."""
    best = _schedule_at(aligned, (), alignment, pace, 0)
    least = _least_end(aligned, pace)
    for name in _waited_for(best, pace.interval if pace.slow is None else pace.elsewhere):
        if _SOONER * least >= best.end:
            break
        other = aligned.setting_apart(name)
        found = _schedule_at(other, (), alignment, pace, 0)
        if _SOONER * found.end < best.end:
            aligned, best = other, found
    return aligned, best


def _least_end(aligned: _Aligned, pace: InitiationIntervals) -> int:
    """Cycles in which no schedule ends at this pace, whichever loops are shared: every statement begins when what its
    first instance reads is there, of producers that run at full rate."""
    interval = pace.interval if pace.slow is None else min(pace.interval, pace.elsewhere)
    carried = recurrences(aligned.staged.program, aligned.dependences)
    begin = dict.fromkeys(aligned.order, 0)
    into: dict[str, list[Dependence]] = {}
    for d in _timed(aligned.staged, aligned.dependences):
        if d.key not in carried:
            into.setdefault(d.sink, []).append(d)
    for name in aligned.order:
        begin[name] = max((begin[d.source] + interval * _rank_of_first(aligned, d) for d in into.get(name, ())),
                          default=0)
    counts = {name: prod(aligned.trips[name, n] for n in nest) for name, nest in aligned.nests.items()}
    ends = [begin[f.statement] + interval * (counts[f.statement] - 1) + 1 for f in aligned.staged.outputs]
    busy = [count for name, count in counts.items() if name not in _constants(aligned.staged)]
    return (aligned.staged.tiles - 1) * max(busy) + max(ends)


def _rank_of_first(aligned: _Aligned, dependence: Dependence) -> int:
    """Instances of a producer's tile before the one whose value the first instance of the reader reads; 0 if it reads
    none."""
    first = aligned.statements[dependence.sink].domain.lexmin()
    source = dependence.relation.intersect_domain(first).range()
    if source.is_empty():
        return 0
    box, rank = constant_bounds(aligned.statements[dependence.source]), 0
    for k, name in enumerate(aligned.statements[dependence.source].iterators):
        if name in aligned.nests[dependence.source]:
            place = source.dim_min_val(k).to_python() - box[name][0]
            rank = rank * aligned.trips[dependence.source, name] + place
    return rank


def _waited_for(schedule: Schedule, interval: int) -> list[str]:
    """The producers that are waited for longest, of those for which a consumer waits for longer than they would take at
    full rate."""
    entries = schedule.statements
    waits: dict[str, int] = {}
    for d in schedule.timed:
        waits[d.source] = max(waits.get(d.source, 0), entries[d.sink].offset - entries[d.source].offset)
    late = {name: cycles for name, cycles in waits.items()
            if cycles > _SOONER * interval * prod(entries[name].trips.values())}
    longest = sorted(late, key=lambda name: -late[name])[:_MOST_APART]
    return [name for name in late if name in longest]


_MOST_IDLE = 16
"""Most times that a loop idles for longer."""


def _schedule_at(aligned: _Aligned, groups: tuple[tuple[str, ...], ...], alignment: int, pace: InitiationIntervals,
                 slack: int, most_idle: int = 0) -> Schedule:
    """The schedule at this pace; the period is the least at which the units of `groups` suffice. Up to `most_idle`
    times a loop idles for longer at the end of its iterations, where the next one would come before what it reads."""
    for left in reversed(range(most_idle + 1)):
        found = _placed_at(aligned, groups, alignment, pace, slack)
        if isinstance(found, Schedule):
            return found
        schedule, late = found
        idle = _idle_loop(schedule) if left else None
        if idle is None:
            raise _never_in_time(schedule, late)
        pace = pace.idling(*idle)
    raise AssertionError("it ends in the loop")


def _idle_loop(schedule: Schedule) -> tuple[Loop, int] | None:
    """The outermost loop that carries a recurrence which takes longer than its distance, and the cycles that are
    missing in every iteration; None if no loop does."""
    carried = recurrences(schedule.staged.program, schedule.timed)
    graph = nx.DiGraph()
    edges: dict[tuple[str, str], tuple[int, Dependence]] = {}
    for d in schedule.timed:
        apart = schedule.statements[d.sink].offset - schedule.statements[d.source].offset
        least = apart - schedule.distance(d)[0] + (d.key in carried)
        known = edges.get((d.source, d.sink))
        if (known is None or least > known[0]) and (least > 0 or d.source != d.sink):
            edges[d.source, d.sink] = least, d
    graph.add_weighted_edges_from((source, sink, -least) for (source, sink), (least, _) in edges.items())
    graph.add_weighted_edges_from(("", name, 0) for name in schedule.statements)
    try:
        cycle = [edges[edge] for edge in pairwise(nx.find_negative_cycle(graph, ""))]
    except nx.NetworkXError:
        return None
    found = [loop for _, d in cycle if d.key in carried and (loop := schedule.carrying_loop(d)) is not None]
    if not found:
        return None
    loop, steps = max(found, key=lambda each: schedule.statements[each[0][0]].strides[each[0][1]])
    return loop, -(-sum(least for least, _ in cycle) // steps)


def _placed_at(aligned: _Aligned, groups: tuple[tuple[str, ...], ...], alignment: int, pace: InitiationIntervals,
               slack: int) -> Schedule | tuple[Schedule, Dependence]:
    """The schedule at this pace, or one with a dependence whose value comes too late."""
    staged, levels, timed = aligned.staged, aligned.levels, _timed(aligned.staged, aligned.dependences)
    weights = levels.weights(aligned.trips, alignment, pace)
    entries = _strides(levels, weights, aligned.statements, aligned.nests)
    if aligned.rhythm:
        entries = in_step(entries, [footprint.statement for footprint in staged.inputs], timed, aligned.rhythm)
    busy = {name: entry for name, entry in entries.items() if name not in _constants(staged)}
    period = shortest = _period(levels, weights, aligned.trips, busy, alignment)
    late = feedback(groups, timed, recurrences(staged.program, timed))
    while True:
        turns = ReservationTables(groups, period if staged.tiles > 1 else None, late, slack)
        try:
            placed, late_read = _offsets(staged, entries, aligned.order, timed, aligned.fusion_level, turns)
        except ReservationConflict as error:
            longer = max(error.bound, period + max(1, period // 16))
            period = -(-longer // alignment) * alignment
            continue
        schedule = Schedule(staged, aligned.dependences, placed, period, alignment, pace, levels=levels.joined)
        if late_read is not None:
            return schedule, late_read
        return _with_best_turns(schedule, turns, shortest) if groups else schedule


_ROOM = 64
"""Cycles that a read whose distance varies keeps to its value, for the latency of the memory between them."""

_FEWER = 64
"""Words that later starts must save to be worth the exact search."""

_MANY = 160
"""Statements beyond which nothing is searched: copies side by side, which all start together."""


def _settled(schedule: Schedule, fusion_level: int | None) -> Schedule:
    """The same loops, outputs at the same times, and the fewest words kept: loads and other statements start later
    where their values only wait."""
    early = "as early as values allow (longest paths), which is optimal for its loops"
    if fusion_level is not None:
        return replace(schedule, method=f"as early as fusion level {fusion_level} allows")
    if len(schedule.statements) > _MANY:
        return replace(schedule, method=early)
    entries = schedule.statements
    offsets = {name: entry.offset for name, entry in entries.items()}
    waits = _waits(schedule)
    rates = {name: (prod(entry.trips.values()), entry.span) for name, entry in entries.items()}
    before = words_kept(offsets, waits, rates)
    movable = any(_may_wait(name, offsets, waits) for name in offsets)
    found = None
    if movable:
        found = settle(offsets, waits, rates, frozenset(footprint.statement for footprint in schedule.staged.outputs))
    if found is None or before - found.words < _FEWER:
        return replace(schedule, method=early)
    later = {name: replace(entry, offset=found.offsets[name]) for name, entry in entries.items()}
    how = "proven" if found.proven else "best found"
    return replace(schedule, statements=later, method=f"{early}; later starts store {before - found.words} words fewer "
                                                      f"(CP-SAT, {how})")


def _may_wait(name: str, offsets: Mapping[str, int], waits: Sequence[Wait]) -> bool:
    """Whether all that reads a statement's values, and something does, could have them later."""
    mine = [w for w in waits if w.source == name and w.sink != name]
    return bool(mine) and all(offsets[w.sink] - offsets[name] - w.least >= _FEWER for w in mine)


def _waits(schedule: Schedule) -> list[Wait]:
    carried = recurrences(schedule.staged.program, schedule.timed)
    waits = []
    for d in schedule.timed:
        now = schedule.statements[d.sink].offset - schedule.statements[d.source].offset
        low, high = schedule.distance(d)
        room = 0 if low == high or d.key in carried else min(_ROOM, low)
        waits.append(Wait(d.source, d.sink, now - low + (1 if d.key in carried else room), high - now))
    return [wait for wait in waits if wait.source != wait.sink]


def _with_best_turns(schedule: Schedule, turns: ReservationTables, shortest: int) -> Schedule:
    """The same loops, and offsets and a period of which none are better, where first fit has not found these and the
    exact search does. No period is below `shortest` or what the statements of a group take together."""
    tiles = schedule.staged.tiles
    taken = [sum(prod(schedule.statements[name].trips.values()) for name in group if name in schedule.statements)
             for group in turns.groups]
    shortest = max(shortest, *taken) if tiles > 1 else schedule.period
    exact = _turn_problem(schedule, turns, shortest if tiles > 1 else None)
    bound = exact.bound() + 1
    least = (tiles - 1) * shortest + bound
    if schedule.end <= least:
        return replace(schedule, method="first fit, which is optimal for its loops")
    if schedule.end <= _NEAR_BOUND * least:
        return replace(schedule, method=f"first fit, {_gap_text(schedule.end, least)}")
    known = max(exact.last({n: e.offset for n, e in schedule.statements.items()}), bound + shortest)
    found = exact.solve(known)
    if found is not None:
        entries = {n: replace(e, offset=found.offsets[n]) for n, e in schedule.statements.items()}
        better = replace(schedule, statements=entries, period=shortest)
        if better.end < schedule.end:
            gap = "optimal for its loops" if found.proven else _gap_text(better.end, least)
            return replace(better, method=f"exact search (CP-SAT), {gap}")
    optimal = found is not None and found.proven and schedule.period == shortest
    gap = "optimal for its loops" if optimal else _gap_text(schedule.end, least)
    return replace(schedule, method=f"first fit, {gap}")


def _gap_text(end: int, least: int) -> str:
    return f"{end - least} cycles above the bound of {least}"


def _turn_problem(schedule: Schedule, turns: ReservationTables, period: int | None) -> SharedUnitsProblem:
    carried = recurrences(schedule.staged.program, schedule.timed)
    entries = schedule.statements
    lags = []
    for d in schedule.timed:
        now = entries[d.sink].offset - entries[d.source].offset
        wait = 1 if d.key in carried else turns.wait(d)
        if d.source != d.sink:
            lags.append(Precedence(d.source, d.sink, now - schedule.distance(d)[0] + wait))
    cycles = {name: instance_cycles(entry.strides, entry.trips) for name, entry in entries.items()}
    results = [footprint.statement for footprint in schedule.staged.outputs]
    return SharedUnitsProblem(cycles, lags, turns.groups, results, period)


def sequential_schedule(staged: StagedProgram) -> Schedule:
    """The baseline: every statement runs at full rate when all that it reads has been produced, loads included, and a
    tile starts when the one before has ended (Liu 2023, section 4.3). Statements that wait for the same ones run side
    by side. Raises `DependenceError` for recurrences.
    """
    dependences = flow(staged.program)
    order = topological_order(staged.program, dependences)
    statements = {name: staged.program.statement(name) for name in order}
    nests = {name: staged.inner_iterators(s) for name, s in statements.items()}
    trips = {(s, n): count for s, nest in nests.items() for n, count in _trips(statements[s]).items() if n in nest}
    levels = _Levels(nests)
    entries = _strides(levels, levels.weights(trips, 1, UNIT_II), statements, nests)
    carried = recurrences(staged.program, dependences)
    for name in order:
        ends = [entries[d.source].last + 1 for d in dependences if d.sink == name and d.key not in carried]
        entries[name] = replace(entries[name], offset=max(ends, default=0))
    period = 1 + max(entry.last for entry in entries.values())
    schedule = Schedule(staged, dependences, entries, period, method="when all that is read has been produced")
    late = next((d for d in dependences if schedule.distance(d)[0] < (1 if d.key in carried else 0)), None)
    if late is not None:
        raise _never_in_time(schedule, late)
    return schedule


def _period(levels: _Levels, weights: Mapping[int, int], trips: Mapping[Loop, int],
            entries: Mapping[str, StatementSchedule], alignment: int) -> int:
    """Cycles from tile to tile: nothing is busy for longer in one tile."""
    if alignment == 1:
        return max(entry.span for entry in entries.values())
    outermost = {levels.level[name, nest[0]] for name, nest in levels.nests.items() if nest and name in entries}
    return max((weights[k] * levels.length(k, trips, alignment) for k in outermost), default=alignment)


def _align(staged: StagedProgram, levels: _Levels, order: list[str], dependences: Sequence[Dependence],
           trips: Mapping[Loop, int], written: Sequence[tuple[Loop, Loop]], pace: InitiationIntervals) -> _Levels:
    """Join the loops of producers and consumers, but not where a consumer that walks the same values again and again
    (it has a loop of its own around theirs) would then wait for a longer loop of the producer each time. Those that are
    `written` as one are so first."""
    for one, other in written:
        if one in trips and other in trips:
            levels.join(one, other, Fraction(1))
    position = {name: k for k, name in enumerate(order)}
    refused: set[tuple[tuple[Loop, Loop, Fraction], ...]] = set()
    longest = levels.longest(trips, pace)
    for dependence in sorted(dependences, key=lambda d: position[d.sink]):
        matches = _matches(staged, dependence)
        if tuple(matches) in refused:
            continue
        joined = _join(levels, matches, trips, pace, longest)
        if joined is None:
            refused.add(tuple(matches))
        else:
            longest = joined
    return levels


def _join(levels: _Levels, matches: list[tuple[Loop, Loop, Fraction]], trips: Mapping[Loop, int],
          pace: InitiationIntervals, longest: int) -> int | None:
    """Join as many pairs of loops, from the outermost inwards, as slow nobody down: where a consumer walks a block of
    values several times, they share the loop over blocks, and the next block comes while this one is in use.

    The cycles that the slowest nest then takes, which were the `longest` before; None if all pairs would slow somebody
    down.
    """
    before = levels.snapshot()
    for count in range(len(matches), 0, -1):
        for producer, consumer, slope in matches[:count]:
            levels.join(producer, consumer, slope)
        if levels.level == before[0]:
            return longest
        after = levels.longest(trips, pace)
        if after <= longest * (1 if _walks_again(levels.nests, matches) else _HALO):
            return after
        levels.restore(before)
    return None if matches else longest


def _walks_again(nests: Mapping[str, tuple[str, ...]], matches: list[tuple[Loop, Loop, Fraction]]) -> bool:
    """Whether a statement has a loop of its own around the loops that it shares, on either side of a dependence."""
    for side in (0, 1):
        loops = [(producer, consumer)[side] for producer, consumer, _ in matches]
        shared = [name for _, name in loops]
        nest = nests[loops[0][0]]
        if any(name not in shared for name in nest[: max(map(nest.index, shared))]):
            return True
    return False


def _matches(staged: StagedProgram, dependence: Dependence) -> list[tuple[Loop, Loop, Fraction]]:
    """For producer loops the consumer loop that walks it over the longest range, with its slope.

    Only as far inwards as both nests have the loops in the same order (algorithm 2): where a consumer walks rows of
    columns, neither is fused, or a step of its inner loop would take as long as a row of the producer.
    """
    sink = staged.program.statement(dependence.sink)
    source = staged.program.statement(dependence.source)
    parts = pieces(dependence.relation)
    depth = staged.tile_depth
    found = []
    trips = _trips(sink)
    for position, iterator in list(enumerate(source.iterators))[depth:]:
        steps = slopes(parts[0][1].get_aff(position))
        walkers = [(step * trips[n], step, n) for n, step in zip(sink.iterators, steps, strict=True)
                   if n in sink.iterators[depth:] and step > 0]
        if walkers:
            _, step, name = max(walkers)
            found.append(((source.name, iterator), (sink.name, name), step))
    place = [sink.iterators.index(consumer[1]) for _, consumer, _ in found]
    ordered = [all(place[k] < later for later in place[k + 1:]) for k in range(len(place))]
    return found[: ordered.index(False)] if False in ordered else found


def _slow(dependences: Sequence[Dependence], pace: InitiationIntervals) -> frozenset[str]:
    """The statements around which loops have the initiation interval, where not all have it."""
    named = pace.slow or frozenset()
    return frozenset().union(*(part for part in recurrence_members(dependences) if part & named))


def _trips(statement: Statement) -> dict[str, int]:
    return {name: high - low + 1 for name, (low, high) in constant_bounds(statement).items()}


def _strides(levels: _Levels, weights: Mapping[int, int], statements: Mapping[str, Statement],
             nests: Mapping[str, tuple[str, ...]]) -> dict[str, StatementSchedule]:
    entries = {}
    for name, nest in nests.items():
        box = constant_bounds(statements[name])
        strides = {n: int(levels.rate[name, n]) * weights[levels.level[name, n]] for n in nest}
        low = {n: box[n][0] for n in nest}
        entries[name] = StatementSchedule(name, strides, low, {n: _trips(statements[name])[n] for n in nest}, 0)
    return entries


def _offsets(staged: StagedProgram, entries: dict[str, StatementSchedule], order: list[str],
             dependences: tuple[Dependence, ...], fusion_level: int | None,
             turns: ReservationTables) -> tuple[dict[str, StatementSchedule], Dependence | None]:
    """Start every statement as early as its producers and its turn on shared units allow, rounded up to the fusion
    level; a dependence whose value then still comes too late.

    A recurrence may send its first statements back to wait for its last ones; a round for each of its dependences that
    lead back is enough.
    """
    schedule = Schedule(staged, dependences, dict(entries), 0)
    carried = recurrences(staged.program, dependences)
    back = [d for d in dependences if d.key in carried]
    late: list[Dependence] = []
    for _ in range(len(back) + 2):
        turns.clear()
        for name in order:
            starts = [_earliest_start(schedule, d, fusion_level) + turns.wait(d) for d in dependences
                      if d.sink == name and d.key not in carried]
            entry = schedule.statements[name]
            offset = turns.place(name, max([entry.offset, *starts]), entry.strides, entry.trips)
            schedule.statements[name] = replace(entry, offset=offset)
        late = [d for d in back if schedule.distance(d)[0] < 1]
        if not late:
            return schedule.statements, None
        for name, cycles in {d.sink: 1 - schedule.distance(d)[0] for d in late}.items():
            entry = schedule.statements[name]
            schedule.statements[name] = replace(entry, offset=entry.offset + cycles)
    return schedule.statements, late[0]


def _never_in_time(schedule: Schedule, dependence: Dependence) -> DependenceError:
    statement = schedule.staged.program.statement(dependence.sink)
    return DependenceError(
        f"{statement.label(statement.reads[dependence.read])}: its value depends on itself through "
        f"'{dependence.array}' of {dependence.source}, which always comes too late; put both into the same loops")


def _earliest_start(schedule: Schedule, dependence: Dependence, fusion_level: int | None) -> int:
    """Offset of the reader that this dependence allows at the fusion level, wherever it is now."""
    source = schedule.statements[dependence.source]
    reader = schedule.statements[dependence.sink].offset
    lag = reader - schedule.distance(dependence)[0] - source.offset
    loads = {footprint.statement for footprint in schedule.staged.inputs}
    quantum = None if source.statement in loads else _quantum(source, fusion_level)
    if quantum is not None:
        lag = (lag // quantum + 1) * quantum
    return max(0, source.offset + lag)


def _quantum(source: StatementSchedule, fusion_level: int | None) -> int | None:
    """Cycles of one iteration of the producer's loop at the fusion level, None if all loops are shared."""
    strides = list(source.strides.values())
    if fusion_level is None or fusion_level >= len(strides):
        return None
    return source.span if fusion_level == 0 else strides[fusion_level - 1]
