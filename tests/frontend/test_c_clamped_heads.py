"""Loops that follow data while a counter beside it is within a limit: the counter says how many trips there are."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results

from compiler.frontend.c_scop import parse_scop
from compiler.frontend.c_scop.errors import ScopError
from compiler.ir.interpret import interpret

FUNCTION = """void f(const signed char a[8], const unsigned char b[8], int y[8], int z[8]) {{
    for (int i = 0; i < 8; i++) {{
        int d = 0, e = 0;
        {loop}
        y[i] = d;
        z[i] = e;
    }}
}}"""

LOOPS = {
    "while": "int p = a[i]; while (p >= 0 && d < 8) { d++; p = a[p & 7] - 3; }",
    "for": "for (int p = a[i]; p >= 0 && d < 8; p = a[p & 7] - 5) d++;",
    "clamp first": "for (int p = a[i]; d < 8 && p >= 0; p = a[p & 7] - 5) { e += p; d++; }",
    "break": "for (int p = a[i]; d < 8 && p >= 0; p = a[p & 7] - 5) { e += p; if (e > 30) break; d++; }",
    "in the head": "for (int p = a[i]; p >= 0 && d < 8; p = a[p & 7] - 5, d++);",
    "two values": "int p = 3; for (p = a[i], e = 2; p >= 0 && d < 8; p = a[p & 7] - 5) { d++; e ^= p; } e += p;",
    "down": "unsigned c = 6; for (int p = a[i]; p >= 0 && c; p = a[p & 7] - 5) { c--; e += p; } d = c;",
    "stated": "#pragma sluice max_trips(30)\nfor (int p = a[i]; p >= 0 && d < 8; p = a[p & 7] - 5) d++;",
    "a step that what follows changes": "int p = a[i] & 7;\n#pragma sluice max_trips(40)\n"
                                        "while (d < 20) { d += (b[p] & 7) + 1; p = a[p] & 7; e++; }",
    "the counter first": "int p = a[i] & 7; while (d < 20 && e < 9) { e++; d += (b[p] & 7) + 1; p = a[p] & 7; }",
}


def data(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {"a": random.integers(-6, 20, 8).astype(np.int8), "b": random.integers(0, 9, 8).astype(np.uint8),
            "y": np.zeros(8, np.int32), "z": np.zeros(8, np.int32)}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_results_are_those_of_gcc(loop: str) -> None:
    text = FUNCTION.format(loop="\n" + loop)
    for seed in range(5):
        require_gcc_results(text, "f", data(seed), lambda program, inputs, options: interpret(program, inputs))


@pytest.mark.parametrize("target", ["fpga", "dataflow", "vector"])
def test_targets_take_lists_that_are_followed(target: str) -> None:
    require_gcc_results(FUNCTION.format(loop=LOOPS["for"]), "f", data(7), MODELS[target])


def test_a_step_that_moves_past_what_it_reads_is_refused() -> None:
    """The step could only come last if nothing changed what it adds."""
    loop = "int k = 0, s = 2; while (k < 12) { k += s; s = 3; }"
    with pytest.raises(ScopError, match=r"this 'while' loop counts in no way that is known: .* max_trips\(N\)"):
        parse_scop(FUNCTION.format(loop=loop))
