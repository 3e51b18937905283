"""Loops over tiles, and loops that are used as a sum alone, become one loop where dependences allow it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from c_targets import require_gcc_results, simulated

import compiler
from compiler.cli.input_files import read_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import INT16
from compiler.passes.normalize.loop_coalescing import coalesce_tile_loops, without_tile_loops

PRODUCT = """#include <stdint.h>
void f(const int16_t a[8][8], const int16_t b[8][8], int32_t c[8][8]) {
#pragma scop
  for (int jj = 0; jj < 8; jj += 4)
    for (int kk = 0; kk < 8; kk += 2)
      for (int i = 0; i < 8; i++)
        for (int k = 0; k < 2; k++)
          for (int j = 0; j < 4; j++)
            c[i][jj + j] += a[i][kk + k] * b[kk + k][jj + j];
#pragma endscop
}
"""
SCALED = PRODUCT.replace("jj < 8; jj += 4", "jj < 2; jj++").replace("jj + j", "4 * jj + j")
RAGGED = PRODUCT.replace("j < 4; j++", "j < (jj + 4 < 7 ? 4 : 7 - jj); j++")
REVERSED = PRODUCT.replace("kk + k", "7 - kk - k")
OVERLAPPING = PRODUCT.replace("kk < 8; kk += 2", "kk < 6; kk += 1").replace("k < 2", "k < 3")
COUNTED = PRODUCT.replace("a[i]", "jj * a[i]")


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    kinds = {"a": np.int16, "b": np.int16, "c": np.int32}
    return {name: rng.integers(-2**15, 2**15, (8, 8)).astype(kind) for name, kind in kinds.items()}


@pytest.mark.parametrize(("text", "loops"), [
    (PRODUCT, ["i", "k", "j"]), (SCALED, ["i", "k", "j"]), (RAGGED, ["i", "k", "j"]), (REVERSED, ["i", "k", "j"]),
    (OVERLAPPING, ["kk", "i", "k", "j"]), (COUNTED, ["jj", "i", "k", "j"])])
def test_loops_that_are_one(text: str, loops: list[str]) -> None:
    """Not where tiles overlap, since an element is then added twice, and not where the value uses the counter."""
    program = parse_scop(text)
    merged = without_tile_loops(program)
    deepest = max(merged.statements, key=lambda s: len(s.iterators))
    assert list(deepest.iterators) == loops
    names = [a.name for a in program.inputs]
    given = {name: data()[name.removesuffix("_in")] for name in names}
    for name, values in interpret(program, given).items():
        np.testing.assert_array_equal(interpret(merged, given)[name], values)


@pytest.mark.parametrize("text", [PRODUCT, SCALED, RAGGED])
def test_a_blocked_product_is_a_kernel(text: str) -> None:
    require_gcc_results(text, "f", data(), simulated("systolic", "icarus"), {})


def scop(body: str, arrays: str = "const int16_t x[40][40], int16_t y[40][40]") -> Program:
    return parse_scop(f"#include <stdint.h>\nvoid f({arrays}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")


def require_loops(program: Program, loops: Sequence[Sequence[str]]) -> Program:
    """Assert that the coalesced program computes the same with these loops, and can be written and read."""
    after = coalesce_tile_loops(program)
    assert [list(s.iterators) for s in after.statements] == [list(names) for names in loops]
    assert parse_program(print_program(after)) == after
    inputs = read_inputs(program, [], 3)
    for name, values in interpret(program, inputs).items():
        np.testing.assert_array_equal(interpret(after, inputs)[name], values)
    return after


RAGGED_2D = """for (int ii = 0; ii < 37; ii += 8) for (int jj = 0; jj < 22; jj += 5)
  for (int i = ii; i < (ii + 8 < 37 ? ii + 8 : 37); i++) for (int j = jj; j < (jj + 5 < 22 ? jj + 5 : 22); j++)
    y[i][j] = x[i][j] * 3 + x[i + 1][j + 1] + i - 2 * j;"""
SUMS = """for (int a = 0; a < 3; a++) for (int b = 0; b < 4; b++) for (int i = 0; i < 10; i++)
  for (int c = 0; c < 3; c++) y[i][12 * a + 3 * b + c] = x[i + 1][12 * a + 3 * b + c] + 12 * a + 3 * b + c * 1 - i;"""
TILES_OF_TILES = """for (int p = 0; p < 32; p += 16) for (int q = p; q < p + 16; q += 4) for (int i = q; i < q + 4; i++)
  y[i][0] = x[i][1] + i;"""
CYCLIC = "for (int p = 0; p < 4; p++) for (int i = 0; i < 8; i++) y[4 * i + p][1] = x[4 * i + p][2] + 1;"
FIRST_AND_SUM = """for (int ii = 0; ii < 12; ii += 4) for (int jj = 0; jj < 12; jj += 4) {
  for (int i = ii; i < ii + 4; i++) for (int j = jj; j < jj + 4; j++) y[i][j] = 0;
  for (int kk = 0; kk < 12; kk += 6) for (int i = ii; i < ii + 4; i++) for (int j = jj; j < jj + 4; j++)
    for (int k = kk; k < kk + 6; k++) y[i][j] += x[i][k] * x[k][j]; }"""
REREAD = """for (int jj = 0; jj < 12; jj += 4) for (int t = 0; t < 3; t++) for (int j = jj; j < jj + 4; j++)
  y[0][j] = y[0][j] * 3 + y[0][j + 1];"""
OF_TILE = "for (int ii = 0; ii < 32; ii += 8) for (int i = ii; i < ii + 8; i++) y[i][0] = x[ii][1] + x[i][2];"
COUNTED_TILES = "for (int ii = 0; ii < 32; ii += 8) for (int i = ii; i < ii + 8; i++) y[i][0] = x[i][1] + ii;"
AGAIN = "for (int t = 0; t < 3; t++) for (int i = 0; i < 8; i++) y[i][0] = y[i][0] + x[i][1];"
HALF = """for (int jj = 0; jj < 12; jj += 4) for (int ii = 0; ii < 8; ii += 2) for (int t = 0; t < 3; t++)
  for (int i = ii; i < ii + 2; i++) for (int j = jj; j < jj + 4; j++) y[i][j] = y[i][j] * 3 + y[i][j + 1];"""


@pytest.mark.parametrize(("body", "loops"), [
    (RAGGED_2D, ["ij"]), (SUMS, ["ic"]), (TILES_OF_TILES, ["i"]), (CYCLIC, ["i"]), (FIRST_AND_SUM, ["ij", "ijk"])])
def test_tile_loops_are_coalesced(body: str, loops: Sequence[str]) -> None:
    copies = len(scop(body).statements) - len(loops)  # of elements that stay as they are
    after = require_loops(scop(body), [*[["d0", "d1"]] * copies, *loops])
    assert all(s.box() is not None for s in after.statements[copies:])


@pytest.mark.parametrize("body", [REREAD, OF_TILE, COUNTED_TILES, AGAIN])
def test_loops_stay_that_are_no_tile_loops_or_keep_a_dependence(body: str) -> None:
    """A tile that reads what the next one has not computed yet; elements and values of a tile; loops that repeat."""
    assert coalesce_tile_loops(scop(body)) == scop(body)


def test_only_the_tile_loops_go_that_no_dependence_needs() -> None:
    program = scop(HALF)
    require_loops(program, [["jj", "t", "i", "j"] if s.name == "S0" else s.iterators for s in program.statements])


def test_a_loop_nest_with_tiles() -> None:
    nest = prog("tiled", INT16)
    nest.add_input("a", (24,))
    nest.add_output("b", (24,))
    step = nest.add_loop("o", 0, 4).add_loop("i", 0, 6).add_op("step")
    step.add_load("a", "6*o + i")
    step.add_function(lambda a: a * 5 - 1)
    step.add_store("b", "6*o + i")
    require_loops(nest.build(), ["i"])


def random_tiling(random: Random) -> tuple[str, int]:
    """A copy or a sum over a box, some loops cut into tiles in one of two ways, and how many loops there were."""
    names = "ijk"[:random.randint(1, 3)]
    outer, inner, used = [], [], {}
    for name in names:
        trips, size, kind = random.randint(6, 17), random.randint(2, 5), random.choice(["plain", "cut", "sum"])
        t = 2 * name
        if kind == "cut":
            outer.append(f"for (int {t} = 0; {t} < {trips}; {t} += {size})")
            end = f"({t} + {size} < {trips} ? {t} + {size} : {trips})"
            inner.append(f"for (int {name} = {t}; {name} < {end}; {name}++)")
        elif kind == "sum":
            outer.append(f"for (int {t} = 0; {t} < {trips // size + 1}; {t}++)")
            inner.append(f"for (int {name} = 0; {name} < {size}; {name}++)")
        else:
            inner.append(f"for (int {name} = 0; {name} < {trips}; {name}++)")
        used[name] = f"{size} * {t} + {name}" if kind == "sum" else name
    random.shuffle(outer)
    where = "".join(f"[{used[name]}]" for name in names)
    target = "[0]" * len(names) if random.random() < 0.3 else where
    return f"{' '.join([*outer, *inner])} y{target} += x{where} * 3 + {used[names[-1]]};", len(names)


@pytest.mark.parametrize("seed", range(40))
def test_random_tilings_are_undone(seed: int) -> None:
    body, loops = random_tiling(Random(seed))
    shape = "[32]" * loops
    program = scop(body, f"const int16_t x{shape}, int16_t y{shape}")
    after = coalesce_tile_loops(program)
    assert max(len(s.iterators) for s in after.statements) == loops, body
    inputs = read_inputs(program, [], seed)
    np.testing.assert_array_equal(interpret(after, inputs)["y"], interpret(program, inputs)["y"])


COPY = ("const int16_t x[34], int16_t y[32]",
        "for (int i = 0; i < 32; i += 4) for (int j = i; j < i + 4; j++) y[j] = x[j] + x[j + 2];",
        "for (int j = 0; j < 32; j++) y[j] = x[j] + x[j + 2];")
DOT = ("const int16_t x[30], const int16_t z[30], int32_t y[1]",
       "y[0] = 0; for (int t = 0; t < 30; t += 8) for (int i = t; i < (t + 8 < 30 ? t + 8 : 30); i++) "
       "y[0] += x[i] * z[i];",
       "y[0] = 0; for (int i = 0; i < 30; i++) y[0] += x[i] * z[i];")
BLUR = ("const int16_t x[25][21], int16_t y[24][20]",
        "for (int ii = 0; ii < 24; ii += 8) for (int jj = 0; jj < 20; jj += 5) for (int i = ii; i < ii + 8; i++) "
        "for (int j = jj; j < jj + 5; j++) y[i][j] = (x[i][j] + x[i][j + 1] + x[i + 1][j] + x[i + 1][j + 1]) >> 2;",
        "for (int i = 0; i < 24; i++) for (int j = 0; j < 20; j++) "
        "y[i][j] = (x[i][j] + x[i][j + 1] + x[i + 1][j] + x[i + 1][j + 1]) >> 2;")


@pytest.mark.parametrize("target", ["fpga", "cgra", "dataflow", "systolic", "vector"])
@pytest.mark.parametrize(("arrays", "tiled", "plain"), [COPY, DOT, BLUR])
def test_tiles_cost_nothing(target: str, arrays: str, tiled: str, plain: str) -> None:
    found, wanted = (compiler.compile(scop(text, arrays), target=target) for text in (tiled, plain))
    assert found.predicted_start_to_done <= 1.02 * wanted.predicted_start_to_done
    if target != "systolic":
        assert found.choices["loops coalesced"] == "tile loops of the program"
        assert "loops coalesced" not in wanted.choices


def test_tile_loops_stay_where_options_ask_for_tiles() -> None:
    program = scop(BLUR[1], BLUR[0])
    kept = compiler.compile(program, target="fpga", loops="asked")
    assert kept.predicted_cycles > 1.5 * compiler.compile(program, target="fpga").predicted_cycles
    asked = [compiler.compile(program, target="cgra", **options) for options in ({"loops": "asked"}, {"tile_depth": 0})]
    assert min(design.predicted_cycles for design in asked) > 1.5 * 24 * 20


@pytest.mark.parametrize(("arrays", "tiled"), [COPY[:2], DOT[:2]])
def test_tiles_on_two_simulators(arrays: str, tiled: str) -> None:
    program = scop(tiled, arrays)
    inputs = read_inputs(program, [], 7)
    found = simulated("fpga", "verilator", "icarus")(program, inputs, {})
    np.testing.assert_array_equal(found["y"], interpret(program, inputs)["y"])
