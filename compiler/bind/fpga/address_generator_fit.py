"""From a sequence of events to the walk that counts it: loops whose steps advance the address by a short table.

The step of a loop may depend on its own counter only, periodically: that covers whole coefficients, divisions rounded
down and remainders at any rate, as long as each array dimension is walked by one loop (Liu 2023, section 6.1.2, has
whole coefficients).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from hw.pipeline.spec import Level, Walk

__all__ = ["LONGEST_TABLE", "FittedLevel", "build_walk", "cost", "divisors", "fit_inner_events", "fit_levels",
           "periodic"]

LONGEST_TABLE = 1024
"""Entries of a table; one that is a power of two long may have more."""

_SAMPLE = 16
"""Iterations of a loop that are compared before all of them."""


@dataclass(frozen=True)
class FittedLevel:
    """A loop with the advance of the address, not yet modulo anything, at each step."""

    trips: int
    gap: int
    deltas: tuple[int, ...]

    @property
    def cost(self) -> int:
        """A table counts by its entries: a power of two of them, or one for every step."""
        period = len(self.deltas)
        return 4 + (period if period & (period - 1) == 0 else self.trips)


def build_walk(levels: tuple[FittedLevel, ...], start: int, size: int, origin: int) -> Walk:
    """The walk over `size` addresses."""
    return Walk(start, tuple(Level(lv.trips, lv.gap, periodic([d % size for d in lv.deltas])) for lv in levels), size,
                origin % size)


def fit_levels(times: np.ndarray, addresses: np.ndarray) -> tuple[FittedLevel, ...] | None:
    """Loops, innermost first, whose events happen at `times` (ascending) with `addresses`; None if there are none with
    tables that are short enough."""
    return _fit(times, addresses, 0, 0, {})


def fit_inner_events(times: np.ndarray, addresses: np.ndarray, late: int,
                     ahead: int) -> tuple[FittedLevel, ...] | None:
    """As `fit_levels` for the first events of inner loops that take `late` cycles and advance by `ahead`."""
    return _fit(times, addresses, late, ahead, {})


def divisors(count: int) -> Iterator[int]:
    """Divisors of `count` between 1 and itself, descending."""
    small = [n for n in range(2, isqrt(count) + 1) if count % n == 0]
    yield from (count // n for n in small)
    yield from (n for n in reversed(small) if n * n != count)


_Known = dict[tuple[int, int], tuple[FittedLevel, ...] | None]


def _fit(times: np.ndarray, addresses: np.ndarray, late: int, ahead: int,
         known: _Known) -> tuple[FittedLevel, ...] | None:
    """As `fit_levels` for the first events of inner loops that take `late` cycles and advance by `ahead`."""
    count = len(times)
    if count == 1:
        return ()
    if (count, late) in known:
        return known[count, late]
    best: tuple[FittedLevel, ...] | None = None
    for length in _lengths(times):
        level = _level(times, addresses, length, late, ahead)
        if level is None:
            continue
        span, far = level.gap + late, int(addresses[length - 1] - addresses[0])
        outer = _fit(times[::length], addresses[::length], (length - 1) * span + late, far + ahead, known)
        if outer is not None and (best is None or cost((level, *outer)) < cost(best)):
            best = (level, *outer)
    known[count, late] = best
    return best


def cost(levels: Sequence[FittedLevel]) -> int:
    """What generating the addresses of these levels takes: loops and entries of tables."""
    return sum(level.cost for level in levels)


def _lengths(times: np.ndarray) -> Iterator[int]:
    """Lengths of an innermost loop: divisors of the number of events that fit into the first even run."""
    count = len(times)
    steps = np.diff(times)
    odd = np.flatnonzero(steps != steps[0])
    run = int(odd[0]) + 1 if len(odd) else count
    if run < count and count % run == 0:
        yield run
    if run == count:
        yield run
    yield from (length for length in divisors(count) if length <= run and length != run)


def _level(times: np.ndarray, addresses: np.ndarray, length: int, late: int, ahead: int) -> FittedLevel | None:
    """A loop of `length` iterations inside all others, None if its iterations differ."""
    if not np.array_equal(addresses[1:length] - addresses[: length - 1],
                          addresses[len(addresses) - length + 1 :] - addresses[len(addresses) - length : -1]):
        return None
    rows, places = times.reshape(-1, length), addresses.reshape(-1, length)
    gap, steps = int(rows[0, 1] - rows[0, 0]), np.diff(places[0])
    if not (_step_by(rows, gap) and _step_by(places, steps)):
        return None
    deltas = periodic(steps - ahead)
    if len(deltas) & (len(deltas) - 1) and length > LONGEST_TABLE:
        return None
    return FittedLevel(length, gap - late, deltas)


def _step_by(rows: np.ndarray, steps: int | np.ndarray) -> bool:
    """Whether all rows go on by `steps`; of many a few are looked at first, as there most that do not are found."""
    if len(rows) > _SAMPLE and not _step_by(rows[:: -(-len(rows) // _SAMPLE)], steps):
        return False
    return bool((np.diff(rows, axis=1) == steps).all())


def periodic(values: Sequence[int] | np.ndarray) -> tuple[int, ...]:
    """The shortest beginning that repeats; preferably a power of two long."""
    table = np.asarray(values)
    powers = [1 << k for k in range(LONGEST_TABLE.bit_length()) if 1 << k <= len(table)]
    found = next((period for period in powers if _repeats(table, period)), len(table))
    return tuple(table[:found].tolist())


def _repeats(table: np.ndarray, period: int) -> bool:
    """Whether a table goes on as it begins; the first place is looked at first, as most differ there."""
    rest = table[period:]
    return not len(rest) or (rest[0] == table[0] and np.array_equal(rest, table[:-period]))
