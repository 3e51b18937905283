"""Windows side by side: short rows that begin at every element of an array, each set packed without gaps.

The accumulator adds up one row of bytes that follow each other. Where a reduction runs over windows of several short
rows, the windows that begin in one column are packed behind each other first, for all columns at once. A row of a
copy takes a cycle at least, however short it is; so, where windows are narrow against the lanes, blocks of columns
that do not overlap are packed by copies, and the windows between them are merged from two blocks, shifted, by
conditional moves of whole wavefronts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from compiler.bind.vector.access import Access, Box
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.layout import extents
from compiler.bind.vector.shapes import Dimension, Operands, Settings, cycles, instructions
from hw.vector_lanes.isa import Mode, Op

__all__ = ["WindowPack", "window_pack"]

_FIRST_STEPS = 2
"""Steps of the selections before the first block: they are short, and nothing has to be loaded for them."""

ROOM = 256
"""Rows of the scratchpad that packed windows may take: other values need room too."""


@dataclass(frozen=True)
class WindowPack:
    """The windows of an array of `size`-byte elements in a `box` of it, of which every row has `width` elements and
    begins in one of `count` columns. `strides`: of the array's buffer in bytes.

    In scratch space lie the selections (a wavefront for each number of columns by which a window is shifted), the
    blocks, and the windows of every column, a plane each.
    """

    box: Box
    strides: tuple[int, ...]
    width: int
    count: int
    size: int
    row_bytes: int

    @property
    def _columns(self) -> int:
        return extents(self.box)[-1]

    @cached_property
    def rows(self) -> int:
        """Rows of a window."""
        return prod(extents(self.box)[:-1])

    @property
    def row(self) -> int:
        """Bytes of a row of a window."""
        return self.width * self.size

    @cached_property
    def merges(self) -> bool:
        """Whether windows between blocks are merged from these, which is faster than to copy all."""
        power = not self.width & (self.width - 1)
        return power and 2 * self.row <= self.row_bytes and self._merged_cycles() < self._copied_cycles()

    @cached_property
    def plane(self) -> int:
        """Bytes of the windows of a column: whole wavefronts if they are merged."""
        return -(-self.rows * self.row // self.row_bytes) * self.row_bytes if self._wide else self.rows * self.row

    @property
    def _wide(self) -> bool:
        return 2 * self.row <= self.row_bytes

    @property
    def _blocks(self) -> int:
        return -(-self._columns // self.width)

    @property
    def _turns(self) -> int:
        """Blocks in which windows begin."""
        return -(-self.count // self.width)

    @property
    def _shifts(self) -> int:
        return min(self.width, self.count)

    @cached_property
    def windows(self) -> int:
        """Where in the scratch space the first window lies."""
        return self._shifts * self.row_bytes + self._blocks * self.plane if self.merges else 0

    @property
    def bytes(self) -> int:
        """Scratch space."""
        return self.windows + self.count * self.plane

    @property
    def fits(self) -> bool:
        """Whether there is room for all windows at once."""
        return self.bytes <= ROOM * self.row_bytes

    def steps(self, matrix: Sequence[Sequence[int]], turn: int, dimension: int) -> int:
        """By how many bytes a dimension of the reduction's space steps through the windows. `matrix`: of the access
        to the array, `turn`: the dimension of columns."""
        if dimension == turn:
            return self.plane
        strides, step = [self.size], self.row
        for extent in reversed(extents(self.box)[:-1]):
            strides.append(step)
            step *= extent
        return sum(row[dimension] * s for row, s in zip(matrix, reversed(strides), strict=True))

    # Cycles.

    def cycles(self) -> int:
        """Wavefronts of all windows."""
        return self._merged_cycles() if self.merges else self._copied_cycles()

    def _copied_cycles(self) -> int:
        return cycles(self._copied(self.count, self.width), self._mode(Op.VMOV), self.row_bytes)

    def _merged_cycles(self) -> int:
        blocks = self._blocks * cycles(self._copied(1, self.width), self._mode(Op.VMOV), self.row_bytes)
        return self._shifts + blocks + (2 * self.count - self._turns) * (self.plane // self.row_bytes)

    # Statements.

    def _mode(self, op: Op, **bits: bool) -> Mode:
        size = self.size.bit_length() - 1
        return Mode(op, True, size, size, **bits)

    def _copied(self, count: int, width: int) -> list[Dimension]:
        """Rows of `width` elements of `count` columns' windows, from the array."""
        dimensions, step = [Dimension(width, self.size, self.size, 0)], self.row
        for extent, stride in zip(reversed(extents(self.box)[:-1]), reversed(self.strides[:-1]), strict=True):
            dimensions.append(Dimension(extent, step, stride, 0))
            step *= extent
        return [Dimension(count, self.plane, self.size, 0), *reversed(dimensions)]

    def statements(self, settings: Settings, scratch: int, source: int) -> Iterator[Statement]:
        """Pack all windows of the box that begins at address `source`."""
        if not self.merges:
            yield from instructions(settings, self._mode(Op.VMOV), Operands(scratch, source, 0),
                                    self._copied(self.count, self.width), self.row_bytes)
            return
        # Each step of the selections needs the one before: blocks are copied meanwhile.
        blocks = [self._block(settings, scratch, source, number) for number in range(self._blocks)]
        for step, selections in enumerate(self._selections(settings, scratch)):
            yield from selections
            if step >= _FIRST_STEPS and blocks:
                yield from blocks.pop(0)
        yield from itertools.chain(*blocks)
        for block in range(self._turns):
            yield from self._merged(settings, scratch, block)

    def _place(self, scratch: int, block: int) -> int:
        """Where a block is packed."""
        return scratch + self._shifts * self.row_bytes + block * self.plane

    def _block(self, settings: Settings, scratch: int, source: int, block: int) -> Iterator[Statement]:
        width = min(self.width, self._columns - block * self.width)
        yield from instructions(settings, self._mode(Op.VMOV),
                                Operands(self._place(scratch, block), source + block * self.row, 0),
                                self._copied(1, width), self.row_bytes)

    def _selections(self, settings: Settings, scratch: int) -> Iterator[Iterator[Statement]]:
        """Element x of selection s is not negative where x mod `width` + s reaches the next block. Each power of two of
        selections is made from those before, in a step."""
        elements = self.row_bytes // self.size
        low = -self.width & 0xFFFFFFFF
        yield instructions(settings, self._mode(Op.VOR, scalar=True, enumerated=True), Operands(scratch, low, 0),
                           [Dimension(elements, self.size, 0, 0)], self.row_bytes)
        done = 1
        while done < self._shifts:
            more = min(done, self._shifts - done)
            yield instructions(settings, self._mode(Op.VADD, scalar=True),
                               Operands(scratch + done * self.row_bytes, done, scratch),
                               [Dimension(more * elements, self.size, 0, self.size)], self.row_bytes)
            done += more

    def _merged(self, settings: Settings, scratch: int, block: int) -> Iterator[Statement]:
        """The windows that begin in a block: the block, shifted, then what is of the next one."""
        here = self._place(scratch, block)
        count = min(self.width, self.count - block * self.width)
        place = scratch + self.windows + block * self.width * self.plane
        elements = self.row_bytes // self.size
        outer = (Dimension(count, self.plane, self.size, 0),
                 Dimension(self.plane // self.row_bytes, self.row_bytes, self.row_bytes, 0),
                 Dimension(elements, self.size, self.size, 0))
        yield from instructions(settings, self._mode(Op.VMOV), Operands(place, here, 0), list(outer), self.row_bytes)
        if count > 1:
            chosen = [Dimension(count - 1, self.plane, self.size, self.row_bytes), outer[1],
                      Dimension(elements, self.size, self.size, self.size)]
            operands = Operands(place + self.plane, here + self.plane - self.row + self.size, scratch + self.row_bytes)
            yield from instructions(settings, self._mode(Op.VCMV_GEZ), operands, chosen, self.row_bytes)


def window_pack(access: Access, box: Box, strides: tuple[int, ...], size: int, space: Box, kept: int,
                row_bytes: int) -> tuple[int, WindowPack] | None:
    """The dimension along which windows move and how to pack them, for an access of a reduction that keeps the first
    `kept` dimensions of its `space`; None if its rows are no such windows."""
    inner = access.matrix[-1]
    turns = [k for k in range(kept) if inner[k]]
    if len(turns) != 1 or any(c not in (0, 1) for c in inner) or sum(inner[kept:]) != 1 or not inner[-1]:
        return None
    (turn,) = turns
    others = access.matrix[:-1]
    if any(row[turn] or row[-1] or min(row) < 0 for row in others):
        return None
    width, count = (high - low for low, high in (space[-1], space[turn]))
    return turn, WindowPack(box, strides, width, count, size, row_bytes)
