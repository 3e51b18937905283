"""What pipelines compute from constants alone has the latency of its operation, and the proof sees that."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from c_targets import on_pipeline, require_gcc_results
from random_constants import constant_function
from random_data import function_data

import compiler
from compiler.bind.fpga.validate import validate
from compiler.frontend.c_scop import parse_scop
from compiler.sched.verify import ValidationError
from hw.pipeline.spec import TABLE_LATENCY, OperatorCell, PipelineError, Tap

KNOWN_IN_C = """
static const int table[8] = {0, 1, 0, 1, 1, 0, 0, 1};
void f(const int a[8], int y[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    int known = 1;
    y[i] = table[known] + a[i];
  }
#pragma endscop
}
"""

KNOWN_INDEX = KNOWN_IN_C.replace("known = 1", "known = (a[i] & 0) + 1")
"""An index that only the target knows: the C front end makes elements of those that it knows itself."""


def table_cell(design):
    cells = design.system.pipeline.cells
    return next(n for n, cell in enumerate(cells) if isinstance(cell, OperatorCell) and cell.op == "table")


def test_a_table_at_a_known_index_has_its_latency():
    design = compiler.compile(parse_scop(KNOWN_INDEX), target="fpga")
    cell = design.system.pipeline.cells[table_cell(design)]
    assert cell.latency == TABLE_LATENCY


def test_no_table_without_its_registers_can_be_described():
    design = compiler.compile(parse_scop(KNOWN_INDEX), target="fpga")
    cell = design.system.pipeline.cells[table_cell(design)]
    with pytest.raises(PipelineError, match=r"a table takes 2 cycles, not 0"):
        replace(cell, latency=0)


def test_a_constant_that_is_not_there_in_time_is_rejected():
    design = compiler.compile(parse_scop(KNOWN_INDEX), target="fpga")
    cells = list(design.system.pipeline.cells)
    number = table_cell(design)
    cells[number] = replace(cells[number], operands=(Tap(cells[number].operands[0].cell, 40),))
    system = replace(design.system, pipeline=replace(design.system.pipeline, cells=tuple(cells)))
    with pytest.raises(ValidationError, match=r"its first value is wanted in cycle \d+, but what is computed from "
                                              r"constant \d+ takes 4\d cycles"):
        validate(design.parts.program, design.built, system)


@pytest.mark.parametrize("seed", range(40))
def test_random_constants(seed):
    text = constant_function(Random(seed), "f")
    require_gcc_results(text, "f", function_data(text, "f", seed), on_pipeline)


@pytest.mark.parametrize("text", [KNOWN_IN_C, KNOWN_INDEX], ids=["in C", "on the target"])
def test_known_index_is_right_by_gcc(text):
    data = {"a": np.arange(8, dtype=np.int32), "y": np.zeros(8, np.int32)}
    require_gcc_results(text, "f", data, on_pipeline)
