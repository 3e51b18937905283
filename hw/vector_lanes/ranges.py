"""Byte ranges: how far instructions and transfers reach, and whether two of them overlap."""

from __future__ import annotations

from amaranth import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.spec import VectorSpec

__all__ = ["DMA_SLOT", "OPERANDS", "Products", "overlap", "range_layout", "reach_layout"]

OPERANDS = ("d", "a", "b")
DMA_SLOT = 6
_SLOTS = 7


def range_layout(spec: VectorSpec) -> data.StructLayout:
    """Bytes `lo` up to, not including, `hi` of the scratchpad; empty if both are 0."""
    return data.StructLayout({"lo": spec.address_bits + 1, "hi": spec.address_bits + 1})


def overlap(first: data.View, second: data.View) -> Value:
    """Whether two ranges (views of `range_layout`) have a byte in common."""
    return (first.lo < second.hi) & (second.lo < first.hi)


def reach_layout(spec: VectorSpec) -> data.StructLayout:
    """How far the starts of an operand's rows reach `below` and `above` its address; `out`: further than the size of
    the scratchpad."""
    width = spec.address_bits + 1
    return data.StructLayout({"below": width, "above": width, "out": 1})


class Products(wiring.Component):
    """Keeps (count - 1) * increment for all increments, so that an instruction finds its reach ready.

    Slots 0 to 2 are the rows of D, A, B; 3 to 5 their matrices; 6 a transfer. `change` (7) says that slots have other
    factors than before: `rows`, `mats`, `transfers` (32, counts) and `increments` (7 x signed 32), which must stay
    until `ready`: one product per cycle, four cycles each. `reach[d][x]`: of operand x (D, A, B) of instructions of
    d + 2 dimensions; `transfer_reach`. Counts of 0 give anything. One multiplier as wide as an address.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self._bits = spec.address_bits
        self._reach = reach_layout(spec)
        super().__init__({
            "change": In(_SLOTS), "rows": In(32), "mats": In(32), "transfers": In(32),
            "increments": In(signed(32)).array(_SLOTS), "ready": Out(1),
            "reach": Out(self._reach).array(2, 3), "transfer_reach": Out(self._reach),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot, valid = self._pick(m)
        count, increment = Signal(32), Signal(signed(32))
        counts = Array([self.rows] * 3 + [self.mats] * 3 + [self.transfers])
        m.d.sync += [count.eq(counts[slot]), increment.eq(Array(self.increments)[slot])]
        steps, size = Signal(32), Signal(32)
        negative = Signal()
        m.d.sync += [steps.eq(count - 1), size.eq(abs(increment)), negative.eq(increment < 0)]
        place = [slot]
        for _ in range(3):
            place.append(Signal.like(slot))
            m.d.sync += place[-1].eq(place[-2])
        product, far, sign = self._multiply(m, steps, size, negative)
        self._store(m, place[3], valid, product, far, sign)
        return m

    def _pick(self, m: Module) -> tuple[Signal, Signal]:
        """The slot to compute next, and which stages behind have one."""
        stale = Signal(_SLOTS)
        slot, picked, valid = Signal(range(_SLOTS)), Signal(_SLOTS), Signal(4)
        for number in reversed(range(_SLOTS)):
            with m.If(stale[number]):
                m.d.comb += [slot.eq(number), picked.eq(1 << number)]
        m.d.sync += [stale.eq(stale & ~picked | self.change), valid.eq(Cat(stale.any(), valid))]
        m.d.comb += self.ready.eq(~stale.any() & ~valid.any())
        return slot, valid

    def _multiply(self, m: Module, steps: Value, size: Value, negative: Value) -> tuple[Signal, Signal, Signal]:
        bits = self._bits
        product, big, sign = Signal(2 * bits), Signal(), Signal()
        nothing = (steps == 0) | (size == 0)
        m.d.sync += [
            product.eq(steps[:bits] * size[:bits]), sign.eq(negative),
            big.eq(~nothing & (steps[bits:].any() | size[bits:].any())),
        ]
        far = Signal()
        m.d.comb += far.eq(big | product[bits:].any())
        return product, far, sign

    def _store(self, m: Module, slot: Value, valid: Value, product: Value, far: Value, sign: Value) -> None:
        reaches = [Signal(self._reach, name=f"reach{number}") for number in range(_SLOTS)]
        for number, reach in enumerate(reaches):
            with m.If(valid[2] & (slot == number)):
                low = product[: self._bits]
                m.d.sync += [reach.below.eq(Mux(sign, low, 0)), reach.above.eq(Mux(sign, 0, low)), reach.out.eq(far)]
        m.d.comb += self.transfer_reach.eq(reaches[DMA_SLOT])
        for operand in range(3):
            rows, mats, both = reaches[operand], reaches[3 + operand], self.reach[1][operand]
            m.d.comb += self.reach[0][operand].eq(rows)
            m.d.sync += [
                both.below.eq(rows.below + mats.below), both.above.eq(rows.above + mats.above),
                both.out.eq(rows.out | mats.out),
            ]
