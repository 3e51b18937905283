"""Statements that write along a diagonal, as ``a[i][i]`` does, as ones that write all of a box.

An array processor writes rows, or elements in steps along dimensions. So the dimension that moves along with another
gets an iterator of its own; where the two are not equal, elements stay what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import numpy as np

from compiler.analysis.boxes import bounds, box_of
from compiler.bind.vector.iteration_masks import Mask
from compiler.bind.vector.iteration_spaces import Around, Space
from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.ir.program import Access, Statement

__all__ = ["with_written_box"]


def with_written_box(statement: Statement, space: Space) -> tuple[Statement, Space]:
    """A statement whose every written dimension has an iterator of its own, and its index space; the same ones if that
    is so."""
    copied = _copied(statement, space)
    if not copied:
        return statement, space
    names = [*statement.iterators, *(f"{statement.iterators[k]}_{axis}" for axis, k in copied.items())]
    widened = _widened(statement, copied)
    box = box_of(widened.range().get_space(), [*bounds(space.domain), *(bounds(space.domain)[k]
                                                                        for k in copied.values())])
    write = replace(statement.write, map=_write(statement, space, copied))

    def moved(read: Access) -> Access:
        if read.array == write.array and read.map.is_equal(statement.write.map):
            return write
        return replace(read, map=read.map.insert_dims(isl.dim_type.in_, len(statement.iterators), len(copied))
                       .set_tuple_name(isl.dim_type.in_, statement.name))

    found = replace(statement, iterators=tuple(names), domain=box, reads=tuple(map(moved, statement.reads)),
                    write=write)
    mask = _DiagonalMask(tuple(copied.values()), tuple(space.low), tuple(space.sizes), space.mask)
    return found, Space(found, Around(box, mask))


def _copied(statement: Statement, space: Space) -> dict[int, int]:
    """The dimensions of the written array that move with an iterator that one before them moves with; which one."""
    taken: set[int] = set()
    found: dict[int, int] = {}
    for axis, (row, _, divisor) in enumerate(space.rows(statement, statement.write)):
        used = [k for k, c in enumerate(row) if c and space.sizes[k] > 1]
        if len(used) != 1 or divisor != 1:
            continue
        if used[0] in taken:
            found[axis] = used[0]
        taken.add(used[0])
    return found


def _widened(statement: Statement, copied: Mapping[int, int]) -> isl.Map:
    """From iterations to those with copies of iterators."""
    names = [f"i{k}" for k in range(len(statement.iterators))]
    return isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> "
                   f"{statement.name}[{', '.join([*names, *(names[k] for k in copied.values())])}] }}")


def _write(statement: Statement, space: Space, copied: Mapping[int, int]) -> isl.Map:
    """The write, of which dimensions move with copies of their iterators."""
    count, places = len(statement.iterators), {axis: n for n, axis in enumerate(copied)}
    index = []
    for axis, (row, offset, _) in enumerate(space.rows(statement, statement.write)):
        first = offset - sum(c * low for c, low in zip(row, space.low, strict=True))
        terms = [f"{c} * i{count + places[axis] if copied.get(axis) == k else k}" for k, c in enumerate(row) if c]
        index.append(" + ".join([*terms, str(first)]))
    names = ", ".join(f"i{k}" for k in range(count + len(copied)))
    return isl.Map(f"{{ {statement.name}[{names}] -> {statement.write.array}[{', '.join(index)}] }}")


@dataclass(frozen=True)
class _DiagonalMask(Mask):
    """Points of an index space of which the last ones are copies of iterators `sources` and equal to them: iterations
    if the others are, by `mask`. `low` and `sizes` are those of the others."""

    sources: Sequence[int]
    low: tuple[int, ...]
    sizes: tuple[int, ...]
    mask: Mask | None

    def bits(self) -> Array:
        """Which points are iterations."""
        if self.mask is None:
            return self._equal()
        bits = self.mask.bits()
        return self._equal() & bits[(..., *(None for _ in self.sources))]

    def _equal(self) -> Array:
        found: Array | None = None
        rank = len(self.sizes) + len(self.sources)
        for number, source in enumerate(self.sources):
            points = np.arange(self.sizes[source], dtype=np.int32)
            one, other = (array_constant(points.reshape([-1 if k == axis else 1 for k in range(rank)]))
                          for axis in (source, len(self.sizes) + number))
            found = one == other if found is None else found & (one == other)
        assert found is not None
        return found
