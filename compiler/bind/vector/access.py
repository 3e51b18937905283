"""Accesses: affine maps from the index space of a consumer to that of the node it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.bind.vector.graph import Node

__all__ = ["Access", "Box", "Matrix", "compose", "drop_dimensions", "identity", "image", "is_identity", "translated",
           "whole"]

Matrix = tuple[tuple[int, ...], ...]
Box = tuple[tuple[int, int], ...]
"""Half-open ranges of indices, one per dimension."""


@dataclass(frozen=True)
class Access:
    """At index i the consumer reads `node` at ``matrix @ i + offset``: a row per dimension of the node."""

    node: Node
    matrix: Matrix
    offset: tuple[int, ...]

    def is_translation(self, rank: int) -> bool:
        """Whether the node has the dimensions of its consumer (of `rank`), shifted."""
        return len(self.matrix) == rank and is_identity(self.matrix)


@lru_cache(maxsize=64)
def identity(rank: int) -> Matrix:
    """The identity matrix."""
    return tuple(tuple(int(i == j) for j in range(rank)) for i in range(rank))


def whole(node: Node) -> Access:
    """All of a node, as it is: for a consumer in its own dimensions."""
    return Access(node, identity(node.rank), (0,) * node.rank)


@lru_cache(maxsize=4096)
def is_identity(matrix: Matrix) -> bool:
    """Whether `matrix` is a square identity (a node of rank 0 counts only for a consumer of rank 0)."""
    return all(len(row) == len(matrix) and all(c == (i == j) for j, c in enumerate(row))
               for i, row in enumerate(matrix))


def compose(outer: Access, matrix: Matrix, offset: Sequence[int], rank: int) -> Access:
    """`outer` seen through an index map ``j -> matrix @ j + offset`` from a space of `rank` dimensions."""
    if is_identity(matrix) and len(matrix) == rank:
        moved = tuple(o + sum(c * x for c, x in zip(row, offset, strict=True))
                      for row, o in zip(outer.matrix, outer.offset, strict=True))
        return Access(outer.node, outer.matrix, moved)
    columns = list(zip(*matrix, strict=True)) if matrix else [()] * rank
    product = tuple(tuple(sum(a * b for a, b in zip(row, column, strict=True)) for column in columns)
                    for row in outer.matrix)
    moved = tuple(o + sum(c * x for c, x in zip(row, offset, strict=True))
                  for row, o in zip(outer.matrix, outer.offset, strict=True))
    return Access(outer.node, product, moved)


def translated(access: Access, by: Sequence[int]) -> Access:
    """`access` for a consumer whose index space is moved: the new index i means the old index i + by."""
    moved = tuple(o + sum(c * x for c, x in zip(row, by, strict=True))
                  for row, o in zip(access.matrix, access.offset, strict=True))
    return Access(access.node, access.matrix, moved)


def drop_dimensions(access: Access, kept: int, values: Sequence[int]) -> Access:
    """`access` with the dimensions after the first `kept` fixed to `values`."""
    offset = tuple(o + sum(c * v for c, v in zip(row[kept:], values, strict=True))
                   for row, o in zip(access.matrix, access.offset, strict=True))
    return Access(access.node, tuple(row[:kept] for row in access.matrix), offset)


def image(access: Access, box: Box) -> Box:
    """The least box of the node that holds everything which indices in `box` read."""
    if len(access.matrix) == len(box) and is_identity(access.matrix):
        return tuple((low + o, high + o) for (low, high), o in zip(box, access.offset, strict=True))
    ranges = []
    for row, offset in zip(access.matrix, access.offset, strict=True):
        low = offset + sum(c * (a if c > 0 else b - 1) for c, (a, b) in zip(row, box, strict=True))
        high = offset + sum(c * (b - 1 if c > 0 else a) for c, (a, b) in zip(row, box, strict=True))
        ranges.append((low, high + 1))
    return tuple(ranges)
