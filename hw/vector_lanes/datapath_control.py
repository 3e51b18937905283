"""Decoded control of a wavefront in the datapath: what travels down the pipeline beside it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data

from hw.vector_lanes.dispatch_decode import element_sizes, is_floating
from hw.vector_lanes.isa import Op
from hw.vector_lanes.spec import VectorSpec

__all__ = ["CONTROL", "decode"]

CONTROL = data.StructLayout({
    "size": 2, "a_growth": 2, "b_growth": 2, "shrink": 2, "out_size": 2, "signed": 1,
    "scalar": 1, "enumerated": 1, "sets_mask": 1, "accumulate": 1, "first": 1, "last": 1,
    "arithmetic": 1, "subtract": 1, "carry": 1, "table": 3, "absolute": 1, "alu_flag": 1,
    "compare": 1, "choose": 1, "take_a": 1, "conditional": 1, "use_less": 1, "use_zero": 1, "invert": 1,
    "multiply": 1, "add_d": 1, "left": 1, "right": 1, "rotate": 1,
    "low": 1, "high": 1, "fixed": 1, "lost_flag": 1, "below_flag": 1, "full": 1,
})  # fmt: skip
"""Bits of a decoded mode word.

* `size` of execution; `a_growth`, `b_growth`: how often the elements at ports A and B double to reach it, `shrink`: how
  often results halve; `first`, `last`: the wavefront begins and ends a row (accumulate).
* Adder: `arithmetic` results, else those of the logic unit by its truth `table`; `subtract`, `carry` (flag of B is
  carried in), `absolute` value of the result, `alu_flag`: a flag comes from adder or logic unit.
* Condition: `use_less`, `use_zero`, `invert`; with `compare` it is the result, with `choose` it picks A instead of B,
  with `conditional` it enables the write. `take_a`: the result is A (VMAC: D).
* Multiplier: `multiply` ops, `add_d`; `left`, `right`, `rotate` shifts; results `low`, `high`, `fixed`; flags
  `lost_flag` (does not fit), `below_flag` (top bit of the low half); `full` product enters the row's sum.
"""

_A, _AND, _OR, _XOR, _B = 0b011, 0b001, 0b111, 0b110, 0b101
_CONDITIONAL = (Op.VCMV_LEZ, Op.VCMV_GTZ, Op.VCMV_LTZ, Op.VCMV_GEZ, Op.VCMV_Z, Op.VCMV_NZ)
_COMPARE = (Op.VSEQ, Op.VSNE, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE)
_ROTATE = (Op.VROTL, Op.VROTR)
_MINMAX = (Op.VMIN, Op.VMAX)

_OPS: dict[str, tuple[Op, ...]] = {
    "arithmetic": (Op.VADD, Op.VSUB, Op.VADDC, Op.VSUBB),
    "subtract": (Op.VSUB, Op.VSUBB, *_MINMAX, *_COMPARE),
    "carry": (Op.VADDC, Op.VSUBB),
    "compare": _COMPARE,
    "choose": _MINMAX,
    "take_a": (*_CONDITIONAL, Op.VMAC),
    "conditional": _CONDITIONAL,
    "use_less": (Op.VCMV_LEZ, Op.VCMV_GTZ, Op.VCMV_LTZ, Op.VCMV_GEZ, *_MINMAX, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE),
    "use_zero": (Op.VCMV_LEZ, Op.VCMV_GTZ, Op.VCMV_Z, Op.VCMV_NZ, Op.VSEQ, Op.VSNE, Op.VSLE, Op.VSGT),
    "invert": (Op.VCMV_GTZ, Op.VCMV_GEZ, Op.VCMV_NZ, Op.VMAX, Op.VSNE, Op.VSGT, Op.VSGE),
    "multiply": (Op.VMUL, Op.VMULHI, Op.VMULFXP, Op.VMAC, Op.VSHL, Op.VSHR, *_ROTATE),
    "add_d": (Op.VMAC,),
    "left": (Op.VSHL,),
    "right": (Op.VSHR, Op.VROTR),
    "rotate": _ROTATE,
    "low": (Op.VMUL, Op.VMAC, Op.VSHL, *_ROTATE),
    "high": (Op.VMULHI, Op.VSHR, *_ROTATE),
    "fixed": (Op.VMULFXP,),
    "lost_flag": (Op.VMUL, Op.VSHL, Op.VMULFXP),
    "below_flag": (Op.VMULHI, Op.VSHR),
}
"""Control bits that depend on the operation only, and the operations that set them."""

_TABLES: dict[Op, int] = {
    Op.VAND: _AND, Op.VOR: _OR, Op.VXOR: _XOR,
    **dict.fromkeys(_COMPARE, _XOR),
    **dict.fromkeys((*_MINMAX, *_CONDITIONAL, *_ROTATE), _B),
}  # fmt: skip
"""Function of the logic unit by operation; A for those that are not here."""


def decode(m: Module, control: Any, mode: Any, first: Value, last: Value, spec: VectorSpec) -> None:
    """Drive all of `control` (layout `CONTROL`) from a `mode` word (layout `isa.MODE`) on a machine of `spec`."""
    for name, ops in _OPS.items():
        m.d.comb += control[name].eq(mode.op.matches(*(int(op) for op in ops)))
    m.d.comb += control.table.eq(_A)
    with m.Switch(mode.op):
        for op, table in _TABLES.items():
            with m.Case(int(op)):
                m.d.comb += control.table.eq(table)
    _decode_sizes(m, control, mode, spec)
    below_8 = mode.op <= Op.VSUBB
    moves = mode.op.matches(*(int(op) for op in (*_CONDITIONAL, *_ROTATE)))
    m.d.comb += [
        control.signed.eq(mode.signed),
        control.scalar.eq(mode.scalar),
        control.enumerated.eq(mode.enumerated),
        control.accumulate.eq(mode.accumulate),
        control.first.eq(first),
        control.last.eq(last),
        control.absolute.eq(mode.absolute & below_8),
        control.sets_mask.eq(mode.absolute & ~below_8 & ~(is_floating(mode) if spec.bfloat16 else 0)),
        control.alu_flag.eq((below_8 & ~mode.absolute) | moves),
        control.full.eq(mode.accumulate & (mode.op == Op.VMUL)),
    ]


def _decode_sizes(m: Module, control: Any, mode: Any, spec: VectorSpec) -> None:
    """VMAC reads D, which has the out size, at the port that its scalar or enumerated operand leaves free."""
    mac = mode.op == Op.VMAC
    in_size, out_size = element_sizes(mode, spec)
    a_size = Mux(mac & mode.scalar, out_size, in_size)
    b_size = Mux(mac & ~mode.scalar, out_size, in_size)
    m.d.comb += [
        control.size.eq(Mux(~mode.accumulate & (out_size > in_size), out_size, in_size)),
        control.a_growth.eq(control.size - a_size),
        control.b_growth.eq(control.size - b_size),
        control.shrink.eq(control.size - out_size),
        control.out_size.eq(out_size),
    ]
