"""Dependences as distances, recognised reductions, and every choice of space loops (algorithm 1 of Wang 2021)."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.sched.space_time import (
    SpaceTimeError,
    analyse,
    check_space,
    enumerate_arrays,
    null_directions,
    plain_accumulations,
    reduction,
    space_loops,
    without_temporaries,
)

MM = """for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) { C[i][j] = 0;
for (int k = 0; k < 6; k++) C[i][j] += A[i][k] * B[k][j]; }"""
MM_HEAD = "const signed char A[4][6], const signed char B[6][5], int C[4][5]"
CNN = """for (int o = 0; o < 3; o++) for (int h = 0; h < 4; h++) for (int w = 0; w < 5; w++) { Y[o][h][w] = 0;
for (int i = 0; i < 2; i++) for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++)
Y[o][h][w] += X[i][h + p][w + q] * W[o][i][p][q]; }"""
CNN_HEAD = "const short X[2][6][7], const short W[3][2][3][3], int Y[3][4][5]"
LU = """for (int k = 0; k < 5; k++) for (int i = k + 1; i < 5; i++) { a[i][k] *= inverse[k];
for (int j = k + 1; j < 5; j++) a[i][j] -= a[i][k] * a[k][j]; }"""


def scop(body: str, head: str, before: str = "") -> Program:
    text = f"void f({head}) {{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return without_temporaries(parse_scop(text))


def distances(program: Program, kind: str) -> set[tuple[str, tuple[int, ...]]]:
    return {(d.array, d.distance) for d in analyse(program).dependences if d.kind == kind}


def test_matrix_product_has_exactly_six_arrays() -> None:
    analysis = analyse(scop(MM, MM_HEAD))
    assert ["".join(space) for space in enumerate_arrays(analysis)] == ["i", "j", "k", "ij", "ik", "jk"]


def test_convolution_has_exactly_ten_arrays() -> None:
    analysis = analyse(scop(CNN, CNN_HEAD))
    assert space_loops(analysis).pool == ("o", "h", "w", "i")
    assert len(enumerate_arrays(analysis)) == 10


def test_degenerate_extents_change_nothing() -> None:
    ones = MM.replace("< 4", "< 1").replace("< 5", "< 1").replace("< 6", "< 1")
    assert len(enumerate_arrays(analyse(scop(ones, MM_HEAD)))) == 6


def test_distances_of_all_kinds() -> None:
    program = scop(MM, MM_HEAD)
    assert distances(program, "read") == {("A", (0, 1, 0)), ("B", (1, 0, 0))}
    assert distances(program, "flow") == {("C", (0, 0, 0)), ("C", (0, 0, 1))}
    assert distances(program, "output") == {("C", (0, 0, 0)), ("C", (0, 0, 1))}
    assert distances(program, "anti") == {("C", (0, 0, 1))}


def test_broadcast_values_go_from_neighbour_to_neighbour() -> None:
    """The pivot row and column of LU are each read by many: the first reader gets them, the others from it."""
    program = scop(LU, "const short inverse[5], short a[5][5]")
    assert distances(program, "flow") == {("a", (1, 0, 0)), ("a", (0, 0, 0)), ("a", (0, 0, 1)), ("a", (1, 1, 0)),
                                          ("a", (0, 1, 0))}
    assert {("a", (0, 0, 1)), ("a", (0, 1, 0)), ("inverse", (0, 1, 0))} == distances(program, "read")
    assert ("k", "i") in enumerate_arrays(analyse(program))


@pytest.mark.parametrize(("rows", "count", "expected"), [
    (((1, 0, 0), (0, 0, 1)), 3, {(0, 1, 0)}),
    (((0, 1, 1),), 3, {(1, 0, 0), (0, 1, -1)}),
    (((2, 1),), 2, {(1, -2)}),
    (((0, 0),), 2, {(1, 0), (0, 1)}),
    ((), 1, {(1,)}),
    (((1, 0), (0, 1)), 2, set()),
])
def test_directions_of_repetition(rows: tuple[tuple[int, ...], ...], count: int, expected: set[tuple[int, ...]]
                                  ) -> None:
    assert set(null_directions(rows, count)) == expected


@pytest.mark.parametrize(("update", "op"), [
    ("s[i] += x[i][k]", "add"),
    ("s[i] = x[i][k] * 3 + s[i]", "add"),
    ("s[i] -= x[i][k]", "add"),
    ("s[i] = x[i][k] + (s[i] + 1)", "add"),
    ("s[i] *= x[i][k]", "mul"),
    ("s[i] = s[i] > x[i][k] ? s[i] : x[i][k]", "max"),
    ("s[i] ^= x[i][k] & 5", "xor"),
    ("s[i] = x[i][k] - s[i]", None),
    ("s[i] = s[i] / 2 + x[i][k]", None),
    ("s[i] = s[i] * s[i] + x[i][k]", None),
    ("s[i] = x[i][k]", None),
])
def test_reductions_are_recognised(update: str, op: str | None) -> None:
    program = scop(f"for (int i = 0; i < 4; i++) {{ s[i] = 1; for (int k = 0; k < 3; k++) {update}; }}",
                   "const signed char x[4][3], short s[4]")
    found = reduction(program, program.statements[-1])
    assert (found and found.op) == op


def test_accumulators_that_are_looked_at_on_the_way_are_no_reductions() -> None:
    program = scop("for (int i = 0; i < 4; i++) { s[i] = 0; for (int k = 0; k < 3; k++) { s[i] += x[i][k]; "
                   "y[i][k] = s[i]; } }", "const int x[4][3], int s[4], int y[4][3]")
    assert not analyse(program).reductions
    assert ("s", (0, 1)) in distances(program, "flow")


def test_temporaries_disappear_and_results_stay() -> None:
    body = """for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) { int acc = 0;
    for (int k = 0; k < 6; k++) { short t = A[i][k]; int p = t * B[k][j]; acc += p + t; } C[i][j] = acc; }"""
    text = f"void f({MM_HEAD}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    before = parse_scop(text)
    after = without_temporaries(before)
    assert [a.name for a in after.arrays if a.role == "intermediate"] == ["acc"]
    random = np.random.default_rng(3)
    inputs = {"A": random.integers(-128, 128, (4, 6)), "B": random.integers(-128, 128, (6, 5))}
    np.testing.assert_array_equal(interpret(after, inputs)["C"], interpret(before, inputs)["C"])
    assert len(enumerate_arrays(analyse(after))) == 6


def test_updates_of_one_element_become_one() -> None:
    body = """for (int i = 0; i < 4; i++) { y[i] = 3; for (int k = 0; k < 3; k++) { y[i] += a[k]; y[i] += b[i][k];
    y[i] = a[k] * b[i][k] + y[i]; } }"""
    head = "const short a[3], const short b[4][3], int y[4]"
    before = parse_scop(f"void f({head}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    after = without_temporaries(before)
    assert [len(s.reads) for s in after.statements] == [0, 5]
    assert analyse(after).reductions["S3"].op == "add"
    inputs = {"a": np.array([1, -2, 3]), "b": np.arange(12).reshape(4, 3)}
    np.testing.assert_array_equal(interpret(after, inputs)["y"], interpret(before, inputs)["y"])


def test_updates_that_others_look_at_stay() -> None:
    body = "for (int i = 0; i < 4; i++) { y[i] = 3; y[i] += a[i]; z[i] = y[i]; y[i] += 7; }"
    program = scop(body, "const short a[4], int y[4], int z[4]")
    assert len(program.statements) == 3
    assert interpret(program, {"a": np.array([1, 2, 3, 4])})["z"].tolist() == [4, 5, 6, 7]


STYLES = [
    ("int t[4][6]; for (int i = 0; i < 4; i++) { t[i][0] = 2; for (int k = 0; k < 5; k++) t[i][k + 1] = t[i][k] + "
     "a[i][k]; y[i] = t[i][5]; }", [4, 20, 4]),
    ("for (int i = 0; i < 4; i++) { int t = 3 * a[i][0]; for (int k = 1; k < 5; k++) t += 3 * a[i][k]; y[i] = t; }",
     [4, 20, 4]),
    ("for (int i = 0; i < 4; i++) for (int k = 0; k < 5; k++) if (k == 0) y[i] = a[i][k]; else y[i] += a[i][k];",
     [4, 20]),
    ("for (int i = 0; i < 4; i++) { y[i] = a[i][0]; for (int k = 1; k < 5; k++) y[i] += 3 * a[i][k]; }", [4, 16]),
    ("for (int i = 0; i < 4; i++) { y[i] = a[i][0]; z[i] = y[i]; for (int k = 1; k < 5; k++) y[i] += a[i][k]; }",
     [4, 4, 16]),
    ("int t[4][6]; for (int i = 0; i < 4; i++) { t[i][0] = 2; for (int k = 0; k < 5; k++) t[i][k + 1] = t[i][k] + "
     "a[i][k]; y[i] = t[i][5]; z[i] = t[i][3]; }", [4, 20, 4, 4]),
]
"""Programs, and how many instances their statements have when accumulations are plain; the last three stay."""


@pytest.mark.parametrize(("body", "instances"), STYLES)
def test_ways_to_write_sums_come_to_the_same(body: str, instances: list[int]) -> None:
    before = scop(body, "const short a[4][5], int y[4], int z[4]")
    after = plain_accumulations(before)
    assert [int(s.domain.count_val().to_python()) for s in after.statements] == instances
    inputs = {a.name: np.arange(1, np.prod(a.shape) + 1).reshape(a.shape) ** 2 for a in before.inputs}
    expected = interpret(before, inputs)
    assert all((interpret(after, inputs)[name] == values).all() for name, values in expected.items())
    plain = [s for s in after.statements if reduction(after, s) is not None]
    assert len(plain) == (0 if len(instances) == 4 and instances[1] == 20 else 1)


ERRORS = [
    ("for (int t = 0; t < 3; t++) for (int i = 0; i < 6; i++) y[t][i] = t == 0 ? x[i] : y[t - 1][5 - i];",
     "const int x[6], int y[3][6]",
     "statement 'S1' (scop.c:4): its read of 'y' is not uniform: over (t, i), S1[1, 0] needs what S0[0, 5] wrote, "
     "distance (1, -5), but S1[1, 5] that of S0[0, 0], distance (1, 5); legal are reads at a constant distance from "
     "the write"),
    ("for (int i = 0; i < 6; i++) y[i] = x[i / 2];", "const int x[6], int y[6]",
     "statement 'S0' (scop.c:4): subscript 1 of 'x' is not affine, { S0[i] -> [(floor((i)/2))] }; legal are sums of "
     "loop counters times constants, plus a constant"),
    ("for (int i = 0; i < 6; i++) y[i] = i < 2 ? x[i] : y[i - 2] + 1;", "const int x[6], int y[6]",
     "program 'scop' has no legal space loop: along 'i' a flow dependence of 'y' in statement 'S1' (scop.c:4) has "
     "distance 2; legal is a loop along which every flow and read dependence has distance 0 or 1"),
    ("y[0] = x[0];", "const int x[1], int y[1]",
     "program 'scop' has no loop around any statement; an array needs at least one"),
]


@pytest.mark.parametrize(("body", "head", "message"), ERRORS)
def test_refusals_say_where_why_and_what_would_be_legal(body: str, head: str, message: str) -> None:
    with pytest.raises(SpaceTimeError) as caught:
        enumerate_arrays(analyse(scop(body, head)))
    assert str(caught.value) == message


@pytest.mark.parametrize(("space", "reason"), [
    (("z",), "program 'scop' has no loop 'z'"),
    (("p",), "loop 'p' cannot be one: a read dependence of 'X' in statement 'S1' (scop.c:6) runs backwards along it "
             "(distance -1)"),
    (("o", "o"), "choose one loop or two different ones"),
    (("o", "h", "w"), "choose one loop or two different ones"),
])
def test_space_loops_that_are_not_legal(space: tuple[str, ...], reason: str) -> None:
    with pytest.raises(SpaceTimeError) as caught:
        check_space(analyse(scop(CNN, CNN_HEAD)), space)
    assert str(caught.value) == f"space loops {list(space)}: {reason}; legal are: o, h, w, i, oh, ow, oi, hw, hi, wi"


def test_space_loops_may_be_named_in_any_order() -> None:
    check_space(analyse(scop(MM, MM_HEAD)), ("k", "i"))
