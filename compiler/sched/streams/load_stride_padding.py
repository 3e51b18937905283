"""Loads that keep step with their readers.

A load that brings a word in every cycle has rows of its own length, a border longer than its reader's, so in every row
its stores meet the reader's fetches elsewhere. A wide-fetch memory has one port for both, whose cycles repeat with the
reader's rows. Where a load has time to spare, it waits at the end of each of its rows until the reader's rhythm comes
round: then stores and fetches that do not collide in one row never do, and no row needs padding (Liu 2023, section
6.1.3, where rows are padded instead).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.analysis.dependences import Dependence
    from compiler.sched.static.schedule import StatementSchedule

__all__ = ["in_step"]


def in_step(entries: Mapping[str, StatementSchedule], loads: Iterable[str], dependences: Iterable[Dependence],
            width: int) -> dict[str, StatementSchedule]:
    """`entries` with the rows of every load as far apart as a multiple of its busiest reader's rhythm, where that takes
    no longer than the longest statement. `width`: words of a fetch.

    The rhythm is `width` cycles if the reader's rows are whole numbers of these, else one of its rows.
    """
    found = dict(entries)
    longest = max(entry.span for entry in entries.values())
    readers: dict[str, list[StatementSchedule]] = {}
    for dependence in dependences:
        readers.setdefault(dependence.source, []).append(entries[dependence.sink])
    for name in loads:
        if name in readers:
            row = _row(max(readers[name], key=lambda reader: prod(reader.trips.values())))
            slowed = _slowed(entries[name], width if row % width == 0 else row)
            found[name] = slowed if slowed.span <= longest else entries[name]
    return found


def _row(reader: StatementSchedule) -> int:
    """Cycles of one row: from one iteration to the next of the loop around the innermost one."""
    strides = sorted(stride for name, stride in reader.strides.items() if reader.trips[name] > 1)
    return strides[1] if len(strides) > 1 else reader.span


def _slowed(load: StatementSchedule, rhythm: int) -> StatementSchedule:
    """The load with a stride that is a multiple of `rhythm` in every loop that now starts again as soon as it can;
    unchanged if a loop that waits for something has no time for that."""
    loops = [name for name in reversed(list(load.strides)) if load.trips[name] > 1]
    strides = dict(load.strides)
    for inner, outer in pairwise(loops):
        length = strides[inner] * load.trips[inner]
        if load.strides[outer] == load.strides[inner] * load.trips[inner]:
            strides[outer] = -(-length // rhythm) * rhythm
        elif load.strides[outer] < length:
            return load
    return replace(load, strides=strides)
