"""Loops of dataflow kernels that end when the data say so, on both simulators: results and ticks of all data, with
stalls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_targets import gcc_results
from inner_exits import GCD_CASES, GCD_OF_ALL
from irregular_programs import program_of

import compiler
from compiler.bind.dataflow.design import DataflowDesign
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)

GCD = """void f(const int x[2], int y[1]) {
    int a, b;
#pragma scop
    a = x[0]; b = x[1];
#pragma sluice max_trips(24)
    while (a != b) {
        if (a > b) a -= b;
        else b -= a;
    }
    y[0] = a;
#pragma endscop
}"""

SETTLING = """void f(const int x[8], int y[8]) {
    int t[8], on = 1;
#pragma scop
    for (int i = 0; i < 8; i++) t[i] = x[i];
#pragma sluice max_trips(30)
    while (on) {
        int k = t[0] & 7, v = (t[k] + t[0]) >> 1;
        on = v != t[k];
        t[k] = v;
    }
    for (int i = 0; i < 8; i++) y[i] = t[i];
#pragma endscop
}"""
"""Until a store changes nothing, in an array at places that data say; the array leaves after the loop."""

PATTERN = {"pattern": np.array([1, 2, 1, 3], np.int8), "failure": np.array([0, 0, 1, 0], np.int32)}


def check(design: DataflowDesign, inputs: dict[str, np.ndarray], simulator: str) -> int:
    """The ticks of a run, which are those predicted, with stalls and without; results are the interpreter's."""
    wanted = interpret(design.program, inputs)
    for stall in (None, STALLS):
        run = design.simulate(inputs, simulator, seed=7, stall=stall)
        for name, values in wanted.items():
            np.testing.assert_array_equal(run.outputs[name], values)
        assert run.cycles == design.cycles_for(inputs)
        assert stall or abs(run.wall_cycles - design.start_to_done_for(inputs)) <= 0.02 * run.wall_cycles + 1
    return design.cycles_for(inputs)


@pytest.mark.parametrize(("text", "cases"), [
    (GCD, [(9, 9), (21, 14), (23, 1)]),
    (SETTLING, [(0,) * 8, (7, 0, 0, 0, 0, 0, 0, 9), (7, 0, 0, 0, 0, 0, 0, 90000)]),
], ids=["gcd", "settling"])
def test_a_loop_ends_when_nothing_changes_any_more(text: str, cases: list[tuple[int, ...]], simulator: str) -> None:
    program = parse_scop(text, "f.c")
    design = compiler.compile(program, target="dataflow")
    assert isinstance(design, DataflowDesign)
    ticks = []
    for case in cases:
        x, y = np.array(case, np.int32), np.zeros(program.array("y").shape, np.int32)
        found = gcc_results(text, "f", {"x": x, "y": y})
        np.testing.assert_array_equal(found["y"], interpret(program, {"x": x})["y"])
        ticks.append(check(design, {"x": x}, simulator))
    assert design.least_cycles == ticks[0] < ticks[1] < ticks[2] <= design.predicted_cycles


def test_a_loop_inside_another_ends_early_each_time(simulator: str) -> None:
    design = compiler.compile(parse_scop(GCD_OF_ALL, "f.c"), target="dataflow")
    assert isinstance(design, DataflowDesign)
    cases = [np.array(x, np.int32) for x in GCD_CASES]
    for x in cases:
        found = gcc_results(GCD_OF_ALL, "f", {"x": x, "y": np.zeros(4, np.int32)})
        np.testing.assert_array_equal(found["y"], interpret(design.program, {"x": x})["y"])
    ticks = [check(design, {"x": x}, simulator) for x in cases]
    assert design.least_cycles == ticks[0] < ticks[1] < ticks[2] < design.predicted_cycles


def test_loops_that_take_turns_end_together(simulator: str) -> None:
    path = Path("apps/irregular/mandelbrot.c")
    design = compiler.compile(load_c(path, MOST=12), target="dataflow")
    assert isinstance(design, DataflowDesign)
    found = gcc_results(f"#define MOST 12\n{path.read_text()}", "mandelbrot", {"count": np.zeros((4, 6), np.uint8)})
    np.testing.assert_array_equal(found["count"], interpret(design.program, {})["count"])
    assert design.least_cycles < check(design, {}, simulator) < design.predicted_cycles


def test_a_search_ends_when_the_text_does(simulator: str) -> None:
    design = compiler.compile(program_of("kmp_steps"), target="dataflow")
    assert isinstance(design, DataflowDesign)
    texts = [np.resize(text, 32).astype(np.int8) for text in ([9], [1, 2, 1], [1, 1])]
    ticks = [check(design, {**PATTERN, "text": text}, simulator) for text in texts]
    assert design.least_cycles < ticks[0] < ticks[1] < ticks[2] <= design.predicted_cycles
