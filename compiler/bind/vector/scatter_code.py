"""Instructions of scatters: one element after the other, in order.

Where elements are added up, an element waits for the one before at the same place. If many have to wait, they are added
to several copies of the result in turn, which are added up at the end: as many copies as a sum takes cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from compiler.bind.vector.access import Access
from compiler.bind.vector.ir import Instruction, Statement
from compiler.bind.vector.shapes import Dimension, Operands, Settings, instructions, merged
from hw.vector_lanes.isa import Mode, Op

if TYPE_CHECKING:
    from compiler.bind.vector.graph import Node, Scatter
    from compiler.bind.vector.sizes import Sizes

__all__ = ["ScatterCode", "ScatterPlaces"]

WAIT = 8
"""Cycles from the read of an old value to that of the sum, at most."""
MOST_BYTES = 1 << 14
"""Of all copies together."""


class ScatterPlaces(Protocol):
    """Where nodes lie in the scratchpad: what `compiler.bind.vector.emit.TileCode` knows."""

    settings: Settings
    row_bytes: int
    sizes: Sizes

    def address(self, node: Node, index: Sequence[int]) -> int: ...

    def first(self, access: Access, corner: Sequence[int]) -> int: ...

    def steps(self, access: Access, rank: int) -> list[int]: ...


class ScatterCode:
    """The instructions of one scatter, behind those that bring its base to where it goes."""

    def __init__(self, places: ScatterPlaces, node: Scatter) -> None:
        self._places, self._node = places, node
        self._size = places.sizes.bytes[node]
        self._shape = self._dimensions()

    def _dimensions(self) -> list[Dimension]:
        """Steps through value and index, outermost first; the last goes from element to element."""
        node, rank = self._node, len(self._node.extents)
        a = self._places.steps(node.value, rank) if isinstance(node.value, Access) else [0] * rank
        b = self._places.steps(node.index, rank)
        found = merged([Dimension(n, 0, *step) for n, *step in zip(node.extents, a, b, strict=True) if n > 1])
        return found if found and found[-1].steps == self._unit else [*found, Dimension(1, *self._unit)]

    @property
    def _unit(self) -> tuple[int, int, int]:
        value = self._size if isinstance(self._node.value, Access) else 0
        return 0, value, self._places.sizes.forms[self._node].in_size

    @property
    def _pitch(self) -> int:
        """Bytes from copy to copy: whole rows."""
        row = self._places.row_bytes
        return -(-self._node.length * self._size // row) * row

    @property
    def copies(self) -> int:
        """Of the result; 1 if elements are added where it goes."""
        cycles = 2 if isinstance(self._node.value, Access) else 1
        *outer, vector = self._shape
        copies = min(WAIT // cycles, vector.extent)  # no more than there are elements: each has at least one turn
        around = 2 * copies * self._pitch // self._places.row_bytes
        worth = cycles * vector.extent + around < WAIT * vector.extent
        return copies if self._node.adds and not outer and worth and copies * self._pitch <= MOST_BYTES else 1

    def scratch_bytes(self) -> int:
        """Bytes of the copies."""
        return self.copies * self._pitch if self.copies > 1 else 0

    def statements(self, scratch: int) -> Iterator[Statement]:
        """Everything; the copies begin at address `scratch`."""
        if self.copies == 1:
            yield from self._in_order(self._places.address(self._node, [0]))
            return
        yield from self._cleared(scratch)
        yield from self._in_turn(scratch)
        yield from self._added(scratch)

    @property
    def _mode(self) -> Mode:
        node, form = self._node, self._places.sizes.forms[self._node]
        return Mode(Op.VSCATTER, form.signed, _code(form.in_size), _code(self._size),
                    scalar=not isinstance(node.value, Access), accumulate=node.adds)

    @property
    def _sources(self) -> tuple[int, int]:
        """The first value, or the number that all are, and the first index."""
        corner, value = [0] * len(self._node.extents), self._node.value
        first = self._places.first(value, corner) if isinstance(value, Access) else value & 0xFFFFFFFF
        return first, self._places.first(self._node.index, corner)

    def _in_order(self, target: int) -> Iterator[Statement]:
        """Rows and matrices inside of instructions, further loops around them, as they are nested."""
        *outer, vector = self._shape
        loops, inside = outer[:-2], outer[-2:]
        yield from self._shaped(vector.extent, inside)
        for index in itertools.product(*(range(d.extent) for d in loops)):
            moved = [sum(i * d.steps[k] for i, d in zip(index, loops, strict=True)) for k in (1, 2)]
            yield self._instruction(target, len(inside), moved)

    def _in_turn(self, scratch: int) -> Iterator[Statement]:
        """An element for every copy, and again: of a matrix for every turn, rows are the copies."""
        (vector,), copies = self._shape, self.copies
        _, a, b = vector.steps
        whole, rest = divmod(vector.extent, copies)
        yield from self._shaped(1, [Dimension(whole, 0, copies * a, copies * b), Dimension(copies, self._pitch, a, b)])
        yield self._instruction(scratch, 2, [0, 0])
        if rest:
            yield from self._shaped(1, [Dimension(rest, self._pitch, a, b)])
            yield self._instruction(scratch, 1, [whole * copies * a, whole * copies * b])

    def _shaped(self, length: int, outer: Sequence[Dimension]) -> Iterator[Statement]:
        settings = self._places.settings
        yield from settings.change("length", length)
        for kind, dimension in zip(("rows", "matrices"), outer[::-1], strict=False):
            yield from settings.change(kind, dimension.extent, *dimension.steps)

    def _instruction(self, target: int, dimensions: int, moved: Sequence[int]) -> Instruction:
        (a, b), mode = self._sources, self._mode
        word = replace(mode, dimensions=dimensions)
        return Instruction(word, target, a + (moved[0] if mode.reads_a else 0), b + moved[1])

    def _cleared(self, scratch: int) -> Iterator[Statement]:
        mode = Mode(Op.VMOV, False, 2, 2, scalar=True)
        yield from self._vector(mode, Operands(scratch, 0, 0), self.scratch_bytes() // 4, 4)

    def _added(self, scratch: int) -> Iterator[Statement]:
        code = _code(self._size)
        target = self._places.address(self._node, [0])
        for copy in range(self.copies):
            yield from self._vector(Mode(Op.VADD, False, code, code),
                                    Operands(target, target, scratch + copy * self._pitch), self._node.kept, self._size)

    def _vector(self, mode: Mode, operands: Operands, count: int, size: int) -> Iterator[Statement]:
        step = Dimension(count, size, size if mode.reads_a else 0, size if mode.reads_b else 0)
        yield from instructions(self._places.settings, mode, operands, [step], self._places.row_bytes)


def _code(size: int) -> int:
    return size.bit_length() - 1
