"""Writers of arrays: values of an iteration into packed words, row by row side by side (Hammes 2000, section 5.4.3)."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.window.ports import RequestPort
from hw.window.spec import WORD, element_bits
from hw.window.walker import AddressWalker

__all__ = ["TileWriter"]


class TileWriter(wiring.Component):
    """Tiles of `extents` elements of `width` bits, one in each iteration of a loop of as many dimensions.

    `start`: for one cycle, with `address` and `loop` (its extents) as they stay; a loop is not empty. In a cycle with
    `put` and `ready` it takes `values`, the last dimension fastest: one tile per cycle if tiles are one element wide,
    else one in as many as they are wide, as long as memory takes the words. `busy`: not all of it is in memory.
    """

    def __init__(self, extents: tuple[int, ...], width: int, address_bits: int, count_bits: int):
        self.extents, self.width, self.bits = extents, width, (address_bits, count_bits)
        self.rows, self.columns = prod(extents[:-1]), extents[-1]
        super().__init__({
            "start": In(1), "address": In(address_bits), "loop": In(count_bits).array(len(extents)),
            "put": In(1), "ready": Out(1), "values": In(width).array(self.rows * self.columns),
            "memory": Out(RequestPort(address_bits, writes=True)), "busy": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        push, can_push = Signal(), Signal()
        column, kept = self._serialize(m, push, can_push)
        pending = Signal(range(self.rows + 1))
        m.d.comb += self.busy.eq(self._pack(m, column, push, can_push, pending) | kept)
        self._address(m)
        return m

    def _serialize(self, m: Module, push: Signal, can_push: Signal) -> tuple[list[Value], Value]:
        """The elements of a column of the tile, when `push`; and whether columns are kept here."""
        tile = [self.values[r * self.columns:(r + 1) * self.columns] for r in range(self.rows)]
        if self.columns == 1:
            m.d.comb += [push.eq(self.put), self.ready.eq(can_push)]
            return [row[0] for row in tile], Const(0)
        held = [[Signal(self.width, name=f"held{r}_{c}") for c in range(self.columns)] for r in range(self.rows)]
        left = Signal(range(self.columns + 1))
        m.d.comb += [push.eq((left != 0) & can_push), self.ready.eq((left == 0) | ((left == 1) & can_push))]
        with m.If(push):
            m.d.sync += left.eq(left - 1)
            m.d.sync += [place.eq(later) for row in held for place, later in pairwise(row)]
        with m.If(self.put & self.ready):
            m.d.sync += left.eq(self.columns)
            m.d.sync += [place.eq(value) for row, values in zip(held, tile, strict=True)
                         for place, value in zip(row, values, strict=True)]
        return [row[0] for row in held], left != 0

    def _pack(self, m: Module, column: list[Value], push: Signal, can_push: Signal, pending: Signal) -> Value:
        """Elements into words, which go on together, and then to memory one by one; whether there are any here."""
        element = element_bits(self.width)
        each = WORD // element
        packed = [Signal(WORD, name=f"packed{r}") for r in range(self.rows)]
        leaving = [Signal(WORD, name=f"leaving{r}") for r in range(self.rows)]
        slot, full, move = Signal(range(each)), Signal(), Signal()
        last = (slot == each - 1) | self._row_ends(m, push)
        sent = self.memory.valid & self.memory.ready
        m.d.comb += [move.eq(full & ((pending == 0) | ((pending == 1) & sent))), can_push.eq(~full | move),
                     self.memory.data.eq(leaving[0]), self.memory.valid.eq(pending != 0)]
        with m.If(sent):
            m.d.sync += [pending.eq(pending - 1), *(word.eq(later) for word, later in pairwise(leaving))]
        with m.If(move):
            m.d.sync += [full.eq(0), pending.eq(self.rows),
                         *(word.eq(new) for word, new in zip(leaving, packed, strict=True))]
        with m.If(push):
            m.d.sync += [slot.eq(Mux(last, 0, slot + 1)), full.eq(last)]
            m.d.sync += [word.eq(_inserted(word, value, slot, element))
                         for word, value in zip(packed, column, strict=True)]
        return full | (pending != 0)

    def _row_ends(self, m: Module, push: Signal) -> Value:
        """Whether the next column is the last one of a row of the result."""
        rest, length = Signal(self.bits[1]), Signal(self.bits[1])
        m.d.sync += length.eq(self.loop[-1] * self.columns)
        with m.If(push):
            m.d.sync += rest.eq(Mux(rest == 1, length, rest - 1))
        with m.If(self.start):
            m.d.sync += rest.eq(length)
        return rest == 1

    def _address(self, m: Module) -> None:
        """Rows of a tile innermost, then words, then the loop's other dimensions."""
        address_bits, count_bits = self.bits
        each = WORD // element_bits(self.width)
        words = Signal(count_bits)
        m.d.sync += words.eq((self.loop[-1] * self.columns + (each - 1)) // each)
        inner: Value = words
        rows, sweeps = [], []
        for d in reversed(range(len(self.extents) - 1)):
            stride, step = Signal(address_bits, name=f"stride{d}"), Signal(address_bits, name=f"step{d}")
            m.d.sync += [stride.eq(inner), step.eq(stride * self.extents[d])]
            rows.append((self.extents[d], stride))
            sweeps.append((self.loop[d], step))
            inner = step * self.loop[d]
        levels = [*(row for row in rows if row[0] != 1), (words, 1), *sweeps]
        m.submodules.walker = walker = AddressWalker(len(levels), address_bits, count_bits)
        for k, (count, stride) in enumerate(levels):
            m.d.comb += [walker.counts[k].eq(count), walker.strides[k].eq(stride)]
        m.d.comb += [walker.start.eq(self.start), walker.origin.eq(self.address),
                     self.memory.address.eq(walker.address), walker.step.eq(self.memory.valid & self.memory.ready)]


def _inserted(word: Value, value: Value, slot: Value, element: int) -> Value:
    """`word` with `value` in its element `slot`; the first one clears the others."""
    if element == WORD:
        return value
    kept = [Mux(slot == 0, 0, word[first:first + element]) for first in range(0, WORD, element)]
    padded = Cat(value, Const(0, element - len(value)))
    return Cat(*(Mux(slot == k, padded, part) for k, part in enumerate(kept)))
