"""Loops that end when the data say so, in hardware on both simulators: results and cycles of all data, with stalls."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from c_targets import gcc_results
from inner_exits import GCD_CASES, GCD_OF_ALL
from irregular_programs import design_of, program_of
from random_exits import exit_data, exit_function

import compiler
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.errors import FpgaError
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)

PATTERN = {"pattern": np.array([1, 2, 1, 3], np.int8), "failure": np.array([0, 0, 1, 0], np.int32)}
TEXTS = {"all steps match": [1, 2, 1, 3], "no step matches": [9], "every second one fails": [1, 1]}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_search_ends_when_the_text_does(text: list[int], simulator: str) -> None:
    inputs = {**PATTERN, "text": np.resize(text, 32).astype(np.int8)}
    design = design_of("kmp_steps")
    run = design.simulate(inputs, simulator, seed=5, stall=STALLS)
    assert run.outputs["matches"] == interpret(program_of("kmp_steps"), inputs)["matches"]
    assert design.least_cycles < run.cycles == design.cycles_for(inputs) <= design.predicted_cycles
    calm = design.simulate(inputs, simulator)
    assert calm.cycles == run.cycles
    assert abs(calm.wall_cycles - design.start_to_done_for(inputs)) <= 0.02 * calm.wall_cycles + 1


COUNTDOWN = """void f(const int x[1], int y[2]) {
    int a, b = 0;
#pragma scop
    a = x[0];
#pragma sluice max_trips(20)
    while (a > 1) { a -= 3; b += a; }
    y[0] = b; y[1] = a;
#pragma endscop
}"""


@cache
def countdown() -> FpgaDesign:
    return compiler.compile(parse_scop(COUNTDOWN, "f.c"), target="fpga")


@pytest.mark.parametrize("first", [-5, 4, 30, 61])
def test_from_no_iteration_to_all(first: int, simulator: str) -> None:
    inputs, design = {"x": np.array([first], np.int32)}, countdown()
    run = design.simulate(inputs, simulator, seed=first & 7, stall=STALLS)
    assert run.outputs["y"].tolist() == interpret(parse_scop(COUNTDOWN, "f.c"), inputs)["y"].tolist()
    assert run.cycles == design.cycles_for(inputs)
    ends = {-5: design.least_cycles, 61: design.predicted_cycles}
    assert run.cycles == ends.get(first, run.cycles)


def test_more_iterations_than_were_said_are_still_an_error(simulator: str) -> None:
    with pytest.raises(FpgaError, match=r"INDEX: statement '\w+' \(f.c:6\): the loop makes more than max_trips\(20\)"):
        countdown().simulate({"x": np.array([62], np.int32)}, simulator)


@cache
def inner() -> FpgaDesign:
    return compiler.compile(parse_scop(GCD_OF_ALL, "f.c"), target="fpga")


@pytest.mark.parametrize("x", GCD_CASES)
def test_a_loop_inside_another_ends_early_each_time(x: tuple[int, ...], simulator: str) -> None:
    inputs, design = {"x": np.array(x, np.int32)}, inner()
    wanted = gcc_results(GCD_OF_ALL, "f", {**inputs, "y": np.zeros(4, np.int32)})["y"]
    for stall in (None, STALLS):
        run = design.simulate(inputs, simulator, seed=7, stall=stall)
        np.testing.assert_array_equal(run.outputs["y"], wanted)
        assert run.cycles == design.cycles_for(inputs) < design.predicted_cycles
        assert stall or abs(run.wall_cycles - design.start_to_done_for(inputs)) <= 0.02 * run.wall_cycles + 1


@cache
def random_loop() -> tuple[Program, FpgaDesign]:
    program = parse_scop(exit_function(Random(19), "f"), "f.c")
    return program, compiler.compile(program, target="fpga")


def test_a_random_loop_in_hardware(simulator: str) -> None:
    program, design = random_loop()
    assert design.least_cycles < design.predicted_cycles
    for given in range(2):
        inputs = {array.name: exit_data(given)[array.name.removesuffix("_in")] for array in program.inputs}
        run = design.simulate(inputs, simulator, seed=given, stall=STALLS)
        for name, wanted in interpret(program, inputs).items():
            np.testing.assert_array_equal(run.outputs[name], wanted)
        assert run.cycles == design.cycles_for(inputs)
