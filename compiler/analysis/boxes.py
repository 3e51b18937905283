"""Boxes of integer points."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

__all__ = ["bounds", "box_around", "box_of", "extents"]

_SET = isl.dim_type.set


def box_of(space: isl.Space, ends: Iterable[tuple[int, int]]) -> isl.Set:
    """The points of a space of sets with every coordinate from the first to the last one of its `ends`."""
    box = isl.Set.universe(space)
    for k, (low, high) in enumerate(ends):
        box = box.lower_bound_val(_SET, k, low).upper_bound_val(_SET, k, high)
    return box


def box_around(points: isl.Set) -> isl.Set:
    """The least box with all points of a bounded, non-empty set."""
    return box_of(points.get_space(), bounds(points))


def bounds(points: isl.Set) -> list[tuple[int, int]]:
    """First and last value of every coordinate of a bounded, non-empty set."""
    return [(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python()) for k in range(points.dim(_SET))]


def extents(points: isl.Set) -> list[int]:
    """Values of every coordinate in the least box with all points of a bounded, non-empty set."""
    return [last - first + 1 for first, last in bounds(points)]
