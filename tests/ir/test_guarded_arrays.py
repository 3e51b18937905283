"""Indices that conditions keep inside of their arrays, and such that none keeps there."""

from __future__ import annotations

import pytest

from compiler.frontend.c_scop import parse_scop

INSIDE = {
    "insertion sort with for": """for (int i = 1; i < 12; i++) { int key = x[i], j;
        for (j = i - 1; j >= 0 && x[j] > key; j--) x[j + 1] = x[j];
        x[j + 1] = key; }""",
    "insertion sort with while": """for (int i = 1; i < 12; i++) { int key = x[i], j = i - 1;
        #pragma sluice max_trips(12)
        while (j >= 0 && x[j] > key) { x[j + 1] = x[j]; j--; }
        x[j + 1] = key; }""",
    "not zero": """int top = 5; for (int i = 0; i < 7; i++) if (top != 0) { top--; x[top] = i + y[top]; }""",
    "down to -1": """int j = 5; for (int i = 0; i < 9; i++) if (y[i] > 3 && j >= 0) { x[j] = i; j--; }""",
    "a difference of compared words": """for (int i = 11; i >= 0; i--) {
        int d = y[i] & 31; if (i >= d) x[i] += x[i - d]; if (d < i) x[i - d] = 0; }""",
    "of two iterators": """for (int i = 0; i < 12; i++) for (int j = 0; j <= i; j++)
        if (y[j] > 3) x[i - j] = x[y[i] & 7];""",
    "a step by data": """for (int i = 0; i < 4; i++)
        for (int k = y[i] & 3; k < 12; k += (y[i] & 1) + 1) x[k] += i;""",
}
OUTSIDE = {
    "changed behind the condition": """int j = 5; for (int i = 0; i < 9; i++) if (j >= 0) { j--; x[j] = i; }""",
    "another element": """int j[2] = {5, 5}; for (int i = 0; i < 9; i++) {
        if (j[0] >= 0) x[j[1]] = i; j[y[i] & 1]--; }""",
    "a condition of the turn before": """int j = 5, fine = 1; for (int i = 0; i < 9; i++) {
        if (fine) x[j] = i; fine = j >= 0; j -= y[i] & 1; }""",
    "the other branch": """int j = 3; for (int i = 0; i < 9; i++) { if (j >= 0) j--; else x[j] = 1; x[j & 7]++; }""",
    "a difference the other way round": """for (int i = 0; i < 12; i++) {
        int d = y[i] & 31; if (i <= d) x[i - d] = 0; }""",
    "a difference that wraps": """for (int i = 0; i < 12; i++)
        if (y[i] >= y[i + 1 & 7]) x[y[i] - y[i + 1 & 7] & 0x8000000f] = 0;""",
    "grows": """int j = 0; for (int i = 0; i < 13; i++) { x[j] = i; if (y[i & 7] > 2) j++; }""",
}


def _traps(body: str) -> bool:
    """Whether an access may be outside of `x`."""
    program = parse_scop(f"void f(int x[12], int y[12]) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")
    return any(memory.trap for memory in program.memories if memory.array == "x")


@pytest.mark.parametrize("body", INSIDE.values(), ids=INSIDE)
def test_indices_that_are_inside_trap_nothing(body: str) -> None:
    assert not _traps(body)


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE)
def test_indices_that_may_be_outside_trap(body: str) -> None:
    assert _traps(body)
