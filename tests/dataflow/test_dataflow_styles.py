"""Row F34 of Bok 2018: programs as people write them, with triangular, reversed and strided loops, arrays that change
in place, borders by conditions, several outputs; each on the kernel, with gaps in its streams."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_bench import run_kernel
from network_programs import program

from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import make_plan
from compiler.bind.dataflow.runtime_sizes import compile_sizes
from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret

TEXTS = {
    "exchange in place": """
void f(int16_t A[4][4], int16_t v[5]) {
#pragma scop
  for (int i = 0; i < 4; i++)
    for (int j = i + 1; j < 4; j++) {
      int16_t t = A[i][j];
      A[i][j] = A[j][i];
      A[j][i] = t;
    }
  for (int i = 4; i >= 3; i--) {
    int16_t t = v[i];
    v[i] = v[4 - i];
    v[4 - i] = t;
  }
#pragma endscop
}""",
    "every second element": """
void f(int16_t u[6][6], const int16_t g[6][6]) {
#pragma scop
  for (int c = 0; c < 2; c++)
    for (int i = 1; i < 5; i++)
      for (int j = 1 + (i + c) % 2; j < 5; j += 2)
        u[i][j] = (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1] - g[i][j]) >> 2;
#pragma endscop
}""",
    "factors": """
void f(int32_t A[4][4], int32_t d[4]) {
#pragma scop
  for (int j = 0; j < 4; j++) {
    d[j] = A[j][j];
    for (int k = 0; k < j; k++) d[j] -= A[j][k] * A[j][k] * d[k];
    for (int i = j + 1; i < 4; i++) {
      for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k] * d[k];
      A[i][j] /= d[j] | 1;
    }
  }
#pragma endscop
}""",
    "elimination": """
void f(int32_t A[3][4], int32_t x[3]) {
#pragma scop
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++)
      if (i != k) {
        int32_t m = A[i][k] / (A[k][k] | 1);
        for (int j = 3; j >= k; j--) A[i][j] -= m * A[k][j];
      }
  for (int i = 0; i < 3; i++) x[i] = A[i][3] / (A[i][i] | 1);
#pragma endscop
}""",
    "statistics": """
void f(const uint8_t image[4][5], int32_t sum[4], uint8_t low[4], uint8_t high[5], int32_t total[1]) {
#pragma scop
  total[0] = 0;
  for (int j = 0; j < 5; j++) high[j] = 0;
  for (int i = 0; i < 4; i++) {
    sum[i] = 0;
    low[i] = 255;
    for (int j = 0; j < 5; j++) {
      sum[i] += image[i][j];
      low[i] = image[i][j] < low[i] ? image[i][j] : low[i];
      high[j] = image[i][j] > high[j] ? image[i][j] : high[j];
    }
    total[0] += sum[i];
  }
#pragma endscop
}""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_f34_programs_as_they_are_written(name: str) -> None:
    tested = program(name, TEXTS[name])
    plan = make_plan(tested, Options())
    inputs = random_inputs(tested, 1)
    run = run_kernel(tested, plan, inputs, 0.1)
    for output, values in interpret(tested, inputs).items():
        assert np.array_equal(run.outputs[output], values), output
    assert run.ticks == plan.kernel.total_ticks


SUBSTITUTIONS = """
void f(const int16_t L[N][N], const int16_t b[N], int16_t x[N], int16_t r[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    x[i] = b[i];
    for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
  }
  for (int i = N - 1; i >= 0; i--) {
    r[i] = x[i];
    for (int j = i + 1; j < N; j++) r[i] -= L[j][i] * r[j];
  }
#pragma endscop
}"""


def test_f12_triangles_of_any_size_in_both_directions() -> None:
    sized = compile_sizes(lambda **sizes: program("substitutions", SUBSTITUTIONS, **sizes), {"N": (2, 4)})
    ticks = [sized.at(N=n).predicted_cycles for n in (2, 3, 4)]
    assert sorted(set(ticks)) == ticks
    assert all(sized.at(N=n).predicted_cycles >= sized.at(N=n).lower_bound for n in (2, 3, 4))
