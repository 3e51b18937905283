"""Constructs of C beyond loops and arithmetic: each small function computes what gcc's code of it computes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_reference import call, compile_c

from compiler.frontend.c_scop import ScopError, parse_scop
from compiler.ir.interpret import interpret

HEAD = "#include <stdint.h>\n#include <stdbool.h>\n#include <stdlib.h>\n#include <limits.h>\n#include <math.h>\n"
SIZE = 16

BODIES = {
    "absolute": ("", "y[i] = abs(x[i] - 7) + llabs(x[i] * 3LL) - labs(-x[i]);"),
    "bool_local": ("", "bool big = x[i] & 256; _Bool any = x[i];"
                   "y[i] = big + 2 * any + 4 * (bool)(x[i] & 512) + true;"),
    "bool_table": ("static const bool T[4] = {2, 0, 256, false};", "y[i] = T[x[i] & 3];"),
    "sizes": ("", "y[i] = x[i] % sizeof(short) + sizeof(int64_t) + sizeof x[0] - sizeof(x[i] + 1L) + sizeof(int[3]);"),
    "characters": ("", r"y[i] = '\xff' + 2 * '\0' + 3 * '\101' + '\\' * x[i] + '\'';"),
    "string": (r'static const char S[] = "ab\xfe\x63";', "y[i] = S[x[i] & 3] + sizeof(S);"),
    "designated": ("static const int16_t T[8] = {[2] = 5, 6, [0] = -1, [7] = 9, [2] = 8};", "y[i] = T[x[i] & 7];"),
    "designated_rows": ("static const int16_t T[2][4] = {[1] = {[2] = 3, 4}, [0][1] = 7, 8};",
                        "y[i] = T[x[i] & 1][(x[i] >> 1) & 3];"),
    "flat_rows": ("static const int16_t T[2][4] = {1, 2, 3, 4, 5, 6};", "y[i] = T[x[i] & 1][(x[i] >> 1) & 3];"),
    "sized_table": ("enum { N = 3 };\nstatic const int T[N * sizeof(short)] = {INT16_MAX, INT8_MIN};",
                    "y[i] = T[x[i] & 5];"),
    "local_array": ("", "int16_t d[3] = {x[i], [2] = 5}; d[1] += d[0]; y[i] = d[0] + d[1] * d[2];"),
    "pointer_sum": ("", "*(y + i) = *(x + 15 - i) + *x + (x + 1)[i / 2];"),
    "lowest": ("", "y[i] = x[i] / INT_MIN + x[i] % INT_MIN + (x[i] << 16) / INT_MIN;"),
}


def _text(name: str) -> str:
    before, body = BODIES[name]
    return (f"{HEAD}{before}\nvoid {name}(const int16_t *x, int32_t *y) {{\n#pragma scop\n"
            f"  for (int i = 0; i < {SIZE}; i++) {{\n    {body}\n  }}\n#pragma endscop\n}}\n")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("gcc"), {name: _text(name) for name in BODIES})


@pytest.mark.parametrize("name", BODIES)
def test_construct_computes_what_gcc_computes(name, library):
    program = parse_scop(_text(name))
    x = np.array([-32768, 32767, 0, 1, -1, 256, 512, 255, 7, 6, 5, 4, 3, 2, -256, 1000], np.int16)
    y = np.zeros(SIZE, np.int32)
    call(library, name, [x, y])
    np.testing.assert_array_equal(interpret(program, {"x": x} if program.inputs else {})["y"], y)


@pytest.mark.parametrize(("text", "message"), [
    ("void f(int x[4], int x[4]) {\n#pragma scop\nx[0] = 1;\n#pragma endscop\n}", "parameter 'x' is declared twice"),
    ("\n".join(["#define M0(a) a + a", *(f"#define M{k}(a) M{k - 1}(a) + M{k - 1}(a)" for k in range(1, 31)),
                "void f(int x[4]) {", "#pragma scop", "x[0] = M30(x[1]);", "#pragma endscop", "}"]),
     "macros expand to more than 1048576 characters on this line"),
    ("void f(int y[4]) {\n#pragma scop\nint t[2] = {1, 2, 3};\ny[0] = t[1];\n#pragma endscop\n}",
     "initialiser of 't': more values than the array has elements"),
    ("void f(int y[4]) {\n#pragma scop\ny[0] = '\\q';\n#pragma endscop\n}", "there is no escape sequence \\q"),
])
def test_refusals(text, message):
    with pytest.raises(ScopError, match=re.escape(message)):
        parse_scop(text)


def test_byte_order_mark_is_skipped(tmp_path):
    from compiler.frontend.c_scop import load_c
    path = tmp_path / "mark.c"
    path.write_bytes(b"\xef\xbb\xbf" + _text("lowest").replace("\n", "\r\n").encode())
    assert load_c(path).outputs
