"""One lane of 32 bits: everything between the alignment of the operands and that of the result.

Four pipeline stages; each takes the control that belongs to the wavefront in it:

=========  ==========================================================================================================
select     widen the operands, put scalars and element numbers in their place, turn shift amounts into powers of two
multiply   partial products; sum or difference, or logic
choose     sum of the partial products; condition, minimum and maximum, conditional move
result     the part of the product that is wanted, plus D (VMAC); or absolute value; flag
=========  ==========================================================================================================

Liu 2012, section 2.2: two cycles of multiplication leave room for the absolute value behind the ALU.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.wires import repeat, wire
from hw.vector_lanes import alu, multiplier, predicate, resize
from hw.vector_lanes.accumulate import SUM_BITS, lane_sum
from hw.vector_lanes.datapath_control import CONTROL
from hw.vector_lanes.float_lane import FLOAT_CONTROL, FloatCycles, FloatLane

__all__ = ["LANE_MODULE", "Lane", "lane_signature"]

LANE_MODULE = "vector_lane"

_SOURCE = {"word": 32, "half": 16, "byte": 8, "word_flags": 4, "half_flags": 2, "byte_flags": 1}


def lane_signature(floats: bool = False, fused: bool = False) -> wiring.Signature:
    """Ports of a lane.

    * `number` of the lane. `a_*` and `b_*`, at stage select: its share of the aligned row for elements that are not
      widened (`word`), widened once (`half`) and twice (`byte`), with flags.
    * `scalar`, `index`: scalar operand and number of the wavefront's first element, in every element, at stage select.
    * `active`: enabled bytes, at stage choose.
    * `control_*` (`CONTROL`) of the wavefront at each stage; `control_sum` of the one at the outputs.
    * `result`, `flags`, `enable` (per byte) at execution size, and the same at `half` that size and at a quarter
      (`byte`): from registers, in the cycle after stage result.
    * `row_sum`: sum of the enabled elements, a register one cycle later.
    * With `floats`: `repeated`, at stage select: `index` is operand B in every element. `float_begins` at stage
      multiply, `float_adds` and `float_ends` later, `float_result` at the end: see `FloatLane`.
    * With `fused` also `float_fused` at the end, and `float_holds` at stage multiply: what port B gave is the old
      destination for the next wavefront whose A is no scalar.
    """
    more = {"repeated": In(1), "float_begins": In(FLOAT_CONTROL), "float_adds": In(FLOAT_CONTROL),
            "float_ends": In(FLOAT_CONTROL), "float_result": Out(32)} if floats else {}
    if fused:
        more |= {"float_holds": In(1), "float_fused": In(1)}
    sources = {f"{port}_{name}": In(width) for port in "ab" for name, width in _SOURCE.items()}
    controls = {f"control_{stage}": In(CONTROL) for stage in ("select", "multiply", "choose", "result", "sum")}
    return wiring.Signature({
        **sources, **controls, "number": In(6), "scalar": In(32), "index": In(32), "active": In(4),
        "result": Out(32), "flags": Out(4), "enable": Out(4),
        "half_result": Out(16), "half_flags": Out(2), "half_enable": Out(2),
        "byte_result": Out(8), "byte_flags": Out(1), "byte_enable": Out(1), "row_sum": Out(SUM_BITS), **more,
    })  # fmt: skip


class Lane(wiring.Component):
    """A lane; see `lane_signature`. `fraction_bits` of VMULFXP for bytes, halfwords and words; `floats`: what a
    `FloatLane` takes, None without floating-point numbers."""

    def __init__(self, fraction_bits: tuple[int, int, int], floats: FloatCycles | None = None):
        self.fraction_bits, self.floats = fraction_bits, floats
        super().__init__(lane_signature(floats is not None, floats is not None and floats.fused))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operands = self._select(m)
        if self.floats is not None:
            self._compute_floats(m, operands, self.floats)
        early = self._multiply(m, operands)
        late = self._choose(m, early)
        self._outputs(m, self._finish(m, late))
        return m

    def _select(self, m: Module) -> dict[str, Signal]:
        c = self.control_select
        a, b = self._widened(m, "a", c.a_growth), self._widened(m, "b", c.b_growth)
        operand_a = wire(m, "operand_a", Mux(c.scalar, self.scalar, a[0]))
        index = resize.enumerate_lane(c.size, self.index, self.number)
        if self.floats is not None:
            index = Mux(self.repeated, self.index, index)
        operand_b = Mux(c.enumerated, index, b[0])
        shift = multiplier.shift_operand(m, c.size, operand_a, c.left, c.right, c.rotate)
        return _registers(
            m,
            "operand",
            a=operand_a,
            b=operand_b,
            d=Mux(c.scalar, a[0], b[0]),
            a_flags=a[1] & ~repeat(m, c.scalar, 4),
            b_flags=b[1] & ~repeat(m, c.enumerated, 4),
            factor=Mux(c.left | c.right | c.rotate, shift.power, operand_a),
            low=shift.low,
        )

    def _compute_floats(self, m: Module, operands: dict[str, Signal], cycles: FloatCycles) -> None:
        m.submodules.float = floats = FloatLane(cycles)
        d = self._old_destination(m, operands["d"]) if cycles.fused else operands["d"]
        m.d.comb += [floats.a.eq(operands["a"]), floats.b.eq(operands["b"]), floats.d.eq(d)]
        m.d.comb += [floats.begins.eq(self.float_begins), floats.adds.eq(self.float_adds),
                     floats.ends.eq(self.float_ends), self.float_result.eq(floats.result)]
        if cycles.fused:
            m.d.comb += floats.fused.eq(self.float_fused)

    def _old_destination(self, m: Module, d: Value) -> Value:
        """What a product is added to: with two vectors for it what was fetched before."""
        held = Signal(32, reset_less=True)
        with m.If(self.float_holds):
            m.d.sync += held.eq(d)
        return Mux(self.control_multiply.scalar, d, held)

    def _widened(self, m: Module, port: str, growth: Value) -> tuple[Value, Value]:
        c = self.control_select
        shares = {name: getattr(self, f"{port}_{name}") for name in _SOURCE}
        words, flags = list(shares.values())[:3], list(shares.values())[3:]
        return resize.widen(m, c.size, growth, c.signed, *words), resize.widen_flags(m, c.size, growth, *flags)

    def _multiply(self, m: Module, operand: dict[str, Signal]) -> dict[str, Signal]:
        c = self.control_multiply
        a, b = operand["a"], operand["b"]
        shifts = wire(m, "shifts", c.left | c.right | c.rotate)
        signs = c.signed & ~shifts, c.signed & ~c.rotate
        partial = self._products(m, multiplier.partial_factors(m, c.size, operand["factor"], b, *signs))
        carries = operand["b_flags"] & repeat(m, c.carry, 4)
        total, top = alu.add_subtract(m, c.size, c.signed, c.subtract, a, b, carries)
        return _registers(
            m,
            "early",
            **{f"partial{unit}": product for unit, product in enumerate(partial)},
            value=Mux(c.arithmetic, total, alu.logic(c.table, a, b)),
            top=top,
            flags=alu.logic(c.table, operand["a_flags"], operand["b_flags"]),
            a=Mux(c.add_d, operand["d"], a),
            a_flags=operand["a_flags"],
            low=operand["low"],
        )

    def _products(self, m: Module, factors: list[tuple[Value, Value]]) -> list[Value]:
        """The multipliers: all of the lane that a solver cannot look through, so a proof puts its own signals here."""
        return [x * y for x, y in factors]

    def _choose(self, m: Module, early: dict[str, Signal]) -> dict[str, Signal]:
        c = self.control_choose
        value, top, flags = early["value"], early["top"], early["flags"]
        signs = resize.from_last(m, c.size, alu.top_bits(value) & repeat(m, c.signed, 4))
        less = Mux(c.conditional, flags ^ signs, top)
        holds = predicate.condition(m, less, predicate.is_zero(m, c.size, value), c.use_less, c.use_zero, c.invert)
        take_a = wire(m, "takes_a", repeat(m, c.take_a, 4) | (repeat(m, c.choose, 4) & holds))
        chosen = predicate.choose(take_a, early["a"], value)
        keep = ~c.multiply | c.add_d
        negative = Mux(c.arithmetic, top & repeat(m, c.signed | c.subtract, 4), signs)
        flag = Mux(c.arithmetic, top ^ signs, Mux(c.conditional, early["a_flags"], flags))
        return _registers(
            m,
            "late",
            product=multiplier.sum_products(m, c.size, [early[f"partial{unit}"] for unit in range(4)]),
            value=Mux(c.compare, predicate.truth(c.size, holds), chosen & repeat(m, keep, 32)),
            negate=negative & repeat(m, c.absolute, 4),
            flags=flag & repeat(m, c.alu_flag, 4),
            enable=self.active & (holds | ~repeat(m, c.conditional, 4)),
            low=early["low"],
        )

    def _finish(self, m: Module, late: dict[str, Signal]) -> Signal:
        """Drives the result; returns the upper halves of the products that go with it."""
        c = self.control_result
        parts = multiplier.product_parts(m, c.size, late["product"], self.fraction_bits)
        low = wire(m, "take_low", late["low"] | repeat(m, c.low, 4))
        high = wire(m, "take_high", repeat(m, c.high, 4) & ~late["low"])
        product = _gate(parts.low, low) | _gate(parts.high, high) | _gate(parts.fixed, repeat(m, c.fixed, 4))
        value = late["value"] ^ resize.per_byte(late["negate"])
        total = alu.fractured_add(m, c.size, product, value, late["negate"])
        lost = multiplier.lost(m, c.size, c.signed, parts, c.fixed, self.fraction_bits)
        below = resize.from_last(m, c.size, alu.top_bits(parts.low)) & ~late["low"]
        upper = Signal(32, name="upper_half", reset_less=True)
        m.d.sync += [
            self.result.eq(total.value),
            self.flags.eq(late["flags"] | (lost & repeat(m, c.lost_flag, 4)) | (below & repeat(m, c.below_flag, 4))),
            self.enable.eq(late["enable"]),
            upper.eq(parts.high),
        ]
        return upper

    def _outputs(self, m: Module, upper: Signal) -> None:
        c = self.control_sum
        m.d.comb += [
            self.half_result.eq(resize.narrow(c.size, self.result, 8)),
            self.half_flags.eq(resize.narrow(c.size, self.flags, 1)),
            self.half_enable.eq(resize.narrow(c.size, self.enable, 1)),
            self.byte_result.eq(self.result[:8]),
            self.byte_flags.eq(self.flags[0]),
            self.byte_enable.eq(self.enable[0]),
        ]
        is_signed = c.signed & ~c.absolute
        m.d.sync += self.row_sum.eq(lane_sum(m, c.size, is_signed, c.full, self.result, upper, self.enable))


def _gate(value: Value, bits: Value) -> Value:
    return value & resize.per_byte(bits)


def _registers(m: Module, prefix: str, **values: Value) -> dict[str, Signal]:
    registers = {name: Signal(len(value), name=f"{prefix}_{name}", reset_less=True) for name, value in values.items()}
    m.d.sync += [registers[name].eq(value) for name, value in values.items()]
    return registers
