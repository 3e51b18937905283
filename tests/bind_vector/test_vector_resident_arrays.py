"""Arrays that stay on chip while loops carry values, and the copies that are left out for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler.bind.vector.copy_elimination import without_copies
from compiler.bind.vector.ir import Instruction, Transfer, VectorProgram, entries
from compiler.bind.vector.resident_arrays import ResidentArrays
from compiler.bind.vector.straight_code import Move, Rows, Work, copy_of, stated, worked
from compiler.bind.vector.text import parse_program
from compiler.frontend.c_scop import parse_scop
from hw.vector_lanes.isa import Mode, Op
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec

SPEC = VectorSpec(1, 256)

RESIDENT = ResidentArrays(128, 256, {"x": 128, "y": 160, "z": 192}, {"x": 32, "y": 32, "z": 64})

CODE = """program f scratchpad 256
array m input int16 8 bytes 16
length 4
load 0 from m 0 bytes 8 rows 1
run VADD VV H H U 1D d 8 a 0 b 16
"""


def copies() -> st.SearchStrategy[Work]:
    """Copies between arrays and places beside them, of one row or of two."""
    one = st.builds(lambda d, a, n: copy_of(Rows(d, n), Rows(a, n)), places(), places(), st.sampled_from([2, 4, 8]))
    two = st.builds(lambda d, a, s, t: copy_of(Rows(d, 4, 2, s), Rows(a, 4, 2, t)), places(), places(),
                    st.sampled_from([4, 8]), st.sampled_from([4, 8]))
    return one | two


def places() -> st.SearchStrategy[int]:
    return st.sampled_from([0, 4, 8, 12, 16, 128, 132, 136, 160, 164, 192, 200])


def instructions() -> st.SearchStrategy[Work]:
    modes = [Mode(Op.VADD, False, 1, 1), Mode(Op.VSUB, True, 1, 2), Mode(Op.VMOV, True, 1, 2),
             Mode(Op.VMOV, False, 2, 2), Mode(Op.VSHR, True, 2, 1, scalar=True), Mode(Op.VMAC, True, 1, 1, scalar=True),
             Mode(Op.VCMV_NZ, True, 1, 1), Mode(Op.VADD, True, 1, 2, accumulate=True, scalar=True)]

    def made(mode: Mode, d: int, a: int, b: int, length: int) -> Work:
        return Work(Instruction(mode, d, 3 if mode.scalar else a, b), length)

    return st.builds(made, st.sampled_from(modes), places(), places(), places(), st.sampled_from([1, 2, 4]))


@settings(max_examples=150, deadline=None)
@given(st.lists(copies() | instructions(), min_size=2, max_size=9), st.integers(0, 1 << 16))
def test_arrays_hold_the_same_without_copies(code: list[Work], seed: int) -> None:
    found = without_copies(code, RESIDENT.array_at)
    assert len(found) <= len(code)
    np.testing.assert_array_equal(run(found, seed), run(code, seed))


def run(code: list[Work] | list[Work | Move], seed: int) -> np.ndarray:
    """What the arrays hold after code that begins with random bytes."""
    machine = VectorMachine(SPEC)
    machine.scratchpad[:] = np.random.default_rng(seed).integers(0, 256, SPEC.capacity)
    machine.execute(entries(VectorProgram("f", SPEC.capacity, (), tuple(stated(code))), {}))
    assert not machine.status
    return machine.scratchpad[RESIDENT.low:]


def test_work_and_statements() -> None:
    body = parse_program(CODE).body
    work = worked(body)
    assert [type(one) for one in work] == [Move, Work]
    assert {type(s) for s in stated(work)} == {type(s) for s in body}


def test_chains_of_copies_are_gone() -> None:
    """z = x + y by way of places beside them is one instruction; what an array held before is copied before it is
    written."""
    add = Work(Instruction(Mode(Op.VADD, False, 1, 1), 8, 0, 4), 2)
    code = [copy_of(Rows(0, 4), Rows(128, 4)), copy_of(Rows(4, 4), Rows(160, 4)), add,
            copy_of(Rows(12, 4), Rows(8, 4)), copy_of(Rows(192, 4), Rows(12, 4))]
    (left,) = without_copies(code, RESIDENT.array_at)
    assert isinstance(left, Work) and left.code == Instruction(add.mode, 192, 128, 160)
    late = [code[0], copy_of(Rows(136, 4), Rows(160, 4)), copy_of(Rows(192, 4), Rows(0, 4))]
    assert without_copies(late, RESIDENT.array_at) == [copy_of(Rows(192, 4), Rows(128, 4)), late[1]]


@pytest.mark.parametrize(("scratchpad", "moved"), [(2048, 2), (512, 0)])
def test_turns_go_without_memory(scratchpad: int, moved: int) -> None:
    """An input and an output pass memory once each where both fit."""
    text = ("void f(const short x[150], short z[150]) {\n#pragma scop\n"
            "for (int i = 1; i < 150; i++) z[i] = z[i - 1] * 3 + x[i];\n#pragma endscop\n}")
    design = compiler.compile(parse_scop(text), target="vector", lanes=1, scratchpad=scratchpad)
    transfers = [s for s in design.code.body if isinstance(s, Transfer) and s.bytes == 300]
    assert len(transfers) == moved
