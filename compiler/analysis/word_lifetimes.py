"""How many words come while one waits, without counting them one by one.

Words are born in the order of a box, axis by axis: in mixed radix how many there are up to a cycle is found digit by
digit. Where an axis is even, of two words that differ only there the one that waits longer sees at least as many come
(no part of the births is denser), so that few words of a large box have to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from compiler.analysis.port_nests import LoopSum, constant_sum, table_sum

__all__ = ["MOST_WORDS", "born_at_most", "born_until", "most_waiting"]

MOST_WORDS = 1 << 22
"""Words that are compared one by one, after those that others speak for."""

_NEVER = -(1 << 50)


def born_until(births: Sequence[np.ndarray], cycles: np.ndarray) -> np.ndarray:
    """How many words are born up to each cycle. `births`: for every axis, outermost first, the part of a word's cycle
    that its place there decides: from 0 on, ascending, each step longer than all axes inside."""
    found = np.zeros(len(cycles), np.int64)
    left, there = cycles.copy(), np.ones(len(cycles), bool)
    weight = prod(len(axis) for axis in births)
    for axis in births:
        weight //= len(axis)
        place = np.searchsorted(axis, left, side="right") - 1
        there &= place >= 0
        found += np.where(there, place * weight, 0)
        left = left - axis[np.maximum(place, 0)]
    return found + there


def born_at_most(births: Sequence[np.ndarray], cycles: LoopSum) -> LoopSum:
    """A sum over the same loops that is nowhere below the number of words born up to `cycles`, counted from the first
    birth, where these are not before it. It is that number, or what births would be if they went on, where whole steps
    of the axes are those of loops and one loop at most has the rest."""
    if not births:
        return constant_sum(1, cycles.trips)
    weight = prod(map(len, births[1:]))
    steps = np.unique(np.diff(births[0]))
    if len(steps) == 0:
        return born_at_most(births[1:], cycles)
    if len(steps) > 1:
        return _tabled(cycles, lambda times: born_until(births, times))
    step = int(steps[0])
    whole = tuple(table // step if not (table % step).any() else 0 * table for table in cycles.tables)
    rest = cycles.minus(LoopSum(0, tuple(table * step for table in whole)))
    outer, first = LoopSum(0, whole).times(weight), rest.least // step
    if len(rest.moving) > 1 and first == rest.most // step:
        return outer.plus(first * weight).plus(born_at_most(births[1:], rest.plus(-first * step)))
    inner = births[1:] or [np.zeros(1, np.int64)]
    return outer.plus(_tabled(rest, lambda times: times // step * weight + born_until(inner, times % step)))


def _tabled(cycles: LoopSum, born: Callable[[np.ndarray], np.ndarray]) -> LoopSum:
    """What `born`, which does not fall, says of each cycle if one loop moves it, or of the last one."""
    if len(cycles.moving) != 1:
        return constant_sum(int(born(np.array([cycles.most]))[0]), cycles.trips)
    loop = cycles.moving[0]
    return table_sum(loop, born(cycles.base + cycles.tables[loop]), cycles.trips)


def most_waiting(births: Sequence[np.ndarray], uses: Sequence[np.ndarray], until: int) -> int | None:
    """The most words that are born from the birth of a word, which counts, to its last use: ``until`` plus the part in
    `uses` of each axis (far below 0 where a word is not used), counted from the first birth. None if there are too many
    to look at."""
    chosen = [_speakers(births, uses, k) for k in range(len(births))]
    if prod(len(axis) for axis in chosen) > MOST_WORDS:
        return None
    last, rank, weight = np.full(1, until, np.int64), np.zeros(1, np.int64), prod(len(axis) for axis in births)
    for axis, use in zip(chosen, uses, strict=True):
        weight //= len(use)
        last = (last[:, None] + use[axis]).ravel()
        rank = (rank[:, None] + weight * axis).ravel()
    used = last > _NEVER
    waiting = born_until(births, last[used]) - rank[used]
    return int(waiting.max(initial=0))


def _speakers(births: Sequence[np.ndarray], uses: Sequence[np.ndarray], place: int) -> np.ndarray:
    """Places on an axis that have to be looked at: all, or those that wait longer than all before."""
    waits = uses[place] - births[place]
    if not _no_denser(births, place):
        return np.arange(len(waits))
    before = np.concatenate([[2 * _NEVER], np.maximum.accumulate(waits)[:-1]])
    return np.flatnonzero(waits > before)


def _no_denser(births: Sequence[np.ndarray], place: int) -> bool:
    """Whether an axis is even, and where one outside goes on no step is shorter."""
    steps = np.diff(births[place])
    if not len(steps):
        return True
    span, least = 0, int(steps[0])
    if not (steps == least).all():
        return False
    for axis in births[place::-1]:
        outer = np.diff(axis)
        if axis is not births[place] and len(outer) and int(outer.min()) - span < least:
            return False
        span += int(axis[-1])
    return True
