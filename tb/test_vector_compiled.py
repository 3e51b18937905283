"""Compiled parallel arrays on the processor in RTL: C program, scalar core, lanes and DMA, bit-exact with numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arrays import RandomProgram
from random_arrays import random_inputs as random_data

import compiler
from compiler.bind.vector.apps import load
from compiler.bind.vector.target import Options, compile_arrays
from compiler.cli.input_files import random_inputs
from compiler.frontend import parallel_array as pa
from compiler.frontend.apps import load as load_nest
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

C = Path(__file__).resolve().parents[1] / "apps" / "dataflow"
SLOW = {"seed": 5, "stall": StallProfile.uniform(0.25), "latency": 19}


def inputs_of(program: pa.ArrayProgram, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(node.low, node.high, node.shape, endpoint=True).astype(node.dtype)
            for name, node in program.inputs.items()}


def run_and_compare(program: pa.ArrayProgram, lanes: int, simulator: str, gathers: int = 0, **settings: Any) -> None:
    """`gathers`: how many there are at most; each reads up to eight indices before its first element."""
    design = compile_arrays(program, Options(lanes=lanes))
    inputs = inputs_of(program, lanes)
    run = design.simulate(inputs, simulator, **settings)
    for name, wanted in program.reference(inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)
    assert run.seconds > 0, "also where the build took longer than the run"
    assert 0 <= run.counters["busy"] - design.ideal_cycles <= 8 * gathers
    assert design.ideal_cycles <= run.cycles
    assert run.counters["instructions"] == design.figures.instructions


APPLICATIONS: list[tuple[str, dict[str, Any]]] = [
    ("fir", {"n": 200}), ("fir2d", {"rows": 9, "columns": 20, "dtype": "int16"}), ("life", {"rows": 10, "columns": 12}),
    ("imgblend", {"rows": 4, "columns": 50, "dtype": "uint8"}), ("motest", {"block": 8, "search": 8, "dtype": "uint8"}),
]


@pytest.mark.parametrize(("name", "parameters"), APPLICATIONS, ids=[name for name, _ in APPLICATIONS])
def test_applications(name: str, parameters: dict[str, Any], simulator: str) -> None:
    run_and_compare(load(name, **parameters), 4, simulator, **SLOW)


def test_a_median_in_tiles() -> None:
    run_and_compare(load("median", rows=16, columns=16, dtype="uint8"), 1, "verilator", **SLOW)


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_product_in_numpy_form(lanes: int, simulator: str) -> None:
    """The loop over slices of a matrix product: one sum, and columns that the DMA engine loads while lanes compute."""
    a, b = pa.input("a", (12, 20), "int8"), pa.input("b", (20, 9), "int8")
    out = a[:, :1] * b[:1]
    for k in range(1, 20):
        out = out + a[:, k:k + 1] * b[k:k + 1]
    run_and_compare(pa.program("product", out=out), lanes, simulator, **SLOW)


INTEGRAL = """void f(const unsigned char x[8][9], int s[9][10], unsigned short y[6][6]) {
#pragma scop
  for (int i = 0; i < 9; i++) for (int j = 0; j < 10; j++) s[i][j] = 0;
  for (int i = 1; i < 9; i++) for (int j = 1; j < 10; j++)
    s[i][j] = x[i - 1][j - 1] + s[i - 1][j] + s[i][j - 1] - s[i - 1][j - 1];
  for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++)
    y[i][j] = (s[i + 3][j + 3] - s[i][j + 3] - s[i + 3][j] + s[i][j]) / 9;
