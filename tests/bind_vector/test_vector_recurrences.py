"""Programs whose loops carry values from element to element become hundreds of phases, which are planned in seconds."""

from __future__ import annotations

import time

import numpy as np
import pytest

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.frontend.c_scop import parse_scop
from compiler.input_files import random_inputs
from compiler.ir.interpret import interpret

INTEGRAL = """
void integral(const unsigned char image[HEIGHT][WIDTH], int sums[HEIGHT][WIDTH]) {
#pragma scop
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      int s = image[y][x];
      if (x > 0) s += sums[y][x - 1];
      if (y > 0) s += sums[y - 1][x];
      if (x > 0 && y > 0) s -= sums[y - 1][x - 1];
      sums[y][x] = s;
    }
#pragma endscop
}
"""


@pytest.mark.parametrize(("height", "width", "limit"), [(2, 3, 5), (5, 8, 20)])
def test_an_integral_image(height: int, width: int, limit: float) -> None:
    program = parse_scop(INTEGRAL, "integral.c", HEIGHT=height, WIDTH=width)
    start = time.process_time()
    design = compiler.compile(program, target="vector", lanes=4)
    assert isinstance(design, VectorDesign)
    assert time.process_time() - start < limit
    inputs = random_inputs(program, 7)
    np.testing.assert_array_equal(design.execute(inputs)["sums"], interpret(program, inputs)["sums"])
