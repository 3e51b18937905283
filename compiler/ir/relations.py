"""Small helpers over isl's unions of relations."""

from __future__ import annotations

import islpy as isl

__all__ = ["maps"]


def maps(union: isl.UnionMap) -> list[isl.Map]:
    """The relations of a union, one per pair of spaces."""
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found
