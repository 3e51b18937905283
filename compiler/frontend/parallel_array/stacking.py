"""Numpy's shorter names for rearranging: side by side, upside down, in parts, axes in another order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from compiler.frontend.parallel_array.array import Array, ArrayLike, array_constant, as_array
from compiler.frontend.parallel_array.expression import default
from compiler.frontend.parallel_array.functions import transpose, where
from compiler.frontend.parallel_array.location import here
from compiler.frontend.parallel_array.rearranging import concatenate, diagonal, flip, swapaxes

__all__ = ["column_stack", "diag", "fliplr", "flipud", "hstack", "isin", "moveaxis", "rot90", "select_first", "split",
           "vstack"]


def vstack(parts: Sequence[ArrayLike]) -> Array:
    """Matrices, or rows of one dimension, below each other."""
    arrays = [as_array(part, here()) for part in parts]
    return concatenate([a[None] if a.ndim < 2 else a for a in arrays], 0)


def hstack(parts: Sequence[ArrayLike]) -> Array:
    """Matrices side by side; of one dimension, one behind the other."""
    arrays = [as_array(part, here()) for part in parts]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim < 2 else 1)


def column_stack(parts: Sequence[ArrayLike]) -> Array:
    """Columns, or matrices, side by side."""
    arrays = [as_array(part, here()) for part in parts]
    return concatenate([a[:, None] if a.ndim < 2 else a for a in arrays], 1)


def flipud(a: Array) -> Array:
    """The last row first."""
    return flip(a, 0)


def fliplr(a: Array) -> Array:
    """The last column first."""
    return flip(a, 1)


def rot90(a: Array, k: int = 1) -> Array:
    """Turned by `k` right angles, from the first axis to the second one."""
    for _ in range(k % 4):
        a = flip(swapaxes(a, 0, 1), 0)
    return a


def moveaxis(a: Array, source: int, destination: int) -> Array:
    """One axis at another place, the others in their order."""
    rank = a.ndim
    if not -rank <= source < rank or not -rank <= destination < rank:
        raise here().error(f"there is no axis {source} or {destination} in an array of {rank} dimensions")
    order = [axis for axis in range(rank) if axis != source % rank]
    order.insert(destination % rank, source % rank)
    return transpose(a, order)


def split(a: Array, parts: int | Sequence[int], axis: int = 0) -> list[Array]:
    """Equally many elements in each of `parts`, or what lies between the indices that it lists."""
    if not -a.ndim <= axis < a.ndim:
        raise here().error(f"there is no axis {axis} in an array of {a.ndim} dimensions")
    place = axis % a.ndim
    size = a.shape[place]
    if isinstance(parts, int | np.integer):
        if parts < 1 or size % parts:
            raise here().error(f"{size} elements cannot be split into {parts} equal parts")
        parts = range(size // int(parts), size, size // int(parts))
    ends = [0, *parts, size]
    around = (slice(None),) * place
    return [a[(*around, slice(first, end))] for first, end in itertools.pairwise(ends)]


def diag(a: Array, k: int = 0) -> Array:
    """Diagonal `k` of a matrix; of one dimension, the matrix that has these elements there and is 0 elsewhere."""
    if a.ndim != 1:
        return diagonal(a, k)
    size = a.shape[0] + abs(k)
    rows, columns = np.indices((size, size))
    placed = a.section((-max(k, 0),), (size,), 1, default(0))
    return where(array_constant(columns - rows == k), placed[None], 0)


def isin(a: ArrayLike, values: Sequence[int]) -> Array:
    """Whether elements are among `values`, which are numbers."""
    x = as_array(a)
    numbers = np.asarray(values).ravel().tolist()
    if not numbers:
        raise here().error("no values are given to look for")
    found = x == numbers[0]
    for number in numbers[1:]:
        found = found | (x == number)
    return found


def select_first(conditions: Sequence[ArrayLike], choices: Sequence[ArrayLike], otherwise: ArrayLike = 0) -> Array:
    """Numpy's select: elements of the first choice whose condition holds, or `otherwise`."""
    if len(conditions) != len(choices) or not conditions:
        raise here().error(f"{len(conditions)} conditions choose among {len(choices)} arrays: give one for each")
    found = otherwise
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return as_array(found)
