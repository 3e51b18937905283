"""What every operation computes, on numpy arrays: the arithmetic of the reference simulator.

Sums, products, minima and comparisons come from `hw.ops`; what is particular to a vector lane (flags, fixed point,
rotation, amounts beyond the width) is here. Values are mathematical integers in int64, or in uint64 where a product of
two unsigned words needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.ops import operation
from hw.vector_lanes.isa import Mode, Op

__all__ = ["ACCUMULATOR_BITS", "NUMBERS", "Operands", "Result", "accumulate", "compute", "keeps_width", "number_type",
           "predicate"]

ACCUMULATOR_BITS = 40

NUMBERS = {True: tuple(np.dtype(f"<i{1 << size}") for size in range(3)),
           False: tuple(np.dtype(f"<u{1 << size}") for size in range(3))}
"""numpy's types of elements, by sign and size."""


def number_type(size: int, signed: bool) -> np.dtype[Any]:
    """numpy's type of elements of a size (0 byte, 1 half, 2 word)."""
    return NUMBERS[signed][size]


def keeps_width(mode: Mode) -> bool:
    """Whether `compute` and `predicate` may be given numbers of the execution width instead of wider ones."""
    native = mode.op in _NATIVE or mode.op in _COMPARE or mode.op.conditional
    return native and mode.in_size == mode.out_size and not mode.absolute


@dataclass(frozen=True)
class Operands:
    """Sources of one instruction at its execution width, as numbers in the range of its type; arrays or scalars.

    `fa` and `fb` are their flags (0 or 1). `d` is the old destination (VMAC only). `fraction`: shift of VMULFXP.
    `native`: all of them have the type of the execution width, so that results wrap by themselves (see `keeps_width`).
    """

    mode: Mode
    a: Any
    b: Any
    fa: Any = 0
    fb: Any = 0
    d: Any = 0
    fraction: int = 0
    native: bool = False

    @property
    def bits(self) -> int:
        """The execution width."""
        return 8 << self.mode.exec_size

    @property
    def mask(self) -> int:
        """All ones at the execution width."""
        return (1 << self.bits) - 1

    @property
    def type(self) -> np.dtype[Any]:
        """The type at the execution width."""
        return NUMBERS[self.mode.signed][self.mode.exec_size]

    @property
    def product(self) -> Any:
        """A * B, exact."""
        if self.mode.signed:
            return self.evaluate("mul")
        return operation("mul").evaluate(self.bits, np.asarray(self.a, np.uint64), np.asarray(self.b, np.uint64))

    @property
    def amount(self) -> Any:
        """A as a shift amount: unsigned."""
        return self.a & self.mask

    def evaluate(self, name: str) -> Any:
        """The meaning of an operation of `hw.ops` on A and B."""
        return operation(name).evaluate(self.bits, self.a, self.b)


Result = tuple[Any, Any]
"""Value, exact or wrapped to the width, and flag."""


def _fitting(o: Operands, exact: Any) -> Result:
    """The wrapped value; its flag tells that the exact one does not fit."""
    wrapped = np.asarray(exact).astype(o.type)
    return wrapped, wrapped != exact


def _sum(o: Operands) -> Result:
    """VADD and VSUB: numbers of the execution width wrap as they should, wider ones are exact."""
    if not o.native:
        return _fitting(o, _exact_basic(o))
    adds = o.mode.op is Op.VADD
    value = o.evaluate("add" if adds else "sub")
    if not o.mode.signed:
        return value, value < o.a if adds else o.a < o.b
    return value, ((o.a ^ value) & ((o.b if adds else o.a) ^ (value if adds else o.b))) < 0


def _exact_basic(o: Operands) -> Any:
    """The exact result of operations 0 to 7."""
    op = o.mode.op
    if op is Op.VMOV:
        return o.a
    if op <= Op.VXOR:
        return o.evaluate(_LOGIC[op])
    if op in (Op.VADD, Op.VADDC):
        return o.evaluate("add") + (o.fb if op is Op.VADDC else 0)
    return o.evaluate("sub") - (o.fb if op is Op.VSUBB else 0)


_LOGIC = {Op.VAND: "and", Op.VOR: "or", Op.VXOR: "xor"}
_NATIVE = {Op.VMOV, Op.VAND, Op.VOR, Op.VXOR, Op.VADD, Op.VSUB, Op.VMAC, Op.VMIN, Op.VMAX}
_COMPARE = {Op.VSEQ: "eq", Op.VSNE: "ne", Op.VSLT: "lt", Op.VSLE: "le", Op.VSGT: "gt", Op.VSGE: "ge"}


