"""Pointers that walk through arrays compute what gcc's code of them computes."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import require_gcc_results

HEAD = """#include <stdint.h>
struct pair { int16_t low, high; };
static int sum(const int16_t *p, int n) { int s = 0; while (n--) s += *p++; return s; }
static void fill(int32_t *out, const int32_t *end, int v) { while (out != end) *out++ = v; }
static int length(const uint8_t *s) { const uint8_t *e = s; while (e < s + 15 && *e) e++; return e - s; }
"""
BODIES = {
    "a loop over a pointer": "for (const int16_t *p = a; p < a + 16; p++) y[0] += *p;",
    "two pointers in a head": "int32_t *q = y; for (const int16_t *p = a + 2, *e = a + 9; p != e; ++p) *q++ = *p;",
    "while": "const int16_t *p = a; int32_t *q = y; const int16_t *end = a + 16; while (p < end) *q++ = *p++ + 1;",
    "the parameters": "const int32_t *end = y + 16; while (y != end) *y++ = *a++;",
    "a number of elements": "int32_t *q = y + 3; int n = 9; while (n--) *q++ = n;",
    "backwards": "const int16_t *p = &a[15]; int32_t *q = y; while (p >= a) *q++ = *p--;",
    "rows": "for (int k = 0; k < 4; k++) for (int32_t *p = m[k]; p < m[k] + 4; p += 2) p[1] = *p + k;",
    "pointers to rows": "int32_t (*r)[4] = m; for (int k = 0; k < 3; k++, r++) { (*r)[1] = k; r[1][0] = 7; }",
    "steps on both sides": "int32_t *p = y; *p++ = 4; *++p = 5; p += 2; *p-- = 6; p[-1] = 8; y[15] = p - y;",
    "given later": "const int16_t *p, *q; p = a + 3; q = a; for (int i = 0; i < 4; i++, p++) { y[i] = *p; q += 2; }"
                   "y[9] = *q;",
    "given anew": "const int16_t *p = a; for (int k = 0; k < 3; k++) { p = a + 2 * k; y[k] = *p++; y[k] += *p++; }",
    "what it is computed from changes": "int k = 3; const int16_t *p = a + k; k++; y[k] = *p + p[1]; k = 0;"
                                       "y[k] = p[2];",
    "in functions": "y[0] = sum(a, 16); y[1] = sum(a + 3, 5); fill(y + 4, y + 9, a[0]); fill(m[1], m[1] + 4, 3);",
    "under a condition": "int32_t *q = y; for (int i = 0; i < 16; i++) if (a[i] > 0) *q++ = a[i]; y[15] = q - y;",
    "until a zero": "y[0] = length(b); y[1] = length(b + 1);",
    "fields": "struct pair s[8]; for (int i = 0; i < 8; i++) s[i] = (struct pair){a[i], i};"
              "const struct pair *p = s; for (int i = 0; i < 8; i++, p++) y[i] = p->low - (*p).high;",
    "compared": "const int16_t *p = a + (b[0] & 7), *q = &a[b[1] & 7]; y[0] = p < q; y[1] = p - q; y[2] = *p + *q;",
    "sizes": "const int16_t *p = a; y[0] = sizeof p + sizeof *p; p++; y[1] = *p;",
}


def _text(body: str) -> str:
    return (f"{HEAD}void f(const int16_t a[16], int32_t y[16], int32_t m[4][4], const uint8_t b[16]) "
            f"{{ {body} }}")


def _data(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {"a": random.integers(-300, 300, 16).astype(np.int16), "y": random.integers(-9, 9, 16).astype(np.int32),
            "m": random.integers(-99, 99, (4, 4)).astype(np.int32), "b": random.integers(0, 5, 16).astype(np.uint8)}


@pytest.mark.parametrize("name", BODIES)
def test_pointers_compute_what_gcc_computes(name: str) -> None:
    for seed in range(2):
        require_gcc_results(_text(BODIES[name]), "f", _data(seed), lambda program, inputs, options: {})
