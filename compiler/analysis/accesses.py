"""Which elements accesses touch."""

from __future__ import annotations

import islpy as isl

from compiler.ir.program import Access

__all__ = ["iterators_of", "same_elements"]


def iterators_of(access: Access) -> list[int]:
    """The iterators, by number, that the element of an access depends on."""
    inputs = isl.dim_type.in_
    return [k for k in range(access.map.dim(inputs)) if access.map.involves_dims(inputs, k, 1)]


def same_elements(first: Access, second: Access, domain: isl.Set) -> bool:
    """Whether the accesses of every instance in `domain` are to one element."""
    return first.array == second.array and first.map.intersect_domain(domain).is_equal(
        second.map.intersect_domain(domain))
