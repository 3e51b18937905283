"""C that cannot be compiled ends in one line with file, line, column and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.frontend.c_scop import ScopError, load_c, parse_scop
from compiler.ir.program import ProgramError

KERNEL = """\
#include <stdint.h>
#define N 8
void f(int n, const int a[N], int b[N], int c[N][N], float x[N], int *p) {
  int i, j, t;
#pragma scop
BODY
#pragma endscop
}
"""


EVERY = "; loop over all indices and use the one that is equal: for (k = 0; k < N; k++) if (k == INDEX) ..."

STATEMENT = (" inside an expression is made a statement of its own only if it takes place in any case and nothing "
             "else in the expression has its variable; write that statement")
FAULTS = {
    # Control.
    "while (t) t--;": "6:1: this 'while' loop counts in no way that is known: set its counter before it in the same "
                      "block and step it at the end of its body alone, or use 'for'; or say how many trips it makes "
                      "at most, by #pragma sluice max_trips(N) before it",
    "do t--; while (t);": "6:1: 'do' loops are not supported: use 'for'",
    "goto end; end: t = 1;": "6:1: 'goto' is not supported",
    "if (a[0]) break;": "6:11: 'break' is outside of a loop",
    "return;": "6:1: 'return' is not supported inside a scop",
    "a[0];": "6:1: this statement does nothing; only assignments do",
    "": "5:9: the scop has no statements that are ever executed",
    "if (N > 9) b[0] = 1;": "5:9: the scop has no statements that are ever executed",
    "t = 3;": "5:9: nothing that the scop computes is used after it: assign to an array parameter, a global, or a "
              "local that is used later",
    # Loops.
    "for (;;) b[0] = 1;": "6:1: a loop must start with one assignment to its iterator: for (i = ...; ...; ...)",
    "for (i = 0; ; i++) b[i] = 1;": "6:1: the loop over 'i' has no condition and never ends",
    "for (i = 0; i < N; i *= 2) b[i] = 1;":
        "6:20: the step of loop 'i' must be a constant: i++, i--, i += c or i -= c; or say how many trips the loop "
        "makes at most, by #pragma sluice max_trips(N) before it",
    "for (i = 0; i != 7; i += 2) b[i] = 1;": "6:1: the loop over 'i' does not end",
    "for (i = 0; i < n; i++) b[i] = 1;":
        "6:17: bounds of loop 'i' are not affine: parameter 'n' has no value; give n=VALUE",
    "for (i = 0; i < a[0]; i++) b[0] = 1;":
        "6:17: bounds of loop 'i' are not affine: it depends on the contents of array 'a'" + EVERY
        + "; or say how many trips the loop makes at most, by #pragma sluice max_trips(N) before it, or in its "
        "condition: i < N && ...; its values allow 2147483647, of more than 65536 (set SLUICE_MAX_TRIPS_BY_DATA above "
        "65536 to go on)",
    "for (i = 0; i < N; i++) { i++; b[i] = 1; }":
        "6:27: 'i' is the iterator of a loop and cannot be changed in it; step it in the head of the loop, or change a "
        "copy of it",
    "for (q = 0; q < 3; q++) b[q] = 1;": "6:1: iterator 'q' is not declared",
    "for (i = 0; i < N; i++) for (i = 0; i < N; i++) b[i] = 1;":
        "6:25: a loop around this one has the same iterator 'i'",
    "for (uint8_t k = 0; k < 300; k++) b[0] = k;": "6:1: iterator 'k' reaches 300, outside its type uint8",
    "for (unsigned k = 5; k >= 0; k--) b[k] = 1;": "6:1: iterator 'k' reaches -1, outside its type uint32",
    # Subscripts.
    "b = 0;": "6:1: 'b' has 1 dimensions and is used with 0 subscripts; arrays cannot be used as a whole",
    "b[0] = c[1];": "6:8: 'c' has 2 dimensions and is used with 1 subscripts",
    "b[0] = n[0];": "6:8: 'n' is a scalar and has no subscripts",
    "const int w[2] = {1, 2}; for (i = 0; i < N; i++) b[i] = w[i];":
        "6:57: subscript of 'w' reaches 7, outside 0..1",
    # Data.
    "b[0] = t;": "6:8: 't' is read before it is assigned",
    "for (i = 0; i < 5; i++) { if (i > 1) b[i] = t; t = i; } for (i = 0; i < N; i++) { int u; b[i] = u; u = 1; }":
        "6:97: 'u' is read before it is assigned, first at i=0",
    "b[0] = undeclared;": "6:8: 'undeclared' is not declared",
    "const int z = 3; z = 4; b[0] = z;": "6:18: 'z' cannot be assigned: its value is fixed",
    "b[0] = &t;": "6:9: pointers are not supported; use subscripts",
    "int *q; b[0] = 1;": "6:5: 'q' is a pointer; only arrays and scalars can be used in a scop",
    # Floating point.
    "b[0] = 1.5L;": "6:8: 1.5L is no constant of type float or double",
    "b[0] = x[0] % 2;": "6:8: '%' takes integers, not floating-point numbers",
    "b[0] = a[0] & 1.5f;": "6:8: '&' takes integers, not floating-point numbers",
    "b[0] = 1 << x[0];": "6:8: '<<' takes integers, not floating-point numbers",
    "b[0] = ~x[0];": "6:9: '~' takes integers, not floating-point numbers",
    "b[x[0]] = 1;": "6:3: subscript of 'b' is a floating-point number",
    "b[(int)1.0f] = 1;": "6:8: subscript of 'b' is not affine: 1.0f is not an integer constant",
    "const int w[2] = {1, 2}; b[0] = w[x[0]];": "6:35: subscript of 'w' is a floating-point number",
    "for (float f = 0; f < 3; f++) b[0] = 1;": "6:1: iterator 'f' is not an integer variable",
    "const float f = 2; b[f] = 1;": "6:22: subscript of 'b' is not affine: it computes in floating point",
    # Expressions.
    "b[0] = g(a[0]);": "6:8: calls g(); functions cannot be called in a scop",
    "g(b);": "6:1: calls g(); functions cannot be called in a scop",
    "b[0] = a[0] % 0;": "6:8: '%' by 0: division by zero",
    "b[0] = a[0] << 32;": "6:8: shift by 32: amounts outside 0..31 are undefined",
    "b[0] = a[0] >> -1;": "6:8: shift by -1: amounts outside 0..31 are undefined",
    "b[0] = (t = 3) + t;": "6:9: an assignment" + STATEMENT,
    "t = 1; b[0] = t++ + t;": "6:15: '++'" + STATEMENT,
    "t = 1; b[0] = a[0] ? --t : 1;": "6:24: '--'" + STATEMENT,
    "b[0] = a[0] +;": "6:14: not valid C: Invalid expression",
    "b[0] = 1": "7:2: not valid C, before 'pragma'",
}


@pytest.mark.parametrize("body", FAULTS)
def test_faults_inside_the_scop(body: str) -> None:
    with pytest.raises(ScopError) as error:
        parse_scop(KERNEL.replace("BODY", body), "k.c")
    assert str(error.value) == f"k.c:{FAULTS[body]}"


def test_columns_are_those_before_macros_and_comments() -> None:
    text = KERNEL.replace("BODY", "b[N - N] = /* a long comment */ N + N + nothing;")
    with pytest.raises(ScopError) as error:
        parse_scop(text, "k.c")
    assert str(error.value) == "k.c:6:41: 'nothing' is not declared"


def test_elements_outside_an_array_are_reported_with_the_iteration() -> None:
    with pytest.raises(ProgramError) as error:
        parse_scop(KERNEL.replace("BODY", "for (i = 0; i < N; i++)\n  b[i + 1] = a[i];"), "k.c")
    assert str(error.value) == "statement 'S0' (k.c:7) writes 'b'[8] outside its shape [8], first at i=7"


ONE = "void f(int a[3]) {\n#pragma scop\n  a[0] = 1;\n#pragma endscop\n}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int x;\n", "k.c: there is no '#pragma scop' inside a function"),
        (ONE.replace("#pragma endscop\n", ""), "k.c:2:9: '#pragma scop' has no '#pragma endscop' in the same block"),
        (ONE + ONE.replace("f(", "g("),
         "k.c:7:9: a second scop; the first is at k.c:2:9; choose with --function one of: f, g"),
        ("void f(int a[3]) {\n  for (int i = 0; i < 3; i++) {\n#pragma scop\n    a[i] = 1;\n#pragma endscop\n  }\n}\n",
         "k.c:3:9: the scop is inside a loop or condition; put the pragmas around it"),
        ('#include "none.h"\n', 'k.c:1: #include "none.h": there is no file none.h'),
        ("#if 1\n", "k.c:1: this conditional has no #endif in k.c"),
        ("\n#else\n", "k.c:2: #else without #if"),
        ("#if 1 +\n#endif\n", "k.c:1: #if 1 +: not an integer constant expression"),
        ("#error sizes must be even\n", "k.c:1: #error sizes must be even"),
        ("#define F(x) x\n" + ONE.replace("1;", "F(1, 2);"), "k.c:4:10: macro 'F' has 1 parameters, not 2"),
        ("#define F(x) x\n" + ONE.replace("1;", "F((1;"),
         "k.c:4:10: the arguments of macro 'F' do not end on their line"),
        ("#define F(x, ...) x\n" + ONE.replace("1;", "F(1);"),
         "k.c:4:10: macro 'F' uses '...', which is not supported"),
        ("#define F(x) #x\n" + ONE.replace("1;", "F(1);"), "k.c:4:10: macro 'F' uses '#', which is not supported"),
        ("#define F(x\n", "k.c:1: #define F(x: its parameters do not end"),
        ("#define F(x) (x + b)\n" + ONE.replace("1;", "F(1);"), "k.c:4:10: 'b' is not declared"),
        (ONE.replace("[3]", "[n]"), "k.c:1:14: size of array 'a': 'n' is not a constant; give n=VALUE"),
        (ONE.replace("[3]", "[0]"), "k.c:1:12: size 0 of array 'a' must be positive"),
    ],
)
def test_faults_around_the_scop(text: str, message: str) -> None:
    with pytest.raises(ScopError) as error:
        parse_scop(text, "k.c")
    assert str(error.value) == message


def test_bad_parameters_and_files(tmp_path: Path) -> None:
    with pytest.raises(ScopError) as error:
        parse_scop(KERNEL.replace("BODY", "b[0] = N;"), "k.c", M=3)
    assert str(error.value) == "k.c: there is no macro or scalar parameter 'M'; there are: N, n"
    with pytest.raises(ScopError) as error:
        parse_scop(KERNEL.replace("BODY", "b[0] = N;"), "k.c", N="large")  # type: ignore[arg-type]
    assert str(error.value) == "k.c: parameter N='large' is not an integer"
    with pytest.raises(ScopError) as error:
        load_c(tmp_path / "none.c")
    assert str(error.value) == f"{tmp_path}/none.c: cannot be read: No such file or directory"


def test_an_expression_that_is_too_deep_is_an_error() -> None:
    body = "b[0] = " + "(" * 9000 + "1" + ")" * 9000 + ";"
    with pytest.raises(ScopError) as error:
        parse_scop(KERNEL.replace("BODY", body), "k.c")
    assert str(error.value) == "k.c:1: the file nests too deeply to be parsed"
    with pytest.raises(ScopError) as error:
        parse_scop(KERNEL.replace("BODY", "b[0] = a[0]" + " + a[0]" * 5000 + ";"), "k.c")
    assert str(error.value) == "k.c: an expression or a nest is too deep"
