"""Small helpers over isl's quasi-affine functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import islpy as isl

from compiler.ir.relations import maps

__all__ = ["affine_form", "affine_text", "dimension_names", "extremes", "linear_function", "maps", "padded",
           "pieces", "slopes"]


def dimension_names(space: isl.Space) -> tuple[str, ...]:
    """Names of the set dimensions of `space`, outermost first; "" for one that has none."""
    return tuple(space.get_dim_name(isl.dim_type.set, k) or "" for k in range(space.dim(isl.dim_type.set)))


def affine_text(terms: Iterable[tuple[int, str]], constant: int) -> str:
    """``constant + sum(coefficient * name)``, as C and isl read it."""
    parts = [name if c == 1 else f"{c} * {name}" for c, name in terms if c]
    return " + ".join([*parts, *([str(constant)] if constant or not parts else [])])


def linear_function(domain: isl.Set, coefficients: Mapping[str, int], constant: int) -> isl.Aff:
    """The function ``constant + sum(coefficient * dimension)`` on the space of `domain`."""
    local = isl.LocalSpace.from_space(domain.get_space())
    function = isl.Aff.zero_on_domain(local).set_constant_val(constant)
    for position, name in enumerate(dimension_names(domain.get_space())):
        function = function.set_coefficient_val(isl.dim_type.in_, position, coefficients.get(name, 0))
    return function


def padded(relation: isl.Map, length: int) -> isl.Map:
    """`relation` with zeros behind its results up to `length` of them."""
    have = relation.dim(isl.dim_type.out)
    relation = relation.add_dims(isl.dim_type.out, max(0, length - have))
    for dim in range(have, length):
        relation = relation.fix_val(isl.dim_type.out, dim, isl.Val(0))
    return relation


def pieces(relation: isl.Map) -> list[tuple[isl.Set, isl.MultiAff]]:
    """The single-valued `relation` as pieces, each a domain and a multi-dimensional quasi-affine function."""
    found: list[tuple[isl.Set, isl.MultiAff]] = []
    isl.PwMultiAff.from_map(relation.coalesce()).coalesce().foreach_piece(lambda s, f: found.append((s, f)))
    return found


def _value(value: isl.Val) -> Fraction:
    return Fraction(value.get_num_si(), value.get_den_val().to_python())


def slopes(function: isl.Aff) -> list[Fraction]:
    """Average increase of a quasi-affine function per step of each input dimension: floors count as fractions."""
    count = function.dim(isl.dim_type.in_)
    total = [_value(function.get_coefficient_val(isl.dim_type.in_, k)) for k in range(count)]
    for position in range(function.dim(isl.dim_type.div)):
        weight = _value(function.get_coefficient_val(isl.dim_type.div, position))
        if weight:
            inner = slopes(function.get_div(position))
            total = [have + weight * part for have, part in zip(total, inner, strict=True)]
    return total


def affine_form(function: isl.PwAff) -> tuple[tuple[int, ...], int] | None:
    """Whole coefficients (per input dimension) and constant of `function`, None if it is not such a function.

    It is compared on its domain, so floors and pieces that cancel out do not matter.
    """
    found: list[isl.Aff] = []
    function.foreach_piece(lambda _, part: found.append(part))
    for part in found:
        coefficients = slopes(part)
        if any(c.denominator != 1 for c in coefficients):
            continue
        linear = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(function.domain().get_space()))
        for position, coefficient in enumerate(coefficients):
            linear = linear.set_coefficient_val(isl.dim_type.in_, position, int(coefficient))
        rest = function.sub(isl.PwAff.from_aff(linear))
        low, high = rest.min_val(), rest.max_val()
        if low.eq(high):
            return tuple(int(c) for c in coefficients), low.to_python()
    return None


def extremes(domain: isl.Set, function: isl.Aff) -> tuple[int, int]:
    """Smallest and largest value of an integer-valued `function`, which may have rational coefficients, over a bounded,
    non-empty `domain`."""
    denominator = function.get_denominator_val()
    whole = function.scale_val(denominator)  # isl wants integer coefficients
    low, high = domain.min_val(whole).to_python(), domain.max_val(whole).to_python()
    return low // denominator.to_python(), high // denominator.to_python()
