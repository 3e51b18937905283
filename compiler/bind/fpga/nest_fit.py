"""The walk of a loop nest, from the tables of its loops instead of its events.

The same search as `compiler.bind.fpga.address_generator_fit`, whose levels may join loops that go on evenly, and
split one: a level's iterations are those of whole inner loops and of a part of the next, as many as divide it.
Nests with few events go through that search itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.analysis.port_nests import LoopSum
from compiler.bind.fpga.address_generator_fit import (
    LONGEST_TABLE,
    FittedLevel,
    cost,
    divisors,
    fit_inner_events,
    periodic,
)

__all__ = ["LISTED", "fit_nest"]

LISTED = 4096
"""Events up to which a nest is listed."""

_LONG = 4 * LONGEST_TABLE
"""Iterations of a level from which on its table repeats."""


@dataclass(frozen=True)
class _Loop:
    """A loop: what time and address have advanced by in each iteration, as tables, or by whole `steps` of each."""

    trips: int
    times: np.ndarray | int
    addresses: np.ndarray | int

    @property
    def reach(self) -> tuple[int, int]:
        """Time and address of the last iteration."""
        return _at(self.times, self.trips - 1), _at(self.addresses, self.trips - 1)

    @property
    def even(self) -> bool:
        """Whether all iterations advance by the same."""
        return isinstance(self.times, int) and isinstance(self.addresses, int)

    def split(self, inner: int) -> tuple[_Loop, _Loop] | None:
        """The loop as two, `inner` iterations in each of the outer one; None if it is none."""
        times, addresses = _split(self.times, inner, self.trips), _split(self.addresses, inner, self.trips)
        if times is None or addresses is None:
            return None
        return _Loop(inner, times[0], addresses[0]), _Loop(self.trips // inner, times[1], addresses[1])


_Known = dict[tuple[int, int], tuple[FittedLevel, ...] | None]


def fit_nest(times: LoopSum, addresses: LoopSum) -> tuple[FittedLevel, ...] | None:
    """Levels, innermost first, whose events happen at `times` (ascending) with `addresses`; None if there are none with
    tables that are short enough."""
    loops = [_Loop(len(a), _compact(a), _compact(b)) for a, b in zip(times.tables, addresses.tables, strict=True)
             if len(a) > 1]
    return _fit(_joined(loops[::-1]), 0, 0, {})


def _fit(loops: Sequence[_Loop], late: int, ahead: int, known: _Known) -> tuple[FittedLevel, ...] | None:
    """As `fit_nest` for loops, innermost first, around inner ones that take `late` cycles and advance by `ahead`."""
    count = prod(loop.trips for loop in loops)
    if count <= max(1, LISTED):
        return fit_inner_events(_listed(loops, "times"), _listed(loops, "addresses"), late, ahead)
    if (count, late) in known:
        return known[count, late]
    best: tuple[FittedLevel, ...] | None = None
    for inner, outer in _levels(loops):
        level = _level(inner, late, ahead)
        if level is None:
            continue
        length, far = prod(loop.trips for loop in inner), sum(loop.reach[1] for loop in inner)
        rest = _fit(_joined(outer), (length - 1) * (level.gap + late) + late, far + ahead, known)
        if rest is not None and (best is None or cost((level, *rest)) < cost(best)):
            best = (level, *rest)
    known[count, late] = best
    return best


def _levels(loops: Sequence[_Loop]) -> Iterator[tuple[list[_Loop], list[_Loop]]]:
    """Loops that may be an innermost level, and those around them, the longest level first. An even loop is not split:
    the level of the whole loop has the same table."""
    whole = 1
    while whole < len(loops) and _follows(loops[:whole], loops[whole]):
        whole += 1
    for number in reversed(range(whole)):
        loop, below, above = loops[number], list(loops[:number]), list(loops[number + 1 :])
        yield [*below, loop], above
        for length in () if loop.even else divisors(loop.trips):
            parts = loop.split(length)
            if parts is not None:
                yield [*below, parts[0]], [parts[1], *above]


def _follows(inner: Sequence[_Loop], outer: _Loop) -> bool:
    """Whether an iteration of `outer` comes after the last one of the loops inside as the next of these does."""
    gap, span = _at(inner[0].times, 1), sum(loop.reach[0] for loop in inner)
    return _at(outer.times, 1) == span + gap


def _level(loops: Sequence[_Loop], late: int, ahead: int) -> FittedLevel | None:
    """The level of loops that are even, None if it takes too long a table."""
    gap, span, length = _at(loops[0].times, 1), 0, 1
    for loop in loops:
        if _compact_step(loop.times) != span + gap:
            return None
        span, length = span + loop.reach[0], length * loop.trips
    deltas = _deltas(loops)
    if deltas is None or (len(deltas) & (len(deltas) - 1) and length > LONGEST_TABLE):
        return None
    return FittedLevel(length, gap - late, tuple(int(delta) - ahead for delta in deltas))


def _deltas(loops: Sequence[_Loop]) -> tuple[int, ...] | None:
    """The shortest beginning that repeats of the advances of an address inside a level, None if it is too long."""
    length = prod(loop.trips for loop in loops)
    if len(loops) == 1 and isinstance(loops[0].addresses, int):
        return (loops[0].addresses,)
    if length <= _LONG or len(loops) == 1:
        found = periodic(np.diff(_listed(loops, "addresses")))
        return found if length <= _LONG or len(found) <= LONGEST_TABLE else None
    return _around(loops[:-1], loops[-1])


def _around(inner: Sequence[_Loop], outer: _Loop) -> tuple[int, ...] | None:
    """As `_deltas` for long levels: what repeats with a period that divides the iterations of the inner loops, or is a
    multiple of them."""
    deltas, length = _deltas(inner), prod(loop.trips for loop in inner)
    far = sum(loop.reach[1] for loop in inner)
    if deltas is None:
        return None
    repeated = periodic(_steps(outer) - far)
    period = len(deltas)
    if len(repeated) == 1 and length % period == 0 and repeated[0] == deltas[(length - 1) % period]:
        return deltas
    if length * len(repeated) > LONGEST_TABLE or length & (length - 1) or len(repeated) & (len(repeated) - 1):
        return None
    table = [deltas[k % period] for k in range(length - 1)]
    return periodic([step for carry in repeated for step in (*table, carry)] * 2)


def _steps(loop: _Loop) -> np.ndarray:
    """How far addresses go from one iteration to the next; once where that is always the same."""
    return np.array([loop.addresses]) if isinstance(loop.addresses, int) else np.diff(loop.addresses)


def _joined(loops: Sequence[_Loop]) -> list[_Loop]:
    """Loops, innermost first, with neighbours in one that are one even progression."""
    result: list[_Loop] = []
    for loop in loops:
        if result and _is_step(result[-1], loop):
            last = result[-1]
            result[-1] = _Loop(last.trips * loop.trips, last.times, last.addresses)
        else:
            result.append(loop)
    return result


def _is_step(inner: _Loop, outer: _Loop) -> bool:
    """Whether both time and address go on evenly from `inner` to the next iteration of `outer`."""
    pairs = ((inner.times, outer.times), (inner.addresses, outer.addresses))
    return all(isinstance(a, int) and isinstance(b, int) and b == a * inner.trips for a, b in pairs)


def _listed(loops: Sequence[_Loop], what: str) -> np.ndarray:
    """Times or addresses of all events, from 0 on."""
    result = np.zeros(1, np.int64)
    for loop in loops:
        table = getattr(loop, what)
        table = table * np.arange(loop.trips, dtype=np.int64) if isinstance(table, int) else table
        result = (table[:, None] + result).ravel()
    return result


def _compact(table: np.ndarray) -> np.ndarray | int:
    """A table, or its step if that is always the same."""
    step = int(table[1]) if len(table) > 1 else 0
    return step if (np.diff(table) == step).all() else table


def _compact_step(table: np.ndarray | int) -> int | None:
    return table if isinstance(table, int) else None


def _at(table: np.ndarray | int, place: int) -> int:
    return table * place if isinstance(table, int) else int(table[place])


def _split(table: np.ndarray | int, inner: int, trips: int) -> tuple[np.ndarray | int, np.ndarray | int] | None:
    """The tables of a loop's two parts, None if it is no sum of these."""
    if isinstance(table, int):
        return table, table * inner
    rows = table.reshape(trips // inner, inner)
    if not (rows - rows[:, :1] == rows[0]).all():
        return None
    return _compact(rows[0]), _compact(rows[:, 0])
