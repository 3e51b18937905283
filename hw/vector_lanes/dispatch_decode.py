"""What an entry of the instruction queue asks for, by the rules of the instruction set."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.isa import MODE, Op, Size

__all__ = ["ModeDecoder"]



class ModeDecoder(wiring.Component):
    """Properties of the mode word `mode`, combinationally; `legal` by `hw.vector_lanes.isa.RULES`.

    `size` of execution; `conditional`, `indexed`, `mac`, `gather`, `scatter`, `sets_mask`; `reads_a`, `reads_b`,
    `writes_d` as in `hw.vector_lanes.isa.Mode`.
    """

    def __init__(self) -> None:
        super().__init__({
            "mode": In(MODE), "legal": Out(1), "size": Out(2), "indexed": Out(1), "mac": Out(1), "gather": Out(1),
            "scatter": Out(1), "sets_mask": Out(1), "reads_a": Out(1), "reads_b": Out(1), "writes_d": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mode = self.mode
        op, conditional = mode.op, Signal()
        larger = Mux(mode.in_size > mode.out_size, mode.in_size, mode.out_size)
        m.d.comb += [
            conditional.eq((op >= Op.VCMV_LEZ) & (op <= Op.VCMV_NZ)), self.mac.eq(op == Op.VMAC),
            self.gather.eq(op == Op.VGATHER), self.scatter.eq(op == Op.VSCATTER),
            self.indexed.eq(self.gather | self.scatter), self.sets_mask.eq(conditional & mode.absolute),
            self.size.eq(Mux(mode.accumulate, mode.in_size, larger)),
            self.reads_a.eq(~mode.scalar & ~self.sets_mask), self.reads_b.eq((op != Op.VMOV) & ~mode.enumerated),
            self.writes_d.eq(~self.sets_mask & ~self.scatter),
            self.legal.eq(~Cat(self._violations(mode, conditional)).any()),
        ]
        return m

    def _violations(self, mode: data.View, conditional: Value) -> list[Value]:
        flat = mode.dimensions == 0
        setup = [mode.in_size != mode.out_size, ~flat, mode.accumulate, mode.enumerated]
        return [
            (mode.in_size == len(Size)) | (mode.out_size == len(Size)), mode.dimensions == 3,
            mode.absolute & ~((mode.op <= Op.VSUBB) | conditional),
            mode.accumulate & (self.mac | self.gather),
            self.mac & ~mode.scalar & ~mode.enumerated,
            mode.masked & (~flat | self.indexed),
            self.gather & ~mode.scalar, self.indexed & mode.enumerated,
            self.sets_mask & Cat(setup).any(),
        ]
