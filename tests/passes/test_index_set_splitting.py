"""Statements on several boxes become several statements, and outputs that are worked on in place get a drain; the
programs compute what they did."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from compiler.ir.verify import verify
from compiler.passes.normalize.index_set_splitting import split_by_access, split_by_dependence, split_unions
from compiler.passes.normalize.static_form import static_form


def c_program(folder, body, parameters="short a[7][6], short b[7][6]"):
    path = folder / "boxes.c"
    path.write_text(f"void boxes({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    return load(path)


def same(program, other):
    verify(other)
    inputs = random_inputs(program, 4)
    expected, found = interpret(program, inputs), interpret(other, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


BORDER = """
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 6; j++) {
            if (i == 0 || j == 0 || i == 6 || j == 5)
                b[i][j] = a[i][j];
            else
                b[i][j] = a[i - 1][j] + a[i][j + 1];
        }"""


def test_a_border_is_four_boxes(tmp_path):
    program = c_program(tmp_path, BORDER)
    split = split_unions(program)
    assert [s.name for s in split.statements] == ["S0_box0", "S0_box1", "S0_box2", "S0_box3", "S1"]
    assert all(s.box() is not None for s in split.statements)
    same(program, split)


def test_neighbours_without_the_middle_are_four_boxes(tmp_path):
    """Three of the eight that are left of a cut are a triangle for isl, which has no box inside."""
    program = c_program(tmp_path, """
    for (int i = 1; i < 6; i++)
        for (int j = 1; j < 5; j++) {
            b[i][j] = 0;
            for (int u = -1; u <= 1; u++)
                for (int v = -1; v <= 1; v++)
                    if (u != 0 || v != 0)
                        b[i][j] += a[i + u][j + v];
        }""")
    split = split_unions(program)
    assert [s.name for s in split.statements][-4:] == ["S1_box0", "S1_box1", "S1_box2", "S1_box3"]
    assert all(s.box() is not None for s in split.statements)
    same(program, split)


def test_order_is_kept_where_a_part_reads_another(tmp_path):
    """Every element but the corner adds those before it, which other boxes have written."""
    program = c_program(tmp_path, """
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 6; j++)
            if (i > 2 || j > 1)
                b[i][j] = (j > 0 ? b[i][j - 1] : 1) + (i > 0 ? b[i - 1][j] : 2) + a[i][j];""")
    split = split_unions(program)
    assert len(split.statements) > len(program.statements)
    same(program, split)


@pytest.mark.parametrize("condition", ["j <= i", "(i + j) % 2 == 0"])
def test_others_stay_as_they_are(tmp_path, condition):
    program = c_program(tmp_path, f"""
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 6; j++)
            if ({condition})
                b[i][j] = a[i][j];""")
    assert split_unions(program).statements[-1] == program.statements[-1]


MIRROR = """
    short t[7][6];
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 6; j++)
            t[i][j] = a[i][j] + 1;
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 6; j++)
            b[i][j] = t[i][j == 0 ? 1 : j - 1] + t[i][j == 5 ? 4 : j + 1];"""


def test_reads_that_turn_at_an_edge(tmp_path):
    """No loop nest of addresses turns round at an edge: the first and the last column are statements of their own."""
    program = c_program(tmp_path, MIRROR)
    split = split_by_access(program)
    assert [s.name for s in split.statements] == ["S0", "S1_box0", "S1_box1", "S1_box2"]
    same(program, split)
    design = compiler.compile(program, array="4x4")
    assert design.predicted_cycles <= design.lower_bound + 30


def test_reads_by_one_function_are_not_split():
    program = load("upsample", width=6, height=4)
    assert split_by_access(program) is program


POLYNOMIALS = """
    for (int d = 0; d < 12; d++)
        y[d] = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 5; j++)
            y[i + j] += a[i] * w[j];"""


def test_values_of_instances_by_several_functions(tmp_path):
    """Final sums come from the first column of instances, then from the last row: two statements drain them."""
    program = static_form(c_program(tmp_path, POLYNOMIALS, "const short a[8], const short w[5], short y[12]"))
    split = split_by_dependence(program)
    assert [s.name for s in split.statements] == ["S0", "S1", "y_drain_box0", "y_drain_box1"]
    same(program, split)
    assert split_by_dependence(split) is split


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_products_of_polynomials_fit_the_array(memory, tmp_path):
    program = c_program(tmp_path, POLYNOMIALS, "const short a[8], const short w[5], short y[12]")
    assert compiler.compile(program, memory=memory, array="8x4").predicted_cycles <= 4 * 8 * 5


def test_one_drain_where_the_border_keeps_its_values(tmp_path):
    program = c_program(tmp_path, """
    for (int t = 0; t < 3; t++) {
        for (int i = 1; i < 6; i++)
            for (int j = 1; j < 5; j++)
                b[i][j] = a[i - 1][j] - a[i][j + 1];
        for (int i = 1; i < 6; i++)
            for (int j = 1; j < 5; j++)
                a[i][j] = b[i][j];
    }""")
    static = static_form(program)
    drains = [s for s in static.statements if s.name == "a_drain"]
    assert len(drains) == 1 and drains[0].box() == {"i0": (0, 6), "i1": (0, 5)}
    same(program, static)
