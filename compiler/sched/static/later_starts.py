"""Later starts of statements whose values only wait: the same loops, outputs at the same times, fewer words kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from compiler.analysis.dependences import recurrences
from compiler.sched.static.lifetime_cpsat import Wait, settle, words_kept
from compiler.sched.static.schedule import Schedule

__all__ = ["settled"]

_ROOM = 64
"""Cycles that a read whose distance varies keeps to its value, for the latency of the memory between them."""


_FEWER = 64
"""Words that later starts must save to be worth the exact search."""


_MANY = 160
"""Statements beyond which nothing is searched: copies side by side, which all start together."""


def settled(schedule: Schedule, fusion_level: int | None) -> Schedule:
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


