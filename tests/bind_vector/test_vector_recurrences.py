"""Programs whose loops carry values from element to element become hundreds of phases, which are planned in seconds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results
from random_data import function_data

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

INTEGRAL = """
#define HEIGHT 2
#define WIDTH 3
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


PREFIX = """
void prefix(const unsigned char image[6][4], int sums[6][4], short means[4]) {
#pragma scop
  for (int y = 0; y < 6; y++) {
    sums[y][0] = image[y][0];
    for (int x = 1; x < 4; x++)
      sums[y][x] = sums[y][x - 1] + image[y][x];
  }
  for (int x = 0; x < 4; x++) {
    int s = 0;
    for (int y = 0; y < 6; y++)
      s += sums[y][x];
    means[x] = s / 6;
  }
#pragma endscop
}
"""


@pytest.mark.parametrize(("height", "width", "limit"), [(2, 3, 5), (5, 8, 20)])
def test_an_integral_image(height: int, width: int, limit: float) -> None:
    program = parse_scop(INTEGRAL, "integral.c", HEIGHT=height, WIDTH=width)
    start = time.process_time()
    design = compiler.compile(program, target="vector", lanes=4, search=False)
    assert isinstance(design, VectorDesign)
    assert time.process_time() - start < limit
    inputs = random_inputs(program, 7)
    np.testing.assert_array_equal(design.execute(inputs)["sums"], interpret(program, inputs)["sums"])


SIDE_BY_SIDE = {
    "polynomials": ("const int x[64], const int c[5], int y[64]",
                    "for (int i = 0; i < 64; i++) { y[i] = c[4]; "
                    "for (int k = 3; k >= 0; k--) y[i] = y[i] * x[i] + c[k]; }", 1000),
    "prefix sums of rows": ("const unsigned char a[8][16], unsigned short y[8][16]",
                            "for (int v = 0; v < 8; v++) { y[v][0] = a[v][0]; "
                            "for (int u = 1; u < 16; u++) y[v][u] = y[v][u - 1] + a[v][u]; }", 6000),
    "dilation": ("const unsigned char a[18][18], unsigned char y[16][16]",
                 "for (int v = 0; v < 16; v++) for (int u = 0; u < 16; u++) { y[v][u] = 0; "
                 "for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) "
                 "if (a[v + j][u + i] > y[v][u]) y[v][u] = a[v + j][u + i]; }", 300),
    "two values in each other's steps": ("const short x[16], short y[16]",
                                         "for (int n = 0; n < 16; n++) { int z = x[n], w = 3; "
                                         "for (int i = 0; i < 8; i++) { int d = w >> 1; "
                                         "if (z >= 0) { z -= 5; w -= d; } else { z += i; w += d; } } "
                                         "y[n] = z + w; }", 1000),
    "an error that is handed on": ("const unsigned char a[3][4], unsigned char y[3][4]",
                                   "int e[4][6]; for (int v = 0; v < 4; v++) for (int u = 0; u < 6; u++) e[v][u] = 0; "
                                   "for (int v = 0; v < 3; v++) for (int u = 0; u < 4; u++) { "
                                   "int s = a[v][u] + e[v][u + 1], o = s > 127 ? 255 : 0; y[v][u] = o; "
                                   "e[v][u + 2] += (s - o) * 7 / 16; e[v + 1][u] += (s - o) / 4; "
                                   "e[v + 1][u + 1] += (s - o) * 5 / 16; }", 4500),
    "a count": ("const unsigned char a[16][16], unsigned short y[1]",
                "y[0] = 0; for (int v = 0; v < 16; v++) for (int u = 0; u < 16; u++) "
                "if (a[v][u] > 128) y[0] += 1;", 300),
}
"""What it computes, and the most cycles that four lanes may take by the cost model."""


@pytest.mark.parametrize("case", SIDE_BY_SIDE)
def test_what_no_recurrence_holds_back_is_done_together(case: str) -> None:
    """Loops around recurrences go inside these, conditions decide on what is accumulated: whole vectors at a time."""
    arguments, body, most = SIDE_BY_SIDE[case]
    program = parse_scop(f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")
    design = compiler.compile(program, target="vector", lanes=4, search=False)
    assert isinstance(design, VectorDesign)
    assert design.predicted_cycles <= most
    inputs = random_inputs(program, 5)
    np.testing.assert_array_equal(design.execute(inputs)["y"], interpret(program, inputs)["y"])


OWN_TERMS = {
    "itself": "s -= s;",
    "bits of it": "s += s & x[i];",
    "a product": "s -= s * x[i];",
    "a narrowed difference": "s = (short)(s - (s & x[i]));",
    "a minimum": "s = s < (s & x[i]) ? s : (s & x[i]);",
    "elements": "for (int j = 0; j < 3; j++) y[j] -= y[j] / 3 + x[i];",
    "an element that data choose": "y[x[i] & 3] -= y[x[i] & 3] & x[i];",
    "a decayed number": "f[0] -= f[0] * g[i];",
    "a grown number": "f[1] = f[1] * g[i] + f[1];",
    "a maximum of numbers": "f[2] = fmaxf(f[2], f[2] * g[i]);",
}
"""Elements that become what they were and a term that depends on what they were: no sum of terms known before."""


@pytest.mark.parametrize("count", [6, 40])
@pytest.mark.parametrize("body", OWN_TERMS.values(), ids=OWN_TERMS)
def test_terms_that_depend_on_what_is_accumulated(body: str, count: int) -> None:
    text = f"""#include <math.h>
void f(const unsigned char x[40], const float g[40], int y[4], float f[3], int t[1]) {{
    int s = 5;
#pragma scop
    for (int i = 0; i < {count}; i++) {{ {body} }}
    t[0] = s;
#pragma endscop
}}"""
    require_gcc_results(text, "f", function_data(text, "f", count), MODELS["vector"], {"float32": True})


@pytest.mark.parametrize("lanes", [1, 4])
def test_what_only_later_tiles_need_is_loaded(lanes: int) -> None:
    """The means come in two tiles, and each element of a row of sums is an array of its own that one of them reads."""
    program = parse_scop(PREFIX, "prefix.c")
    design = compiler.compile(program, target="vector", lanes=lanes, search=False)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(program, 9)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(design.execute(inputs)[name], wanted)


def test_a_sum_of_one_element_of_an_array() -> None:
    """The operands of a reduction read nothing that its loop steps through."""
    text = """
void decimated(const signed char x[12], int y[3]) {
#pragma scop
  int once = 0, twice = 0;
  for (int n = 0; n < 3; n++) {
    for (int k = 0; k < 4; k++) { once += x[4 * n + k]; twice += once; }
    y[n] = twice;
  }
#pragma endscop
}
"""
    program = parse_scop(text, "decimated.c")
    data = random_inputs(program, 5)
    design = compiler.compile(program, target="vector")
    assert isinstance(design, VectorDesign)
    assert (design.execute(data)["y"] == interpret(program, data)["y"]).all()
