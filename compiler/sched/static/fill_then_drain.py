"""Readers that wait until the writer of their buffer has ended.

A wide-fetch memory has one port. A reader that takes words in another order than they came in, as one of a transposed
image does, fetches a wide word for every word, so that no cycle of the port is left for stores. Both at half the rate
would do; but if the reader starts when the writer has ended, each runs at its full rate, and only the few cycles in
which they overlapped are lost (the single port of Liu 2023, section 6.1.2, in turns of whole nests).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from compiler.analysis.dependences import Dependence, recurrences

if TYPE_CHECKING:
    from compiler.sched.static.schedule import Schedule

__all__ = ["PORT_ROOM", "writers_first"]

PORT_ROOM = 20
"""Cycles from the last word that a writer brings to its reader's first one: the last store comes some cycles after the
words of its block, and the first fetch some before they are wanted."""


def writers_first(schedule: Schedule) -> Schedule | None:
    """`schedule` with every statement that keeps no constant distance to what it reads after the end of what writes it,
    and tiles as far apart as that takes; None if no statement is, or a recurrence leads back to one of them."""
    carried = recurrences(schedule.staged.program, schedule.timed)
    forward = [d for d in schedule.timed if d.key not in carried]
    varying = [d for d in forward if len(set(schedule.distance(d))) > 1]
    if not varying:
        return None
    later = _later(schedule, forward, varying)
    late = any(later.distance(d)[0] < 1 for d in schedule.timed if d.key in carried)
    return None if late else replace(later, period=max(schedule.period, *(_turn(later, d) for d in varying)))


def _later(schedule: Schedule, forward: Sequence[Dependence], varying: Sequence[Dependence]) -> Schedule:
    """Longest paths again, producers first, as the statements of a schedule are in."""
    before, entries = schedule.statements, dict(schedule.statements)
    for name, entry in before.items():
        starts = [entry.offset]
        for d in (d for d in forward if d.sink == name):
            gap = before[d.source].span - 1 + PORT_ROOM if d in varying else entry.offset - before[d.source].offset
            starts.append(entries[d.source].offset + gap)
        entries[name] = replace(entry, offset=max(starts))
    return replace(schedule, statements=entries, method="when the writers of buffers that are read in another order "
                                                        "have ended")


def _turn(schedule: Schedule, dependence: Dependence) -> int:
    """Cycles in which a buffer is first written and then read."""
    return schedule.statements[dependence.sink].last - schedule.statements[dependence.source].offset + PORT_ROOM
