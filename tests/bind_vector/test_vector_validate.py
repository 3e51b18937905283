"""Validation of the vector target notices instructions that compute something else than the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler
from compiler.bind.vector import validate
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.ir import Instruction
from compiler.bind.vector.validate import validate_design
from compiler.frontend import parallel_array as pa
from compiler.frontend.c_scop import parse_scop
from compiler.sched.verify import ValidationError
from hw.vector_lanes.isa import Op

TEXT = """void f(const short a[8], signed char y[8]) {
#pragma scop
  for (int i = 0; i < 8; i++)
    y[i] = 10973 >> (a[i] & 1);
#pragma endscop
}"""


@pytest.fixture(scope="module")
def design() -> VectorDesign:
    return compiler.compile(parse_scop(TEXT, "f.c"), target="vector", search=False)


def damaged(design: VectorDesign, op: Op, **fields: object) -> VectorDesign:
    """The design with other fields in its only instruction `op`, or in that one's mode."""
    number, = [k for k, s in enumerate(design.code.body) if isinstance(s, Instruction) and s.mode.op is op]
    instruction = design.code.body[number]
    assert isinstance(instruction, Instruction)
    own = {name: value for name, value in fields.items() if name in ("a", "b", "d")}
    mode = replace(instruction.mode, **{name: value for name, value in fields.items() if name not in own})
    body = [*design.code.body]
    body[number] = replace(instruction, mode=mode, **own)
    return replace(design, code=replace(design.code, body=tuple(body)))


def test_what_the_compiler_made_is_right(design):
    assert validate_design(design) is design


@pytest.mark.parametrize(("op", "fields"), [
    (Op.VMOV, {"a": 10973 - (43 << 8)}),  # the constant cut to the type of the result
    (Op.VSHR, {"signed": True, "in_size": 0}),
    (Op.VAND, {"a": 3}),
])
def test_another_width_sign_or_constant_is_caught(design, op, fields):
    with pytest.raises(ValidationError, match=r"vector program scop: element \(\d,\) of 'y' is -?\d+ on the machine, "
                                              r"the program means -?\d+"):
        validate_design(damaged(design, op, **fields))


def test_parallel_arrays_are_compared_with_numpy():
    x = pa.input("x", (8,), "int16")
    design = compiler.compile(pa.program("p", y=x - 300), target="vector", search=False)
    with pytest.raises(ValidationError, match="vector program p: element"):
        validate_design(damaged(design, Op.VADD, a=300))


def test_long_programs_are_not_run(design, monkeypatch):
    monkeypatch.setattr(validate, "_CYCLES", 1)
    wrong = damaged(design, Op.VAND, a=3)
    assert validate_design(wrong) is wrong
