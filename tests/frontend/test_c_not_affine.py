"""Every reason why a bound is not affine: each has a message of its own, and a rewrite that works. Subscripts may
be anything."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_targets import gcc_results, inputs_of
from test_c_control import LOOP, data, program_text

from compiler.frontend.c_scop import ScopError, parse_scop
from compiler.ir.interpret import interpret

CASES = {
    "iterator changed": (
        LOOP.format("y[i] = a[i]; i++;"),
        "'i' is the iterator of a loop and cannot be changed in it; step it in the head of the loop, or change a copy",
        "for (int i = 0; i < 16; i += 2) { y[i] = a[i]; }"),
    "iterator copied": (
        LOOP.format("y[i] = a[i]; if (i > 4) i -= 0;"), "cannot be changed in it; step it in the head of the loop, or",
        LOOP.format("int p = i; y[p] = a[p]; if (p > 4) p -= 0;")),
    "bound of data": (
        "for (int i = 0; i < z[1]; i++) y[0] += 1;",
        "bounds of loop 'i' are not affine: it depends on the contents of array 'z'; loop over all indices and use the "
        "one that is equal: for (k = 0; k < N; k++) if (k == INDEX) ...; or say how many trips the loop makes at most, "
        "by #pragma sluice max_trips(N) before it, or in its condition: i < N && ...",
        "for (int i = 0; i < 16 && i < z[1]; i++) y[0] += 1;"),
}
TAKEN = {
    "bound of data, at most": "\n#pragma sluice max_trips(16)\nfor (int i = 0; i < (a[0] & 15); i++) y[i] = 1;",
    "break on data": LOOP.format("if (a[i] > 90) break; y[i] = a[i];"),
    "break on data at the end": LOOP.format("y[i] = a[i]; if (a[i] > 90) break;"),
    "break out of the inner loop": LOOP.format(
        "for (int j = 0; j < 4; j++) { if (a[i] > 20 * j) break; y[(i + j) % 16] += a[j]; }"),
    "iterator after a break": "int i; for (i = 3; i < 16; i += 2) if (a[i] > 50) break; y[0] = i;",
    "iterator after no break": "int i; for (i = 15; i > 2; i--) if (a[i] > 5000) break; y[0] = i;",
    "continue and break": LOOP.format("if (a[i] & 1) continue; if (a[i] > 90) break; y[i] += 2;"),
    "affine and data": "for (int i = 0; i < 16 && a[i] != 3; i++) y[i] = 7;",
    "while that shrinks": "int n = a[0] & 63; int k = 0;\n#pragma sluice max_trips(6)\n"
                          "while (n > 0) { n >>= 1; k++; } y[0] = k;",
    "while in a loop": LOOP.format("int q = a[i] & 15;\n#pragma sluice max_trips(4 * 4)\n"
                                   "while (q > 3 && z[q] != 5) q -= 1; y[i] = q;"),
    "while with a break": "int s = 0, k = 0;\n#pragma sluice max_trips(16)\n"
                          "while (s < 100) { if (k > 14) break; s += a[k]; k++; } y[0] = s; y[1] = k;",
    "while in a while": "int n = 1, m = 0, k = 0;\n#pragma sluice max_trips(4)\nwhile (m < n) {\n"
                        "int q = a[m] & 7; m++;\n#pragma sluice max_trips(8)\nfor (int e = q; e < (z[m] & 7); e++) {\n"
                        "if (n < 4 && z[e] != 9) { z[e] = 9; n++; } k++; } } y[0] = n; y[1] = k;",
    "product of iterators": "for (int i = 0; i < 3; i++) for (int j = 0; j < 6; j++) y[i * j] = a[j];",
    "division by an iterator": "for (int i = 1; i < 3; i++) for (int j = 0; j < 6; j++) y[j / i] = a[j];",
    "shift by an iterator": "for (int i = 0; i < 3; i++) y[1 << i] = a[i];",
    "gather": LOOP.format("y[i] = a[z[i] & 15];"),
    "scatter": LOOP.format("z[a[i] & 15] += 1;"),
    "scalar assigned under data": "int p = 0; for (int i = 0; i < 16; i++) { if (a[i] > 9) p = i; y[p] = 1; }",
    "scalar of data": LOOP.format("int p = a[i] & 15; y[p] = 1;"),
    "scalar of no constant step": "int p = 0; for (int i = 0; i < 5; i++) { y[p] = a[i]; p += i % 2 + 1; }",
    "masks": LOOP.format("y[i & 5] = a[i & ~3]; z[(i | 4) ^ 1] = a[11 & i];"),
    "absolute value": LOOP.format("y[abs(i - 7)] += a[i];"),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_a_reason(case):
    refused, message, _ = CASES[case]
    with pytest.raises(ScopError, match=re.escape(message)) as raised:
        parse_scop(program_text(refused))
    assert str(raised.value).startswith("scop.c:4:")


@pytest.mark.parametrize("body", [*(rewrite for _, _, rewrite in CASES.values()), *TAKEN.values()])
def test_rewrites_compute_what_gcc_computes(body):
    text = program_text(body)
    program = parse_scop(text)
    for name, values in interpret(program, inputs_of(program, data())).items():
        np.testing.assert_array_equal(values, gcc_results(text, "f", data())[name], err_msg=text)
