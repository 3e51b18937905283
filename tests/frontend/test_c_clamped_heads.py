"""Loops that follow data: how many trips they make is said by a counter beside it that is within a limit, or by steps
that come to 0 from any value."""

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

IDIOMS = {
    "lowest bits": "unsigned v = b[i] * 977u; while (v) { v &= v - 1; d++; }",
    "lowest bits, counted by the head": "unsigned v = b[i] * 977u; for (d = 0; v; d++) v &= v - 1;",
    "lowest bits, written out": "unsigned v = b[i] * 977u; for (; v != 0; v = (v - 1) & v) d++;",
    "digits": "unsigned v = b[i] * 977u; do { d++; e += v % 10; v /= 10; } while (v);",
    "digits with signs": "int v = a[i] * 977; do { d++; e += v % 10; v /= 10; } while (v != 0);",
    "divided by the condition": "unsigned v = b[i] * 977u; do { e += v % 10; d++; } while (v /= 10);",
    "logarithm": "unsigned v = b[i] * 977u; while (v >>= 1) d++;",
    "goes on with what is left": "unsigned v = b[i], p = 1u << 30; while (p > v) p >>= 2; while (p) { d++; p >>= 2; }",
    "changed before": "unsigned v = b[i] * 977u; v ^= v >> 5; v += 3; while (v) { e ^= v; v >>= 3; } d = v;",
    "no step in the head": "unsigned v = b[i] * 977u; for (; v;) { d++; v >>= 1; }",
    "ends before": "unsigned v = b[i] * 977u; while (v) { if ((v & 7) == 5) break; d++; v >>= 1; } e = v;",
}


def data(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {"a": random.integers(-6, 20, 8).astype(np.int8), "b": random.integers(0, 9, 8).astype(np.uint8),
            "y": np.zeros(8, np.int32), "z": np.zeros(8, np.int32)}


@pytest.mark.parametrize("loop", [*LOOPS.values(), *IDIOMS.values()], ids=[*LOOPS, *IDIOMS])
def test_results_are_those_of_gcc(loop: str) -> None:
    text = FUNCTION.format(loop="\n" + loop)
    for seed in range(5):
        require_gcc_results(text, "f", data(seed), lambda program, inputs, options: interpret(program, inputs))


@pytest.mark.parametrize("target", ["fpga", "dataflow", "vector"])
def test_targets_take_lists_that_are_followed(target: str) -> None:
    require_gcc_results(FUNCTION.format(loop=LOOPS["for"]), "f", data(7), MODELS[target])


@pytest.mark.parametrize("target", ["fpga", "dataflow", "vector"])
@pytest.mark.parametrize("idiom", ["lowest bits", "digits", "logarithm"])
def test_targets_take_steps_to_zero(target: str, idiom: str) -> None:
    text = FUNCTION.format(loop=IDIOMS[idiom]).replace("b[i] * 977u", "b[i]")
    require_gcc_results(text, "f", data(8), MODELS[target])


def test_a_step_that_need_not_come_to_zero_is_refused() -> None:
    """Right shifts of negative numbers end at -1."""
    with pytest.raises(ScopError, match=r"the step of loop 'v' must be a constant.*max_trips\(N\)"):
        parse_scop(FUNCTION.format(loop="int v = a[i]; while (v) { v >>= 1; d++; }"))


@pytest.mark.parametrize("step", ["v = v & b[i]", "v &= b[i]"])
def test_bits_that_a_mask_clears_need_not_come_to_zero(step: str) -> None:
    """Only where the lowest bit is cleared every trip has one bit less."""
    with pytest.raises(ScopError, match=r"the step of loop 'v' must be a constant.*max_trips\(N\)"):
        parse_scop(FUNCTION.format(loop=f"unsigned v = a[i]; for (; v; {step}) d++;"))


def test_a_counter_that_is_used_behind_its_step_is_none() -> None:
    loop = "for (int p = a[i]; p >= 0 && d < 8; p = a[p & 7]) { d++; e += d; }"
    with pytest.raises(ScopError, match=r"the step of loop 'p' must be a constant.*max_trips\(N\)"):
        parse_scop(FUNCTION.format(loop=loop))


def test_a_step_that_moves_past_what_it_reads_is_refused() -> None:
    """The step could only come last if nothing changed what it adds."""
    loop = "int k = 0, s = 2; while (k < 12) { k += s; s = 3; }"
    with pytest.raises(ScopError, match=r"this 'while' loop counts in no way that is known: .* max_trips\(N\)"):
        parse_scop(FUNCTION.format(loop=loop))
