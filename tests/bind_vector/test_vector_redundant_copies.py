"""Copies that have been made already are left out, and only those."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from compiler.bind.vector.apps import load
from compiler.bind.vector.ir import Instruction, Setting, Statement, Transfer, unrolled
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.target import Options, compile_arrays
from hw.vector_lanes.isa import Mode, Op, Size

COPY = Mode(Op.VMOV, False, Size.WORD, Size.WORD)
ADD = Mode(Op.VADD, False, Size.WORD, Size.WORD)
LENGTH = Setting("length", (4,))


def copy(target: int, source: int) -> Instruction:
    return Instruction(COPY, target, source, 0)


@pytest.mark.parametrize("between", [
    [copy(100, 8)],                                     # into the source
    [Instruction(ADD, 76, 200, 200)],                   # into the target's last word
    [Transfer(False, 0, "x", 0, 4, 1)],                 # loaded over the source
    [Setting("transfer", (32, 4)), Transfer(False, 32, "x", 0, 4, 2)],
    [Setting("length", (5,))],                          # more than before
])
def test_a_copy_is_made_again_after_a_change(between: list[Statement]) -> None:
    program = [LENGTH, copy(64, 0), *between, copy(64, 0)]
    if isinstance(between[0], Instruction) and between[0].mode is COPY:
        program[2] = copy(8, 100)
    assert [s for s in Repeats().without(program) if s == copy(64, 0)] == [copy(64, 0)] * 2


def test_a_copy_is_left_out_with_its_settings() -> None:
    repeats = Repeats()
    first = repeats.without([LENGTH, copy(64, 0), Instruction(ADD, 128, 64, 0), Transfer(True, 64, "y", 0, 16, 1)])
    assert len(first) == 4
    again = repeats.without([Setting("length", (9,)), LENGTH, copy(64, 0), Setting("length", (7,)), copy(200, 300)])
    assert again == [Setting("length", (7,)), copy(200, 300)]


def test_a_copy_onto_itself_is_no_copy() -> None:
    assert Repeats().without([LENGTH, copy(4, 0), copy(4, 0)]) == [LENGTH, copy(4, 0), copy(4, 0)]


def test_what_all_sums_share_is_made_once() -> None:
    """The block of a motion search in two tiles is narrowed once; the area is narrowed and packed in each."""
    program = load("motest")
    design = compile_arrays(program, Options(lanes=64, segment=(16, 8)))
    inputs = program.random_inputs(np.random.default_rng(1))
    assert np.array_equal(design.execute(inputs)["sad"], program.reference(inputs)["sad"])
    copies = Counter(s.d for s in unrolled(design.code.body) if isinstance(s, Instruction) and s.mode.op is Op.VMOV)
    assert sorted(copies.values()) == [1, 2, 2, 2, 2]
