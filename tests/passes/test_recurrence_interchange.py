"""Loops around sums: moved outside where a sum would come back too soon, in no case at the cost of the result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from random_accumulations import accumulations

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.directives import apply_script
from compiler.passes.recurrence.recurrence_interchange import recurrence_order

CYCLES = 8


def row_sums(columns: int, rows: int = 10, after: bool = False, down: int = 0) -> Program:
    """s[y] = start + sum over x of a[y][x], x innermost; `down`: each sum starts from the one so many rows above."""
    prg = prog("rows")
    prg.add_input("a", shape=(rows, columns))
    prg.add_output("s", shape=(rows,))
    if down:
        _first(prg, down)
    y = prg.add_loop("y", down, rows - down)
    start = y.add_op("Start")
    if down:
        start.add_load("s", f"y - {down}")
    else:
        start.add_function(lambda: 5)
    start.add_store("s", "y")
    op = y.add_loop("x", 0, columns).add_op("Sum")
    op.add_function("add")
    op.add_load("s", "y")
    op.add_load("a", "x", "y")
    op.add_store("s", "y")
    if after:
        prg.add_output("t", shape=(rows,))
        double = y.add_op("Double")
        double.add_function(lambda word: word * 2)
        double.add_load("s", "y")
        double.add_store("t", "y")
    return prg.build()


def _first(prg: Prog, count: int) -> None:
    op = prg.add_loop("y", 0, count).add_op("First")
    op.add_function(lambda: 1)
    op.add_store("s", "y")


def equal(program: Program, script: str) -> None:
    inputs = random_inputs(program, 2)
    changed = interpret(apply_script(program, script), inputs)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(changed[name], expected)


def test_the_matrix_product_as_everybody_writes_it() -> None:
    program = load_c("apps/dataflow/matmul.c", N=8)
    script = recurrence_order(program, CYCLES)
    assert script == "distribute(S1, 2); reorder(k, j, on=[S1])"
    equal(program, script)


@pytest.mark.parametrize(("program", "script"), [
    (row_sums(6), "distribute(Sum, 1); reorder(x, y, on=[Sum])"),
    (row_sums(6, after=True), "distribute(Sum, 1); distribute(Double, 1); reorder(x, y, on=[Sum])"),
    (row_sums(1), ""),
    (row_sums(6, rows=1), "partial(Sum, x, 3)"),
    (row_sums(7, rows=1), ""),
    (row_sums(6, down=2), ""),
])
def test_what_stands_beside_a_sum_gets_loops_of_its_own(program: Program, script: str) -> None:
    """Nothing moves where no other loop has steps, or where a row needs the sum of an earlier one. A sum alone is
    computed in parts, if these divide it."""
    assert recurrence_order(program, CYCLES) == script
    equal(program, script)


def test_parts_of_a_sum_that_has_the_iterator_in_its_terms() -> None:
    program = parse_scop("""void f(const int a[12], int s[1]) {
#pragma scop
    s[0] = 0;
    for (int i = 0; i < 12; i++)
        s[0] += a[i] * (i - 4);
#pragma endscop
}""", "moment.c")
    name = next(statement.name for statement in program.statements if statement.iterators)
    equal(program, f"partial({name}, i, 3)")


def test_only_as_many_loops_move_as_the_time_takes() -> None:
    program = load_c("apps/systolic/cnn.c")
    scripts = {
        1: "",
        6: "distribute(S1, 3); reorder(i, p, q, w, on=[S1])",
        8: "distribute(S1, 2); reorder(i, p, q, h, w, on=[S1])",
        100: "distribute(S1, 1); reorder(i, p, q, o, h, w, on=[S1])",
    }
    assert {cycles: recurrence_order(program, cycles) for cycles in scripts} == scripts


TWO_PRODUCTS = """
void two(const short a[4][6], const short b[6][5], const short c[5][7], short t[4][5], short d[4][7]) {
#pragma scop
  for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) {
    t[i][j] = 0; for (int k = 0; k < 6; k++) t[i][j] += a[i][k] * b[k][j]; }
  for (int i = 0; i < 4; i++) for (int j = 0; j < 7; j++) {
    d[i][j] = 0; for (int k = 0; k < 5; k++) d[i][j] += t[i][k] * c[k][j]; }
#pragma endscop
}
"""


def test_a_product_comes_in_columns_for_the_next_one() -> None:
    program = parse_scop(TWO_PRODUCTS, "two.c")
    script = recurrence_order(program, CYCLES)
    assert script.endswith("reorder(k, i, j, on=[S1]); reorder(j, i, on=[S1])")
    equal(program, script)


DISTANCES = """
void distances(const short a[3][4], const short b[7][8], short d[5][5]) {
#pragma scop
  for (int v = 0; v < 5; v++) for (int u = 0; u < 5; u++) {
    d[v][u] = 0;
    for (int y = 0; y < 3; y++) for (int x = 0; x < 4; x++) { short e = a[y][x] - b[y + v][x + u]; d[v][u] += e * e; }
  }
#pragma endscop
}
"""


def test_what_a_sum_adds_is_computed_in_its_order() -> None:
    """Else a memory would have to bring it from one order to the other."""
    program = parse_scop(DISTANCES, "distances.c")
    script = recurrence_order(program, CYCLES)
    assert script == "distribute(S1, 1); reorder(y, x, v, u, on=[S1, S2])"
    equal(program, script)


def test_a_sum_has_as_many_parts_as_the_time_takes() -> None:
    program = load_c("apps/dataflow/inner_product.c", N=60)
    scripts = {1: "", 2: "partial(S1, i, 2)", 8: "partial(S1, i, 10)", 31: "partial(S1, i, 30)"}
    assert {cycles: recurrence_order(program, cycles) for cycles in scripts} == scripts
    for script in scripts.values():
        equal(program, script)


def test_order_of_random_reductions() -> None:
    @settings(max_examples=25, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(accumulations())
    def check(program: Program) -> None:
        equal(program, recurrence_order(program, CYCLES))

    check()


ROTATION = """
void rotation(const short angle[6], short out[6]) {
#pragma scop
  for (int n = 0; n < 6; n++) {
    int z = angle[n], y = 3;
    for (int i = 0; i < 8; i++) {
      int step = y >> i;
      if (z >= 0) { z -= 5; y -= step; }
      else { z += i; y += step; }
    }
    out[n] = z + y;
  }
#pragma endscop
}
"""


def test_recurrences_in_each_others_steps_move_together() -> None:
    """Neither can have loops of its own, since one decides what the other does in the same iteration."""
    program = parse_scop(ROTATION, "rotation.c")
    script = recurrence_order(program, CYCLES)
    assert script.count("reorder(i, n, ") == 1
    moved = script[script.index("on=["):].split("]")[0]
    inside = [s.name for s in program.statements if len(s.iterators) == 2]
    assert all(name in moved for name in inside)
    equal(program, script)
    design = compiler.compile(program, target="fpga")
    assert design.predicted_cycles < 6 * 8 + 60
