"""C code: numbers that step with loops are sums of anchors, which are forgotten when nobody uses them."""

from __future__ import annotations

from compiler.bind.vector.c_code import IDLE, REACH, c_program
from compiler.bind.vector.ir import Affine, Instruction, Loop, Setting, VectorProgram
from hw.vector_lanes.isa import Mode, Op, Size

ADD = Mode(Op.VADD, False, Size.WORD, Size.WORD)


def code(*body: Instruction) -> str:
    return c_program(VectorProgram("probe", 1 << 15, (), (Setting("length", (4,)), Loop(3, body))))


def add(base: int, step: int = 64) -> Instruction:
    return Instruction(ADD, Affine(base, (step,)), 0, 128)


def test_neighbours_are_sums() -> None:
    text = code(add(4096), add(4096 + REACH), add(4000))
    assert text.count("= ANCHOR(") == 1 and "a1 = ANCHOR(4096 + 64 * i0);" in text
    assert all(f"VADD, {place}, 0, 128" in text for place in ("a1", f"a1 + {REACH}", "a1 - 96"))


def test_what_lies_far_or_steps_differently_is_an_anchor_of_its_own() -> None:
    text = code(add(0), add(REACH + 1), add(0, -64))
    assert text.count("= ANCHOR(") == 3 and "a3 = ANCHOR(0 - 64 * i0);" in text


def test_anchors_that_idle_are_forgotten() -> None:
    others = [Instruction(ADD, 0, 0, 128)] * IDLE
    assert code(add(0), *others[1:], add(4)).count("= ANCHOR(") == 1
    assert code(add(0), *others, add(4)).count("= ANCHOR(") == 2


def test_plain_numbers_need_none() -> None:
    assert "ANCHOR" not in code(Instruction(ADD, 0, 0, 128))
