"""Which designs the search has proven: the one that is taken, and those that would be, were they proven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import compiler
from compiler.attempts import Attempt, record_attempts
from compiler.bind.fpga import search_space
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.early_exit import EarlyExit
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from compiler.sched.verify import ValidationError

COPY = """void f(const unsigned char a[4][24], unsigned char y[4][24]) {
#pragma scop
    for (int i = 0; i < 4; i++) for (int j = 0; j < 24; j++) y[i][j] = a[i][j] ^ 85;
#pragma endscop
}"""

TRANSPOSE = """void f(const int a[8][8], int y[8][8]) {
#pragma scop
    for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[i][j] = a[j][i];
#pragma endscop
}"""


def compiled(text: str, monkeypatch: pytest.MonkeyPatch,
             wrong: Callable[[int, int], bool]) -> tuple[FpgaDesign, list[Attempt]]:
    """The design of `text` where proofs fail that are `wrong`, by number and by bits of an output's element, and its
    proofs. Nothing is built twice."""
    proofs, built = [0], Counter[object]()
    build, validate = search_space.build_pipeline, search_space.validate

    def prove(program: Program, *given: Any) -> None:
        proofs[0] += 1
        validate(program, *given)
        if wrong(proofs[0], program.outputs[0].type.width):
            raise ValidationError(f"number {proofs[0]} is wrong")

    def count(schedule: Any, *given: Any) -> object:
        built[id(schedule)] += 1
        return build(schedule, *given)

    monkeypatch.setattr(search_space, "validate", prove)
    monkeypatch.setattr(search_space, "build_pipeline", count)
    with record_attempts() as record:
        design = compiler.compile(parse_scop(text), target="fpga", lanes=0)
    assert isinstance(design, FpgaDesign) and set(built.values()) == {1}
    found = [one for one in record if one.choice.startswith("proof, ")]
    assert len(found) == proofs[0]
    return design, found


def test_one_design_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    design, proofs = compiled(COPY, monkeypatch, lambda number, bits: False)
    assert [(one.choice, one.outcome) for one in proofs] == [
        ("proof, initiation interval 1, 8 elements at a time", "proven")]
    assert design.lanes == 8


def test_fewer_lanes_are_taken_where_most_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    design, proofs = compiled(COPY, monkeypatch, lambda number, bits: bits == 64)
    assert design.lanes == 4 and proofs[0].outcome == "number 1 is wrong"
    assert [one.outcome == "proven" for one in proofs] == [False] * (len(proofs) - 1) + [True]


def test_a_program_without_loops_that_end_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in each of its designs."""
    looks, find = [0], search_space.find_exit

    def count(built: BuiltPipeline) -> EarlyExit | str:
        looks[0] += 1
        return find(built)

    monkeypatch.setattr(search_space, "find_exit", count)
    with record_attempts() as record:
        compiler.compile(parse_scop(TRANSPOSE), target="fpga")
    assert looks[0] == 1 < sum(one.outcome.endswith(" cycles") for one in record)


def test_another_way_to_move_arrays_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that is read by columns comes in the order of memory, or else in that of the reads."""
    first, _ = compiled(TRANSPOSE, monkeypatch, lambda number, bits: False)
    monkeypatch.undo()
    other, proofs = compiled(TRANSPOSE, monkeypatch, lambda number, bits: number == 1)
    assert first.schedule.staged.in_order and len(proofs) == 2
    assert not other.schedule.staged.in_order and other.predicted_start_to_done > first.predicted_start_to_done


def test_the_reason_why_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match=r"^number \d is wrong$"):
        compiled(COPY, monkeypatch, lambda number, bits: True)
