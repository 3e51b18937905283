"""How many points a set has, as polynomials: counted symbolically, however many there are.

A set is a union of convex pieces; the points of a piece are counted by summing over one dimension after the other, from
the innermost on. Where several lower or upper bounds compete the outer dimensions are split, one part for every pair,
so that each sum is a polynomial (Faulhaber's formula). This takes bounds that are whole: boxes, triangles, simplices,
trapezoids and everything else in which each bound has coefficient 1 for its dimension. Others raise `UncountedError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from math import gcd, prod

import islpy as isl
import numpy as np

from compiler.analysis.boxes import bounds, extents
from compiler.analysis.polynomial import Polynomial

__all__ = ["Term", "Terms", "UncountedError", "affine_values", "basic_sets", "box_volume", "count", "extremes",
           "greatest", "joined", "lex_below", "lex_count", "values_of"]

_MOST_CELLS = 100
"""Cells into which a domain is split."""

_MOST_LOOKS = 150
"""Faces of faces, and halves of halves, on which a greatest value is looked for."""


class UncountedError(Exception):
    """A set whose points are not counted as polynomials: to be counted one by one. No error of the user's."""


@dataclass(frozen=True)
class Term:
    """`value` at the points of `where`, 0 elsewhere."""

    where: isl.BasicSet
    value: Polynomial

    @cached_property
    def constraints(self) -> Sequence[Row]:
        """What is not negative where it counts."""
        equalities, inequalities = rows(self.where)
        return [*inequalities, *equalities, *(tuple(-v for v in row) for row in equalities)]


@dataclass(frozen=True)
class _Part:
    """As `Term`, where none of `constraints` is negative."""

    constraints: Sequence[Row]
    value: Polynomial


Terms = Sequence[Term]
"""A function: at each point the sum of all terms there."""

Row = tuple[int, ...]
"""``constant + sum(coefficient * dimension)``: coefficients, the constant last."""


def basic_sets(points: isl.Set) -> list[isl.BasicSet]:
    """The convex pieces of a set, which may overlap. Raises `UncountedError` if one has strides."""
    found: list[isl.BasicSet] = []
    points.coalesce().compute_divs().foreach_basic_set(found.append)
    if any(piece.dim(isl.dim_type.div) for piece in found):
        raise UncountedError("a set with strides")
    return [piece for piece in found if not piece.is_empty()]


def rows(piece: isl.BasicSet) -> tuple[list[Row], list[Row]]:
    """Equalities (``row == 0``) and inequalities (``row >= 0``) of a piece without divisions."""
    order = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div, isl.dim_type.cst
    return _numbers(piece.equalities_matrix(*order)), _numbers(piece.inequalities_matrix(*order))


def _numbers(matrix: isl.Mat) -> list[Row]:
    return [tuple(matrix.get_element_val(r, c).to_python() for c in range(matrix.cols())) for r in range(matrix.rows())]


