"""Which elements accesses touch."""

from __future__ import annotations

import islpy as isl

from compiler.ir.program import Access

__all__ = ["same_elements"]


def same_elements(first: Access, second: Access, domain: isl.Set) -> bool:
    """Whether the accesses of every instance in `domain` are to one element."""
    return first.array == second.array and first.map.intersect_domain(domain).is_equal(
        second.map.intersect_domain(domain))
