"""Prefix sums, minima and maxima along one loop or several are done by doubling; what is none is done step by step."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.scans import scan_of
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program


def scop(arguments: str, body: str) -> Program:
    return parse_scop(f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")


INTEGRAL = scop("const unsigned char x[12][9], int y[13][10]",
                "for (int i = 0; i < 13; i++) for (int j = 0; j < 10; j++) y[i][j] = 0;"
                "for (int i = 1; i < 13; i++) for (int j = 1; j < 10; j++)"
                "  y[i][j] = x[i - 1][j - 1] + y[i - 1][j] + y[i][j - 1] - y[i - 1][j - 1];")

SCANS = {
    "integral image": (INTEGRAL, [((0, 1), (1, 1))]),
    "from what is there": (scop("const short x[20], int y[21]",
                                "y[0] = 77; for (int i = 1; i < 21; i++) y[i] = x[i - 1] + y[i - 1];"), [((0, 1),)]),
    "border of an integral image": (
        scop("const unsigned char x[7][9], int y[7][9]",
             "for (int i = 0; i < 7; i++) y[i][0] = 3 * x[i][0]; for (int j = 1; j < 9; j++) y[0][j] = x[0][j] - 4;"
             "for (int i = 1; i < 7; i++) for (int j = 1; j < 9; j++)"
             "  y[i][j] = y[i - 1][j] - (y[i - 1][j - 1] - x[i][j]) + y[i][j - 1];"), [((0, 1), (1, 1))]),
    "every third": (scop("const unsigned char x[20], unsigned char y[23]",
                         "for (int i = 0; i < 3; i++) y[i] = 2 * i;"
                         "for (int i = 0; i < 20; i++) y[i + 3] = y[i] + x[i];"), [((0, 3),)]),
    "running maxima of rows": (scop("const short x[5][18], short y[5][18]",
                                    "for (int i = 0; i < 5; i++) { y[i][0] = x[i][0]; for (int j = 1; j < 18; j++)"
                                    "  y[i][j] = y[i][j - 1] > x[i][j] ? y[i][j - 1] : x[i][j]; }"), [((1, 1),)]),
    "sums of columns that wrap": (scop("const unsigned char x[9][11], unsigned char y[9][11]",
                                       "for (int j = 0; j < 11; j++) y[0][j] = x[0][j];"
                                       "for (int i = 1; i < 9; i++) for (int j = 0; j < 11; j++)"
                                       "  y[i][j] = y[i - 1][j] + 3 * x[i][j];"), [((0, 1),)]),
}
"""A program, and the loops with steps of its scans."""

OTHERS = {
    "a factor": "for (int i = 1; i < 8; i++) y[i] = x[i] + 3 * y[i - 1];",
    "read twice": "for (int i = 1; i < 8; i++) y[i] = y[i - 1] + y[i - 1];",
    "subtracted": "for (int i = 1; i < 8; i++) y[i] = x[i] - y[i - 1];",
    "two before": "for (int i = 2; i < 8; i++) y[i] = y[i - 1] + y[i - 2];",
    "what comes later": "for (int i = 0; i < 7; i++) y[i] = x[i] + y[i + 1];",
    "a shift": "for (int i = 1; i < 8; i++) y[i] = x[i] + (y[i - 1] >> 1);",
    "narrow on the way": "for (int i = 1; i < 8; i++) y[i] = x[i] + (unsigned char)y[i - 1];",
    "a distance that grows": "for (int i = 1; i < 8; i++) y[i] = x[i] + y[i / 2];",
}
"""Statements that no doubling computes."""


def scans_of(program: Program) -> list[tuple[tuple[int, int], ...]]:
    found = [scan_of(program, statement) for statement in program.statements]
    return [scan.steps for scan in found if scan is not None]


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_scans(name: str, lanes: int) -> None:
    program, steps = SCANS[name]
    assert scans_of(program) == steps
    design = compiler.compile(program, target="vector", lanes=lanes, search=False)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(program, lanes)
    np.testing.assert_array_equal(design.execute(inputs)["y"], interpret(program, inputs)["y"])


@pytest.mark.parametrize("name", OTHERS)
def test_other_recurrences_are_done_step_by_step(name: str) -> None:
    program = scop("const short x[8], int y[8]", OTHERS[name])
    assert scans_of(program) == []
    design = compiler.compile(program, target="vector", lanes=1, search=False)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(program, 2)
    np.testing.assert_array_equal(design.execute(inputs)["y"], interpret(program, inputs)["y"])


def test_an_integral_image_takes_few_operations() -> None:
    """Not one for every element: doubling along both loops, in one phase, and no limit of iterations."""
    small = compiler.compile(INTEGRAL, target="vector", lanes=4)
    assert isinstance(small, VectorDesign)
    assert len(small.phases) == 1 and small.predicted_cycles < 700
    long = scop("const unsigned char x[300], int y[300]",
                "y[0] = x[0]; for (int i = 1; i < 300; i++) y[i] = y[i - 1] + x[i];")
    design = compiler.compile(long, target="vector", lanes=4)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(long, 1)
    np.testing.assert_array_equal(design.execute(inputs)["y"], interpret(long, inputs)["y"])