def made(dims: int, equalities: Sequence[Row], inequalities: Sequence[Row]) -> isl.BasicSet:
    """The set of `dims` dimensions in which rows hold."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, dims)
    order = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div, isl.dim_type.cst
    return isl.BasicSet.from_constraint_matrices(space, _matrix(dims, equalities), _matrix(dims, inequalities), *order)


def _matrix(dims: int, content: Sequence[Row]) -> isl.Mat:
    matrix = isl.Mat.alloc(isl.DEFAULT_CONTEXT, len(content), dims + 1)
    for r, row in enumerate(content):
        for c, value in enumerate(row):
            matrix = matrix.set_element_val(r, c, isl.Val(value))
    return matrix


def _polynomial(row: Row) -> Polynomial:
    return Polynomial.affine(row[:-1], row[-1])


# Sums.

def _disjoint(points: isl.Set) -> list[isl.BasicSet]:
    pieces = basic_sets(points)
    return pieces if len(pieces) < 2 else basic_sets(points.make_disjoint())


def _summed(term: Term, cumulative: bool) -> Iterator[Term]:
    """The sum over the innermost dimension; if `cumulative`, over its values below that of a new dimension there."""
    last = term.where.dim(isl.dim_type.set) - 1
    equalities, inequalities = rows(term.where)
    bounds = [row for row in inequalities if row[last]]
    bounds += [part for row in equalities if row[last] for part in (row, tuple(-v for v in row))]
    if any(abs(row[last]) != 1 for row in bounds):
        raise UncountedError("a bound with a coefficient")
    lows = [_without(tuple(-v for v in row), last, cumulative) for row in bounds if row[last] > 0]
    highs = [_without(row, last, cumulative) for row in bounds if row[last] < 0]
    if cumulative:
        highs.append((*(0 for _ in range(last)), 1, -1))
    fixed_eq, fixed = ([_without(row, last, cumulative) for row in some if not row[last]]
                       for some in (equalities, inequalities))
    for low, high in product(range(len(lows)), range(len(highs))):
        cut = [_difference(lows[low], other, k < low) for k, other in enumerate(lows) if k != low]
        cut += [_difference(other, highs[high], k < high) for k, other in enumerate(highs) if k != high]
        where = made(last + cumulative, fixed_eq, [*fixed, *cut, _difference(highs[high], lows[low], False)])
        if not where.is_empty():
            value = term.value.summed(last, _polynomial(lows[low]), _polynomial(highs[high]))
            yield Term(where.remove_redundancies(), value)


def _without(row: Row, last: int, cumulative: bool) -> Row:
    """`row` without its innermost dimension, or with 0 for the one that takes its place."""
    return (*row[:last], *([0] if cumulative else []), row[-1])


def _difference(first: Row, second: Row, strictly: bool) -> Row:
    """The row that says ``first >= second``, or greater."""
    return (*(a - b for a, b in zip(first[:-1], second[:-1], strict=True)), first[-1] - second[-1] - strictly)


def _merged(terms: Iterable[Term]) -> list[Term]:
    """The same function with one term for equal sets."""
    found: list[Term] = []
    for term in terms:
        for number, other in enumerate(found):
            if term.where.plain_is_equal(other.where):
                found[number] = Term(other.where, other.value + term.value)
                break
        else:
            found.append(term)
    return found


def count(points: isl.Set) -> int:
    """The number of points of a bounded set."""
    pieces = [(piece, isl.Set.from_basic_set(piece)) for piece in _disjoint(points)]
    terms = [Term(piece, Polynomial.constant(1)) for piece, whole in pieces if not whole.is_box()]
    for _ in range(points.dim(isl.dim_type.set) if terms else 0):
        terms = _merged(part for term in terms for part in _summed(term, False))
    boxes = sum(box_volume(whole) for _, whole in pieces if whole.is_box())
    return boxes + int(sum((term.value.offset for term in terms), Fraction(0)))


def box_volume(points: isl.Set) -> int:
    """Points of the box around a bounded set: what looking at each takes."""
    if points.is_empty():
        return 0
    return prod(extents(points))


def lex_count(points: isl.Set, leading: int | None = None) -> tuple[list[Term], int]:
    """How many points of a bounded set come lexicographically before a vector, by their `leading` dimensions (all if
    None), as a function of the vector, and how many there are."""
    everything = points.dim(isl.dim_type.set)
    dims = everything if leading is None else leading
    inner = [Term(piece, Polynomial.constant(1)) for piece in _disjoint(points)]
    found: list[Term] = []
    for _ in range(everything - dims):
        inner = _merged(part for term in inner for part in _summed(term, False))
    for dim in reversed(range(dims)):
        for sums in _merged(part for term in inner for part in _summed(term, True)):
            found.append(Term(sums.where.insert_dims(isl.dim_type.set, dim + 1, dims - dim - 1), sums.value))
        inner = _merged(part for term in inner for part in _summed(term, False))
    return _merged(found), int(sum((term.value.offset for term in inner), Fraction(0)))


def lex_below(terms: Terms, dims: int, first: int, width: int) -> list[Term]:
    """`terms` of `dims` dimensions as functions of the dimensions from `first` on in a space of `width`."""
    places = range(first, first + dims)
    return [Term(term.where.insert_dims(isl.dim_type.set, dims, width - first - dims)
                 .insert_dims(isl.dim_type.set, 0, first), term.value.renamed(places)) for term in terms]


def joined(positive: Terms, negative: Terms = ()) -> list[Term]:
    """The sum of `positive` less that of `negative`."""
    return [*positive, *(Term(term.where, term.value.scaled(-1)) for term in negative)]


def affine_values(terms: Terms, domain: isl.Set) -> isl.Map:
    """{point of `domain` -> the function there}. Raises `UncountedError` where it is no affine function with whole
    coefficients."""
    dims = domain.dim(isl.dim_type.set)
    space = domain.get_space().add_dims(isl.dim_type.set, 1)
    found = isl.Set.empty(space)
    for cell, value in _cells(terms, domain):
        row = (*(value.coefficient(k) for k in range(dims)), Fraction(-1), value.offset)
        if value.degree > 1 or any(c.denominator > 1 for c in row):
            raise UncountedError("ranks that are not affine")
        graph = isl.Set.from_basic_set(made(dims + 1, [tuple(map(int, row))], []))
        found = found.union(graph.intersect(cell.add_dims(isl.dim_type.set, 1)))
    return isl.Map.from_range(found).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, dims)


def values_of(terms: Terms, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """The function at `count` points, given by their coordinates: int64 of shape [points]."""
    total = np.zeros(count, np.int64)
    if not count:
        return total
    ends = [(int(column.min()), int(column.max())) for column in columns]
    signs: dict[Row, np.ndarray] = {}
    for term in terms:
        found = _deciding(term.constraints, ends)
        if found is None:
            continue
        for row in found:
            if row not in signs:
                signs[row] = _row_values(row, columns, count) >= 0
        inside = np.flatnonzero(np.logical_and.reduce([signs[row] for row in found])) if found else slice(None)
        total[inside] += _polynomial_values(term.value, [column[inside] for column in columns], total[inside].shape[0])
    return total


def _deciding(constraints: Sequence[Row], ends: Sequence[tuple[int, int]]) -> list[Row] | None:
    """Of rows that shall not be negative those that may be, between the `ends` of coordinates; None if one is
    everywhere."""
    found = []
    for row in constraints:
        parts = [(c * low, c * high) if c > 0 else (c * high, c * low)
                 for c, (low, high) in zip(row, ends, strict=False) if c]
        if row[-1] + sum(high for _, high in parts) < 0:
            return None
        if row[-1] + sum(low for low, _ in parts) < 0:
            found.append(row)
    return found


def _row_values(row: Row, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    value = np.full(count, row[-1], np.int64)
    for c, column in zip(row, columns, strict=False):
        if c:
            value += c * column
    return value


def _polynomial_values(value: Polynomial, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """A polynomial, which is whole there, at `count` points."""
    found = np.zeros(count, np.int64)
    for powers, c in value.terms.items():
        part: np.ndarray | int = c
        for column, power in zip(columns, powers, strict=False):
            for _ in range(power):
                part = part * column
        found += part
    return found // value.denominator


# Extremes.

def extremes(terms: Terms, domain: isl.Set) -> tuple[int, int] | None:
    """The least and the greatest value over the bounded `domain`, None if that is empty."""
    low, high = _Effort(), _Effort()
    found = [(_greatest(piece, value.scaled(-1), low), _greatest(piece, value, high))
             for cell, total in _whole_cells(terms, domain) for piece, value in [_reduced(cell, total)]]
    ends = [(-least, most) for least, most in found if least is not None and most is not None]
    return (min(least for least, _ in ends), max(most for _, most in ends)) if ends else None


def greatest(terms: Terms, domain: isl.Set) -> int | None:
    """The greatest value over the bounded `domain`, None if that is empty."""
    effort = _Effort()
    values = [_greatest(piece, value, effort) for piece, value in _whole_cells(terms, domain)]
    return max((value for value in values if value is not None), default=None)


class _Effort:
    """Polynomials that are looked at for one greatest value, up to `_MOST_LOOKS`."""

    def __init__(self) -> None:
        self.looks = 0

    def spend(self) -> None:
        """One more. Raises `UncountedError` if there have been too many."""
        self.looks += 1
        if self.looks > _MOST_LOOKS:
            raise UncountedError("polynomials of high degree")


def _cells(terms: Sequence[Term | _Part], domain: isl.Set) -> list[tuple[isl.Set, Polynomial]]:
    """Parts of `domain`, with the sum of all terms there."""
    if domain.is_empty():
        return []
    cells = [(domain, Polynomial({}))]
    everywhere = Polynomial({})
    dims = domain.dim(isl.dim_type.set)
    ends = bounds(domain)
    for term in terms:
        deciding = _deciding(term.constraints, ends)
        if deciding is None:
            continue
        if not deciding:
            everywhere += term.value
            continue
        cells = list(_split(cells, isl.Set.from_basic_set(made(dims, [], deciding)), term.value))
        if len(cells) > _MOST_CELLS:
            raise UncountedError("a function of very many pieces")
    return [(cell, value + everywhere) for cell, value in cells]


def _split(cells: Sequence[tuple[isl.Set, Polynomial]], where: isl.Set,
           added: Polynomial) -> Iterator[tuple[isl.Set, Polynomial]]:
    """`cells`, with a value added in the part of each that is in `where`."""
    for cell, value in cells:
        inside = cell.intersect(where)
        if inside.is_empty():
            yield cell, value
            continue
        yield inside, value + added
        rest = cell.subtract(where)
        if not rest.is_empty():
            yield rest.coalesce(), value


def _whole_cells(terms: Terms, domain: isl.Set) -> Iterator[tuple[isl.BasicSet, Polynomial]]:
    """Convex parts of `domain`, without the dimensions that follow from others in all of a piece, and the sum of all
    terms there."""
    for piece in basic_sets(domain):
        reduction = _Reduction.of(piece.detect_equalities())
        left = cache(reduction.row)
        parts = [_Part(tuple(map(left, term.constraints)), term.value) for term in terms]
        for cell, value in _cells(parts, isl.Set.from_basic_set(reduction.piece)):
            for part in basic_sets(cell):
                yield part, reduction.polynomial(value)


def _greatest(piece: isl.BasicSet, value: Polynomial, effort: _Effort) -> int | None:
    """The greatest value of a polynomial over a convex piece, exactly."""
    if piece.is_empty():
        return None
    if value.degree <= 1:
        return _greatest_affine(piece, value)
    effort.spend()
    piece, value = _without_others(*_reduced(piece.detect_equalities(), value))
    if value.degree <= 1:
        return _greatest_affine(piece, value)
    for step, variable in sorted(_steps(value), key=lambda entry: entry[0].degree):
        if step.degree > 1:
            break
        sides = zip(_halves(piece, step), (True, False), strict=True) if step.degree else [(piece, step.offset >= 0)]
        ends = [_ends(part, variable, up) for part, up in sides if not part.is_empty()]
        if None not in ends:
            return _greatest_of([part for some in ends if some is not None for part in some], value, effort)
    return _by_steps(piece, value, effort)


def _steps(value: Polynomial) -> Iterator[tuple[Polynomial, int]]:
    """What a polynomial grows by where each of its variables does by 1, and which."""
    for variable in value.variables:
        yield value.substituted(variable, Polynomial.affine((*(0,) * variable, 1), 1)) - value, variable


def _greatest_of(pieces: Iterable[isl.BasicSet], value: Polynomial, effort: _Effort) -> int | None:
    """The greatest value over several pieces."""
    found = [_greatest(piece, value, effort) for piece in pieces]
    return max((most for most in found if most is not None), default=None)


def _by_steps(piece: isl.BasicSet, value: Polynomial, effort: _Effort) -> int | None:
    """The greatest value where no step is affine: in a dimension in which it rises or falls, else of two halves."""
    for step, variable in _steps(value):
        highest = _greatest(piece, step, effort)
        rising = highest is not None and highest > 0
        lowest = _greatest(piece, step.scaled(-1), effort) if rising else None
        if not rising or (lowest is not None and lowest <= 0):
            ends = _ends(piece, variable, rising)
            if ends is not None:
                return _greatest_of(ends, value, effort)
    return _by_halves(piece, value, effort)


def _by_halves(piece: isl.BasicSet, value: Polynomial, effort: _Effort) -> int | None:
    """The greatest value of two halves."""
    whole = isl.Set.from_basic_set(piece)
    widths = {v: whole.dim_max_val(v).to_python() - whole.dim_min_val(v).to_python() for v in value.variables}
    widest = max(widths, key=widths.__getitem__)
    middle = whole.dim_min_val(widest).to_python() + widths[widest] // 2
    halves = (whole.upper_bound_val(isl.dim_type.set, widest, isl.Val(middle)),
              whole.lower_bound_val(isl.dim_type.set, widest, isl.Val(middle + 1)))
    return _greatest_of([part for half in halves for part in basic_sets(half)], value, effort)


def _without_others(piece: isl.BasicSet, value: Polynomial) -> tuple[isl.BasicSet, Polynomial]:
    """The piece without dimensions that the polynomial does not depend on, but for those whose bounds have
    coefficients: what is left would have strides."""
    for k in reversed(range(piece.dim(isl.dim_type.set))):
        if k not in value.variables and all(abs(row[k]) <= 1 for some in rows(piece) for row in some):
            piece = piece.project_out(isl.dim_type.set, k, 1)
            value = value.renamed([n - (n > k) for n in range(piece.dim(isl.dim_type.set) + 1)])
    return piece, value


def _halves(piece: isl.BasicSet, step: Polynomial) -> tuple[isl.BasicSet, isl.BasicSet]:
    """Where the affine `step` is not negative, and where it is."""
    dims = piece.dim(isl.dim_type.set)
    scale = step.denominator
    row = (*(int(step.coefficient(k) * scale) for k in range(dims)), int(step.offset * scale))
    negative = (*(-v for v in row[:-1]), -row[-1] - 1)
    return piece.intersect(made(dims, [], [row])), piece.intersect(made(dims, [], [negative]))


def _ends(piece: isl.BasicSet, variable: int, up: bool) -> list[isl.BasicSet] | None:
    """The last, or the first, points of the piece, which is not empty, in one dimension. None if these are all: a thin
    piece has others in another dimension."""
    dims = piece.dim(isl.dim_type.set)
    moved = made(dims, *([_moved(row, variable, up) for row in some] for some in rows(piece)))
    whole = isl.Set.from_basic_set(piece)
    ends = whole.subtract(isl.Set.from_basic_set(moved))
    return None if ends.is_equal(whole) else basic_sets(ends)


def _moved(row: Row, variable: int, up: bool) -> Row:
    """The row that holds at a point if `row` holds one further up, or down."""
    return (*row[:-1], row[-1] + (row[variable] if up else -row[variable]))


def _reduced(piece: isl.BasicSet, value: Polynomial) -> tuple[isl.BasicSet, Polynomial]:
    """The piece without dimensions that follow from others, and the polynomial in those that are left."""
    reduction = _Reduction.of(piece)
    return reduction.piece, reduction.polynomial(value)


@dataclass(frozen=True)
class _Step:
    """Dimension number `place` is left out, as the equality `row` defines it; or, if it is `mixed`, it stands for its
    sum with the multiples in `row` of the others."""

    place: int
    row: Row
    mixed: bool = False

    def moved(self, other: Row) -> Row:
        """Another row, without the dimension, or with what it stands for."""
        if self.mixed:
            return (*(v - other[self.place] * w for v, w in zip(other[:-1], self.row, strict=True)), other[-1])
        factor = other[self.place] * self.row[self.place]
        return tuple(v - factor * w for n, (v, w) in enumerate(zip(other, self.row, strict=True)) if n != self.place)

    def value(self, polynomial: Polynomial) -> Polynomial:
        """A polynomial, likewise."""
        if self.mixed:
            own = [(n == self.place) - w for n, w in enumerate(self.row)]
            return polynomial.substituted(self.place, Polynomial.affine(own))
        scale = -self.row[self.place]
        others = [0 if n == self.place else scale * v for n, v in enumerate(self.row[:-1])]
        found = polynomial.substituted(self.place, Polynomial.affine(others, scale * self.row[-1]))
        return found.renamed([n - (n > self.place) for n in range(len(others))])


@dataclass(frozen=True)
class _Reduction:
    """`piece` without dimensions that follow from others, by `steps` one after the other."""

    piece: isl.BasicSet
    steps: tuple[_Step, ...]

    @staticmethod
    def of(piece: isl.BasicSet) -> _Reduction:
        """All dimensions that equalities of `piece`, which is not empty, define are left out. An equality without a
        coefficient of 1 gets one by Euclid's algorithm: the dimension with the least one stands for a sum."""
        equalities, inequalities = rows(piece)
        steps: list[_Step] = []
        while equalities:
            step = _next_step(equalities)
            steps.append(step)
            inequalities = [step.moved(row) for row in inequalities]
            equalities = [row for row in map(step.moved, equalities) if any(row)]
            equalities = [tuple(v // gcd(*row) for v in row) for row in equalities]
        left = piece.dim(isl.dim_type.set) - sum(not step.mixed for step in steps)
        return _Reduction(made(left, [], inequalities) if steps else piece, tuple(steps))

    def row(self, row: Row) -> Row:
        """A row in the dimensions that are left."""
        for step in self.steps:
            row = step.moved(row)
        return row

    def polynomial(self, value: Polynomial) -> Polynomial:
        """A polynomial in the dimensions that are left."""
        for step in self.steps:
            value = step.value(value)
        return value


def _next_step(equalities: Sequence[Row]) -> _Step:
    """What leaves out a dimension, the last one that an equality defines, or makes the coefficients of one smaller."""
    for row in equalities:
        for k in reversed(range(len(row) - 1)):
            if abs(row[k]) == 1:
                return _Step(k, row)
    row = equalities[0]
    k = min((k for k, v in enumerate(row[:-1]) if v), key=lambda k: abs(row[k]))
    return _Step(k, tuple(0 if n == k else v // row[k] for n, v in enumerate(row[:-1])), mixed=True)


def _greatest_affine(piece: isl.BasicSet, value: Polynomial) -> int:
    dims = piece.dim(isl.dim_type.set)
    scale = value.denominator
    function = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(piece.get_space()))
    function = function.set_constant_val(isl.Val(int(value.offset * scale)))
    for k in range(dims):
        if c := value.coefficient(k):
            function = function.set_coefficient_val(isl.dim_type.in_, k, isl.Val(int(c * scale)))
    return isl.Set.from_basic_set(piece).max_val(function).to_python() // scale
