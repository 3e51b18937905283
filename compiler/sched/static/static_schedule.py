"""Cycle-accurate schedules: every statement instance gets the unstalled cycle in which it executes.

The loops of all statements are aligned into common *levels* (Liu 2023, section 4.4.1): a consumer"s loop joins the
level of the producer"s loop whose values it walks, at the rate at which it walks them. Levels are flattened innermost
first, so that the busiest statement of a level sets its length, and every statement then starts as early as its
dependences allow (section 4.4, equation 4.14). The initiation interval is one, but for loops that a
`InitiationIntervals` slows down.

These are *logical* cycles: arithmetic takes none. Latencies of units and wires are added after routing by retiming,
which shifts every statement by a constant and so keeps all distances.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import networkx as nx

from compiler.analysis.common_loops import common_loops, in_nests, shared_loops
from compiler.analysis.dependences import (
    Dependence,
    DependenceError,
    constant_bounds,
    flow,
    recurrences,
    topological_order,
)
from compiler.ir.program import Statement
from compiler.sched.static.lifetime_cpsat import Wait, settle, words_kept
from compiler.sched.static.loop_levels import Levels, align_loops, slow_statements, stride_entries
from compiler.sched.static.modulo_cpsat import Precedence, SharedUnitsProblem
from compiler.sched.static.reservation import (
    ReservationConflict,
    ReservationTables,
    default_slack,
    feedback,
    instance_cycles,
)
from compiler.sched.static.schedule import (
    UNIT_II,
    InitiationIntervals,
    Loop,
    Schedule,
    StatementSchedule,
    constant_statements,
    loop_trips,
    timed_dependences,
)
from compiler.sched.streams.load_stride_padding import in_step
from compiler.sched.streams.streams import StagedProgram
from hw.errors import SluiceError

__all__ = ["FusionError", "schedule_program", "sequential_schedule"]


class FusionError(SluiceError):
    """The asked-for loop fusion level does not exist."""


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
                return _settled(_written_apart(written, alignment, pace, most_idle), fusion_level)
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
    levels: Levels
    rhythm: int
    pace: InitiationIntervals
    apart: frozenset[tuple[str, str]]
    as_written: bool

    @staticmethod
    def of(staged: StagedProgram, fusion_level: int | None, rhythm: int, pace: InitiationIntervals,
           apart: frozenset[tuple[str, str]] = frozenset(), as_written: bool = False) -> _Aligned:
        """The producers in `apart` share no loops with those consumers of theirs; statements that see values of each
        other share those that they do in the program, if they are to be `as_written`. Raises `DependenceError`, and
        `FusionError` for a level that no statement has."""
        dependences = flow(staged.program)
        order = topological_order(staged.program, dependences)
        statements = {name: staged.program.statement(name) for name in order}
        nests = {name: staged.inner_iterators(s) for name, s in statements.items()}
        loads = {footprint.statement for footprint in staged.inputs}
        deepest = max(len(nest) for name, nest in nests.items() if name not in loads)
        if fusion_level is not None and not 0 <= fusion_level <= deepest:
            raise FusionError(f"fusion level {fusion_level} does not exist: the deepest loop nest has {deepest} levels")
        trips = {(s, n): count for s, nest in nests.items()
                 for n, count in loop_trips(statements[s]).items() if n in nest}
        slow = slow_statements(staged.program, timed_dependences(staged, dependences), pace)
        timed = [d for d in timed_dependences(staged, dependences) if (d.source, d.sink) not in apart]
        written = shared_loops(staged.program, timed) if as_written else ()
        levels = align_loops(staged, Levels(nests, slow), order, timed, trips, written, pace)
        return _Aligned(staged, fusion_level, dependences, order, statements, nests, trips, levels, rhythm, pace, apart,
                        as_written)

    def setting_apart(self, pairs: Collection[tuple[str, str]]) -> _Aligned:
        """The same with more producers apart from consumers of theirs."""
        return _Aligned.of(self.staged, self.fusion_level, self.rhythm, self.pace, self.apart.union(pairs),
                           self.as_written)

    def pairs_of(self, name: str) -> set[tuple[str, str]]:
        """A producer with each of its consumers."""
        return {(d.source, d.sink) for d in self.dependences if d.source == name}


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
        other = aligned.setting_apart(aligned.pairs_of(name))
        found = _schedule_at(other, (), alignment, pace, 0)
        if _SOONER * found.end < best.end:
            aligned, best = other, found
    return aligned, best


def _written_apart(aligned: _Aligned, alignment: int, pace: InitiationIntervals, most_idle: int) -> Schedule:
    """The schedule of loops as they are written, with producers apart from those consumers that wait for most of their
    values anyway, or of those in an iteration of the loops around both, where that ends sooner: what is before a
    recurrence or behind it need not be as slow."""
    best = alone = _schedule_at(aligned, (), alignment, pace, 0, most_idle)
    for late in _waiting(aligned, alone):
        with suppress(DependenceError):
            found = _schedule_at(aligned.setting_apart(late), (), alignment, pace, 0, most_idle)
            best = found if _SOONER * found.end < alone.end and found.end < best.end else best
    return best


def _waiting(aligned: _Aligned, schedule: Schedule) -> list[frozenset[tuple[str, str]]]:
    """Producers and consumers in no nest together that wait for about all of their values, and with them those that
    wait for all of an iteration of the loops around both, if there are any."""
    carried = nx.DiGraph((d.source, d.sink) for d in in_nests(aligned.staged.program, schedule.timed))
    carried.add_nodes_from(schedule.statements)
    recurring = {name: number for number, members in enumerate(nx.strongly_connected_components(carried))
                 for name in members}
    waits = {(d.source, d.sink): schedule.statements[d.sink].offset - schedule.statements[d.source].offset
             for d in schedule.timed if recurring[d.source] != recurring[d.sink]}
    found = [frozenset(pair for pair, cycles in waits.items()
                       if cycles > _SOONER * schedule.pace.least * iterations(aligned, *pair))
             for iterations in (_all_iterations, _own_iterations)]
    return [late for late in dict.fromkeys(found) if late]


def _all_iterations(aligned: _Aligned, producer: str, _: str) -> int:
    """Iterations of all loops of a producer."""
    return prod(aligned.trips[producer, n] for n in aligned.nests[producer])


def _own_iterations(aligned: _Aligned, producer: str, reader: str) -> int:
    """Iterations of the loops of a producer that are not around the reader as well."""
    shared = {own for own, _ in common_loops(aligned.staged.program, producer, reader)}
    return prod(aligned.trips[producer, n] for n in aligned.nests[producer] if (producer, n) not in shared)


def _least_end(aligned: _Aligned, pace: InitiationIntervals) -> int:
    """Cycles in which no schedule ends at this pace, whichever loops are shared: every statement begins when what its
    first instance reads is there, of producers that run at full rate."""
    interval = pace.least
    carried = recurrences(aligned.staged.program, aligned.dependences)
    begin = dict.fromkeys(aligned.order, 0)
    into: dict[str, list[Dependence]] = {}
    for d in timed_dependences(aligned.staged, aligned.dependences):
        if d.key not in carried:
            into.setdefault(d.sink, []).append(d)
    for name in aligned.order:
        begin[name] = max((begin[d.source] + interval * _rank_of_first(aligned, d) for d in into.get(name, ())),
                          default=0)
    counts = {name: prod(aligned.trips[name, n] for n in nest) for name, nest in aligned.nests.items()}
    ends = [begin[name] + interval * (counts[name] - 1) + 1 for name in aligned.staged.roots]
    busy = [count for name, count in counts.items() if name not in constant_statements(aligned.staged)]
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

_LONGEST_IDLE = 1 << 32
"""Cycles for which no loop idles: where it would, the recurrence takes longer the longer it does."""


def _schedule_at(aligned: _Aligned, groups: tuple[tuple[str, ...], ...], alignment: int, pace: InitiationIntervals,
                 slack: int, most_idle: int = 0) -> Schedule:
    """The schedule at this pace; the period is the least at which the units of `groups` suffice. Up to `most_idle`
    times a loop idles for longer at the end of its iterations, where the next one would come before what it reads."""
    for left in reversed(range(most_idle + 1)):
        found = _placed_at(aligned, groups, alignment, pace, slack)
        if isinstance(found, Schedule):
            return found
        schedule, late = found
        idling = _idling(schedule) if left else None
        if idling is None or max(cycles for _, cycles in idling.idle) > _LONGEST_IDLE:
            raise _never_in_time(schedule, late)
        pace = idling
    raise AssertionError("it ends in the loop")


def _idling(schedule: Schedule) -> InitiationIntervals | None:
    """The initiation intervals with more idle cycles of a loop that carries a recurrence which takes longer than its
    distance; None if no loop does."""
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
    return schedule.idling((d for _, d in cycle if d.key in carried), sum(least for least, _ in cycle))


def _placed_at(aligned: _Aligned, groups: tuple[tuple[str, ...], ...], alignment: int, pace: InitiationIntervals,
               slack: int) -> Schedule | tuple[Schedule, Dependence]:
    """The schedule at this pace, or one with a dependence whose value comes too late."""
    staged, levels, timed = aligned.staged, aligned.levels, timed_dependences(aligned.staged, aligned.dependences)
    weights = levels.weights(aligned.trips, alignment, pace)
    entries = stride_entries(levels, weights, aligned.statements, aligned.nests)
    if aligned.rhythm:
        entries = in_step(entries, [footprint.statement for footprint in staged.inputs], timed, aligned.rhythm)
    busy = {name: entry for name, entry in entries.items() if name not in constant_statements(staged)}
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
        found = settle(offsets, waits, rates, frozenset(schedule.staged.roots))
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
    results = list(schedule.staged.roots)
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
    trips = {(s, n): count for s, nest in nests.items() for n, count in loop_trips(statements[s]).items() if n in nest}
    levels = Levels(nests)
    entries = stride_entries(levels, levels.weights(trips, 1, UNIT_II), statements, nests)
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


def _period(levels: Levels, weights: Mapping[int, int], trips: Mapping[Loop, int],
            entries: Mapping[str, StatementSchedule], alignment: int) -> int:
    """Cycles from tile to tile: nothing is busy for longer in one tile."""
    if alignment == 1:
        return max(entry.span for entry in entries.values())
    outermost = {levels.level[name, nest[0]] for name, nest in levels.nests.items() if nest and name in entries}
    return max((weights[k] * levels.length(k, trips, alignment) for k in outermost), default=alignment)


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
