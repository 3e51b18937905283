"""Subscripts as integer matrices, and the directions in which an access stays at one element (read dependences)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.ir.program import Access, Statement
from compiler.sched.space_time.errors import SpaceTimeError

__all__ = ["Subscript", "composed", "null_directions", "subscripts"]

_WIDEST = 3
"""Loops that one basis direction may involve with factors other than one; more than any real subscript adds up."""


@dataclass(frozen=True)
class Subscript:
    """``constant + sum(coefficients[l] * iterator l)`` over the iterators of the statement, outermost first."""

    coefficients: tuple[int, ...]
    constant: int


def subscripts(statement: Statement, access: Access) -> tuple[Subscript, ...]:
    """The subscripts of `access`, one per dimension of its array.

    Raises `SpaceTimeError` naming the first that is not affine (a floor, a remainder, a choice).
    """
    found = []
    inside = access.map.intersect_domain(statement.domain)
    # Seen without the domain, a loop of one iteration keeps its coefficient.
    plain = isl.PwMultiAff.from_map(access.map) if access.map.is_single_valued() else None
    function = isl.PwMultiAff.from_map(inside).gist(statement.domain)
    for position in range(access.map.dim(isl.dim_type.out)):
        part = function.get_pw_aff(position)
        form = (plain and _whole(plain.get_pw_aff(position))) or _whole(part) or affine_form(
            part.intersect_domain(statement.domain))
        if form is None:
            raise SpaceTimeError(
                f"{statement.label(access)}: subscript {position + 1} of '{access.array}' is not affine, {part}; legal "
                "are sums of loop counters times constants, plus a constant"
            )
        found.append(Subscript(*form))
    return tuple(found)


def composed(first: isl.Map, *others: isl.Map, domain: isl.Set) -> isl.Map:
    """`first` followed by `others`. Where that is a function without any bounds, it has none, so that its coefficients
    can be read off also along loops of one iteration; else it is bounded by `domain`."""
    result = first
    for other in others:
        result = result.apply_range(other)
    inside = result.intersect_domain(domain)
    if result.is_single_valued() or not inside.is_single_valued():
        return result if domain.is_subset(result.domain()) else inside
    return inside


def _whole(function: isl.PwAff) -> tuple[tuple[int, ...], int] | None:
    """The form of a function that is one affine piece, read off without looking at its domain."""
    found: list[isl.Aff] = []
    function.foreach_piece(lambda _, part: found.append(part))
    if len(found) != 1 or found[0].dim(isl.dim_type.div) or not found[0].get_denominator_val().is_one():
        return None
    count = found[0].dim(isl.dim_type.in_)
    coefficients = (found[0].get_coefficient_val(isl.dim_type.in_, k).to_python() for k in range(count))
    return tuple(coefficients), found[0].get_constant_val().to_python()


@cache
def null_directions(rows: tuple[tuple[int, ...], ...], count: int) -> tuple[tuple[int, ...], ...]:
    """A basis, as short as possible, of the integer vectors of `count` entries that every row maps to zero.

    Every vector's first entry that is not zero is positive: a use comes after the one that it repeats.
    """
    wanted = count - _rank(list(rows))
    basis: list[tuple[int, ...]] = []
    for vector in _candidates(rows, count):
        if len(basis) == wanted:
            break
        if all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in rows) \
                and _rank([*basis, vector]) > len(basis):
            basis.append(vector)
    if len(basis) < wanted:
        raise SpaceTimeError(f"the subscripts {list(rows)} repeat an element only in steps of several loops at once; "
                             "legal are subscripts that add up at most three loops")
    return tuple(basis)


def _candidates(rows: tuple[tuple[int, ...], ...], count: int) -> Iterator[tuple[int, ...]]:
    """Vectors with few entries first, small entries first."""
    largest = max(1, *(abs(value) for row in rows for value in row)) if rows else 1
    values = sorted((v for v in range(-largest, largest + 1) if v), key=lambda v: (abs(v), v))
    for size in range(1, min(_WIDEST, count) + 1):
        shapes = sorted(product(values, repeat=size), key=lambda shape: sum(map(abs, shape)))
        for shape in shapes:
            if shape[0] > 0:
                for places in combinations(range(count), size):
                    vector = [0] * count
                    for place, value in zip(places, shape, strict=True):
                        vector[place] = value
                    yield tuple(vector)


def _rank(rows: Sequence[Sequence[int]]) -> int:
    matrix = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((r for r in range(rank, len(matrix)) if matrix[r][column]), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        for row in range(rank + 1, len(matrix)):
            factor = matrix[row][column] / matrix[rank][column]
            matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[rank], strict=True)]
        rank += 1
    return rank
