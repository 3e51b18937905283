"""Outer loops that give a recurrence more time: they idle at the end of every iteration, instead of all inner loops
taking several cycles per iteration."""

from __future__ import annotations

from itertools import pairwise

from compiler.bind.fpga.dataflow_graph import Net
from compiler.sched.static.schedule import InitiationIntervals, Schedule

__all__ = ["idle_longer"]


def idle_longer(schedule: Schedule, net: Net, nodes: tuple[int, ...], excess: int) -> InitiationIntervals | None:
    """The initiation intervals of a schedule with more idle cycles of the outermost loop, with others inside, that
    carries a recurrence of the net for which `excess` cycles are missing; None if innermost loops alone carry it.
    `nodes`: each before the one that it waits for."""
    links = {link for user, source in pairwise((*nodes, nodes[0])) for link in _links(net, user, source)}
    carried = (d for d in schedule.timed if (d.source, d.sink, d.read) in links)
    return schedule.idling(carried, excess, lambda loop: not schedule.is_innermost(loop))


def _links(net: Net, user: int, source: int) -> list[tuple[str, str, int]]:
    """(Producer, reader, number of the read) of what a node takes from another one."""
    node = net.nodes[user]
    if node.kind in ("port", "merge"):
        reads = [node.read]
    else:
        reads = [read for (name, read), use in net.reads.items() if (name, use.node) == (node.statement, source)]
    return [(name, node.statement, read) for name, number in net.results.items() if number == source for read in reads]
