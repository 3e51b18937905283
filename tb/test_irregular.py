"""Programs whose addresses depend on data, as pipelines and as kernels on both simulators, with random stalls."""

from __future__ import annotations

import numpy as np
import pytest
from addressed_nests import BETWEEN, BETWEEN_DATA, A, B, T, X, gather, histogram
from c_targets import require_gcc_results, simulated
from irregular_programs import DATA, INTEGERS, case_of, design_of

import compiler
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.design import Design
from compiler.bind.fpga.errors import FpgaError
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.types import ProgramError
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)

CASES = [("fpga", name) for name in INTEGERS] + [("dataflow", name) for name in DATA]


@pytest.mark.parametrize(("target", "name"), CASES)
def test_results_are_those_of_gcc(name: str, target: str, simulator: str) -> None:
    inputs, wanted = case_of(name, 5)
    design = design_of(name, target)
    run = design.simulate(inputs, simulator, seed=7, stall=STALLS)
    for array, values in run.outputs.items():
        np.testing.assert_array_equal(values, wanted[array], err_msg=f"{name}: {array}")
    assert run.cycles == design.cycles_for(inputs)


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_a_histogram_of_equal_bytes_ends_in_time(target: str, simulator: str) -> None:
    """Start to done, with all bins cleared and read out."""
    design = design_of("histogram", target)
    run = design.simulate({"x": np.full(64, 77, np.uint8)}, simulator)
    assert run.outputs["bins"].tolist() == [64 * (bin == 77) for bin in range(256)]
    assert run.cycles == design.predicted_cycles
    assert run.wall_cycles <= 64 + 300
    assert abs(run.wall_cycles - design.predicted_start_to_done) <= 0.02 * run.wall_cycles + 1


@pytest.mark.parametrize("name", ["gamma_table", "ellpack", "histogram"])
def test_lanes_gather_what_gcc_reads(name: str, simulator: str) -> None:
    inputs, wanted = case_of(name, 6)
    run = design_of(name, "vector").simulate(inputs, simulator, seed=3, stall=STALLS)
    for array, values in run.outputs.items():
        np.testing.assert_array_equal(values, wanted[array], err_msg=f"{name}: {array}")


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_indices_that_several_accesses_take(target: str, simulator: str) -> None:
    """One after the other, between two words of the stream of indices."""
    program = parse_scop(BETWEEN, "f.c")
    run = compiler.compile(program, target=target).simulate(BETWEEN_DATA, simulator, seed=7, stall=STALLS)
    np.testing.assert_array_equal(run.outputs["h"], interpret(program, BETWEEN_DATA)["h"])


SCATTERS = """void f(const unsigned char k[12], const short x[12], short y[6], int bins[6], int sums[6]) {
#pragma scop
    for (int b = 0; b < 6; b++) bins[b] = 0;
    for (int i = 0; i < 12; i++) { bins[k[i] & 3]++; y[k[i] & 3] = x[i]; }
    for (int i = 0; i < 3; i++) sums[k[i] & 3] += x[i];
#pragma endscop
}"""


ADDRESSES = {"equal": lambda count: np.full(count, 7), "alternating": lambda count: np.arange(count) % 2,
             "random": lambda count: np.random.default_rng(2).integers(0, 256, count)}


@pytest.fixture(scope="module")
def scatters() -> Design:
    return compiler.compile(parse_scop(SCATTERS, "f.c"), target="vector")


@pytest.mark.parametrize("addresses", ADDRESSES)
def test_lanes_scatter_in_order(addresses: str, scatters: Design, simulator: str) -> None:
    """A histogram, of several stores of one word the last, and sums of fewer terms than there could be copies."""
    inputs = {"k": ADDRESSES[addresses](12).astype(np.uint8), "y_in": np.arange(6, dtype=np.int16),
              "sums_in": np.arange(6, dtype=np.int32),
              "x": np.random.default_rng(2).integers(-99, 99, 12).astype(np.int16)}
    run = scatters.simulate(inputs, simulator, seed=3, stall=STALLS)
    for array, values in interpret(parse_scop(SCATTERS, "f.c"), inputs).items():
        np.testing.assert_array_equal(run.outputs[array], values, err_msg=array)


SUMS = """void f(const unsigned char x[200], const short w[60], int y[32], short z[16]) {
#pragma scop
    for (int b = 0; b < 32; b++) y[b] = 0;
    for (int i = 0; i < 200; i++) y[x[i] & 31]++;
    for (int i = 0; i < 60; i++) z[x[i] & 15] += w[i];
#pragma endscop
}"""
CONSTANT = 400
"""Cycles that clear, merge and store all copies of both results, and those of the scalar core."""


@pytest.fixture(scope="module")
def sums() -> Design:
    return compiler.compile(parse_scop(SUMS, "f.c"), target="vector")


@pytest.mark.parametrize("addresses", ADDRESSES)
def test_lanes_add_up_an_element_per_cycle(addresses: str, sums: Design, simulator: str) -> None:
    """Numbers in a cycle, words of memory in two, whatever the addresses are."""
    inputs = {"x": ADDRESSES[addresses](200).astype(np.uint8), "z_in": np.arange(16, dtype=np.int16),
              "w": np.random.default_rng(3).integers(-999, 999, 60).astype(np.int16)}
    run = sums.simulate(inputs, simulator)
    for array, values in interpret(parse_scop(SUMS, "f.c"), inputs).items():
        np.testing.assert_array_equal(run.outputs[array], values, err_msg=array)
    assert run.cycles < 200 + 2 * 60 + CONSTANT
    assert abs(run.cycles - sums.predicted_cycles) <= 0.05 * run.cycles


