"""Programs with reductions on both memories and both simulators: bit-exact, and as many cycles as predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chained_programs import recurrence
from hypothesis import HealthCheck, Phase, assume, given, settings
from random_accumulations import SHAPES, accumulations

import compiler
from compiler.bind.cgra.route import Unroutable
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.bind.design import Design
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import print_program
from compiler.ir.types import INT16
from hw.sim.simulate import StallProfile

ARRAY = "8x4"
"""The small array of the other benches, whose builds are there."""

PROGRAMS: dict[str, dict[str, Any]] = {
    "gemm": {"size": 6, "unroll": 1},
    "resnet_layer": {"size": 8, "inputs": 2, "outputs": 2, "unroll_in": 2, "unroll_out": 1},
}


TILES = {"size": 8, "rows": 4, "inputs": 4, "outputs": 2, "unroll_in": 2, "unroll_out": 1}
"""A layer in four tiles, each with two blocks of input channels."""


_DESIGNS: dict[tuple[object, ...], Design] = {}


def compiled(program: Program, **options: Any) -> Design:
    """The design, compiled once for both simulators."""
    key = (print_program(program), *sorted(options.items()))
    if key not in _DESIGNS:
        _DESIGNS[key] = compiler.compile(program, **{"array": ARRAY, **options})
    return _DESIGNS[key]


def check(program: Program, memory: str, simulator: str, **options: Any) -> Design:
    design = compiled(program, memory=memory, **options)
    inputs = random_inputs(program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles
    return design


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize("app", PROGRAMS)
def test_layer_is_exact_and_on_time(app, memory, simulator):
    check(load(app, **PROGRAMS[app]), memory, simulator)


@pytest.mark.parametrize("schedule", ["pipelined", "sequential"])
def test_tiles_of_a_layer(schedule, simulator):
    """The next block of channels is loaded while one is in use; sequentially, nothing overlaps."""
    check(load("resnet_layer", **TILES), "dual-port", simulator, tile_depth=2, schedule=schedule)


@pytest.mark.parametrize(("file", "size"), [("matmul", 8), ("stencil_3", 20)])
def test_c_as_people_write_it(file, size, simulator):
    """A sum in the innermost loop, which leaves it; and sums of ``short``, which C computes in 32 bits."""
    design = check(load_c(f"apps/dataflow/{file}.c", N=size), "pub", simulator)
    assert design.predicted_cycles <= design.lower_bound + 60


@pytest.mark.parametrize(("name", "interval"), [("argmax", 1), ("iir", 18)])
def test_recurrences_of_several_operations(name, interval, simulator):
    """Every unit on the way around takes cycles of each step: conversions between bits and words, and halves of
    shifts, are none. Where one operation is left, it stays in its element: a step in every cycle."""
    design = check(recurrence(name), "dual-port", simulator)
    assert design.application.schedule.pace.interval <= interval


def test_sums_in_int(simulator):
    """Results of 32 bits are two arrays of words, in main memory too."""
    check(load_c("apps/dataflow/fir.c", N=12, TAPS=3), "pub", simulator)


def test_one_sum_in_partial_sums(simulator):
    """Nothing else goes on while one sum is computed, so parts of it take turns."""
    prg = prog("inner", INT16)
    for name in ("a", "b"):
        prg.add_input(name, shape=(64,))
    prg.add_output("c")
    start = prg.add_op("Start")
    start.add_function(lambda: 3)
    start.add_store("c", "0")
    op = prg.add_loop("i", 0, 64).add_op("Sum")
    op.add_function(lambda total, first, second: total + first * second)
    for name, place in (("c", "0"), ("a", "i"), ("b", "i")):
        op.add_load(name, place)
    op.add_store("c", "0")
    assert check(prg.build(), "pub", simulator).predicted_cycles <= 64 + 40


def test_a_layer_of_short_rows(simulator):
    """Rows of 7 words, which a wide fetch does not divide, are loaded once for each step of the window."""
    layer = load("resnet_layer", size=7, stride=2, inputs=2, outputs=2, unroll_in=1, unroll_out=1)
    design = check(layer, "pub", simulator, tile_depth=2)
    assert design.choices["loaded in the order of a window"] == "input"


POLYNOMIALS = """
void product(const short a[8], const short w[5], short y[12]) {
#pragma scop
  for (int d = 0; d < 12; d++) y[d] = 0;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 5; j++) y[i + j] += a[i] * w[j];
