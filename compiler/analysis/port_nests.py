"""Loop nests of ports without their instances: functions on a box of iterations that are sums of functions of one loop.

A static schedule is linear in the loops, and nearly every access is a sum of parts each of which depends on one loop
only: whole coefficients, divisions rounded down and remainders. Such a function is one table per loop, so that it takes
the sum of the trip counts instead of their product, and sums, differences, extremes and equality are those of the
tables. Relations of other kinds are for those who enumerate (`compiler.ir.points`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import islpy as isl
import numpy as np

from compiler.ir.points import contains

__all__ = ["LoopSum", "PortNest", "ReadNest", "constant_sum", "linear_sum", "loop_sum", "read_nest", "read_nests",
           "table_sum", "word_numbers"]

_LONGEST_LOOP = 1 << 24
"""Iterations of one loop up to which it has a table."""


@dataclass(frozen=True, eq=False)
class LoopSum:
    """``base + sum(tables[k][i_k])`` on a box of iterations, loops outermost first; tables are int64 of shape [trips]
    and begin with 0."""

    base: int
    tables: tuple[np.ndarray, ...]

    @cached_property
    def trips(self) -> tuple[int, ...]:
        """Iterations of each loop."""
        return tuple(len(table) for table in self.tables)

    @property
    def count(self) -> int:
        """Number of iterations of the nest."""
        return prod(self.trips)

    @property
    def least(self) -> int:
        """The smallest value."""
        return self.base + sum(int(table.min()) for table in self.tables)

    @property
    def most(self) -> int:
        """The largest value."""
        return self.base + sum(int(table.max()) for table in self.tables)

    @property
    def last(self) -> int:
        """The value in the last iteration."""
        return self.base + sum(int(table[-1]) for table in self.tables)

    @property
    def moving(self) -> tuple[int, ...]:
        """The loops that the value depends on."""
        return tuple(k for k, table in enumerate(self.tables) if table.any())

    @property
    def is_ascending(self) -> bool:
        """Whether the value in each iteration is above those of all loops inside in the one before."""
        span = 0
        for table in reversed(self.tables):
            if len(table) > 1 and int(np.diff(table).min()) <= span:
                return False
            span += int(table[-1])
        return True

    def plus(self, other: LoopSum | int) -> LoopSum:
        """The sum of two functions on one box, or of one and a constant."""
        if isinstance(other, int):
            return LoopSum(self.base + other, self.tables)
        return LoopSum(self.base + other.base, tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)))

    def times(self, factor: int) -> LoopSum:
        """The function times a constant."""
        return LoopSum(self.base * factor, tuple(table * factor for table in self.tables))

    def minus(self, other: LoopSum) -> LoopSum:
        """The difference of two functions on one box."""
        return self.plus(other.times(-1))

    def taken(self, kept: Sequence[np.ndarray]) -> LoopSum:
        """The function on some iterations of each loop (`kept`: their numbers, ascending)."""
        return loop_sum(self.base, [table[k] for table, k in zip(self.tables, kept, strict=True)])

    def same(self, other: LoopSum) -> bool:
        """Whether two functions on one box are equal."""
        return self.base == other.base and all(map(np.array_equal, self.tables, other.tables))

    def values(self) -> np.ndarray:
        """All values, the innermost loop fastest: int64 of shape [iterations]."""
        result = np.full(1, self.base, np.int64)
        for table in self.tables:
            result = (result[:, None] + table).ravel()
        return result

    def places(self, values: np.ndarray) -> np.ndarray:
        """Numbers, the innermost loop fastest, of the iterations in which an ascending function has each of `values`,
        -1 for those that it never has: int64 of the shape of `values`."""
        rest, number = values - self.base, np.zeros(values.shape, np.int64)
        for table in self.tables:
            digit = np.maximum(np.searchsorted(table, rest, side="right") - 1, 0)
            rest, number = rest - table[digit], number * len(table) + digit
        return np.where(rest == 0, number, -1)


def loop_sum(base: int, tables: Sequence[np.ndarray]) -> LoopSum:
    """The function with these tables, which may begin with anything."""
    return LoopSum(base + sum(int(table[0]) for table in tables), tuple(table - table[0] for table in tables))


def linear_sum(base: int, steps: Sequence[int], trips: Sequence[int]) -> LoopSum:
    """``base + sum(steps[k] * i_k)``."""
    return LoopSum(base, tuple(np.arange(n, dtype=np.int64) * step for step, n in zip(steps, trips, strict=True)))


def constant_sum(value: int, trips: Sequence[int]) -> LoopSum:
    """`value` everywhere."""
    return linear_sum(value, [0] * len(trips), trips)


def table_sum(place: int, table: np.ndarray, trips: Sequence[int]) -> LoopSum:
    """A function of loop number `place` alone."""
    return loop_sum(0, [table if k == place else np.zeros(n, np.int64) for k, n in enumerate(trips)])


@dataclass(frozen=True, eq=False)
class ReadNest:
    """Reads of values of one statement by those instances of another whose iterations, numbered from 0, are in `kept`
    for every loop; ``digits[d]`` is the iteration of loop d of the producer whose value each of them sees, a function
    on the box of the kept ones."""

    kept: tuple[np.ndarray, ...]
    digits: tuple[LoopSum, ...]

    @property
    def count(self) -> int:
        """Number of reads."""
        return prod(len(kept) for kept in self.kept)


def read_nest(relation: isl.Map, lows: Sequence[int], trips: Sequence[int], first: Sequence[int]) -> ReadNest | None:
    """The single-valued `relation`, from instances of a box that begins at `lows` to those of one that begins at
    `first`; None if it is no such nest: its domain is no product of sets of one dimension each, or a dimension of its
    range no sum."""
    if max(trips, default=1) > _LONGEST_LOOP:
        return None
    kept = _product(relation.domain(), lows, trips)
    if kept is None:
        return None
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).coalesce().foreach_piece(lambda _, function: pieces.append(function))
    if len(pieces) != 1:
        return None
    columns = [low + numbers for low, numbers in zip(lows, kept, strict=True)]
    digits = [_separated(pieces[0].get_aff(d), columns) for d in range(len(first))]
    if any(digit is None for digit in digits):
        return None
    return ReadNest(kept, tuple(digit.plus(-low) for digit, low in zip(digits, first, strict=True) if digit))


def read_nests(relation: isl.Map, lows: Sequence[int], trips: Sequence[int],
               first: Sequence[int]) -> list[ReadNest] | None:
    """As `read_nest`, in disjoint pieces; None if one of them is no nest."""
    whole = read_nest(relation, lows, trips, first)
    if whole is not None:
        return [whole]
    parts: list[isl.Set] = []
    isl.PwMultiAff.from_map(relation).foreach_piece(lambda domain, _: parts.append(domain))
    boxes = [box for part in parts for box in part.make_disjoint().get_basic_sets()]
    found = [read_nest(relation.intersect_domain(isl.Set.from_basic_set(box)), lows, trips, first) for box in boxes]
    return None if None in found else [nest for nest in found if nest is not None]


def _product(domain: isl.Set, lows: Sequence[int], trips: Sequence[int]) -> tuple[np.ndarray, ...] | None:
    """For every dimension the numbers of the iterations in `domain`, None if that is no product of these."""
    whole = isl.Set.universe(domain.get_space())
    kept = []
    for k, (low, count) in enumerate(zip(lows, trips, strict=True)):
        axis = _axis(domain, k)
        numbers = np.arange(count, dtype=np.int64)
        kept.append(numbers[contains(axis, [numbers + low], count)])
        whole = whole.intersect(_lifted(axis, k, domain))
    return tuple(kept) if whole.is_subset(domain) else None


def _axis(domain: isl.Set, k: int) -> isl.Set:
    """The values of dimension k."""
    count = domain.dim(isl.dim_type.set)
    return domain.project_out(isl.dim_type.set, k + 1, count - k - 1).project_out(isl.dim_type.set, 0, k).coalesce()


def _lifted(axis: isl.Set, k: int, domain: isl.Set) -> isl.Set:
    """The points of `domain`'s space whose dimension k is in `axis`."""
    count = domain.dim(isl.dim_type.set)
    return _in_space(axis.insert_dims(isl.dim_type.set, 0, k).add_dims(isl.dim_type.set, count - k - 1), domain)


