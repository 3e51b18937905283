"""Accesses at places that depend on data, as pipelines: emulated, and proven from outside."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from irregular_programs import INTEGERS, case_of, design_of, program_of
from pipeline_emulator import run_design

import compiler
from compiler.bind.fpga.validate import validate
from compiler.bind.registry import TargetError
from compiler.ir.interpret import interpret
from compiler.sched.verify import ValidationError
from hw.pipeline.spec import LoadCell, PipelineError, PipelineSpec, StoreCell, Tap, Word


@pytest.fixture(scope="module")
def histogram():
    return compiler.compile(program_of("histogram"), target="fpga")


@pytest.mark.parametrize("name", INTEGERS)
def test_pipelines_give_what_gcc_gives(name):
    inputs, wanted = case_of(name, 3)
    design = design_of(name)
    for results in (interpret(program_of(name), inputs), run_design(design, inputs)):
        for array, values in results.items():
            np.testing.assert_array_equal(values, wanted[array], err_msg=array)


def test_one_entry_of_a_sparse_matrix_per_cycle():
    design = compiler.compile(program_of("ellpack"), target="fpga")
    assert design.choices["initiation interval"] == "1"
    assert design.predicted_cycles <= 16 * 4 + 16 + 12


def changed(design, kind, change, which=0):
    """Raises what the proof says of the design with one cell of a kind changed."""
    cells = list(design.system.pipeline.cells)
    number = [n for n, cell in enumerate(cells) if isinstance(cell, kind)][which]
    cells[number] = change(cells[number])
    pipeline = replace(design.system.pipeline, cells=tuple(cells))
    validate(design.parts.program, design.built, replace(design.system, pipeline=pipeline))


def test_accesses_that_wait_for_nothing_are_rejected(histogram):
    for kind, count in ((LoadCell, 2), (StoreCell, 1)):
        for which in range(count):
            cells = [c for c in histogram.system.pipeline.cells if isinstance(c, kind)]
            if cells[which].after:
                with pytest.raises(ValidationError, match="another value"):
                    changed(histogram, kind, lambda cell: replace(cell, after=cell.after[1:]), which)


def test_accesses_that_do_not_wait_long_enough_are_rejected(histogram):
    def earlier(cell):
        *others, last = cell.after
        return replace(cell, after=(*others, replace(last, cycles=last.cycles + 1)))

    with pytest.raises(ValidationError):
        changed(histogram, LoadCell, earlier)


def test_stores_at_other_times_are_rejected(histogram):
    def late(cell):
        return replace(cell, walk=replace(cell.walk, start=cell.walk.start + 1))

    with pytest.raises(ValidationError, match=r"the access of cell .* to 'bins' is not when its operands are there"):
        changed(histogram, StoreCell, late)


def test_other_words_and_places_are_rejected(histogram):
    for change in (lambda c: replace(c, value=c.index), lambda c: replace(c, index=c.value)):
        with pytest.raises(ValidationError):
            changed(histogram, StoreCell, change)


def test_other_memories_are_rejected(histogram):
    own, = histogram.system.pipeline.memories
    for other in (replace(own, words=255), replace(own, word=Word(31, True)), replace(own, initial=1),
                  replace(own, initial=None)):
        pipeline = replace(histogram.system.pipeline, memories=(other,))
        with pytest.raises(ValidationError, match="the memories of the pipeline are not those of the program"):
            validate(histogram.parts.program, histogram.built, replace(histogram.system, pipeline=pipeline))


def test_loads_that_see_later_stores_only_are_rejected(histogram):
    """The proof holds for two cycles of forwarding, and for no fewer."""
    for forwarded in (0, 1):
        cells = [replace(c, forwarded=forwarded) if isinstance(c, LoadCell) else c
                 for c in histogram.system.pipeline.cells]
        memories = tuple(replace(m, forwarded=forwarded) for m in histogram.system.pipeline.memories)
        pipeline = replace(histogram.system.pipeline, cells=tuple(cells), memories=memories)
        with pytest.raises(ValidationError):
            validate(histogram.parts.program, histogram.built, replace(histogram.system, pipeline=pipeline))


def test_one_element_of_a_histogram_per_cycle(histogram):
    """No cycles for clearing the bins, nor for equal elements."""
    assert histogram.choices["initiation interval"] == "1"
    assert histogram.predicted_cycles <= 64 + 128 + 10 and histogram.predicted_start_to_done <= 64 + 300
    inputs = {"x": np.full(64, 77, np.uint8)}
    assert run_design(histogram, inputs)["bins"].tolist() == np.bincount(inputs["x"], minlength=256).tolist()


def test_cells_have_memories():
    with pytest.raises(PipelineError, match="a load takes 1 or 2 cycles, not 3"):
        LoadCell(0, Tap(0), (), Word(8, False), 3)
    with pytest.raises(PipelineError, match="a load of 1 cycles does not see stores 2 cycles on"):
        LoadCell(0, Tap(0), (), Word(8, False), 1, forwarded=2)
    output = compiler.compile(program_of("histogram"), target="fpga").system.pipeline
    with pytest.raises(PipelineError, match=re.escape("accesses memory 0 of 0")):
        PipelineSpec("p", output.cells, output.tables)
    with pytest.raises(PipelineError, match="sees stores 2 cycles on, its memory 1 cycles on"):
        PipelineSpec("p", output.cells, memories=tuple(replace(m, forwarded=1) for m in output.memories))


def test_a_target_without_memories_says_which_statement_and_what_to_do():
    with pytest.raises(TargetError) as raised:
        compiler.compile(program_of("gamma_table"), target="systolic")
    text = str(raised.value)
    assert text.startswith("statement 'S0' (apps/irregular/gamma_table.c:12) reads 'table' at a place that depends on")
    assert "with others:" in text and "fpga" in text and "loop over all indices and use the one that is equal" in text
