"""Stores of C that are not one row after the other: skewed tiles, elements that go round, beside gcc's results."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results

BODIES = {
    "tiles": "for (int i = 0; i < 16; i += 4) for (int j = i; j < i + 4; j++) y[j] = x[j] + x[j / 2];",
    "ragged tiles": """for (int i = 0; i < 14; i += 4)
      for (int j = i; j < (i + 4 < 14 ? i + 4 : 14); j++) y[j] = x[j] * 3;""",
    "overlapping rows": "for (int i = 0; i < 5; i++) for (int j = i; j < i + 4; j++) y[j] = x[j] - i;",
    "only the last row": "for (int i = 0; i < 4; i++) for (int j = 3 * i; j <= 3 * i + i; j++) y[j] = x[j] + i;",
    "halves": "for (int i = 0; i < 16; i++) y[i % 2 * 8 + i / 2] = x[i] + 1;",
    "thirds": "for (int i = 0; i < 15; i++) y[i / 3 + 5 * (i % 3)] = x[i] - 1;",
    "columns": "int z[4][4]; for (int i = 0; i < 16; i++) z[i % 4][i / 4] = x[i]; "
               "for (int i = 0; i < 16; i++) y[i] = z[i / 4][i % 4] + z[3 - i / 4][0];",
    "every other, backwards": "for (int i = 0; i < 8; i++) y[15 - i / 2 * 2] = x[i];",
}


@pytest.mark.parametrize("name", BODIES)
def test_results_are_those_of_gcc(name):
    text = f"void f(const short x[16], short y[16]) {{\n#pragma scop\n{BODIES[name]}\n#pragma endscop\n}}\n"
    data = {"x": np.arange(16, dtype=np.int16) * 7 - 20, "y": np.arange(16, dtype=np.int16)}
    require_gcc_results(text, "f", data, MODELS["vector"])