#pragma endscop
}"""


def test_an_integral_image(simulator: str) -> None:
    """Sums by doubling along both loops, and the means of boxes from them."""
    program = parse_scop(INTEGRAL)
    inputs = random_inputs(program, 6)
    run = compiler.compile(program, target="vector", lanes=4).simulate(inputs, simulator, **SLOW)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)


def test_mixed_program(simulator: str) -> None:
    """Several results through several phases: boundaries, reductions, selects, transposition."""
    x, y = pa.input("x", (9, 11), "int16"), pa.input("y", (9, 11), "uint8")
    blurred = pa.shift(x, (1, -1), pa.CLAMP) + pa.rotate(x, (0, 2)) * 3 - y
    program = pa.program("mixed", blurred=blurred, sums=(x * y).sum(axis=1), least=blurred.min(),
                         turned=pa.where(x.T > 5, y.T, 9), doubled=pa.stretch(y, (1, 2)))
    run_and_compare(program, 4, simulator)


def test_values_spilled_to_memory(simulator: str) -> None:
    """More values than the scratchpad of a small V4 holds, even for tiles of one element."""
    arrays = [pa.input(f"x{i}", (4, 6), "int32") for i in range(12)]
    out = arrays[0] * arrays[1]
    for i in range(2, 12, 2):
        out = out + (arrays[i] ^ arrays[i + 1]) * arrays[i]
    program = pa.program("many", out=out, other=out.max(axis=1) - arrays[3].sum(axis=1))
    design = compile_arrays(program, Options(lanes=4, scratchpad=64))
    assert any(a.name.startswith("spilled") for a in design.code.arrays)
    inputs = inputs_of(program, 3)
    run = design.simulate(inputs, simulator, **SLOW)
    for name, wanted in program.reference(inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)


def test_tables(simulator: str) -> None:
    """Gathers from constants, from an input that is loaded meanwhile, and from what was computed just before."""
    rng = np.random.default_rng(1)
    curve = rng.integers(-30000, 30000, 256).astype(np.int16)
    x, y, t = pa.input("x", (6, 25), "uint8"), pa.input("y", (6, 25), "int16"), pa.input("t", 70, "int32")
    program = pa.program("tables", curve=pa.take(curve, x), own=pa.take(t * 3, y, mode="wrap") + x,
                         sums=pa.take(t, x, mode="clip").sum(axis=1), twice=pa.take(curve, pa.take(curve, x) & 255))
    run_and_compare(program, 4, simulator, gathers=5, **SLOW)


def test_neighbours_in_words(simulator: str) -> None:
    """Elements repeated by multiplication; bytes and halfwords stored together, in parts of an array."""
    x, y = pa.input("x", (5, 12), "int8"), pa.input("y", (5, 12), "uint16")
    program = pa.program("words", four=pa.interleave([x, x + 1, -x, x ^ 85], axis=1), rows=pa.interleave([y, y * 3]),
                         six=pa.interleave([y + i for i in range(6)], axis=1), doubled=pa.stretch(y, (2, 2))[1:, 1:],
                         fourfold=pa.stretch(x, (1, 4)))
    run_and_compare(program, 4, simulator, **SLOW)


FORWARD = """void forward(const short L[70][70], const short b[70], short x[70]) {
#pragma scop
  for (int i = 0; i < 70; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
  }
#pragma endscop
}"""


def test_a_triangular_system(simulator: str) -> None:
    """Blocks of eight rows, squares left of the diagonal, and rows in turn, all in place in main memory."""
    program = parse_scop(FORWARD)
    design = compiler.compile(program, target="vector", lanes=1, scratchpad=1024)
    inputs = random_inputs(program, 3)
    run = design.simulate(inputs, simulator, **SLOW)
    np.testing.assert_array_equal(run.outputs["x"], interpret(program, inputs)["x"])


UPDATE = """void update(short a[28][28]) {
#pragma scop
  for (int k = 0; k < 28; k++)
    for (int i = k + 1; i < 28; i++)
      for (int j = k + 1; j < 28; j++) a[i][j] -= a[i][k] * a[k][j];
#pragma endscop
}"""


def test_turns_that_do_ever_less(simulator: str) -> None:
    """Four loops with boxes of their own, and masks that begin elsewhere in their tables in each turn."""
    program = parse_scop(UPDATE)
    design = compiler.compile(program, target="vector", lanes=4)
    inputs = random_inputs(program, 3)
    run = design.simulate(inputs, simulator, **SLOW)
    np.testing.assert_array_equal(run.outputs["a"], interpret(program, inputs)["a"])


@pytest.mark.parametrize(("name", "parameters"), [("camera_pipeline", {"width": 4, "height": 3}),
                                                  ("laplacian_pyramid", {"size": 8})])
def test_applications_of_loop_nests(name: str, parameters: dict[str, Any], simulator: str) -> None:
    """An output written in twelve parts and a table; indices that go round."""
    program = load_nest(name, **parameters)
    design = compiler.compile(program, target="vector", lanes=4, search=False)
    inputs = random_inputs(program, 4)
    run = design.simulate(inputs, simulator, **SLOW)
    for output, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[output], wanted)


def test_a_c_program(simulator: str) -> None:
    """Loops that accumulate, through the interface that all targets share."""
    program = load_c(C / "matmul.c", N=4)
    design = compiler.compile(program, target="vector", lanes=4)
    inputs = random_inputs(program, 4)
    run = design.simulate(inputs, simulator)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)


ROWS = """
void rows(const unsigned char a[4][12], unsigned short sums[4][12], unsigned char largest[4]) {
#pragma scop
  for (int y = 0; y < 4; y++) {
    sums[y][0] = a[y][0];
    largest[y] = a[y][0];
    for (int x = 1; x < 12; x++) {
      sums[y][x] = sums[y][x - 1] + a[y][x];
      if (a[y][x] > largest[y]) largest[y] = a[y][x];
    }
  }
#pragma endscop
}"""


def test_recurrences_side_by_side(simulator: str) -> None:
    """All rows take a step of their sums at a time."""
    program = parse_scop(ROWS)
    design = compiler.compile(program, target="vector", lanes=4)
    inputs = random_inputs(program, 4)
    run = design.simulate(inputs, simulator, **SLOW)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)


DECAY = """
void decay(const unsigned char a[12], int level[2], float weight[1]) {
#pragma scop
  for (int i = 0; i < 12; i++) {
    level[0] -= level[0] / 4 - a[i];
    level[1] += level[1] & a[i];
    weight[0] -= weight[0] * 0.125f;
  }
#pragma endscop
}"""


def test_sums_of_terms_that_depend_on_them(simulator: str) -> None:
    program = parse_scop(DECAY)
    design = compiler.compile(program, target="vector", lanes=4, float32=True)
    inputs = random_inputs(program, 4)
    run = design.simulate(inputs, simulator, **SLOW)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_programs(seed: int) -> None:
    """Shifts, transposition, stretching, sections, reductions, logic, selections: every type, on the processor."""
    rng = np.random.default_rng(seed)
    program = RandomProgram(rng).grow(int(rng.integers(3, 9)))
    design = compile_arrays(program, Options(lanes=4))
    inputs = random_data(program, rng)
    run = design.simulate(inputs, "verilator", **SLOW)
    for name, wanted in program.reference(inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)


def test_the_cost_model_is_close() -> None:
    """Where nothing stalls, prediction and hardware differ by less than a tenth."""
    design = compile_arrays(load("fir", n=2048), Options(lanes=4))
    run = design.simulate(inputs_of(design.arrays, 1))
    assert abs(run.cycles - design.predicted_cycles) < 0.1 * run.cycles
