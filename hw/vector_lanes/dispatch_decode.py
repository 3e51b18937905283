"""What an entry of the instruction queue asks for, by the rules of the instruction set."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.isa import FLOAT, MODE, Op, Size

__all__ = ["ModeDecoder", "element_size"]



def element_size(code: Value, floats: bool) -> Value:
    """`Size` of elements in memory by a size code; on machines with `floats`, these are words."""
    return Cat(code[0] & ~code[1], code[1]) if floats else code


class ModeDecoder(wiring.Component):
    """Properties of the mode word `mode`, combinationally; `legal` by `hw.vector_lanes.isa.RULES`.

    `size` of execution; `conditional`, `indexed`, `mac`, `gather`, `scatter`, `sets_mask`; `reads_a`, `reads_b`,
    `writes_d` as in `hw.vector_lanes.isa.Mode`. On machines with `floats` also `floating` and `repeats_b`.
    """

    def __init__(self, floats: bool = False) -> None:
        self._floats = floats
        more = {"floating": Out(1), "repeats_b": Out(1)} if floats else {}
        super().__init__({
            "mode": In(MODE), "legal": Out(1), "size": Out(2), "indexed": Out(1), "mac": Out(1), "gather": Out(1),
            "scatter": Out(1), "sets_mask": Out(1), "reads_a": Out(1), "reads_b": Out(1), "writes_d": Out(1),
            **more,
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mode = self.mode
        op, conditional = mode.op, Signal()
        in_size, out_size = (element_size(code, self._floats) for code in (mode.in_size, mode.out_size))
        larger = Mux(in_size > out_size, in_size, out_size)
        m.d.comb += [
            conditional.eq((op >= Op.VCMV_LEZ) & (op <= Op.VCMV_NZ)), self.mac.eq(op == Op.VMAC),
            self.gather.eq(op == Op.VGATHER), self.scatter.eq(op == Op.VSCATTER),
            self.indexed.eq(self.gather | self.scatter), self.sets_mask.eq(conditional & mode.absolute),
            self.size.eq(Mux(mode.accumulate, in_size, larger)),
            self.reads_a.eq(~mode.scalar & ~self.sets_mask), self.reads_b.eq((op != Op.VMOV) & ~mode.enumerated),
            self.writes_d.eq(~self.sets_mask & ~self.scatter),
        ]
        if self._floats:
            m.d.comb += [
                self.floating.eq((mode.in_size == FLOAT) | (mode.out_size == FLOAT)),
                self.repeats_b.eq(mode.enumerated & (mode.in_size == FLOAT)),
                self.reads_b.eq((op != Op.VMOV) & (~mode.enumerated | self.repeats_b)),
            ]
        m.d.comb += self.legal.eq(~Cat(self._violations(mode, conditional)).any())
        return m

    def _violations(self, mode: data.View, conditional: Value) -> list[Value]:
        flat = mode.dimensions == 0
        setup = [mode.in_size != mode.out_size, ~flat, mode.accumulate, mode.enumerated]
        sizes = (mode.in_size == len(Size)) | (mode.out_size == len(Size))
        return [
            self._float_violation(mode) if self._floats else sizes, mode.dimensions == 3,
            mode.absolute & ~((mode.op <= Op.VSUBB) | conditional),
            mode.accumulate & (self.mac | self.gather),
            self.mac & ~mode.scalar & ~mode.enumerated,
            mode.masked & (~flat | self.indexed),
            self.gather & ~mode.scalar, self.indexed & mode.enumerated,
            self.sets_mask & Cat(setup).any(),
        ]

    def _float_violation(self, mode: data.View) -> Value:
        """Whether one of `FLOAT_RULES` is violated."""
        op = mode.op
        inner = op.matches(*(int(o) for o in (Op.VADD, Op.VSUB, Op.VMUL, Op.VMAC, Op.VMIN, Op.VMAX)))
        leaving = (op == Op.VMOV) | op.matches(*(int(o) for o in Op if o >= Op.VSEQ))
        computes = Mux(mode.in_size == mode.out_size, inner, Mux(mode.in_size == FLOAT, leaving, op == Op.VMOV))
        mac = self.mac & (~mode.scalar | mode.enumerated)
        return self.floating & (~computes | mode.absolute | mode.accumulate | mac | ((op == Op.VMOV) & mode.enumerated))