#pragma endscop
}"""


def test_a_product_of_polynomials(simulator):
    """Every step adds to another sum than the one before; the last sums come from two statements."""
    design = check(parse_scop(POLYNOMIALS, "product.c"), "dual-port", simulator)
    assert len(design.parts.parts) == 2


SCOP = "#include <stdint.h>\nvoid f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}"
RECURRENCES = {
    "count": ("const uint8_t a[4][16], uint16_t c[1]",
              "c[0] = 0; for (int y = 0; y < 4; y++) for (int x = 0; x < 16; x++) if (a[y][x] > 99) c[0] += a[y][x];",
              "pub", 64 + 40),
    "largest": ("const uint8_t a[4][16], uint8_t c[1]",
                "c[0] = 3; for (int y = 0; y < 4; y++) for (int x = 0; x < 16; x++) "
                "if (a[y][x] > c[0]) c[0] = a[y][x];",
                "dual-port", 64 + 50),
    "the newest value first": ("const int16_t b[6][8], int16_t a[6][8]",
                               "for (int y = 0; y < 6; y++) { a[y][0] = b[y][0]; for (int x = 1; x < 8; x++) "
                               "a[y][x] = (a[y][x - 1] + b[y][x] - b[y][x - 1] + 3 * b[y][0]) >> 1; }",
                               "dual-port", 340),
    "recursive filter": ("const int16_t x[24], int16_t y[24]",
                         "y[0] = x[0]; for (int n = 1; n < 24; n++) y[n] = x[n] + ((y[n - 1] * 3) >> 2);",
                         "pub", 24 * 17),
    "distances of blocks": ("const uint8_t a[4][4], const uint8_t b[8][8], uint16_t d[5][5]",
                            "for (int v = 0; v < 5; v++) for (int u = 0; u < 5; u++) { d[v][u] = 0; "
                            "for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) { "
                            "int e = a[y][x] - b[y + v][x + u]; d[v][u] += e < 0 ? -e : e; } }",
                            "pub", 400 + 60),
    "lengths of shortest paths": ("const uint16_t w[5][5], uint16_t d[5][5]",
                                  "for (int y = 0; y < 5; y++) for (int x = 0; x < 5; x++) d[y][x] = w[y][x] & 4095; "
                                  "for (int k = 0; k < 5; k++) for (int y = 0; y < 5; y++) "
                                  "for (int x = 0; x < 5; x++) { uint16_t by = d[y][k] + d[k][x]; "
                                  "if (by < d[y][x]) d[y][x] = by; }",
                                  "dual-port", 125 * 16 + 40),
    "sums and what comes back": ("const uint8_t a[6][6], uint16_t y[6][6]",
                                 "for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++) { y[i][j] = 0; "
                                 "for (int k = 0; k < 6; k++) y[i][j] += a[i][k] * a[k][j]; } "
                                 "for (int i = 0; i < 6; i++) for (int j = 1; j < 6; j++) y[i][j] += 3 * y[i][j - 1];",
                                 "dual-port", 216 + 30 * 11 + 60),
    "products of columns": ("const int16_t a[6][6], int16_t r[6][6]",
                            "for (int k = 0; k < 6; k++) for (int j = 0; j < 6; j++) { r[k][j] = 0; "
                            "for (int i = 0; i < 6; i++) r[k][j] += a[i][k] * a[i][j]; }", "pub", 216 + 70),
    "decay": ("const int16_t a[3][12], int16_t y[3][12]",
              "for (int i = 0; i < 3; i++) { y[i][0] = a[i][0]; "
              "for (int j = 1; j < 12; j++) y[i][j] = (y[i][j - 1] * 3 + a[i][j]) >> 2; }", "dual-port", 36 * 6 + 40),
    "planes side by side": ("const uint8_t a[4][4][4], uint8_t b[8][8]",
                            "for (int y = 0; y < 8; y++) for (int x = 0; x < 8; x++) "
                            "b[y][x] = a[2 * (y % 2) + x % 2][y / 2][x / 2];", "pub", 64 + 40),
}
"""What it computes, on which memory, and the most cycles that it may take."""


@pytest.mark.parametrize("case", RECURRENCES)
def test_values_that_come_back_do_so_as_soon_as_they_can(case, simulator):
    """Conditions decide on what is added, the newest value enters a sum last, and the initiation interval is what the
    way back takes."""
    arguments, body, memory, most = RECURRENCES[case]
    design = check(parse_scop(SCOP.format(arguments=arguments, body=body)), memory, simulator)
    assert design.predicted_cycles <= most


def test_steps_of_shortest_paths_have_loops_of_their_own():
    """Six times as fast as in the program's order: of a step there is one for each quadrant around the pivot, and the
    array has to be large enough for them: on Icarus, which builds large arrays at once."""
    body = ("for (int y = 0; y < 6; y++) for (int x = 0; x < 6; x++) d[y][x] = w[y][x] & 4095; "
            "for (int k = 0; k < 6; k++) for (int y = 0; y < 6; y++) for (int x = 0; x < 6; x++) "
            "if ((uint16_t)(d[y][k] + d[k][x]) < d[y][x]) d[y][x] = d[y][k] + d[k][x];")
    program = parse_scop(SCOP.format(arguments="const uint16_t w[6][6], uint16_t d[6][6]", body=body))
    design = check(program, "dual-port", "icarus", array="8x16")
    assert design.choices["loops distributed"] == "recurrences within an iteration of an outer loop"
    assert design.predicted_cycles <= 3 * 216 < compiled(program, memory="dual-port").predicted_cycles / 5


MEAN = """
void mean(const uint8_t a[12][14], uint8_t b[10][12]) {
#pragma scop
  for (int i = 0; i < 10; i++)
    for (int j = 0; j < 12; j++) {
      int sum = 0;
      for (int v = 0; v < 3; v++)
        for (int u = 0; u < 3; u++) sum += a[i + v][j + u];
      b[i][j] = sum / 9;
    }
#pragma endscop
}"""
QUOTIENT = """
void quotient(const int16_t a[40], const int16_t b[40], int16_t c[40]) {
#pragma scop
  for (int i = 0; i < 40; i++) c[i] = QUOTIENT;
#pragma endscop
}"""


@pytest.mark.parametrize(("text", "most"), [
    (MEAN, 6), (QUOTIENT.replace("QUOTIENT;", "a[i] / 100 - b[i] % 10;"), 10),
    (QUOTIENT.replace("QUOTIENT;", "(a[i] - b[i]) / 3;"), 24),
])
def test_quotients_by_constants(text, most, simulator):
    """A sum that is counted to fit a word takes one product, one of 32 bits takes a product of pairs of words."""
    design = check(parse_scop(text), "pub", simulator)
    assert design.resources["PEs"] <= most


INDICES = """void indices(const short a[6][8], TYPE b[6][8]) {
#pragma scop
  for (int y = 0; y < 6; y++)
    for (int x = 0; x < 8; x++)
      b[y][x] = VALUE;
#pragma endscop
}"""


@pytest.mark.parametrize(("type_", "value"), [("short", "a[y][x] * (x + 1) >> 3"), ("int", "x * 40000 - y")])
def test_values_of_iterators_in_int(type_, value, simulator):
    """C computes them in 32 bits; they come as words if they fit, else as pairs of words."""
    check(parse_scop(INDICES.replace("TYPE", type_).replace("VALUE", value)), "pub", simulator)


@pytest.mark.parametrize("tiles", [0, 1])
def test_transposed_images_are_written_and_then_read(tiles, simulator):
    """The one port of a wide-fetch memory has no time for both; in turns they take less than both at half the rate."""
    prg = prog("transposed", INT16)
    prg.add_input("images", shape=(3, 12, 16))
    prg.add_output("turned")
    k = prg.add_loop("k", 0, 3)
    op = k.add_loop("y", 0, 12).add_loop("x", 0, 16).add_op("Square")
    op.add_function(lambda value: value * value)
    op.add_load("images", "x", "y", "k")
    op.add_store("squares", "x", "y", "k")
    op = k.add_loop("u", 0, 16).add_loop("v", 0, 12).add_op("Turn")
    op.add_function(lambda value: value + 1)
    op.add_load("squares", "u", "v", "k")
    op.add_store("turned", "v", "u", "k")
    design = check(prg.build(), "pub", simulator, tile_depth=tiles)
    assert design.choices["initiation interval"] == "1"
    assert design.predicted_cycles < 2.2 * design.lower_bound


@pytest.mark.parametrize(("memory", "shapes"), [("pub", ["rows"]), ("dual-port", SHAPES)])
def test_random_accumulation(memory, shapes, simulator):
    """Of any shape on the dual-port memory, which takes any order; what the wide fetch refuses costs many attempts."""

    @settings(max_examples=2, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(accumulations(shapes))
    def run(program):
        try:
            check(program, memory, simulator)
        except (ArrayTooSmall, Unroutable, RecurrenceViolation):
            assume(False)

    run()
