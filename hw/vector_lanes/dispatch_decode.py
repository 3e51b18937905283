"""What an entry of the instruction queue asks for, by the rules of the instruction set."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.isa import FLOAT, MODE, Op, Size
from hw.vector_lanes.spec import VectorSpec

__all__ = ["ModeDecoder", "element_sizes", "is_floating", "is_fused"]



def is_floating(mode: Any) -> Value:
    """Whether a `mode` word takes or gives floating-point numbers."""
    return (mode.in_size == FLOAT) | (mode.out_size == FLOAT)


def is_fused(mode: Any) -> Value:
    """Whether a `mode` word is VFMA."""
    return (mode.op == Op.VMULFXP) & (mode.in_size == FLOAT) & (mode.out_size == FLOAT)


def element_sizes(mode: Any, spec: VectorSpec) -> tuple[Value, Value]:
    """`Size` of source and of result elements in memory by a `mode` word: floating-point numbers are words, or by the
    absolute bit halfwords, but where it rounds the former to the latter."""
    codes = mode.in_size, mode.out_size
    if not spec.floats:
        return codes
    words = tuple(Cat(code[0] & ~code[1], code[1]) for code in codes)
    if not spec.bfloat16:
        return words[0], words[1]
    narrows = (mode.op == Op.VMOV) & (mode.in_size == mode.out_size)
    halves = [(code == FLOAT) & mode.absolute for code in codes]
    half = Const(Size.HALF, 2)
    return Mux(halves[0] & ~narrows, half, words[0]), Mux(halves[1], half, words[1])


class ModeDecoder(wiring.Component):
    """Properties of the mode word `mode`, combinationally; `legal` by `hw.vector_lanes.isa.RULES`.

    `size` of execution; `conditional`, `indexed`, `mac`, `gather`, `scatter`, `sets_mask`; `reads_a`, `reads_b`,
    `writes_d` as in `hw.vector_lanes.isa.Mode`. `mac`: a read port reads D, that of A if A is a scalar. On machines of
    a `spec` with floating-point lanes also `floating` and `repeats_b`.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self._spec = spec
        more = {"floating": Out(1), "repeats_b": Out(1)} if spec.floats else {}
        super().__init__({
            "mode": In(MODE), "legal": Out(1), "size": Out(2), "indexed": Out(1), "mac": Out(1), "gather": Out(1),
            "scatter": Out(1), "sets_mask": Out(1), "reads_a": Out(1), "reads_b": Out(1), "writes_d": Out(1),
            **more,
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mode = self.mode
        op, conditional = mode.op, Signal()
        in_size, out_size = element_sizes(mode, self._spec)
        mac = op == Op.VMAC
        if self._spec.fuses:
            mac |= is_fused(mode) & mode.scalar
        larger = Mux(in_size > out_size, in_size, out_size)
        m.d.comb += [
            conditional.eq((op >= Op.VCMV_LEZ) & (op <= Op.VCMV_NZ)), self.mac.eq(mac),
            self.gather.eq(op == Op.VGATHER), self.scatter.eq(op == Op.VSCATTER),
            self.indexed.eq(self.gather | self.scatter), self.sets_mask.eq(conditional & mode.absolute),
            self.size.eq(Mux(mode.accumulate, in_size, larger)),
            self.reads_a.eq(~mode.scalar & ~self.sets_mask), self.reads_b.eq((op != Op.VMOV) & ~mode.enumerated),
            self.writes_d.eq(~self.sets_mask & ~self.scatter),
        ]
        if self._spec.floats:
            m.d.comb += [
                self.floating.eq(is_floating(mode)),
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
            self._float_violation(mode) if self._spec.floats else sizes, mode.dimensions == 3,
            mode.absolute & ~((mode.op <= Op.VSUBB) | conditional | (self.floating if self._spec.floats else 0)),
            mode.accumulate & (self.mac | self.gather),
            self.mac & ~mode.scalar & ~mode.enumerated,
            mode.masked & (~flat | self.indexed),
            self.gather & ~mode.scalar, self.indexed & mode.enumerated,
            self.sets_mask & Cat(setup).any(),
        ]

    def _float_violation(self, mode: data.View) -> Value:
        """Whether one of `FLOAT_RULES` or `FORMAT_RULES` is violated."""
        op = mode.op
        inner = op.matches(*(int(o) for o in (Op.VADD, Op.VSUB, Op.VMUL, Op.VMAC, Op.VMIN, Op.VMAX)))
        leaving = (op == Op.VMOV) | op.matches(*(int(o) for o in Op if o >= Op.VSEQ))
        inner |= mode.absolute & (op == Op.VMOV)
        if self._spec.fuses:
            inner |= op == Op.VMULFXP
        computes = Mux(mode.in_size == mode.out_size, inner, Mux(mode.in_size == FLOAT, leaving, op == Op.VMOV))
        mac = (op == Op.VMAC if self._spec.fuses else self.mac) & (~mode.scalar | mode.enumerated)
        formats = (mode.absolute | self._spec.float32) & (~mode.absolute | self._spec.bfloat16)
        return self.floating & (~computes | ~formats | mode.accumulate | mac | ((op == Op.VMOV) & mode.enumerated))
