"""Constructs of C beyond loops and arithmetic: each small function computes what gcc's code of it computes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_reference import call, compile_c

from compiler.cli.main import main
from compiler.frontend.c_scop import ScopError, load_c, parse_scop
from compiler.frontend.c_scop.limits import LIMITS
from compiler.ir.interpret import interpret
from compiler.ir.types import ProgramError

HEAD = "#include <stdint.h>\n#include <stdbool.h>\n#include <stdlib.h>\n#include <limits.h>\n#include <math.h>\n"
SIZE = 16

BODIES = {
    "absolute": ("", "y[i] = abs(x[i] - 7) + llabs(x[i] * 3LL) - labs(-x[i]);"),
    "bool_local": ("", "bool big = x[i] & 256; _Bool any = x[i];"
                   "y[i] = big + 2 * any + 4 * (bool)(x[i] & 512) + true;"),
    "bool_table": ("static const bool T[4] = {2, 0, 256, false};", "y[i] = T[x[i] & 3];"),
    "enumerations": ("typedef enum { RED, BLUE = 4 } colour;\nenum sign { MINUS = -1, PLUS = 1 };",
                     "colour c = x[i] & 1 ? BLUE : RED;"
                     "enum sign s = x[i] < 0 ? MINUS : PLUS; y[i] = s * 7 + (c - 1 > 2);"),
    "array_types": ("typedef int16_t pair_t[2];\ntypedef pair_t block_t[3];\nstatic const block_t T = {{1, -2}, {3}};",
                    "pair_t p = {x[i], 3}; y[i] = p[0] + p[1] * T[x[i] & 1][1] + T[1][0];"),
    "sizes": ("", "y[i] = x[i] % sizeof(short) + sizeof(int64_t) + sizeof x[0] - sizeof(x[i] + 1L) + sizeof(int[3]);"),
    "size_of_array_type": ("typedef int16_t block_t[3][4];", "y[i] = x[i] + sizeof(block_t) + sizeof(block_t[2]);"),
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
    "helper": ("static int16_t clip(int32_t v) { return v > 32767 ? 32767 : v < -32768 ? -32768 : v; }",
               "y[i] = clip(x[i] * 3) + clip(clip(x[i] - 1) * 2);"),
    "early_return": ("static inline int kind(int16_t v) { if (v < 0) return -1; int t = v & 3; if (t == 1) "
                     "{ return 7; } else if (t == 2) return t * 5; t += v; return t; }",
                     "y[i] = kind(x[i]) * 3 + kind(-x[i]);"),
    "loop_helper": ("static uint8_t ones(uint16_t v) { uint8_t n = 0; for (int k = 0; k < 16; k++) n += v >> k & 1;"
                    " return n; }", "y[i] = ones(x[i]);"),
    "return_in_loop": ("static int first(const int16_t *p, int n) { for (int k = 0; k < n; k++) { if (p[k] < 0) "
                       "return k; } return -1; }", "y[i] = first(x, 16) + first(&x[i / 2], 5) + first(x + 2, 3);"),
    "array_helper": ("static void put(int32_t *out, int32_t v) { *out = v; out[0] += 1; }", "put(&y[i], x[i]);"),
    "row_alias": ("static const int T[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};",
                  "const int *row = T[i & 1]; const int16_t *p = x + 3; y[i] = row[x[i] & 3] + p[i / 2] + *p;"),
    "changed_argument": ("static int twice(int8_t v) { v *= 2; v += 3; return v; }",
                         "int t = 2; if (twice(x[i]) > 5) t = twice(i); y[i] = t;"),
    "nested_helper_under_condition": (
        "static int low(int v) { int t = v & 15; return t * t; }\n"
        "static int both(int v) { int t = low(v); if (t > 9) t -= low(t); return t; }",
        "y[i] = x[i] > 3 && both(x[i]) < 5 ? both(x[i] + 1) : 7;"),
    "unknown_in_both_branches": ("", "int t = 0; if (i < 8) t = x[i] * x[i]; else t = x[i] * 3; y[i] = x[i] && t > 3;"),
    "array_under_condition": ("", "if (x[i] > 2) { int t[2] = {x[i]}; t[1] = t[0] * 2; y[i] = t[1]; } else y[i] = 1;"),
    "call_in_switch": ("static int low(int v) { int t = v & 3; return t * t; }",
                       "y[i] = 2; switch (low(x[i])) { case 0: y[i] = 5; break; case 4: y[i] = 7; }"),
    "comma": ("", "int t = 1, u; y[i] = (t = x[i], u = t * 2, t + u) + (x[i], 5);"),
    "builtins": ("", "unsigned v = x[i] * 77777u | 1; y[i] = __builtin_popcount(v) + __builtin_clz(v) * 64 "
                 "+ __builtin_ctz(v) * 4096 + __builtin_parity(v) - __builtin_ffs(x[i]);"),
    "builtins_of_long": ("", "unsigned long v = x[i] * 7777777777ul | 8; y[i] = __builtin_popcountl(v) "
                         "+ 64 * __builtin_clzll(v) + __builtin_ctzl(v) * 4096 + __builtin_parityll(v);"),
    "builtin_swaps": ("", "if (__builtin_expect(x[i] > 3, 1)) y[i] = __builtin_bswap32(x[i] * 999); else "
                      "y[i] = __builtin_bswap64(x[i] * 99999999999ul) >> 17; y[i] ^= __builtin_bswap16(x[i]);"),
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
     "macros expand to more than 262144 characters on this line"),
    ("void f(int y[4]) {\n#pragma scop\nint t[2] = {1, 2, 3};\ny[0] = t[1];\n#pragma endscop\n}",
     "initialiser of 't': more values than the array has elements"),
    ("static int g(int v) { return v ? g(v - 1) : 0; }\nvoid f(int y[4]) {\n#pragma scop\ny[0] = g(3);\n"
     "#pragma endscop\n}", "scop.c:1:34: g() calls itself; recursion is not supported, write a loop"),
    ("void f(int y[4]) {\n#pragma scop\ny[0] = 1;\n#pragma endscop\n}\nvoid g(int y[4]) {\n#pragma scop\n"
     "y[0] = 2;\n#pragma endscop\n}", "choose with --function one of: f, g"),
    ("static void put(int *p) { p[0] = 1; }\nstatic int g(int *p) { put(p); return p[0]; }\nvoid f(int y[4]) {\n"
     "#pragma scop\ny[1] = y[2] ? g(y) : 3;\n#pragma endscop\n}", "g() is called under a condition inside an "
     "expression and writes more than its result; call it in an if"),
    ("static const int T[8] = {[1 ... 3] = 5};\nvoid f(int y[4]) {\n#pragma scop\ny[0] = T[1];\n#pragma endscop\n}",
     "scop.c:1:29: ranges ('...') are not supported; write a designator or a case for every value"),
    ("#include <arm_math.h>\nvoid f(int y[4]) {\n#pragma scop\ny[0] = 1;\n#pragma endscop\n}",
     "scop.c:1: #include <arm_math.h>: it is no known header (assert.h, limits.h, math.h, stdbool.h, stddef.h, "
     "stdint.h, stdlib.h, string.h) and in no folder that -I gives; add -I DIR"),
    ("void f(const int y[4]) {\n#pragma scop\ny[0] = 1;\n#pragma endscop\n}",
     "'y' cannot be assigned: it is declared const"),
    ("void f(int y[4]) {\n#pragma scop\ny[0] = '\\q';\n#pragma endscop\n}", "there is no escape sequence \\q"),
])
def test_refusals(text, message):
    with pytest.raises(ScopError, match=re.escape(message)):
        parse_scop(text)


NEST = "".join(f"for (int i{k} = 0; i{k} < 2; i{k}++) " for k in range(22))
LIMITED = {
    "macro_characters": ("#define TWO(a) a + a\nvoid f(int y[4]) {\n#pragma scop\n"
                         "y[0] = TWO(TWO(TWO(TWO(TWO(TWO(y[1]))))));\n#pragma endscop\n}",
                         "scop.c:4:8: macros expand to more than 200 characters on this line; assign parts of it to "
                         "variables (set SLUICE_MAX_MACRO_CHARACTERS above 200 to go on)", "200"),
    "inlined_operations": ("static int g(int v) { return v + v * v; }\nvoid f(int y[4]) {\n#pragma scop\n"
                           "y[0] = g(g(g(g(y[1]))));\n#pragma endscop\n}",
                           "calls of functions expand to more than 20 operations; keep results that are used several "
                           "times in variables (set SLUICE_MAX_INLINED_OPERATIONS above 20 to go on)", "20"),
    "statements": ("void f(int y[4]) {\n#pragma scop\n" + "y[1] += y[2];\n" * 900 + "#pragma endscop\n}",
                   "scop.c:403:1: the scop has more than 400 statements after calls, copies and conditions are written "
                   "out; write loops (set SLUICE_MAX_STATEMENTS above 400 to go on)", ""),
    "nested_loops": (f"void f(int y[4]) {{\n#pragma scop\n{NEST}y[0] += 1;\n#pragma endscop\n}}",
                     "more than 12 loops are nested; use the quotient and the remainder of one iterator for several "
                     "(set SLUICE_MAX_NESTED_LOOPS above 12 to go on)", ""),
    "initialised_elements": ("void f(int y[4]) {\n#pragma scop\nint t[9] = {1, 2, 0, 3, 4};\ny[0] = t[0];\n"
                             "#pragma endscop\n}",
                             "4 elements of array 't' are initialised one by one; write a loop "
                             "(set SLUICE_MAX_INITIALISED_ELEMENTS above 3 to go on)", "3"),
    "copied_fields": ("struct p { int a[3]; };\nvoid f(struct p x[4], int y[4]) {\n#pragma scop\nx[0] = x[1];\n"
                      "y[0] = 1;\n#pragma endscop\n}", "copies a structure of 3 numbers one by one; write a loop over "
                      "its array (set SLUICE_MAX_COPIED_FIELDS above 2 to go on)", "2"),
    "trips_by_data": ("void f(const unsigned char x[4], int y[4]) {\n#pragma scop\nfor (int i = 0; i < x[0]; i++)\n"
                      "y[0] += i;\n#pragma endscop\n}",
                      "3:21: bounds of loop 'i' are not affine: it depends on the contents of array 'x'; loop over all "
                      "indices and use the one that is equal: for (k = 0; k < N; k++) if (k == INDEX) ...; or say how "
                      "many trips the loop makes at most, by #pragma sluice max_trips(N) before it, or in its "
                      "condition: i < N && ...; its values allow 255, of more than 200 "
                      "(set SLUICE_MAX_TRIPS_BY_DATA above 200 to go on)", "200"),
}


@pytest.mark.parametrize("resource", LIMITS)
def test_every_budget_is_checked_and_adjustable(resource, monkeypatch):
    text, message, given = LIMITED[resource]
    if given:
        assert parse_scop(text).outputs
        monkeypatch.setenv(f"SLUICE_MAX_{resource.upper()}", given)
    with pytest.raises(ScopError, match=re.escape(message)):
        parse_scop(text)


def test_a_budget_must_be_a_number(monkeypatch):
    monkeypatch.setenv("SLUICE_MAX_STATEMENTS", "many")
    with pytest.raises(ProgramError, match="SLUICE_MAX_STATEMENTS='many' is not a positive integer"):
        parse_scop(TWO, function="f")


def test_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "mark.c"
    path.write_bytes(b"\xef\xbb\xbf" + _text("lowest").replace("\n", "\r\n").encode())
    assert load_c(path).outputs


TWO = ("void f(int y[4]) { for (int i = 0; i < 4; i++) y[i] = 1; }\n"
       "void g(int y[4]) {\n#pragma scop\ny[0] = 2;\n#pragma endscop\n}")


def test_a_function_is_chosen_by_name():
    assert interpret(parse_scop(TWO, function="f"), {})["y"].tolist() == [1] * 4
    with pytest.raises(ScopError, match="there is no function 'h'; there are: f, g"):
        parse_scop(TWO, function="h")


def test_a_file_with_one_function_needs_no_pragmas():
    assert interpret(parse_scop(TWO.split("\n")[0]), {})["y"].tolist() == [1] * 4


@pytest.mark.parametrize("others", [
    "static int half(int v) { return v / 2; }\nint two(int v) { return half(v) * 2; }\n",
    "static int two(int v) { return v; }\nstatic int unused(int v) { return v; }\n",
    "int two(int v) { return v; }\nvoid f(int y[2]);\nint main(void) { int y[2]; f(y); return y[0]; }\n",
])
def test_the_function_that_no_other_one_calls_needs_no_pragmas(others):
    assert interpret(parse_scop(f"{others}void f(int y[2]) {{ y[0] = two(4); y[1] = 3; }}"), {})["y"].tolist() == [4, 3]


def test_of_several_functions_that_no_other_one_calls_one_is_named():
    text = "static int two(void) { return 2; }\nvoid f(int y[1]) { y[0] = two(); }\nvoid g(int y[1]) { y[0] = two(); }"
    with pytest.raises(ScopError, match="name one of the functions with --function: f, g"):
        parse_scop(text)


def test_included_files_are_found_in_given_folders(tmp_path):
    (tmp_path / "more.h").write_text("#define N 7\n")
    text = "#include <more.h>\nvoid f(int y[4]) {\n#pragma scop\ny[0] = N; y[1] = y[2] = y[3] = 0;\n#pragma endscop\n}"
    for form in (text, text.replace("<more.h>", '"more.h"')):
        assert interpret(parse_scop(form, folders=[tmp_path]), {})["y"].tolist() == [7, 0, 0, 0]


def test_the_command_line_lists_and_chooses_functions(tmp_path, capsys):
    path = tmp_path / "two.c"
    path.write_text(TWO.replace("{ for", "{\n#pragma scop\nfor").replace("= 1; }", "= 1;\n#pragma endscop\n}"))
    assert main([str(path), "--list"]) == 0
    assert capsys.readouterr().out.split() == ["f", "g"]
    assert main([str(path), "--target", "fpga", "--simulator", "none"]) == 1
    assert "--function" in capsys.readouterr().err
    path.write_text("#include <more.h>\nvoid g(const int x[8], int y[8]) {\nfor (int i = 0; i < N; i++) y[i] = x[i];\n}"
                    "\nvoid h(int y[2]) { y[0] = 1; }")
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "more.h").write_text("#define N 8\n")
    assert main([str(path), "--function", "g", "-I", str(tmp_path / "inc"), "--target", "fpga", "--simulator", "none",
                 "--random", "1"]) == 0
