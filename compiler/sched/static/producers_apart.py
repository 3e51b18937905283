"""Producers that share no loops with readers of theirs, where that ends sooner."""

from __future__ import annotations

from contextlib import suppress
from math import prod

import networkx as nx

from compiler.analysis.common_loops import common_loops, in_nests
from compiler.analysis.dependences import Dependence, DependenceError, constant_bounds
from compiler.sched.static.aligned_loops import AlignedLoops
from compiler.sched.static.nests import Nests
from compiler.sched.static.placement import Request, schedule_at
from compiler.sched.static.schedule import InitiationIntervals, Schedule, constant_statements

__all__ = ["apart_where_sooner", "written_apart"]

_SOONER = 1.05
"""How many times sooner a program must end for a producer to share no loops with its consumers: as a rule all of its
values are kept then."""


_MOST_APART = 12
"""Most producers that are tried apart, those that are waited for longest: every one takes a schedule."""


def apart_where_sooner(aligned: AlignedLoops, request: Request) -> tuple[AlignedLoops, Schedule]:
    """The schedule, of statements that do not take turns, with those producers apart that are there sooner at their own
    rate: one reader of theirs keeps step with them, but another one needs their last values first."""
    nests, pace = aligned.nests, aligned.pace
    best = schedule_at(aligned, request, pace)
    least = _least_end(nests, pace)
    for name in _waited_for(best, pace.interval if pace.slow is None else pace.elsewhere):
        if _SOONER * least >= best.end:
            break
        other = aligned.setting_apart({(d.source, d.sink) for d in nests.dependences if d.source == name})
        found = schedule_at(other, request, pace)
        if _SOONER * found.end < best.end:
            aligned, best = other, found
    return aligned, best


def written_apart(aligned: AlignedLoops, request: Request) -> Schedule:
    """The schedule of loops as they are written, with producers apart from those consumers that wait for most of their
    values anyway, or of those in an iteration of the loops around both, where that ends sooner: what is before a
    recurrence or behind it need not be as slow."""
    best = alone = schedule_at(aligned, request, aligned.pace)
    for late in _waiting(aligned.nests, alone):
        with suppress(DependenceError):
            found = schedule_at(aligned.setting_apart(late), request, aligned.pace)
            best = found if _SOONER * found.end < alone.end and found.end < best.end else best
    return best


def _waiting(nests: Nests, schedule: Schedule) -> list[frozenset[tuple[str, str]]]:
    """Producers and consumers in no nest together that wait for about all of their values, and with them those that
    wait for all of an iteration of the loops around both, if there are any."""
    carried = nx.DiGraph((d.source, d.sink) for d in in_nests(nests.staged.program, nests.timed))
    carried.add_nodes_from(schedule.statements)
    recurring = {name: number for number, members in enumerate(nx.strongly_connected_components(carried))
                 for name in members}
    waits = {(d.source, d.sink): schedule.statements[d.sink].offset - schedule.statements[d.source].offset
             for d in nests.timed if recurring[d.source] != recurring[d.sink]}
    found = [frozenset(pair for pair, cycles in waits.items()
                       if cycles > _SOONER * schedule.pace.least * iterations(nests, *pair))
             for iterations in (_all_iterations, _own_iterations)]
    return [late for late in dict.fromkeys(found) if late]


def _all_iterations(nests: Nests, producer: str, _: str) -> int:
    """Iterations of all loops of a producer."""
    return prod(nests.trips[producer, n] for n in nests.loops[producer])


def _own_iterations(nests: Nests, producer: str, reader: str) -> int:
    """Iterations of the loops of a producer that are not around the reader as well."""
    shared = {own for own, _ in common_loops(nests.staged.program, producer, reader)}
    return prod(nests.trips[producer, n] for n in nests.loops[producer] if (producer, n) not in shared)


def _least_end(nests: Nests, pace: InitiationIntervals) -> int:
    """Cycles in which no schedule ends at this pace, whichever loops are shared: every statement begins when what its
    first instance reads is there, of producers that run at full rate."""
    staged, interval = nests.staged, pace.least
    begin = dict.fromkeys(nests.order, 0)
    into: dict[str, list[Dependence]] = {}
    for d in nests.timed:
        if d.key not in nests.carried:
            into.setdefault(d.sink, []).append(d)
    for name in nests.order:
        begin[name] = max((begin[d.source] + interval * _rank_of_first(nests, d) for d in into.get(name, ())),
                          default=0)
    counts = {name: prod(nests.trips[name, n] for n in loops) for name, loops in nests.loops.items()}
    ends = [begin[name] + interval * (counts[name] - 1) + 1 for name in staged.roots]
    busy = [count for name, count in counts.items() if name not in constant_statements(staged)]
    return (staged.tiles - 1) * max(busy) + max(ends)


def _rank_of_first(nests: Nests, dependence: Dependence) -> int:
    """Instances of a producer's tile before the one whose value the first instance of the reader reads; 0 if it reads
    none."""
    source = nests.statements[dependence.source]
    first = dependence.relation.intersect_domain(nests.statements[dependence.sink].domain.lexmin()).range()
    if first.is_empty():
        return 0
    box, rank = constant_bounds(source), 0
    for k, name in enumerate(source.iterators):
        if name in nests.loops[source.name]:
            rank = rank * nests.trips[source.name, name] + first.dim_min_val(k).to_python() - box[name][0]
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
