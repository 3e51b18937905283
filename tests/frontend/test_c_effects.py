"""Side effects inside of expressions: the interpreter computes what gcc's code computes."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, gcc_results, inputs_of

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

LOOP = "for (int i = 0; i < 32; i++) "
BODIES = {
    "element stepped in a condition": f"int n[16] = {{0}}; {LOOP}if (n[x[i] & 15]++ < 2) y[i] = i; "
                                      "else y[i] = n[x[i] & 15];",
    "assigned in a condition": f"int a, b; {LOOP}{{ a = b = x[i]; if ((a = x[i] - 3) > 4 && a < 9) b++; "
                               "y[i] = a * b, a = 3; }",
    "compound assignment": f"int t = 0; {LOOP}y[i] = (t += x[i]) * 2 + 1;",
    "stepped before": f"int n[16] = {{0}}; {LOOP}y[i] = --n[x[i] & 15];",
    "converted to the variable's type": f"uint8_t b = 250; {LOOP}{{ int v = (b = x[i] * 40) + 3; y[i] = v + b; }}",
    "in a branch and behind else": f"int k = 0; {LOOP}y[i] = -1; {LOOP}if (x[i] > 4) {{ if (k++ < 7) y[k & 31] = i; "
                                   "else if (++k > 9) y[(k - 1) & 31] -= k; }",
    "a condition behind another": f"int k = 0; {LOOP}if (x[i] > 4 && k++ < 9) y[k] += i;",
    "while that steps": "int n = 9, s = 0;\n#pragma sluice max_trips(9)\nwhile (n-- > 0) s += x[n & 31]; "
                        "y[0] = s; y[1] = n;",
    "while that assigns": "int k = 0, c = 0, s = 0;\n#pragma sluice max_trips(32)\n"
                          "while ((c = x[k++ & 31]) != 3 && k < 31) s += c; y[0] = s; y[1] = k;",
    "place in a step": f"int h[16] = {{0}}, k = 0; {LOOP}h[(k += 3) & 15]++; {LOOP}y[i] = h[i & 15]++;",
    "two steps in a statement": f"int h[16] = {{0}}, k = 0; for (int i = 0; i < 16; i++) {{ h[k++]++; if (x[i] > 8) "
                                f"h[k & 15] += 2; }} {LOOP}y[i] = h[i & 15];",
    "place that depends on the target": f"int t = 0, h[16] = {{3, 1, 4, 1, 5}}; {LOOP}{{ t = h[t & 15]++; y[i] = t; }}",
    "switch that steps": f"int pc = 0, a = 0; {LOOP}{{ switch (x[pc++ & 31] & 3) {{ case 0: a += 3; break; "
                         "case 1: a ^= pc; case 2: y[i] = a; break; default: pc += 2; } }",
    "counting sort": "int n[17] = {0}; for (int i = 0; i < 32; i++) n[(x[i] & 15) + 1]++; for (int i = 0; i < 16; i++) "
                     f"n[i + 1] += n[i]; {LOOP}y[n[x[i] & 15]++] = x[i];",
}


def _text(body: str) -> str:
    return ("#include <stdint.h>\nvoid f(const uint8_t x[32], int y[32]) {\n"
            f"#pragma scop\n{body}\n#pragma endscop\n}}\n")


def _data() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {"x": random.integers(0, 16, 32).astype(np.uint8), "y": random.integers(-9, 9, 32).astype(np.int32)}


@pytest.mark.parametrize("case", BODIES)
def test_results_are_those_of_gcc(case: str) -> None:
    text = _text(BODIES[case])
    program = parse_scop(text)
    found = interpret(program, inputs_of(program, _data()))["y"]
    np.testing.assert_array_equal(found, gcc_results(text, "f", _data())["y"])


@pytest.mark.parametrize("target", ["fpga", "dataflow", "vector"])
@pytest.mark.parametrize("case", ["element stepped in a condition", "place that depends on the target"])
def test_targets_take_them(case: str, target: str) -> None:
    text = _text(BODIES[case])
    program = parse_scop(text)
    found = MODELS[target](program, inputs_of(program, _data()), {})["y"]
    np.testing.assert_array_equal(found, gcc_results(text, "f", _data())["y"])
