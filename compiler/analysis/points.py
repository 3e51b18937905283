"""Relations in numbers: all points of a set, and the values of a function at points."""

from __future__ import annotations

import islpy as isl
import numpy as np

from compiler.ir.relations import coordinates

__all__ = ["all_points", "count_points", "some_points", "values_at"]

_SEED = 0x9017


def count_points(points: isl.Set) -> int:
    """Number of points of a set's bounding box: what enumerating it takes."""
    if points.is_empty():
        return 0
    count = 1
    for low, high in _bounds(points):
        count *= high - low + 1
    return count


def all_points(points: isl.Set) -> np.ndarray:
    """Every point of a bounded set, in lexicographic order: shape [points, dimensions]."""
    if points.is_empty():
        return np.zeros((0, points.dim(isl.dim_type.set)), dtype=np.int64)
    bounds = _bounds(points)
    if not bounds:
        return np.zeros((1, 0), dtype=np.int64)
    axes = np.meshgrid(*[np.arange(low, high + 1) for low, high in bounds], indexing="ij")
    grid = np.stack([axis.ravel() for axis in axes], axis=1)
    return grid[_inside(points, grid)]


def some_points(points: isl.Set, count: int) -> np.ndarray:
    """`count` points of a bounded set that is not empty, not all different; the same for the same set. Shape as of
    `all_points`."""
    bounds = _bounds(points)
    random = np.random.default_rng(_SEED)
    columns = [random.integers(low, high + 1, count) for low, high in bounds]
    drawn = np.stack(columns, axis=1) if bounds else np.zeros((count, 0), dtype=np.int64)
    ends = [coordinates(end.sample_point()) for end in (points.lexmin(), points.lexmax())]
    found = np.concatenate([np.array(ends, dtype=np.int64).reshape(2, len(bounds)), drawn[_inside(points, drawn)]])
    return found[np.arange(count) % len(found)]


def values_at(function: isl.Map, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a function (a single-valued relation) is defined, and its values there (elsewhere 0).

    `points` has shape [points, dimensions]; the results have shapes [points] and [points, dimensions of the range].
    """
    defined = np.zeros(len(points), dtype=bool)
    values = np.zeros((len(points), function.dim(isl.dim_type.out)), dtype=np.int64)

    def piece(domain: isl.Set, affine: isl.MultiAff) -> None:
        here = _inside(domain, points)
        defined[here] = True
        for k in range(values.shape[1]):
            values[here, k] = _value(affine.get_aff(k), points[here])

    isl.PwMultiAff.from_map(function).foreach_piece(piece)
    return defined, values


def _bounds(points: isl.Set) -> list[tuple[int, int]]:
    return [(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python())
            for k in range(points.dim(isl.dim_type.set))]


def _inside(points: isl.Set, at: np.ndarray) -> np.ndarray:
    inside = np.zeros(len(at), dtype=bool)
    for basic in points.compute_divs().get_basic_sets():
        part = np.ones(len(at), dtype=bool)
        for constraint in basic.get_constraints():
            value = _value(constraint.get_aff(), at)
            part &= value == 0 if constraint.is_equality() else value >= 0
        inside |= part
    return inside


def _value(function: isl.Aff, at: np.ndarray) -> np.ndarray:
    """A quasi-affine function at points, rounded down."""
    numerator, denominator = _fraction(function, at)
    return numerator // denominator


def _fraction(function: isl.Aff, at: np.ndarray) -> tuple[np.ndarray, int]:
    denominator = function.get_denominator_val().to_python()
    whole = function.scale_val(isl.Val(denominator))
    total = np.full(len(at), whole.get_constant_val().to_python(), dtype=np.int64)
    for k in range(at.shape[1]):
        total += whole.get_coefficient_val(isl.dim_type.in_, k).to_python() * at[:, k]
    for k in range(whole.dim(isl.dim_type.div)):
        weight = whole.get_coefficient_val(isl.dim_type.div, k).to_python()
        if weight:
            total += weight * _value(whole.get_div(k), at)
    return total, denominator