def _in_space(points: isl.Set, domain: isl.Set) -> isl.Set:
    name = domain.get_tuple_name()
    return points.set_tuple_name(name) if name else points.reset_tuple_id()


def _separated(function: isl.Aff, columns: Sequence[np.ndarray]) -> LoopSum | None:
    """A quasi-affine function on a product of `columns` as a sum, None if it is none."""
    denominator = function.get_denominator_val().to_python()
    whole = function.scale_val(isl.Val(denominator))
    base = whole.get_constant_val().to_python()
    tables = [whole.get_coefficient_val(isl.dim_type.in_, k).to_python() * column for k, column in enumerate(columns)]
    for number in range(whole.dim(isl.dim_type.div)):
        weight = whole.get_coefficient_val(isl.dim_type.div, number).to_python()
        inner = _separated(whole.get_div(number), columns) if weight else None
        if weight and inner is None:
            return None
        if inner is not None:
            base += weight * inner.base
            tables = [table + weight * part for table, part in zip(tables, inner.tables, strict=True)]
    return _divided(loop_sum(base, tables), denominator)


def _divided(total: LoopSum, denominator: int) -> LoopSum | None:
    """`total` over `denominator`, rounded down: of one loop at most that is no multiple of it."""
    if denominator == 1:
        return total
    odd = [k for k, table in enumerate(total.tables) if (table % denominator).any()]
    if len(odd) > 1:
        return None
    first = total.base // denominator
    tables = [(table + total.base) // denominator - first if k in odd else table // denominator
              for k, table in enumerate(total.tables)]
    return LoopSum(first, tuple(tables))


