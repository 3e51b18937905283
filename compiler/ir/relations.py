"""Small helpers over isl's sets and unions of relations."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

__all__ = ["coordinates", "maps", "resolve_wraps", "united"]


def coordinates(point: isl.Point) -> tuple[int, ...]:
    """The coordinates of a point of a set."""
    dims = range(point.get_space().dim(isl.dim_type.set))
    return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in dims)


def maps(union: isl.UnionMap) -> list[isl.Map]:
    """The relations of a union, one per pair of spaces."""
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found


def united(sets: Iterable[isl.Set]) -> isl.UnionSet:
    """All of `sets`, of any spaces, as one."""
    total = isl.UnionSet("{}")
    for part in sets:
        total = total.union(isl.UnionSet.from_set(part))
    return total


def resolve_wraps(relation: isl.Set) -> isl.Set:
    """The same set without the quotients that change at most once in it, as those of arithmetic that wraps at a width
    are: ``i - 5 mod 2^32`` is ``i - 5`` from 5 on and ``i - 5 + 2^32`` before.

    Conditions on what is left have the numbers of the iterators, not those of the width.
    """
    parts: list[isl.BasicSet] = []
    relation.compute_divs().foreach_basic_set(parts.append)
    resolved = [_without_wraps(isl.Set.from_basic_set(part), part) for part in parts]
    if all(one is None for one in resolved):
        return relation
    result = isl.Set.empty(relation.get_space())
    for part, one in zip(parts, resolved, strict=True):
        result = result.union(isl.Set.from_basic_set(part) if one is None else resolve_wraps(one))
    return result.coalesce()


def _without_wraps(whole: isl.Set, part: isl.BasicSet) -> isl.Set | None:
    """`whole`, whose only part is `part`, in cases of its first quotient that has one or two values; None if there is
    no such quotient."""
    for number in range(part.dim(isl.dim_type.div)):
        divided = part.get_div(number)
        divisor = divided.get_denominator_val()
        numerator = divided.scale_val(divisor)
        low, high = whole.min_val(numerator), whole.max_val(numerator)
        if low.is_int() and high.is_int() and high.sub(low).lt(divisor):
            first, last = (end.to_python() // divisor.to_python() for end in (low, high))
            return _in_cases(whole, divided.floor(), range(first, last + 1))
    return None


def _in_cases(whole: isl.Set, quotient: isl.Aff, values: Iterable[int]) -> isl.Set:
    result = isl.Set.empty(whole.get_space())
    zero = isl.Aff.zero_on_domain(quotient.get_domain_local_space())
    for value in values:
        case = isl.Set.from_basic_set(quotient.eq_basic_set(zero.set_constant_val(isl.Val(value))))
        result = result.union(whole.intersect(case))
    return result
