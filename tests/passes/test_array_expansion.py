"""Reads of what closed guards only kept: which instances they see then, what is left open, and damage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import islpy as isl
import numpy as np
import pytest
from triangular_programs import triangular

import compiler
from compiler.analysis.dependences import flow
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from compiler.ir.verify import verify
from compiler.passes.normalize.boundary_padding import pad_domains
from compiler.passes.normalize.loop_normalization import normalize_loops
from compiler.passes.normalize.static_form import static_form
from compiler.passes.recurrence.array_expansion import expand_arrays, has_undefined_reads
from compiler.sched.verify import ValidationError
from compiler.sched.verify.held import check_held_values

SIZE = 6


def on_boxes(name: str) -> Program:
    """One of the triangular programs on boxes, its output drained."""
    growth = pad_domains(normalize_loops(triangular(name, SIZE)))
    assert growth is not None
    return static_form(growth.after)


def waits(program: Program, statement: str) -> list[int]:
    """For every read of its own values, how many steps of the outermost loop these are at least old."""
    return [d.relation.deltas().dim_max_val(0).to_python() for d in flow(program) if d.source == d.sink == statement]


def test_elimination_reads_rows_and_columns_of_the_step_before():
    """The last ones to write them are closed instances of the same step, which only keep them."""
    elements = on_boxes("factors")
    statement = next(s.name for s in elements.statements if len(s.iterators) == 3)
    assert waits(elements, statement) == [-1, 0, 0]
    values = expand_arrays(elements)
    assert waits(values, statement) == [-1, -1, -1]
    check_held_values(elements, values)
    inputs = random_inputs(elements, 1)
    for output, expected in interpret(elements, inputs).items():
        np.testing.assert_array_equal(interpret(values, inputs)[output], expected)


def test_open_reads_are_filled_where_values_are_there():
    """Behind closed guards of an elimination the same functions give values of the step before, too."""
    elements = on_boxes("factors")
    assert has_undefined_reads(elements)
    assert has_undefined_reads(expand_arrays(elements))
    filled = expand_arrays(elements, everywhere=True)
    assert not has_undefined_reads(filled)
    check_held_values(elements, filled)


@pytest.mark.parametrize("name", ["trmv", "symmetric", "three cases"])
def test_programs_whose_values_have_time_stay_as_they_are(name):
    elements = on_boxes(name)
    assert expand_arrays(elements) is elements


@pytest.mark.parametrize(("name", "cycles"), [("factors", 1.6), ("half of the factors", 1.6)])
def test_an_elimination_runs_at_the_full_rate(name, cycles):
    """No longer than its boxes take, a few rows more: every instance waits for the step before only."""
    design = compiler.compile(triangular(name, 8), memory="dual-port")
    assert design.predicted_cycles < cycles * 8 * 8 * 7


def moved(program: Program, statement: str, read: int, step: str) -> Program:
    """`program` with a read of a statement of values of another step."""
    def changed(one):
        if one.name != statement:
            return one
        access = one.reads[read]
        shift = isl.Map(f"{{ {access.array}[w, a, b, c] -> {access.array}[w, {step}, b, c] }}")
        reads = (*one.reads[:read], replace(access, map=access.map.apply_range(shift)), *one.reads[read + 1:])
        return replace(one, reads=reads)

    return replace(program, statements=tuple(map(changed, program.statements)))


def test_another_value_is_found():
    elements = on_boxes("factors")
    values = expand_arrays(elements)
    statement = next(s.name for s in values.statements if len(s.iterators) == 3)
    with pytest.raises(ValidationError, match=r"read 1 sees another value of 'A_sums', first at"):
        check_held_values(elements, moved(values, statement, 1, "0"))


def test_another_expression_is_found():
    elements = on_boxes("factors")
    values = expand_arrays(elements)
    statement = next(s for s in values.statements if len(s.iterators) == 3)
    copy = replace(statement, value=next(s.value for s in values.statements if s is not statement))
    broken = replace(values, statements=tuple(copy if s is statement else s for s in values.statements))
    with pytest.raises(ValidationError, match="computes something else on an array of values"):
        check_held_values(elements, broken)
    with pytest.raises(ValidationError, match="other statements or another order"):
        check_held_values(elements, replace(values, statements=values.statements[1:]))


def test_programs_of_users_have_an_element_for_every_read():
    """What a read without one would deliver nobody knows; only the compiler leaves that open."""
    elements = on_boxes("factors")
    with pytest.raises(ProgramError, match="does not give every iteration exactly one element"):
        verify(elements)
    verify(elements, guarded=True)


@pytest.mark.parametrize(("memory", "most"), [("dual-port", 320), ("pub", 500)])
def test_lu_in_an_imperfect_nest(memory, most):
    """Its two statements see values of each other and of themselves, in turns."""
    program = load_c(Path(__file__).parents[2] / "apps" / "dataflow" / "lu.c", N=6)
    assert compiler.compile(program, memory=memory).predicted_cycles < most


@pytest.mark.parametrize("memory", ["dual-port", "pub"])
def test_a_solve_takes_what_its_way_back_takes(memory):
    """A wide-fetch memory does not fetch the word of the first element before that is wanted, and there."""
    assert compiler.compile(triangular("solve", 8), memory=memory, array="8x4").predicted_cycles < 56 * 6 + 50