def word_numbers(digits: Sequence[LoopSum], shape: Sequence[int], trips: Sequence[int]) -> LoopSum:
    """Numbers of iterations of a box of `shape`, of which ``digits[d]``, a function on a box of `trips`, is that of
    loop d; the innermost loop is the fastest."""
    total = constant_sum(0, trips)
    for digit, size in zip(digits, shape, strict=True):
        total = total.times(size).plus(digit)
    return total


@dataclass(frozen=True, eq=False)
class PortNest:
    """The words that a port carries: one in each iteration of a nest, at `times` (ascending). A word is an iteration of
    a box of `shape`, with one of `digits` for each of its loops."""

    times: LoopSum
    digits: tuple[LoopSum, ...]
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of events."""
        return self.times.count

    def later(self, cycles: int) -> PortNest:
        """The same words, `cycles` later."""
        return PortNest(self.times.plus(cycles), self.digits, self.shape)

    def taken(self, kept: Sequence[np.ndarray]) -> PortNest:
        """The events of some iterations of each loop."""
        return PortNest(self.times.taken(kept), tuple(digit.taken(kept) for digit in self.digits), self.shape)

    @property
    def numbers(self) -> LoopSum:
        """Numbers of the words, the innermost loop of their box fastest."""
        return word_numbers(self.digits, self.shape, self.times.trips)

    @cached_property
    def owners(self) -> tuple[tuple[int, ...], ...] | None:
        """For each digit the loops that move it; None if one loop moves two digits."""
        moving = [digit.moving for digit in self.digits]
        every = [loop for loops in moving for loop in loops]
        return tuple(moving) if len(set(every)) == len(every) else None

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Loops that move no digit."""
        moved = {loop for digit in self.digits for loop in digit.moving}
        return tuple(k for k in range(len(self.times.trips)) if k not in moved)

    @cached_property
    def axes(self) -> tuple[np.ndarray, ...] | None:
        """For every digit its values, ascending: the words are all their combinations. None if they are not."""
        if self.owners is None or any(_cells(self, loops) > _MOST_CELLS for loops in self.owners):
            return None
        return tuple(np.unique(_outer(digit, loops)) for digit, loops in zip(self.digits, self.owners, strict=True))

    def events_of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Cycles, ascending, and numbers of those of some words that the port carries, each once; None if it may carry
        one twice."""
        if self.owners is None or any(self.times.trips[k] > 1 for k in self.free) or any(
                len(loops) > 1 for loops in self.owners):
            return None
        times, there = np.full(len(words), self.times.base), np.ones(len(words), bool)
        places = np.unravel_index(words, self.shape) if self.shape else ()
        for digit, loops, place in zip(self.digits, self.owners, places, strict=True):
            values = _outer(digit, loops)
            names, first = np.unique(values, return_index=True)
            if len(names) < len(values):
                return None
            found = np.searchsorted(names, place).clip(max=len(names) - 1)
            there &= names[found] == place
            times = times + _outer(LoopSum(0, self.times.tables), loops)[first[found]]
        kept = np.unique(words[there], return_index=True)[1]
        order = np.argsort(times[there][kept])
        return times[there][kept][order], words[there][kept][order]

    def extreme(self, place: int, *, latest: bool) -> np.ndarray:
        """Part of the times that the loops of digit number `place` decide: for each of its values the most, or the
        least."""
        assert self.owners is not None and self.axes is not None
        loops, axis = self.owners[place], self.axes[place]
        where = np.searchsorted(axis, _outer(self.digits[place], loops))
        times = _outer(LoopSum(0, self.times.tables), loops)
        found = np.full(len(axis), -_FAR if latest else _FAR)
        (np.maximum if latest else np.minimum).at(found, where, times)
        return found

    def rest(self, *, latest: bool) -> int:
        """The rest of the times: of the loops that move no digit, the most or the least."""
        ends = [self.times.tables[k].max() if latest else self.times.tables[k].min() for k in self.free]
        return self.times.base + sum(map(int, ends))


_MOST_CELLS = 1 << 22
"""Iterations of the loops of one digit, or words whose lifetimes are compared, that are looked at one by one."""

_FAR = 1 << 60


def _cells(nest: PortNest, loops: Sequence[int]) -> int:
    return prod(nest.times.trips[k] for k in loops)


def _outer(function: LoopSum, loops: Sequence[int]) -> np.ndarray:
    """The values of a function along some loops, in the first iteration of the others."""
    return LoopSum(function.base, tuple(function.tables[k] for k in loops)).values()
