"""Formal proof that a lane on bytes is four independent 8-bit units: every operation, operand, flag and enable.

Each byte of the result depends on the same byte of the operands alone, and is what plain arithmetic on 8-bit numbers
says, whatever the other bytes and the wavefronts before and after it are. Shifts and rotations, which are
multiplications, and the low half of every product (VMAC) are included.

The solver takes too long for the high halves of products. So VMUL, VMULHI and VMULFXP are proven in two parts: each
multiplier gets the two numbers that the bytes stand for, and result and flag are those of its product, whatever 16 bits
that is. What is left is that the multiplier, an operator of the hardware description, multiplies. All pairs of
bytes are simulated as well, by `tb/test_vector_datapath.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from alu_proof import FRACTION_BITS, Expected, Meaning, Proof, Slice, prove
from amaranth.hdl import Mux, Value

from hw.vector_lanes.isa import Op


def exact(number: Value, s: Slice) -> Expected:
    """A sum or difference, or its absolute value."""
    return Expected(Mux(s.absolute, abs(number), number), s.misfit(number) & ~s.absolute)


def bitwise(number: Value, flag: Value, s: Slice) -> Expected:
    negative = s.signed & number[7] & s.absolute
    return Expected(Mux(negative, -number, number), flag & ~s.absolute)


def less(s: Slice) -> Value:
    return s.fb ^ (s.signed & s.b_byte[7])


def zero(s: Slice) -> Value:
    return s.b_byte == 0


def moved(s: Slice, holds: Value) -> Expected:
    return Expected(s.a_byte, s.fa, holds)


def truth(holds: Value) -> Expected:
    return Expected(Mux(holds, 1, 0))


ALU: dict[Op, Meaning] = {
    Op.VMOV: lambda s: bitwise(s.a_byte, s.fa, s),
    Op.VAND: lambda s: bitwise(s.a_byte & s.b_byte, s.fa & s.fb, s),
    Op.VOR: lambda s: bitwise(s.a_byte | s.b_byte, s.fa | s.fb, s),
    Op.VXOR: lambda s: bitwise(s.a_byte ^ s.b_byte, s.fa ^ s.fb, s),
    Op.VADD: lambda s: exact(s.a + s.b, s),
    Op.VSUB: lambda s: exact(s.a - s.b, s),
    Op.VADDC: lambda s: exact(s.a + s.b + s.fb, s),
    Op.VSUBB: lambda s: exact(s.a - s.b - s.fb, s),
    Op.VMIN: lambda s: Expected(Mux(s.a < s.b, s.a, s.b)),
    Op.VMAX: lambda s: Expected(Mux(s.a > s.b, s.a, s.b)),
    Op.VSEQ: lambda s: truth(s.a == s.b),
    Op.VSNE: lambda s: truth(s.a != s.b),
    Op.VSLT: lambda s: truth(s.a < s.b),
    Op.VSLE: lambda s: truth(s.a <= s.b),
    Op.VSGT: lambda s: truth(s.a > s.b),
    Op.VSGE: lambda s: truth(s.a >= s.b),
    Op.VCMV_LEZ: lambda s: moved(s, less(s) | zero(s)),
    Op.VCMV_GTZ: lambda s: moved(s, ~(less(s) | zero(s))),
    Op.VCMV_LTZ: lambda s: moved(s, less(s)),
    Op.VCMV_GEZ: lambda s: moved(s, ~less(s)),
    Op.VCMV_Z: lambda s: moved(s, zero(s)),
    Op.VCMV_NZ: lambda s: moved(s, ~zero(s)),
}


def left(s: Slice) -> Expected:
    shifted = (s.b << s.a_byte[:3])[:17].as_signed()
    beyond = s.a_byte >= 8
    return Expected(Mux(beyond, 0, shifted), s.misfit(shifted) & ~beyond)


def right(s: Slice) -> Expected:
    amount = Mux(s.a_byte >= 8, 8, s.a_byte)[:4]
    with_last = (s.b << 1) >> amount  # the last bit that went out is the lowest one
    return Expected(with_last >> 1, with_last[0] & (amount != 0))


def rotated(s: Slice, amount: Value) -> Expected:
    twice = s.b_byte.replicate(2)
    return Expected((twice << amount[:3])[8:16], s.fb)


SHIFTS: dict[Op, Meaning] = {
    Op.VSHL: left,
    Op.VSHR: right,
    Op.VROTL: lambda s: rotated(s, s.a_byte),
    Op.VROTR: lambda s: rotated(s, (-s.a_byte)[:8]),
}

PRODUCTS: dict[Op, Meaning] = {Op.VMAC: lambda s: Expected(s.d + s.a * s.b)}


def cut(s: Slice, bits: int) -> Expected:
    """The product without so many low bits."""
    number = s.product >> bits
    return Expected(number, s.misfit(number))


WIDE_PRODUCTS: dict[Op, Meaning] = {
    Op.VMUL: lambda s: cut(s, 0),
    Op.VMULHI: lambda s: Expected(s.product >> 8, s.product[7]),
    Op.VMULFXP: lambda s: cut(s, FRACTION_BITS[0]),
}


@pytest.mark.parametrize("meanings", [ALU, SHIFTS, PRODUCTS], ids=["alu", "shifts", "products"])
def test_bytes_are_independent_units(meanings: dict[Op, Meaning], tmp_path: Path) -> None:
    assert prove(tmp_path, Proof(meanings)) == ""


def test_products_of_bytes(tmp_path: Path) -> None:
    assert prove(tmp_path, Proof(WIDE_PRODUCTS, products=True)) == ""


def test_no_operation_is_left_out() -> None:
    assert {*ALU, *SHIFTS, *PRODUCTS, *WIDE_PRODUCTS} == {op for op in Op if not op.indexed}


def test_a_wrong_meaning_is_refuted(tmp_path: Path) -> None:
    wrong: dict[Op, Meaning] = {Op.VSUB: lambda s: exact(s.a - s.b - s.fb, s)}
    assert "Assert failed" in prove(tmp_path, Proof(wrong, places=[2]))


def test_a_wrong_part_of_a_product_is_refuted(tmp_path: Path) -> None:
    wrong: dict[Op, Meaning] = {Op.VMULHI: lambda s: cut(s, 8)}
    assert "Assert failed" in prove(tmp_path, Proof(wrong, places=[3], products=True))
