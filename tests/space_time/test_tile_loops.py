"""Loops over tiles, and loops that are used as a sum alone, are no loops of an array."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import require_gcc_results, simulated

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.sched.space_time import without_tile_loops

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
