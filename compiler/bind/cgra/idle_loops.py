"""Outer loops that give a recurrence more time: they idle at the end of every iteration, instead of all inner loops
taking several cycles per iteration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.analysis.dependences import Dependence
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.netlist import Edge, Pin
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.sched.static.schedule import InitiationIntervals

__all__ = ["idle_longer"]


def idle_longer(application: Application, loop: RecurrenceViolation, margin: int) -> InitiationIntervals | None:
    """The initiation intervals of a schedule with more idle cycles of the outermost loop, with others inside, that
    carries a dependence through which the connections of `loop` lead; None if innermost loops alone carry it, or units
    that statements share are on the way. Loops around one that idles for the first time do no longer: its longer
    iterations may be enough. `margin`: cycles beyond those that are missing, for longer ways after placement."""
    schedule, links = application.schedule, list(_links(application, loop))
    carried = (d for d in schedule.timed if any(_leads_through(application, d, *link) for link in links))
    pace = schedule.idling(carried, loop.excess + margin, lambda one: not schedule.is_innermost(one))
    known = dict(schedule.pace.idle)
    new = [one for one, _ in pace.idle if one not in known] if pace is not None else []
    if pace is None or not new:
        return pace
    return replace(pace, idle=tuple((one, cycles) for one, cycles in pace.idle if not schedule.encloses(one, new[0])))


def _links(application: Application, loop: RecurrenceViolation) -> Iterator[tuple[Pin, Pin]]:
    """The connections of the loop between units of the application: delays that were inserted in between left out."""
    edges = [cause for cause in loop.causes if isinstance(cause, Edge)]
    known = application.netlist.nodes
    first = next((k for k, edge in enumerate(edges) if edge.source.node in known), 0)
    source = None
    for edge in (*edges[first:], *edges[:first]):
        source = edge.source if edge.source.node in known else source
        if edge.sink.node in known and source is not None:
            yield source, edge.sink


def _leads_through(application: Application, dependence: Dependence, source: Pin, sink: Pin) -> bool:
    """Whether a connection brings the values of the dependence to its reader, or to the merge of this read."""
    signal = application.delivered.get(dependence.key)
    statement, _, unit = sink.node.partition(".")
    other_read = unit.startswith("merge") and not unit.startswith(f"merge{dependence.read}_")
    return signal is not None and signal.pin == source and statement == dependence.sink and not other_read
