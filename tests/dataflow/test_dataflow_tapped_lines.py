"""Words that channels hold: those of a window once, in a line; memories no deeper than needed; none too many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from addressed_nests import BETWEEN, BETWEEN_DATA
from kernel_bench import run_kernel
from network_programs import program

from compiler.bind.dataflow import build_kernel, tapped_lines, validate
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.target import compile_program
from compiler.bind.dataflow.validate import validate_kernel
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.dataflow.spec import ChannelSpec, KernelError

APPS = Path(__file__).resolve().parents[2] / "apps" / "dataflow"


def designs() -> dict[str, Program]:
    """Ragged rows: a window over pixels that come every third tick, and one that is read in every tick."""
    return {"unsharp": load("unsharp", width=9, height=8), "jacobi": load_c(APPS / "jacobi_2d.c", N=7)}


def lines(design: DataflowDesign) -> list[ChannelSpec]:
    return [c for c in design.plan.kernel.channels if c.kind == "line"]


@pytest.mark.parametrize("name", ["unsharp", "jacobi"])
def test_f08_f33_lines_hold_what_they_must_and_no_word_more(name: str) -> None:
    """The second run on one kernel is as good as the first, and every queue of a line is full at some time."""
    tested = designs()[name]
    design = compile_program(tested, Options())
    assert len(lines(design)) > 3
    inputs = random_inputs(tested, 0)
    run = run_kernel(tested, design.plan, inputs, 0.2, runs=2)
    for output, values in interpret(tested, inputs).items():
        assert np.array_equal(run.outputs[output], values), output
    depths = {k: c.depth for k, c in enumerate(design.plan.kernel.channels) if c.queued}
    assert run.peaks == depths


def damaged(part: ChannelSpec) -> list[ChannelSpec]:
    """A part of a line that is out of step, behind another part, or has a word less."""
    found = [replace(part, push=())]
    if part.after is not None:
        found += [replace(part, written=part.written + 1), replace(part, after=0)]
    if part.ahead:
        found.append(replace(part, ahead=part.ahead - 1))
    if part.depth > max(part.ahead, part.queued):
        found.append(replace(part, depth=part.depth - 1))
    return found


@pytest.mark.parametrize("name", ["unsharp", "jacobi"])
def test_f33_damaged_lines(name: str) -> None:
    plan = compile_program(designs()[name], Options()).plan
    channels = plan.kernel.channels
    for number in [k for k, c in enumerate(channels) if c.kind == "line"][::5]:
        for wrong in damaged(channels[number]):
            kernel = replace(plan.kernel, channels=(*channels[:number], wrong, *channels[number + 1 :]))
            with pytest.raises(DataflowError, match="kernel "):
                validate_kernel(kernel, plan.network.program, plan.network.times)
    part = next(c for c in channels if c.kind == "line" and c.ahead)
    with pytest.raises(KernelError, match=rf"channel {part.name} \(line\) of depth {part.ahead - 1} holds nothing"):
        replace(part, depth=part.ahead - 1)


@pytest.mark.parametrize("few", [None, 0], ids=["counted", "symbols"])
def test_words_that_are_read_between_firings_have_come(few: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if few is not None:
        monkeypatch.setattr(build_kernel, "FEW_WORDS", few)
        monkeypatch.setattr(validate, "FEW_TICKS", few)
    tested = parse_scop(BETWEEN, "f.c")
    design = compile_program(tested, Options())
    run = run_kernel(tested, design.plan, BETWEEN_DATA, 0.2)
    np.testing.assert_array_equal(run.outputs["h"], interpret(tested, BETWEEN_DATA)["h"])
    monkeypatch.setattr(tapped_lines, "_read_early", lambda *_: None)
    with pytest.raises(DataflowError, match=r"when it has no word|read before its word has come"):
        compile_program(tested, Options())


def test_words_of_windows_are_near_the_live_ones() -> None:
    """A queue for every read of unsharp's window would take more than a thousand words."""
    for tested, most in ((load("unsharp", width=16, height=16), 1.25), (load_c(APPS / "jacobi_2d.c"), 1.5)):
        storage = compile_program(tested, Options()).storage
        assert sum(s.allocated_words for s in storage) <= most * sum(s.live_words for s in storage)


DIAGONAL = """
void f(const int16_t x[9][9], int16_t y[9]) {
#pragma scop
  for (int i = 0; i < 9; i++) y[i] = x[8 - i][8 - i] * 3;
#pragma endscop
}"""


def test_f31_places_of_a_diagonal_follow_each_other() -> None:
    """Modulo any power of two below 32, row-major places of the elements would collide."""
    tested = program("diagonal", DIAGONAL)
    design = compile_program(tested, Options(reorder="chip"))
    assert [c.depth for c in design.plan.kernel.channels if c.kind == "reorder"] == [16]
    inputs = random_inputs(tested, 0)
    assert np.array_equal(run_kernel(tested, design.plan, inputs, 0.1).outputs["y"], interpret(tested, inputs)["y"])
