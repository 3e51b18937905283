"""Hints: the cause by message, and that what they advise is accepted and faster."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.attempts import watch_attempts
from compiler.bind.design import Design, Run
from compiler.cli.main import main
from compiler.frontend.c_scop import parse_scop
from compiler.hints import Hint, find_hints
from compiler.hints.rewrites import transpose_array, unroll_window
from compiler.ir.interpret import interpret

WINDOW = """void f(const short in[26][26], const short w[3][3], short out[24][24]) {
#pragma scop
    for (int y = 0; y < 24; y++)
        for (int x = 0; x < 24; x++) {
            out[y][x] = 0;
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    out[y][x] += in[y + r][x + s] * w[r][s];
        }
#pragma endscop
}
"""
UNROLLED = """void f(const short in[26][26], const short w[3][3], short out[24][24]) {
#pragma scop
    for (int y = 0; y < 24; y++)
        for (int x = 0; x < 24; x++)
            out[y][x] = in[y][x] * w[0][0] + in[y][x + 1] * w[0][1] + in[y][x + 2] * w[0][2]
                + in[y + 1][x] * w[1][0] + in[y + 1][x + 1] * w[1][1] + in[y + 1][x + 2] * w[1][2]
                + in[y + 2][x] * w[2][0] + in[y + 2][x + 1] * w[2][1] + in[y + 2][x + 2] * w[2][2];
#pragma endscop
}
"""
RECURRENCE = """void f(const short a[64], short out[64]) {
#pragma scop
    out[0] = a[0];
    for (int x = 1; x < 64; x++)
        out[x] = (out[x - 1] * 3 + a[x]) >> 2;
#pragma endscop
}
"""
COLUMNS = """void f(const short B[24][24], short out[24][24]) {
#pragma scop
    for (int y = 0; y < 24; y++)
        for (int x = 0; x < 24; x++)
            out[y][x] = 3 * B[x][y];
#pragma endscop
}
"""
SUMS = """void f(const int a[1024], const int b[1024], int out[1024]) {
#pragma scop
    for (int x = 0; x < 1024; x++)
        out[x] = a[x] + b[x];
#pragma endscop
}
"""
THREE = SUMS.replace("const int b[1024]", "const int b[1024], const int c[1024]").replace("+ b[x]", "+ b[x] + c[x]")
TILED = """void f(const short x[34], short y[32]) {
#pragma scop
    for (int i = 0; i < 32; i += 4)
        for (int j = i; j < i + 4; j++)
            y[j] = x[j] + x[j + 2];
#pragma endscop
}
"""
REVERSED = """void f(const short a[32], short out[32]) {
#pragma scop
    for (int x = 0; x < 32; x++)
        out[x] = a[x] + a[31 - x];
#pragma endscop
}
"""
PRODUCT = """void f(const short a[8][8], const short b[8][8], int c[8][8]) {
#pragma scop
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 8; k++)
                c[i][j] += a[i][k] * b[k][j];
