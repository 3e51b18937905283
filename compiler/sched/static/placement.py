"""Starts of the statements of aligned loops: as early as dependences, turns on shared units and idle loops allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import networkx as nx

from compiler.analysis.dependences import Dependence, DependenceError
from compiler.sched.static.aligned_loops import AlignedLoops
from compiler.sched.static.loop_levels import Levels
from compiler.sched.static.nests import Nests
from compiler.sched.static.reservation import ReservationConflict, ReservationTables, feedback
from compiler.sched.static.schedule import InitiationIntervals, Schedule, StatementSchedule, constant_statements
from compiler.sched.static.shared_turns import with_best_turns
from compiler.sched.streams.load_stride_padding import in_step

__all__ = ["Request", "never_in_time", "schedule_at"]

_LONGEST_IDLE = 1 << 32
"""Cycles for which no loop idles: where it would, the recurrence takes longer the longer it does."""


@dataclass(frozen=True)
class Request:
    """What a schedule shall be like. `groups`: statements that share units, which start `slack` cycles later than their
    own values allow. `most_idle`: how many times a loop may be made to idle for longer. The others are those of
    `schedule_program`."""

    fusion_level: int | None = None
    alignment: int = 1
    rhythm: int = 0
    groups: tuple[tuple[str, ...], ...] = ()
    slack: int = 0
    most_idle: int = 0


def schedule_at(aligned: AlignedLoops, request: Request, pace: InitiationIntervals) -> Schedule:
    """The schedule at this pace; the period is the least at which shared units suffice. A loop idles for longer at the
    end of its iterations, as often as it may, where the next one would come before what it reads. Raises
    `DependenceError` if a value always comes too late."""
    for left in reversed(range(request.most_idle + 1)):
        found = _placed_at(aligned, request, pace)
        if isinstance(found, Schedule):
            return found
        schedule, late = found
        idling = _idling(aligned.nests, schedule) if left else None
        if idling is None or max(cycles for _, cycles in idling.idle) > _LONGEST_IDLE:
            raise never_in_time(schedule, late)
        pace = idling
    raise AssertionError("it ends in the loop")


def _idling(nests: Nests, schedule: Schedule) -> InitiationIntervals | None:
    """The initiation intervals with more idle cycles of a loop that carries a recurrence which takes longer than its
    distance; None if no loop does."""
    graph = nx.DiGraph()
    edges: dict[tuple[str, str], tuple[int, Dependence]] = {}
    for d in nests.timed:
        apart = schedule.statements[d.sink].offset - schedule.statements[d.source].offset
        least = apart - schedule.distance(d)[0] + (d.key in nests.carried)
        known = edges.get((d.source, d.sink))
        if (known is None or least > known[0]) and (least > 0 or d.source != d.sink):
            edges[d.source, d.sink] = least, d
    graph.add_weighted_edges_from((source, sink, -least) for (source, sink), (least, _) in edges.items())
    graph.add_weighted_edges_from(("", name, 0) for name in schedule.statements)
    try:
        cycle = [edges[edge] for edge in pairwise(nx.find_negative_cycle(graph, ""))]
    except nx.NetworkXError:
        return None
    return schedule.idling((d for _, d in cycle if d.key in nests.carried), sum(least for least, _ in cycle))


def _placed_at(aligned: AlignedLoops, request: Request, pace: InitiationIntervals
               ) -> Schedule | tuple[Schedule, Dependence]:
    """The schedule at this pace, or one with a dependence whose value comes too late."""
    nests, levels, alignment = aligned.nests, aligned.levels, request.alignment
    staged = nests.staged
    weights = levels.weights(alignment, pace)
    entries = levels.entries(weights)
    if request.rhythm:
        entries = in_step(entries, [footprint.statement for footprint in staged.inputs], nests.timed, request.rhythm)
    period = shortest = _period(levels, weights, entries, alignment)
    schedule = Schedule(staged, nests.dependences, entries, period, alignment, pace, levels=levels.joined)
    waits = _Waits.of(nests, schedule, request.fusion_level)
    late = feedback(request.groups, nests.timed, nests.carried)
    while True:
        turns = ReservationTables(request.groups, period if staged.tiles > 1 else None, late, request.slack)
        try:
            placed, late_read = waits.placed(entries, turns)
        except ReservationConflict as error:
            longer = max(error.bound, period + max(1, period // 16))
            period = -(-longer // alignment) * alignment
            continue
        schedule = replace(schedule, statements=placed, period=period)
        if late_read is not None:
            return schedule, late_read
        return with_best_turns(schedule, turns, shortest) if request.groups else schedule


def _period(levels: Levels, weights: Mapping[int, int], entries: Mapping[str, StatementSchedule], alignment: int
            ) -> int:
    """Cycles from tile to tile: nothing is busy for longer in one tile."""
    constant = constant_statements(levels.nests.staged)
    busy = {name: entry for name, entry in entries.items() if name not in constant}
    if alignment == 1:
        return max(entry.span for entry in busy.values())
    outermost = {levels.level[name, next(iter(entry.strides))] for name, entry in busy.items() if entry.strides}
    return max((weights[k] * levels.length(k, alignment) for k in outermost), default=alignment)


@dataclass(frozen=True)
class _Waits:
    """How many cycles after its producer a reader starts at least: of every reader, and of what leads back."""

    order: list[str]
    forward: Mapping[str, list[tuple[Dependence, int]]]
    back: list[tuple[Dependence, int]]

    @staticmethod
    def of(nests: Nests, schedule: Schedule, fusion_level: int | None) -> _Waits:
        """Those of the loops of `schedule`, whatever its starts, rounded up to the fusion level."""
        forward: dict[str, list[tuple[Dependence, int]]] = {name: [] for name in nests.order}
        back: list[tuple[Dependence, int]] = []
        for d in nests.timed:
            source = schedule.statements[d.source]
            cycles = schedule.statements[d.sink].offset - source.offset - schedule.distance(d)[0]
            if d.key in nests.carried:
                back.append((d, cycles + 1))
                continue
            quantum = None if d.source in nests.loads else _quantum(source, fusion_level)
            forward[d.sink].append((d, cycles if quantum is None else (cycles // quantum + 1) * quantum))
        return _Waits(nests.order, forward, back)

    def placed(self, entries: Mapping[str, StatementSchedule], turns: ReservationTables
               ) -> tuple[dict[str, StatementSchedule], Dependence | None]:
        """Start every statement as early as its producers and its turn on shared units allow, and not before its
        `entries` say; and a dependence whose value then still comes too late.

        A recurrence may send its first statements back to wait for its last ones; a round for each of its dependences
        that lead back is enough.
        """
        start = {name: entry.offset for name, entry in entries.items()}
        late: list[tuple[Dependence, int]] = []
        for _ in range(len(self.back) + 2):
            turns.clear()
            for name in self.order:
                ready = [max(0, start[d.source] + cycles) + turns.wait(d) for d, cycles in self.forward[name]]
                entry = entries[name]
                start[name] = turns.place(name, max([start[name], *ready]), entry.strides, entry.trips)
            late = [(d, ready) for d, cycles in self.back if (ready := start[d.source] + cycles) > start[d.sink]]
            if not late:
                break
            for d, ready in late:
                start[d.sink] = max(start[d.sink], ready)
        placed = {name: replace(entry, offset=start[name]) for name, entry in entries.items()}
        return placed, late[0][0] if late else None


def _quantum(source: StatementSchedule, fusion_level: int | None) -> int | None:
    """Cycles of one iteration of the producer's loop at the fusion level, None if all loops are shared."""
    strides = list(source.strides.values())
    if fusion_level is None or fusion_level >= len(strides):
        return None
    return source.span if fusion_level == 0 else strides[fusion_level - 1]


def never_in_time(schedule: Schedule, dependence: Dependence) -> DependenceError:
    """The error of a value that comes too late wherever the statements of a schedule start."""
    statement = schedule.staged.program.statement(dependence.sink)
    return DependenceError(
        f"{statement.label(statement.reads[dependence.read])}: its value depends on itself through "
        f"'{dependence.array}' of {dependence.source}, which always comes too late; put both into the same loops")
