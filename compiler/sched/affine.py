"""Small helpers over isl's quasi-affine functions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import islpy as isl

__all__ = ["AffineFunction", "dimension_names", "extremes", "linear_function", "maps", "pieces", "slopes"]

AffineFunction = isl.Aff


def dimension_names(space: isl.Space) -> tuple[str, ...]:
    """Names of the set dimensions of `space`, outermost first."""
    return tuple(space.get_dim_name(isl.dim_type.set, k) for k in range(space.dim(isl.dim_type.set)))


def linear_function(domain: isl.Set, coefficients: Mapping[str, int], constant: int) -> isl.Aff:
    """The function ``constant + sum(coefficient * dimension)`` on the space of `domain`."""
    local = isl.LocalSpace.from_space(domain.get_space())
    function = isl.Aff.zero_on_domain(local).set_constant_val(constant)
    for position, name in enumerate(dimension_names(domain.get_space())):
        function = function.set_coefficient_val(isl.dim_type.in_, position, coefficients.get(name, 0))
    return function


def maps(union: isl.UnionMap) -> list[isl.Map]:
    """The relations of a union, one per pair of spaces."""
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found


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


def extremes(domain: isl.Set, function: isl.Aff) -> tuple[int, int]:
    """Smallest and largest value of an integer-valued `function` over a bounded, non-empty `domain`."""
    return domain.min_val(function).to_python(), domain.max_val(function).to_python()
