"""Outer loops that give a recurrence more time: they idle at the end of every iteration, instead of all inner loops
taking several cycles per iteration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from compiler.bind.fpga.dataflow_graph import Net
from compiler.sched.static.chaining import Path
from compiler.sched.static.schedule import InitiationIntervals, Schedule

__all__ = ["idle_longer"]


def idle_longer(schedule: Schedule, net: Net, nodes: tuple[int, ...], excess: int,
                paths: Collection[Path] = ()) -> InitiationIntervals | None:
    """The initiation intervals of a schedule with more idle cycles of the outermost loop, with others inside, that
    carries a recurrence of the net for which `excess` cycles are missing; None if innermost loops alone carry it.
    `nodes`: each before the one that it waits for, maybe at the end of one of `paths`."""
    distances = {(path.source, path.sink): path.distance for path in paths}
    steps = [step for user, source in pairwise((*nodes, nodes[0])) for step in _steps(net, user, source, distances)]
    links = {link for user, source in steps for link in _links(net, user, source)}
    carried = (d for d in schedule.timed if (d.source, d.sink, d.read) in links)
    return schedule.idling(carried, excess, lambda loop: not schedule.is_innermost(loop))


def _steps(net: Net, user: int, source: int, distances: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    """Nodes and what they use on a way back from `user` to `source`: one use, or a path over as many cycles as that
    has."""
    if (source, user) not in distances or any(use.node == source for use in net.nodes[user].uses):
        return [(user, source)]
    wanted = distances[source, user]
    known: dict[tuple[int, int], tuple[int, int] | None] = {(user, 0): None}
    pending = [(user, 0)]
    while pending and (source, wanted) not in known:
        place, cycles = pending.pop()
        for use in net.nodes[place].uses:
            before = use.node, cycles + use.distance
            if before not in known and before[1] <= wanted and not net.is_constant(use):
                known[before] = place, cycles
                pending.append(before)
    way, at = [], known.get((source, wanted)) and (source, wanted)
    while at is not None and (after := known[at]) is not None:
        way.append((after[0], at[0]))
        at = after
    return way


def _links(net: Net, user: int, source: int) -> list[tuple[str, str, int]]:
    """(Producer, reader, number of the read) of what a node takes from another one."""
    node = net.nodes[user]
    if node.kind in ("port", "merge"):
        reads = [node.read]
    else:
        reads = [read for (name, read), use in net.reads.items() if (name, use.node) == (node.statement, source)]
    return [(name, node.statement, read) for name, number in net.results.items() if number == source for read in reads]
