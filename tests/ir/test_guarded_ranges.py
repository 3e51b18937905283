"""Accesses behind conditions that keep their index inside need no trap."""

from __future__ import annotations

import pytest

from compiler.frontend.c_scop import parse_scop

_TEXT = """#include <stdint.h>
void f(const int16_t at[16], const uint8_t on[16], const int16_t x[12], int16_t y[16]) {
#pragma scop
  for (int i = 0; i < 16; i++) {
    int k = at[i] - 3;
    y[i] = 0;
    %s
  }
#pragma endscop
}"""


def _traps(body: str) -> bool:
    return parse_scop(_TEXT % body, "f.c").memory("x_memory").trap


@pytest.mark.parametrize("body", [
    "if (k >= 0 && k < 12) y[i] = x[k];",
    "if (0 <= k && 11 >= k) y[i] = x[k];",
    "if (!(k < 0 || k > 11)) y[i] = x[k];",
    "if (k < 0 || k > 11) y[i] = 5; else y[i] = x[k];",
    "if (k > -2 && k < 11 && on[i]) y[i] = x[k + 1];",
    "if (at[i] >= 0 && at[i] < 11) y[i] = x[at[i] + 1];",
    "y[i] = at[i] >= 0 && at[i] < 12 ? x[at[i]] : 3;",
    "int inside = k >= 0 && k < 12; if (inside) y[i] = x[k];",
    "if (on[i] < 4) { if (on[i] > 1) y[i] = x[3 * on[i] - 6]; }",
])
def test_an_index_that_a_condition_keeps_inside_is_not_trapped(body: str):
    assert not _traps(body)


@pytest.mark.parametrize("body", [
    "if (k >= 0 && k < 13) y[i] = x[k];",
    "if (k >= 0 || k < 12) y[i] = x[k];",
    "if (k < 0 || k > 11) y[i] = x[k];",
    "if (k >= 0 && k < 12) y[i] = x[k + 1];",
    "if (k >= 0 && k < 12) y[i] = x[at[i]];",
    "if (at[15 - i] >= 0 && at[15 - i] < 12) y[i] = x[at[i]];",
    "int inside = k >= 0 && k < 12; k = on[i]; if (inside) y[i] = x[k];",
    "if (k >= 0 && k < 12) { k = on[i]; y[i] = x[k]; }",
    "if ((uint8_t)k < 12) y[i] = x[k];",
])
def test_other_indices_are(body: str):
    assert _traps(body)
