"""isl's functions and sets as the plain data of `hw.dataflow.spec`."""

from __future__ import annotations

import islpy as isl

from compiler.analysis.instance_budget import are_few, includes
from hw.dataflow.spec import Affine, Constraint, Floor, Piece, Predicate

__all__ = ["affine", "few_pieces", "piecewise", "predicate"]


def affine(function: isl.Aff) -> Affine:
    """The largest integer not above `function`, whose domain dimensions become counters."""
    denominator = function.get_denominator_val().to_python()
    scaled = _scaled(function, denominator)
    if denominator == 1:
        return scaled
    return Affine((0,) * len(scaled.coefficients), 0, (Floor(1, scaled, denominator),))


def _scaled(function: isl.Aff, denominator: int) -> Affine:
    def times(value: isl.Val) -> int:
        return value.mul(isl.Val(denominator)).to_python()

    count = function.dim(isl.dim_type.in_)
    coefficients = tuple(times(function.get_coefficient_val(isl.dim_type.in_, k)) for k in range(count))
    floors = []
    for position in range(function.dim(isl.dim_type.div)):
        if weight := times(function.get_coefficient_val(isl.dim_type.div, position)):
            inner = function.get_div(position)
            divisor = inner.get_denominator_val().to_python()
            floors.append(Floor(weight, _scaled(inner, divisor), divisor))
    return Affine(coefficients, times(function.get_constant_val()), tuple(floors))


def predicate(where: isl.Set, box: isl.Set) -> Predicate:
    """`where` as conditions on the counters, given that these are in `box` (Bok 2018: the gist against it)."""
    if where.is_empty():
        return ()
    if box.is_bounded() and are_few(box) and includes(where, box):  # isl simplifies many pieces slowly
        return ((),)
    found: list[isl.BasicSet] = []
    where.coalesce().gist(box).coalesce().compute_divs().foreach_basic_set(found.append)
    return tuple(_conditions(basic) for basic in found)


def _conditions(basic: isl.BasicSet) -> tuple[Constraint, ...]:
    """Constraints of a basic set, but for those that only define its divisions."""
    parts = []
    for constraint in basic.get_constraints():
        if not constraint.is_div_constraint():
            parts.append(Constraint(affine(constraint.get_aff()), constraint.is_equality()))
    return tuple(parts)


def piecewise(function: isl.Map, box: isl.Set) -> tuple[Piece, ...]:
    """The single-valued `function` {counters -> [number]}, on counters that are in `box`."""
    return _pieces(isl.PwMultiAff.from_map(function.coalesce()).coalesce(), function, box)


def few_pieces(function: isl.Map, box: isl.Set, most: int) -> tuple[Piece, ...] | None:
    """The same, None if there are more than `most` pieces, or if isl's result for a bound with many divisions is none
    that it takes back as a function."""
    try:
        whole = isl.PwMultiAff.from_map(function.coalesce()).coalesce()
    except isl.Error:
        return None
    return None if whole.n_piece() > most else _pieces(whole, function, box)


def _pieces(whole: isl.PwMultiAff, function: isl.Map, box: isl.Set) -> tuple[Piece, ...]:
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    whole.gist(function.domain()).foreach_piece(lambda where, value: pieces.append((where, value)))
    if len(pieces) == 1:
        return ((((),), affine(pieces[0][1].get_aff(0))),)
    return tuple((predicate(where.intersect(function.domain()), box), affine(value.get_aff(0)))
                 for where, value in pieces)
