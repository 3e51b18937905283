"""Concrete values of isl objects: the points of a set and the values of functions on them, as numpy columns.

A column holds one coordinate of many points: an int64 array of shape [points].
"""

from __future__ import annotations

from math import prod

import islpy as isl
import numpy as np

__all__ = ["Columns", "contains", "enumerate_points", "evaluate_map"]

Columns = list[np.ndarray]


def enumerate_points(domain: isl.Set) -> tuple[int, Columns]:
    """Number of points of the bounded, non-empty `domain`, and their coordinates in lexicographic order."""
    dims = range(domain.dim(isl.dim_type.set))
    low = [domain.dim_min_val(dim).to_python() for dim in dims]
    sizes = [domain.dim_max_val(dim).to_python() - low[dim] + 1 for dim in dims]
    grid = np.indices(sizes, dtype=np.int64) if sizes else np.empty((0, 1), np.int64)
    columns = [coordinate.ravel() + start for coordinate, start in zip(grid, low, strict=True)]
    count = prod(sizes)
    if domain.is_box():
        return count, columns
    inside = contains(domain, columns, count)
    return int(inside.sum()), [column[inside] for column in columns]


def contains(domain: isl.Set, columns: Columns, count: int) -> np.ndarray:
    """Which of the `count` points given by `columns` lie in `domain`: a bool array of shape [points]."""
    pieces: list[isl.BasicSet] = []
    domain.compute_divs().foreach_basic_set(pieces.append)
    inside = np.zeros(count, bool)
    for piece in pieces:
        inside |= _satisfies(piece, columns, count)
    return inside


def _satisfies(piece: isl.BasicSet, columns: Columns, count: int) -> np.ndarray:
    holds = np.ones(count, bool)
    for constraint in piece.get_constraints():
        value = _evaluate(constraint.get_aff(), columns, count)
        holds &= value == 0 if constraint.is_equality() else value >= 0
    return holds


def evaluate_map(mapping: isl.Map, domain: isl.Set, columns: Columns, count: int) -> Columns:
    """The image of every point of `domain` under `mapping`, which is single-valued and total there."""
    function = isl.PwMultiAff.from_map(mapping.intersect_domain(domain))
    if function.n_piece() > 1:  # one piece needs no conditions, and to simplify it takes longer than to evaluate it
        function = function.gist(domain)
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    function.foreach_piece(lambda where, value: pieces.append((where, value)))
    images = [_evaluate_all(value, columns, count) for _, value in pieces]
    if len(pieces) == 1:
        return images[0]
    masks = [contains(where, columns, count) for where, _ in pieces]
    return [np.select(masks, list(values)) for values in zip(*images, strict=True)]


def _evaluate_all(function: isl.MultiAff, columns: Columns, count: int) -> Columns:
    return [_evaluate(function.get_aff(dim), columns, count) for dim in range(function.dim(isl.dim_type.out))]


def _evaluate(function: isl.Aff, columns: Columns, count: int) -> np.ndarray:
    """The largest integer not above `function` at every point."""
    denominator = function.get_denominator_val()

    def scaled(value: isl.Val) -> int:
        return value.mul(denominator).to_python()

    total = np.full(count, scaled(function.get_constant_val()), np.int64)
    for dim, column in enumerate(columns):
        if weight := scaled(function.get_coefficient_val(isl.dim_type.in_, dim)):
            total += weight * column
    for dim in range(function.dim(isl.dim_type.div)):
        if weight := scaled(function.get_coefficient_val(isl.dim_type.div, dim)):
            total += weight * _evaluate(function.get_div(dim), columns, count)
    divisor = denominator.to_python()
    return total if divisor == 1 else total // divisor