def _logic(o: Operands) -> Result:
    flags = Operands(o.mode, o.fa, o.fb)
    return o.evaluate(_LOGIC[o.mode.op]), flags.evaluate(_LOGIC[o.mode.op])


def _high(o: Operands) -> Result:
    product = o.product
    return product >> product.dtype.type(o.bits), product >> product.dtype.type(o.bits - 1) & product.dtype.type(1)


def _fixed_point(o: Operands) -> Result:
    product = o.product
    return _fitting(o, product >> product.dtype.type(o.fraction))


def _multiply_add(o: Operands) -> Result:
    if o.native:
        return o.evaluate("mul") + o.d, 0
    return o.product.astype(np.int64) + o.d, 0


def _shift_left(o: Operands) -> Result:
    inside = o.amount < o.bits
    value, flag = _fitting(o, operation("shl").evaluate(o.bits, o.b, o.amount))
    return value, flag & inside


def _shift_right(o: Operands) -> Result:
    amount = np.minimum(o.amount, o.bits)
    last = o.b >> np.maximum(amount - 1, 0) & 1
    return operation("shr").evaluate(o.bits, o.b, o.amount), last & (amount > 0)


def _rotate(o: Operands) -> Result:
    left = o.a if o.mode.op is Op.VROTL else -o.a
    amount, bits = left & (o.bits - 1), o.b & o.mask
    return (bits << amount | bits >> (o.bits - amount)), o.fb


def _compare(o: Operands) -> Result:
    return o.evaluate(_COMPARE[o.mode.op]), 0


def _move(o: Operands) -> Result:
    return o.a, o.fa


_MEANING: dict[Op, Callable[[Operands], Result]] = {
    Op.VMOV: _move,
    **dict.fromkeys(_LOGIC, _logic),
    **dict.fromkeys((Op.VADD, Op.VSUB), _sum),
    **{op: lambda o: _fitting(o, _exact_basic(o)) for op in (Op.VADDC, Op.VSUBB)},
    Op.VMUL: lambda o: _fitting(o, o.product), Op.VMULHI: _high, Op.VMULFXP: _fixed_point, Op.VMAC: _multiply_add,
    Op.VSHL: _shift_left, Op.VSHR: _shift_right, Op.VROTL: _rotate, Op.VROTR: _rotate,
    **{op: _move for op in Op if op.conditional},
    Op.VMIN: lambda o: (o.evaluate("min"), 0), Op.VMAX: lambda o: (o.evaluate("max"), 0),
    **dict.fromkeys(_COMPARE, _compare),
}


def compute(o: Operands) -> Result:
    """Result, to be cut to the execution width, and flag of any operation but gather and scatter."""
    if o.mode.absolute:
        return np.abs(_exact_basic(o)), 0
    return _MEANING[o.mode.op](o)


def predicate(o: Operands) -> Any:
    """Whether the condition of a conditional move holds for B and its flag, per element."""
    negative = (np.asarray(o.fb) != 0) ^ (o.b < 0) if o.mode.signed else np.asarray(o.fb) != 0
    zero = np.equal(o.b, 0)
    holds = {Op.VCMV_LEZ: negative | zero, Op.VCMV_GTZ: ~(negative | zero), Op.VCMV_LTZ: negative,
             Op.VCMV_GEZ: ~negative, Op.VCMV_Z: zero, Op.VCMV_NZ: ~zero}
    return holds[o.mode.op]


def accumulate(o: Operands, active: Any, shape: tuple[int, ...]) -> Result:
    """Sum over the last axis of `shape` of the results that are `active`, as a number of 40 bits, and its flag.

    The full product is added for VMUL, the magnitude as an unsigned number with `absolute`; the flag tells that the
    sum does not fit the out size.
    """
    terms = o.product if o.mode.op is Op.VMUL else compute(o)[0]
    if o.mode.op is not Op.VMUL:
        terms = _term(o, terms)
    wide = np.asarray(terms).astype(np.uint64)
    wide = np.broadcast_to(wide if active is True else np.where(active, wide, np.uint64(0)), shape)
    total = (wide.sum(axis=-1, dtype=np.uint64) & np.uint64((1 << ACCUMULATOR_BITS) - 1)).astype(np.int64)
    if o.mode.signed:
        total -= (total >> ACCUMULATOR_BITS - 1) << ACCUMULATOR_BITS
    narrow = total.astype(number_type(o.mode.out_size, o.mode.signed))
    return narrow, narrow != total


def _term(o: Operands, result: Any) -> Any:
    """A result as it is added: a number of the execution width, unsigned after the absolute-value stage."""
    signed = o.mode.signed and not o.mode.absolute
    return np.asarray(result).astype(number_type(o.mode.exec_size, signed)).astype(np.int64)