GATHER = """void f(const int x[8], const int t[10], int y[8]) {
#pragma scop
    for (int i = 0; i < 8; i++) y[i] = t[x[i]];
#pragma endscop
}"""
SCATTER = """void f(const int x[8], int y[10]) {
#pragma scop
    for (int i = 0; i < 8; i++) y[x[i]] = i;
#pragma endscop
}"""


@pytest.mark.parametrize(("target", "error"), [("fpga", FpgaError), ("dataflow", DataflowError)])
@pytest.mark.parametrize("index", [10, -1])
@pytest.mark.parametrize(("text", "access"), [(GATHER, "reads 't'"), (SCATTER, "writes 'y'")])
def test_an_index_outside_ends_the_run_with_its_place(text: str, access: str, index: int, target: str,
                                                      error: type[Exception], simulator: str) -> None:
    program = parse_scop(text, "f.c")
    x = np.arange(8, dtype=np.int32)
    given = {"x": x, "t": 3 * np.arange(10, dtype=np.int32), "y_in": np.arange(10, dtype=np.int32)}
    inputs = {array.name: given[array.name] for array in program.inputs}
    design = compiler.compile(program, target=target)
    fine = design.simulate(inputs, simulator).outputs
    np.testing.assert_array_equal(fine["y"], interpret(program, inputs)["y"])
    x[5] = index
    with pytest.raises(ProgramError, match=rf"index {index} is outside .* of 10 elements, at i=5"):
        interpret(program, inputs)
    wanted = rf"the run ended with error INDEX: statement 'S0' \(f.c:3\) {access} at {index}, outside its 10 elements"
    with pytest.raises(error, match=wanted):
        design.simulate(inputs, simulator)


FOLLOW = """void f(const int next[8], int y[8]) {
#pragma scop
    int p = 0;
    for (int k = 0; k < 8; k++) {
        if (next[p] == 0) break;
        p = next[p];
        y[k] = p;
    }
#pragma endscop
}"""


@pytest.mark.parametrize(("target", "error"), [("fpga", FpgaError), ("dataflow", DataflowError)])
def test_an_index_outside_may_decide_whether_a_loop_ends(target: str, error: type[Exception], simulator: str) -> None:
    """What is read outside is undefined, and so is all that follows; the run ends with the error all the same."""
    program = parse_scop(FOLLOW, "f.c")
    inputs = {"next": np.array([3, 0, 1, 6, 0, 0, 2, 0]), "y_in": np.zeros(8, np.int32)}
    design = compiler.compile(program, target=target)
    run = design.simulate(inputs, simulator)
    assert run.outputs["y"].tolist() == interpret(program, inputs)["y"].tolist() == [3, 6, 2, 1, 0, 0, 0, 0]
    inputs["next"][2] = 11
    with pytest.raises(error, match=r"error INDEX: statement '\w+' \(f.c:\d\) reads 'next' at 11, outside its 8"):
        design.simulate(inputs, simulator)


NESTS = {"histogram": (histogram, {"x": X}), "gather": (gather, {"b": B, "a": A, "t": T})}


@pytest.mark.parametrize(("target", "name"), [("fpga", "histogram"), ("dataflow", "gather")])
def test_loop_nests_give_what_the_interpreter_gives(name: str, target: str, simulator: str) -> None:
    build, inputs = NESTS[name]
    program = build()
    run = compiler.compile(program, target=target).simulate(inputs, simulator, seed=5, stall=STALLS)
    for array, values in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], values)


FLOATS = """void f(const unsigned char x[8], const float w[8], float y[8], float s[4]) {
#pragma scop
    for (int i = 0; i < 8; i++) y[x[i] & 7] = w[i];
    for (int b = 0; b < 4; b++) s[b] = 0;
    for (int i = 0; i < 8; i++) s[x[i] & 3] += w[i] * y[i];
#pragma endscop
}"""


def test_floating_point_numbers_are_scattered_and_added(simulator: str) -> None:
    random = np.random.default_rng(8)
    data = {"x": np.array([3, 3, 0, 250, 3, 3, 1, 9], np.uint8),
            **{name: random.normal(size=count).astype(np.float32) for name, count in (("w", 8), ("y", 8), ("s", 4))}}
    require_gcc_results(FLOATS, "f", data, simulated("dataflow", simulator))


ENDLESS = """void f(const int x[4], int y[4]) {
#pragma scop
    for (int i = 0; i < 4; i++) {
        int a = x[i], n = 0;
#pragma sluice max_trips(3)
        while (a > 0) { a -= 3; n++; }
        y[i] = n;
    }
#pragma endscop
}"""


@pytest.mark.parametrize(("target", "error"), [("fpga", FpgaError), ("dataflow", DataflowError)])
def test_a_loop_of_more_trips_than_were_said_ends_the_run(target: str, error: type[Exception], simulator: str) -> None:
    """The loop of the last element, too, after which nothing follows that an output needs."""
    program = parse_scop(ENDLESS, "f.c")
    design = compiler.compile(program, target=target)
    fine = {"x": np.array([9, 0, 4, -7], np.int32)}
    run = design.simulate(fine, simulator, seed=3, stall=STALLS)
    assert run.outputs["y"].tolist() == [3, 0, 2, 0] and run.cycles == design.cycles_for(fine)
    for place in (0, 3):
        x = np.full(4, 9, np.int32)
        x[place] = 10
        with pytest.raises(error, match=r"INDEX: statement '\w+' \(f.c:6\): the loop makes more than max_trips\(3\)"):
            design.simulate({"x": x}, simulator, seed=3, stall=STALLS)