#pragma endscop
}
"""
STENCIL = """void f(short A[40], short B[40]) {
#pragma scop
    for (int t = 0; t < 3; t++) {
        for (int i = 1; i < 39; i++) B[i] = (A[i - 1] + A[i] + A[i + 1]) >> 1;
        for (int i = 1; i < 39; i++) A[i] = (B[i - 1] + B[i] + B[i + 1]) >> 1;
    }
#pragma endscop
}
"""
SMALL = SUMS.replace("1024", "4")
POINTS = SUMS.replace("a[x] + b[x]", "(a[x] < b[x] ? a[x] : b[x]) * 3")


def built(text: str, target: str, **options: object) -> Design:
    return compiler.compile(parse_scop(text, "f.c"), target=target, **options)


def run_on(design: Design) -> Run:
    rng = np.random.default_rng(2)
    return design.simulate({a.name: rng.integers(-99, 99, a.shape) for a in design.program.inputs}, "icarus")


def hints_of(design: Design, run: Run | None = None) -> list[Hint]:
    """However long it takes on a machine that does other things, too."""
    return find_hints(design, run, patience=600)


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_a_window_that_is_not_unrolled(target: str) -> None:
    """The bound counts the terms, so the ratio to it says nothing."""
    design = built(WINDOW, target)
    assert design.predicted_cycles < 1.2 * design.lower_bound
    [hint] = hints_of(design)
    assert str(hint) == (
        f"statement 'S1' (f.c:8): its window of 9 terms is not unrolled, so 576 results take {design.predicted_cycles} "
        "cycles; try the 9 terms of loops r, s, written as one expression")
    assert built(UNROLLED, target).predicted_cycles < design.predicted_cycles / 5
    assert not hints_of(built(UNROLLED, target))


def test_the_program_that_is_tried_computes_the_same() -> None:
    program, rng = parse_scop(WINDOW), np.random.default_rng(1)
    data = {a.name: rng.integers(-2**15, 2**15, a.shape) for a in program.inputs}
    np.testing.assert_array_equal(interpret(unroll_window(program, "S1"), data)["out"], interpret(program, data)["out"])
    columns = parse_scop(COLUMNS)
    image = rng.integers(-99, 99, (24, 24))
    np.testing.assert_array_equal(interpret(transpose_array(columns, "B"), {"B": image.T})["out"],
                                  interpret(columns, {"B": image})["out"])


def test_a_recurrence() -> None:
    design = built(RECURRENCE, "fpga")
    [hint] = hints_of(design)
    assert str(hint) == (
        "statement 'S1' (f.c:5): a loop-carried dependence with a recurrence latency of 2 cycles, so an iteration "
        "starts every 2 cycles; try --option clock_mhz=60 (a slower clock, and an iteration in each of its cycles)")
    faster = built(RECURRENCE, "fpga", clock_mhz=60)
    assert run_on(faster).wall_cycles < 0.8 * run_on(design).wall_cycles


def test_tiles() -> None:
    design = built(TILED, "fpga", loops="asked")
    [hint] = hints_of(design)
    assert re.fullmatch(r"statement 'S0' \(f.c:5\): \d+ instances run for 32 iterations: its domain is no box of its "
                        "loops, and what lies beside it is predicated off; try the loops without tiles", str(hint))
    plain = re.sub(r"    for \(int i.*\n", "", TILED).replace("j = i; j < i + 4", "j = 0; j < 32")
    assert built(plain, "fpga").predicted_cycles < 0.3 * design.predicted_cycles


def test_values_that_come_late() -> None:
    design = built(REVERSED, "fpga")
    [hint] = hints_of(design)
    assert re.fullmatch(r"statement 'S0' \(f.c:4\): it starts in cycle \d+ of \d+, when all that its first instance "
                        "reads is there: its values are made or loaded in another order than it uses them", str(hint))
    assert built(REVERSED.replace("31 - x", "x"), "fpga").predicted_cycles < 0.7 * design.predicted_cycles


def test_columns() -> None:
    """Where no memory on the chip turns them."""
    design = built(COLUMNS, "fpga", tile_depth=0, buffer_bits=0)
    run = run_on(design)
    [hint] = hints_of(design, run)
    assert str(hint) == (
        f"statement 'S0' (f.c:5): {run.stall_cycles} stalls on array 'B', which it reads in column order; try 'B' "
        "stored transposed, so that the innermost loop reads along its rows")
    assert run_on(built(COLUMNS.replace("B[x][y]", "B[y][x]"), "fpga")).wall_cycles < run.wall_cycles / 2


def test_memory_bound() -> None:
    design = built(THREE, "fpga")
    run = run_on(design)
    [hint] = hints_of(design, run)
    assert str(hint) == (f"memory bound: 1536 beats of the memory port in {run.wall_cycles} cycles; try --option "
                         "bus_bits=128")
    assert run_on(built(THREE, "fpga", bus_bits=128)).wall_cycles < run.wall_cycles


def test_a_target_that_does_not_fit() -> None:
    design = built(UNROLLED, "systolic")
    [hint] = hints_of(design)
    assert re.fullmatch(
        r"statement 'S0' \(f.c:5\): the program does not fit an array: a word serves 2 evaluations or fewer; \d+ "
        r"evaluations per cycle would take \d+ cycles, but words come in and results leave for \d+ \(\d+\.\d times as "
        r"many\); try --target fpga", str(hint))
    assert run_on(built(UNROLLED, "fpga")).wall_cycles < run_on(design).wall_cycles


def test_no_target_is_advised_that_only_computes_faster() -> None:
    """16 elements take 19 cycles on a pipeline, and from start to done about as many as on the array."""
    text = POINTS.replace("1024", "16")
    design = built(text, "systolic")
    [hint] = hints_of(design)
    assert built(text, "fpga").predicted_cycles < 0.5 * design.predicted_cycles
    assert run_on(built(text, "fpga")).wall_cycles >= 0.8 * run_on(design).wall_cycles
    assert hint.advice != "--target fpga"


def test_a_small_problem_and_a_stencil_on_an_array() -> None:
    [hint] = hints_of(built(PRODUCT.replace("8", "16"), "systolic"))
    assert hint.cause.startswith("a small problem for an array: ") and hint.cause.endswith("a larger one has a better "
                                                                                           "ratio")
    large = built(PRODUCT.replace("8", "64"), "systolic")
    assert large.predicted_cycles < 2 * large.lower_bound
    [hint] = hints_of(built(STENCIL, "systolic"))
    assert hint.statement == "statement 'S0' (f.c:4)"
    assert hint.cause.startswith("the program does not fit an array: its longest chain of operations, or its longest "
                                 "stream, takes ")


def test_a_vector_machine_with_more_lanes() -> None:
    design = built(WINDOW, "vector")
    [hint] = hints_of(design)
    assert hint.statement == "statement 'S1' (f.c:8)" and hint.advice == "--lanes 8"
    assert hint.cause.startswith("the lanes compute in ")
    assert built(WINDOW, "vector", lanes=8).predicted_cycles < 0.8 * design.predicted_cycles


def test_memory_bound_on_the_vector_machine() -> None:
    """Only where memory takes most of the time; a short program spends it on the start of instructions."""
    [hint] = hints_of(built(SMALL, "vector"))
    assert "memory bound" not in hint.cause and "the start of " in hint.cause


def test_beginning_and_end() -> None:
    design = built(SMALL, "fpga")
    [hint] = hints_of(design, run_on(design))
    assert re.fullmatch(r"\d+ of \d+ cycles go by before the first and after the last iteration; a larger problem has "
                        "a smaller share of them", str(hint))


def test_beginning_and_end_without_a_run() -> None:
    design = built(SMALL, "cgra")
    excess = design.predicted_start_to_done - design.lower_bound
    [hint] = hints_of(design)
    assert str(hint) == (f"{excess} of {design.predicted_start_to_done} cycles go by before the first and after the "
                         "last iteration; a larger problem has a smaller share of them")


def test_nothing_is_advised_that_was_not_tried() -> None:
    [hint] = find_hints(built(RECURRENCE, "fpga"), patience=0)
    assert hint.cause and hint.advice is None
    [hint] = hints_of(built(RECURRENCE, "fpga", multiplier_latency=1))
    assert hint.advice is None or "multiplier_latency" not in hint.advice


def test_a_good_design_has_no_hint() -> None:
    assert not hints_of(built(SUMS, "fpga"))
    assert str(Hint("it waits")) == "it waits"


def test_the_command_prints_hints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "window.c"
    file.write_text(WINDOW)
    assert main([str(file), "--target", "fpga", "--simulator", "none", "--report", str(tmp_path / "report")]) == 0
    text = "its window of 9 terms is not unrolled"
    assert f"hint: statement 'S1' ({file}:8): {text}" in capsys.readouterr().out
    page = (tmp_path / "report" / "report.html").read_text()
    assert text in page and page.endswith("</body></html>\n")


def test_attempts_are_told() -> None:
    told: list[str] = []
    with watch_attempts(told.append):
        hints_of(built(RECURRENCE, "fpga"))
    assert {"initiation interval 1", "initiation interval 2 for S1, 1 for others", "validation"} <= set(told)
    assert "whether --option clock_mhz=60 (a slower clock, and an iteration in each of its cycles) helps" in told


@pytest.mark.parametrize(("target", "text", "wanted"), [
    ("systolic", POINTS, ["as a reduction kernel", "tiles of x 4", "validation"]),
    ("systolic", RECURRENCE, ["as a recurrence", "places of statement 'S0' (f.c:3)", "space loops x"]),
    ("dataflow", SUMS, ["schedule of 1024 firings"]),
    ("cgra", SMALL, ["initiation interval 1, buffers share tiles"])])
def test_searches_tell_their_attempts(target: str, text: str, wanted: list[str]) -> None:
    told: list[str] = []
    with watch_attempts(told.append):
        built(text, target)
    assert set(wanted) <= set(told)
    told.clear()
    built(text, target)
    assert not told
