"""Sums along a row: the elements of a lane, a pipelined tree over the lanes, the accumulator of 40 bits."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.wires import repeat, wire
from hw.vector_lanes.resize import by_size

__all__ = ["SUM_BITS", "RowAccumulator", "fits", "lane_sum", "tree_stages"]

SUM_BITS = 40
"""Width of sums; they wrap."""


def lane_sum(
    m: Module, size: Value, is_signed: Value, full: Value, result: Value, high: Value, enable: Value
) -> Value:
    """Sum of the enabled elements of a lane: of their n bits, or (`full`) of the 2n bits whose upper halves are in
    `high`."""
    is_signed = wire(m, "sum_signed", is_signed)
    terms = [_term(m, size, place, is_signed, full, result, high, enable[place]) for place in range(4)]
    return ((terms[0] + terms[2]) + (terms[1] + terms[3]))[:SUM_BITS]


def _term(
    m: Module, size: Value, place: int, is_signed: Value, full: Value, result: Value, high: Value, enable: Value
) -> Value:
    """The element that begins at byte `place`, extended to the width of sums; 0 if none begins there."""
    choices = []
    for width in (8, 16, 32):
        if 8 * place % width:
            choices.append(Const(0, SUM_BITS))
            continue
        field = result[8 * place : 8 * place + width]
        upper = high[8 * place : 8 * place + width]
        upper = wire(m, "upper", Mux(full, upper, repeat(m, field[-1] & is_signed, width)))
        value = Cat(field, upper)
        choices.append(Cat(value, repeat(m, upper[-1] & is_signed, max(0, SUM_BITS - 2 * width)))[:SUM_BITS])
    return by_size(size, *choices) & enable.replicate(SUM_BITS)


def fits(m: Module, size: Value, is_signed: Value, total: Value) -> Value:
    """Whether a sum is a number of `size`, signed or unsigned."""
    spread = wire(m, "spread", total ^ repeat(m, total[-1] & is_signed, len(total)))
    return by_size(size, *(~(spread[width:].any() | (spread[width - 1] & is_signed)) for width in (8, 16, 32)))


class RowAccumulator(wiring.Component):
    """Adds up the lanes' sums of all wavefronts from `first` to `last`.

    `sums`: those of all lanes, lane 0 in the lowest bits, of a wavefront that is to be added if `valid`. `total` and
    `done` (the row ended): registers, `levels` + 1 cycles later. One wavefront per cycle, rows back to back.
    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        self.levels = tree_stages(lanes)
        super().__init__({
            "sums": In(SUM_BITS * lanes), "valid": In(1), "first": In(1), "last": In(1),
            "total": Out(SUM_BITS), "done": Out(1),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sums = [self.sums.word_select(lane, SUM_BITS) for lane in range(self.lanes)]
        valid, first, last = self.valid, self.first, self.last
        for level in range(self.levels):
            sums = self._level(m, level, sums)
            flags = Signal(3, name=f"flags{level}")
            m.d.sync += flags.eq(Cat(valid, first, last))
            valid, first, last = flags
        base = Mux(first, 0, self.total)
        m.d.sync += self.done.eq(valid & last)
        with m.If(valid):
            m.d.sync += self.total.eq(base + sums[0])
        return m

    @staticmethod
    def _level(m: Module, level: int, sums: list[Value]) -> list[Value]:
        """A register behind the sums of four."""
        results: list[Value] = []
        for group in range(0, len(sums), 4):
            total = Signal(SUM_BITS, name=f"sum{level}_{group // 4}", reset_less=True)
            members = sums[group : group + 4]
            pairs = [sum(members[index : index + 2], Const(0, 1)) for index in range(0, len(members), 2)]
            m.d.sync += total.eq(sum(pairs, Const(0, 1)))
            results.append(total)
        return results


def tree_stages(lanes: int) -> int:
    """Pipeline stages of the tree: two levels of additions each."""
    return lanes.bit_length() // 2
