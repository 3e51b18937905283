"""Random functions whose addresses, conditions and ends of loops depend on data."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from c_targets import MODELS, gcc_results, inputs_of, require_gcc_results
from random_addresses import address_data, address_function

from compiler.frontend.c_scop import ScopError, parse_scop
from compiler.ir.expr import Apply, Load, Store, postorder
from compiler.ir.interpret import interpret


@pytest.mark.parametrize("seed", range(40))
def test_programs_mean_what_gcc_computes(seed):
    text, data = address_function(Random(seed), "f"), address_data(seed)
    program = parse_scop(text, "f.c", function="f")
    wanted = gcc_results(text, "f", data)
    for name, values in interpret(program, inputs_of(program, data)).items():
        assert (values == wanted[name]).all(), text


@pytest.mark.parametrize(("seed", "target"), [(0, "fpga"), (1, "dataflow"), (2, "fpga"), (3, "dataflow"), (4, "fpga")])
def test_targets_compute_what_gcc_computes(seed, target):
    require_gcc_results(address_function(Random(seed), "f"), "f", address_data(seed), MODELS[target])


def test_an_array_needs_a_size():
    text = "void f(const int *x, const int t[4], int y[4]) {\n#pragma scop\n    y[0] = x[t[0]];\n#pragma endscop\n}\n"
    message = "f.c:3:12: 'x' is accessed at places that depend on data, and has no size; declare it with one, as in int"
    with pytest.raises(ScopError) as raised:
        parse_scop(text, "f.c")
    assert str(raised.value).startswith(message)


REFILLED = """void f(const unsigned char x[3][8], int y[3][4]) {
#pragma scop
    for (int j = 0; j < 3; j++) {
        int t[4];
        for (int i = 0; i < 4; i++) FILL
        for (int i = 0; i < 8; i++) t[x[j][i] & 3]++;
        for (int i = 0; i < 4; i++) y[j][i] = t[i];
    }
#pragma endscop
}"""


@pytest.mark.parametrize(("fill", "filled"), [("t[i] = i;", False), ("if (j > 0 || i < 3) t[i] = i;", True),
                                              ("if (x[0][i] > 2) t[i] = i;", True)])
def test_an_array_that_is_overwritten_before_it_is_read_is_not_filled(fill: str, filled: bool) -> None:
    program = parse_scop(REFILLED.replace("FILL", fill), "f.c")
    assert any(statement.name == "t_filled" for statement in program.statements) == filled
    x = (np.arange(24) * 7 % 5).astype(np.uint8).reshape(3, 8)
    wanted = [[i + np.count_nonzero(row & 3 == i) for i in range(4)] for row in x]
    if not filled:
        assert interpret(program, {"x": x})["y"].tolist() == wanted


UNDER_CONDITIONS = {
    "declared in the branch": "if (x[i] < 8) { int v = t[x[i]] + 1; y[i] = v; if (t[x[i]] > 9) z[i] = v; }",
    "condition in a condition": """
        if (x[i] < 8) { if (t[x[i]] > 9) m[x[i]] -= t[x[i]]; z[i] = m[x[i]]; } else { z[i] = -1; }""",
    "assigned in both branches": """
        if (x[i] < 8) { m[i & 7] = t[x[i]]; z[i] = t[7 - x[i]]; }
        else { m[i & 7] = 3; z[i] = 5; if (x[i] < 16) z[i] += t[x[i] - 8] > 0 ? t[x[i] - 8] : m[x[i] - 8]; }""",
    "array of the branch": """
        if (x[i] < 20) { int l[8]; for (int k = 0; k < 8; k++) l[k] = k * i;
                         if (x[i] > 9) l[x[i] & 3] = 7; else l[x[i] / 2] = 9;
                         z[i] = l[3] + (x[i] < 8 ? l[x[i]] : 0); }""",
    "behind a break": """
        for (int k = 0; k < 3; k++) { if (x[i] + k > 7) break; int v = t[x[i] + k]; if (v > 9) y[i] += t[x[i]]; }""",
}


@pytest.mark.parametrize("body", UNDER_CONDITIONS.values(), ids=UNDER_CONDITIONS)
def test_what_c_does_not_evaluate_does_not_trap(body: str) -> None:
    text = f"""void f(const unsigned char x[24], const int t[8], int m[8], int y[24], int z[24]) {{
#pragma scop
    for (int i = 0; i < 24; i++) {{ {body} }}
#pragma endscop
}}"""
    random = np.random.default_rng(0)
    data = {"x": np.arange(24).astype(np.uint8) * 5 % 24, "t": random.integers(0, 20, 8).astype(np.int32)}
    data |= {name: np.arange(size).astype(np.int32) for name, size in (("m", 8), ("y", 24), ("z", 24))}
    program, wanted = parse_scop(text, "f.c"), gcc_results(text, "f", data)
    for name, values in interpret(program, inputs_of(program, data)).items():
        assert (values == wanted[name]).all()


def test_an_index_that_is_inside_in_any_case_waits_for_no_condition() -> None:
    """In an insertion sort the next element is loaded before it is known whether the loop goes on."""
    program = parse_scop("""void f(int x[12]) {
#pragma scop
    for (int i = 1; i < 12; i++) {
        int key = x[i], j;
        for (j = i - 1; j >= 0 && x[j] > key; j--)
            x[j + 1] = x[j];
        x[j + 1] = key;
    }
#pragma endscop
}""")
    indices = [node.index for s in program.statements for node in postorder(s.value) if isinstance(node, Load | Store)]
    assert len(indices) == 7
    assert not any(isinstance(node, Apply) and node.op == "select" for index in indices for node in postorder(index))


def test_a_place_under_a_condition_may_come_from_a_table() -> None:
    text = """static const unsigned char T[4] = {3, 9, 12, 1};
void f(const unsigned char x[24], int h[16]) {
#pragma scop
    for (int i = 0; i < 24; i++)
        if (x[i] > 4)
            h[T[x[i] & 3]]++;
#pragma endscop
}"""
    data = {"x": np.arange(24).astype(np.uint8) * 5 % 24, "h": np.arange(16).astype(np.int32)}
    program = parse_scop(text, "f.c")
    assert not any(memory.trap for memory in program.memories)
    assert (interpret(program, inputs_of(program, data))["h"] == gcc_results(text, "f", data)["h"]).all()
