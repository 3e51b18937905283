"""memset, memcpy and memmove compute what gcc's code of them computes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results

from compiler.frontend.c_scop import ScopError, parse_scop

HEAD = ("#include <stdint.h>\n#include <stdbool.h>\n#include <string.h>\n"
        "static void clear(int32_t *p, int n) { memset(p, 0, n * sizeof(*p)); }\n"
        "static void shift(int16_t *p) { memmove(p + 1, p, 7 * sizeof *p); p[0] = 0; }\n"
        "static int bytes(int32_t p[9]) { return sizeof p; }\n")
BODIES = {
    "zeros": "int32_t t[16]; memset(t, 0, sizeof t); t[3] = x[1]; for (int i = 0; i < 16; i++) y[i / 4][i % 4] = t[i];",
    "all ones": "memset(y, 0xff, 4 * sizeof(y[0])); y[0][x[0] & 3] = 5;",
    "a byte repeated": "memset(y[1], 7, 3 * sizeof(int32_t)); memset(&y[2][1], -1, 8); memset(*y, 0, sizeof *y);",
    "all rows from the first element": "memset(&y[0][0], 0, 16 * sizeof(int32_t));",
    "two rows": "memset(&y[1], 1, sizeof(y[0]) * 2); memset(y + 3, 0, sizeof(y[0]));",
    "bytes": "memset(b, x[0], 8); memset(b + 2, 'a', 3); memset(&b[5], b[1] + 1, 2 * sizeof(char));",
    "truth values": "bool t[4]; memset(t, 1, sizeof t); t[x[0] & 3] = 0; for (int i = 0; i < 4; i++) y[0][i] = t[i];",
    "floats": "float t[4]; memset(t, 0, sizeof t); t[x[0] & 3] += 2; for (int i = 0; i < 4; i++) y[0][i] = t[i];",
    "whole arrays": "int16_t t[8]; memcpy(t, x, sizeof t); for (int i = 0; i < 8; i++) y[i / 4][i % 4] = t[7 - i];",
    "a row": "memcpy(y[2], y[1], sizeof y[1]); memcpy(&y[0], y[3], sizeof(y[0])); memcpy(y, y + 2, 32);",
    "in a loop": "for (int i = 3; i > 0; i--) { memcpy(y[i], y[i - 1], sizeof(y[i])); y[i][0] = x[i]; }",
    "into rows": "int32_t t[16]; for (int i = 0; i < 16; i++) t[i] = i * x[i & 7]; memcpy(y, t, sizeof t);",
    "out of rows": "int32_t t[20]; memset(t, 0, sizeof t); memcpy(t + 3, y, 4 * sizeof(y[0]));"
                   "for (int i = 0; i < 16; i++) y[3 - i / 4][i % 4] = t[i];",
    "other signs": "uint16_t t[8]; memcpy(t, (const void *)x, 16); for (int i = 0; i < 4; i++) y[0][i] = t[i];",
    "down by one": "memmove(&b[1], b, 7); b[0] = 3;",
    "up by one": "memmove(b, b + 1, 7); b[7] = 3;",
    "by a distance that loops": "for (int i = 0; i < 4; i++) memmove(&b[i + 1], &b[i], 3); memmove(b + 4, b + 2, 4);",
    "by a distance on data": "int p = x[0] & 3; memmove(b + p, b + 2, 4);",
    "rows": "memmove(y[1], y[0], 3 * sizeof(y[0])); memmove(y, y + 2, sizeof(y[0]) * 2);",
    "so many": "for (int i = 0; i < 4; i++) { memset(y[i], 0, i * sizeof(int32_t)); memset(b, i, 2 * i); }",
    "so many that data say": "size_t n = x[0] & 7; memset(b, 9, n); memcpy(y[0], y[1], (x[1] & 3) * sizeof(y[0][0]));",
    "under a condition": "if (x[0] > 0) memset(y, 0, 64); else memcpy(y[0], y[1], 16);",
    "in functions": "clear(y[1], 3); clear(&y[2][1], 2); int16_t t[8]; memcpy(t, x, 16); shift(t);"
                    "for (int i = 0; i < 4; i++) y[0][i] = t[i]; y[3][0] = bytes(y[1]);",
    "none": "memset(y, 0, 0); y[0][0] = 3;",
}


def _text(body: str) -> str:
    return f"{HEAD}void f(const int16_t x[8], int32_t y[4][4], uint8_t b[8]) {{ {body} }}"


def _data(positive: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    x = random.integers(1, 300, 8).astype(np.int16)
    x[0] *= positive
    return {"x": x, "y": random.integers(-900, 900, (4, 4)).astype(np.int32),
            "b": random.integers(0, 256, 8).astype(np.uint8)}


@pytest.mark.parametrize("name", BODIES)
def test_calls_compute_what_gcc_computes(name: str) -> None:
    for sign in (1, -1):
        require_gcc_results(_text(BODIES[name]), "f", _data(sign), lambda program, inputs, options: {})


@pytest.mark.parametrize("target", ["fpga", "vector", "dataflow"])
@pytest.mark.parametrize("name", ["in a loop", "up by one", "into rows", "under a condition"])
def test_targets_take_calls(name: str, target: str) -> None:
    require_gcc_results(_text(BODIES[name]), "f", _data(1), MODELS[target])


@pytest.mark.parametrize(("body", "message"), [
    ("memset(y[0], 0, 6);", "memset() is given 6 bytes, which are no whole number of elements of 'y', of 4 bytes each; "
     "write n * sizeof(y[0][0])"),
    ("memset(y[0], 0, x[0]);", "memset() is given no whole number of elements of 'y', of 4 bytes each; write n * "
     "sizeof(y[0][0])"),
    ("memset(y[0], x[0], 4);", "memset() fills elements of 'y' with a value that is not constant, and they are more "
     "than a byte; write a loop"),
    ("memset(&y[0][1], 0, 20);", "memset() goes on behind the 4 elements or rows of 'y' that there are; write a loop"),
    ("int s; memset(&s, 0, sizeof s); b[0] = s;", "memset() is given the scalar 's'; assign it"),
    ("memset(b[1], 0, 1);", "memset() is given an element of 'b', not where it is; write & before it"),
    ("memset(b, 0);", "memset() takes three arguments: array, value, size"),
    ("memcpy(b, x, 8);", "memcpy() copies elements of 'x' to 'b', which have another type; assign them in a loop"),
    ("float t[4]; memset(t, 1, 16); b[0] = t[0];",
     "memset() gives elements of 't' bytes that are no value of their type; write a loop"),
    ("memcpy(7, b, 8);", "memcpy() takes arrays of the scop, their rows, and places in them (a + k, &a[k]); write a "
     "loop"),
    ("int32_t t[8][2]; memcpy(t, y, 64); b[0] = t[0][0];", "memcpy() copies rows of 'y' to rows of another size of "
     "'t'; write a loop"),
    ("memmove(b + (x[0] & 3), b, x[1] & 3);", "memmove() moves elements of 'b' by a distance that is not constant, and "
     "so many that is not constant; write a loop"),
    ("memset(x, 0, 16);", "'x' cannot be assigned: it is declared const"),
])
def test_refusals(body: str, message: str) -> None:
    with pytest.raises(ScopError, match=re.escape(message)):
        parse_scop(_text(body))
