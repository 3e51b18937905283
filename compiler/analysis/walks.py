"""The points of a set in lexicographic order: the number of each, and the point so many steps further.

What counters walk, one vector a tick, and what a node fires at. Nothing is looked at point by point: numbers are
polynomials (`compiler.analysis.counting`), steps are relations.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

import islpy as isl

from compiler.analysis.boxes import box_around
from compiler.analysis.counting import Term, UncountedError, affine_values, extremes, joined, lex_below, lex_count

__all__ = ["Walk", "beside", "walk_along"]

_MOST_ROWS = 80
"""Rows of different lengths that a step goes over."""

_SHORT_JUMP = 4
"""Rows of the same length, as a power of two, that are gone over at once."""

_LOW_DEGREE = 2
"""Degree of counting functions whose extremes are soon found: those of higher degree are looked for if need be."""

_MOST_DEGREE = 4
"""Greatest degree of counting functions: the extremes of others are not looked for."""

_SET, _IN, _OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


class Walk:
    """The bounded set `points`, in lexicographic order."""

    def __init__(self, points: isl.Set) -> None:
        self.points = points.coalesce()
        self.dims = points.dim(_SET)
        self._shifts: dict[int, isl.Map] = {}
        self._placed: dict[tuple[int, int], list[Term]] = {}

    @cached_property
    def _tried(self) -> tuple[list[Term], int] | UncountedError:
        """Numbers that come before a vector and of all, or why they are not known. A box without its last point is a
        convex set, too, but one with a bound that is a sum of all dimensions: what a box lacks is counted then."""
        found = _few_terms(self.points)
        if self.dims and _degree(found) > _LOW_DEGREE:
            box = box_around(self.points)
            missing = _few_terms(box.subtract(self.points).coalesce())
            if not isinstance(missing, UncountedError) and _degree(missing) < _degree(found):
                (below, count), (less, fewer) = lex_count(box), missing
                return joined(below, less), count - fewer
        return found

    @property
    def _counted(self) -> tuple[list[Term], int]:
        if isinstance(self._tried, UncountedError):
            raise self._tried
        return self._tried

    @property
    def below(self) -> list[Term]:
        """How many points come before a vector, as a function of the vector. Raises `UncountedError`."""
        return self._counted[0]

    def below_at(self, first: int, width: int) -> list[Term]:
        """`below`, of the dimensions from `first` on in a space of `width`. Raises `UncountedError`."""
        place = first, width
        if place not in self._placed:
            self._placed[place] = lex_below(self.below, self.dims, first, width)
        return self._placed[place]

    def between(self, relation: isl.Map) -> tuple[int, int] | None:
        """Least and most points from a vector, itself included, up to the one that `relation` gives for it, negative if
        that comes before; None if it gives none. Raises `UncountedError`."""
        later, earlier = self.below_at(self.dims, 2 * self.dims), self.below_at(0, 2 * self.dims)
        return extremes(joined(later, earlier), relation.wrap().flatten())

    @property
    def count(self) -> int:
        """How many points there are. Raises `UncountedError`."""
        return self._counted[1]

    def shift(self, steps: int) -> isl.Map:
        """{point -> the point so many steps later, or earlier}, where there is one. Raises `UncountedError` if rows of
        points have gaps and numbers of points are no affine functions."""
        if steps < 0:
            return self.shift(-steps).reverse()
        if steps not in self._shifts:
            self._shifts[steps] = self._shifted(steps).coalesce()
        return self._shifts[steps]

    def _shifted(self, steps: int) -> isl.Map:
        if not steps:
            return isl.Map.identity(self.points.get_space().map_from_set()).intersect_domain(self.points)
        if not self.dims:
            return isl.Map("{ [] -> [] : false }")
        try:
            length = self._row_length
        except UncountedError:
            return self._by_ranks(steps)
        return self._by_rows(steps) if length is None else self._by_digits(steps, length)

    def _by_ranks(self, steps: int) -> isl.Map:
        """From the number of a point to that of the other, where these are affine functions of points."""
        ranks = affine_values(self.below, self.points)
        return ranks.apply_range(isl.Map(f"{{ [n] -> [n + {steps}] }}")).apply_range(ranks.reverse())

    # Rows: points that differ in the innermost dimension only.

    @cached_property
    def _rows(self) -> Walk:
        return Walk(self.points.project_out(_SET, self.dims - 1, 1))

    @cached_property
    def _ends(self) -> tuple[isl.Map, isl.Map]:
        """{row -> its first value}, {row -> its last one}."""
        values = isl.Map.from_range(self.points).move_dims(_IN, 0, _OUT, 0, self.dims - 1)
        low, high = values.lexmin().coalesce(), values.lexmax().coalesce()
        between = low.apply_range(isl.Map("{ [l] -> [x] : x >= l }"))
        between = between.intersect(high.apply_range(isl.Map("{ [h] -> [x] : x <= h }")))
        if not between.is_subset(values):
            raise UncountedError("rows with gaps")
        return low, high

    @cached_property
    def _row_length(self) -> int | None:
        """Points of a row, None if rows have different lengths."""
        low, high = self._ends
        lengths = low.flat_range_product(high).range().apply(isl.Map("{ [l, h] -> [h - l + 1] }"))
        least = lengths.dim_min_val(0)
        return least.to_python() if least.eq(lengths.dim_max_val(0)) else None

    def _by_digits(self, steps: int, length: int) -> isl.Map:
        """All rows have the same length: so many rows further, and one more where the rest goes over the end."""
        rows, rest = divmod(steps, length)
        low = self._ends[0]
        found = None
        for row, cut in ((rows, 0), (rows + 1, length)):
            if row == rows + 1 and not rest:
                continue
            moved = self._rows.shift(row)
            there = isl.Map(f"{{ [a, x, b] -> [y] : y - b = x - a + {rest - cut} and b <= y < b + {length} }}")
            part = _with_ends(low, moved, low, there)
            found = part if found is None else found.union(part)
        assert found is not None
        return found.intersect_domain(self.points)

    def _by_rows(self, steps: int) -> isl.Map:
        """Row by row, as long as some point's place is not reached."""
        low, high = self._ends
        over = isl.Map("{ [h, x, l] -> [y] : x > h and y = x - h - 1 + l }")
        carry = _with_ends(high, self._rows.shift_one, low, over)
        names = ", ".join(f"t{k}" for k in range(self.dims))
        start = isl.Map(f"{{ [{names}] -> [{names} + {steps}] }}").intersect_domain(self.points)
        done = start.intersect_range(self.points)
        rest = start.subtract_range(self.points).coalesce()
        for jump in self._jumps(steps):
            here = rest.intersect_range(jump.domain())
            rest = rest.subtract(here).union(here.apply_range(jump)).coalesce()
            done = done.union(rest.intersect_range(self.points)).coalesce()
            rest = rest.subtract_range(self.points).coalesce()
        for _ in range(_MOST_ROWS):
            if rest.is_empty():
                return done
            rest = rest.apply_range(carry).coalesce()
            done = done.union(rest.intersect_range(self.points)).coalesce()
            rest = rest.subtract_range(self.points).coalesce()
        raise UncountedError("a step over very many rows")

    def _jumps(self, steps: int) -> Iterator[isl.Map]:
        """Of up to `steps` points, over many rows of the same length at once, long ones first: {vector behind the end
        of a row -> where it is by the first row behind those}, where it is not before that."""
        low = self._ends[0]
        for length, rows in self._equal_rows:
            for power in reversed(range(_SHORT_JUMP, (steps // length).bit_length())):
                count = 1 << power
                try:
                    moved = self._rows.shift(count).intersect(walk_along(rows).shift(count))
                except UncountedError:
                    continue
                there = isl.Map(f"{{ [a, x, b] -> [y] : y - b = x - a - {count * length} and y >= b }}")
                yield _with_ends(low, moved, low, there).coalesce()

    @cached_property
    def _equal_rows(self) -> list[tuple[int, isl.Set]]:
        """Rows that have the same length as many others do, by length."""
        low, high = self._ends
        lengths = low.flat_range_product(high).apply_range(isl.Map("{ [l, h] -> [h - l + 1] }")).coalesce()
        parts: list[isl.BasicMap] = []
        lengths.foreach_basic_map(parts.append)
        found: dict[int, isl.Set] = {}
        for part in map(isl.Map.from_basic_map, parts):
            values = part.range()
            if values.is_singleton():
                length = values.dim_max_val(0).to_python()
                rows = part.domain()
                found[length] = found[length].union(rows) if length in found else rows
        return [(length, rows.coalesce()) for length, rows in found.items()]

    @cached_property
    def shift_one(self) -> isl.Map:
        """{point -> the next one}."""
        if not self.dims:
            return isl.Map("{ [] -> [] : false }")
        later = isl.Map.lex_lt(self.points.get_space())
        return later.intersect_domain(self.points).intersect_range(self.points).lexmin().coalesce()


@lru_cache(maxsize=64)
def walk_along(points: isl.Set) -> Walk:
    """The walk of these points, with what is known of it from the last time."""
    return Walk(points)


def _few_terms(points: isl.Set) -> tuple[list[Term], int] | UncountedError:
    """How many points come before a vector, and in all, by polynomials of low degree; or why not."""
    try:
        found = lex_count(points)
    except UncountedError as reason:
        return reason
    degree = _degree(found)
    return found if degree <= _MOST_DEGREE else UncountedError(f"counts are polynomials of degree {degree}")


def _degree(found: tuple[list[Term], int] | UncountedError) -> int:
    """The greatest one of the polynomials, more than any if there are none."""
    if isinstance(found, UncountedError):
        return _MOST_DEGREE + 1
    return max((term.value.degree for term in found[0]), default=0)


def _with_ends(first: isl.Map, moved: isl.Map, second: isl.Map, value: isl.Map) -> isl.Map:
    """{[row, x] -> [row', y]}: `moved` {row -> row'}, `value` {[a, x, b] -> [y]} for ``a = first(row)`` and
    ``b = second(row')``."""
    dims = moved.dim(_IN)
    # [row, a, x, row', b, y]
    total = value.wrap().flatten()
    total = total.insert_dims(_SET, 2, dims).insert_dims(_SET, 0, dims)
    width = 2 * dims + 4
    total = total.intersect(_placed(first, (0, dims), width))
    total = total.intersect(_placed(second, (dims + 2, 2 * dims + 2), width))
    total = total.intersect(_placed(moved, (0, dims + 2), width))
    total = total.project_out(_SET, 2 * dims + 2, 1).project_out(_SET, dims, 1)
    return _as_map(total, dims + 1)


def _placed(relation: isl.Map, places: tuple[int, int], width: int) -> isl.Set:
    """{vector of `width` : its parts at the two places are in `relation`}."""
    ins, outs = relation.dim(_IN), relation.dim(_OUT)
    flat = relation.wrap().flatten()
    flat = flat.insert_dims(_SET, ins + outs, width - places[1] - outs)
    flat = flat.insert_dims(_SET, ins, places[1] - places[0] - ins)
    return flat.insert_dims(_SET, 0, places[0])


def _as_map(flat: isl.Set, ins: int) -> isl.Map:
    """{first `ins` dimensions -> the others}."""
    return isl.Map.from_range(flat).move_dims(_IN, 0, _OUT, 0, ins)


def beside(*relations: isl.Map) -> isl.Set:
    """{[point, first image, second image, ...]}: relations with one domain, side by side."""
    total = relations[0]
    for relation in relations[1:]:
        total = total.flat_range_product(relation)
    return total.wrap().flatten()
