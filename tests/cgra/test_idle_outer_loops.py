"""Outer loops that idle where the next iteration needs what this one ends with."""

from __future__ import annotations

import numpy as np
import pytest
from c_reference import call, compile_c
from outer_recurrences import PROGRAMS, SHAPES

import compiler
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.sched.static.schedule import UNIT_II


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_steps_inside_keep_their_rate(name: str, memory: str) -> None:
    design = compiler.compile(parse_scop(PROGRAMS[name]), memory=memory, array="8x8")
    pace = design.schedule.pace
    ((_, idle),) = pace.idle
    assert idle >= 8
    assert pace.interval == UNIT_II.interval and "idle cycles per iteration of loop" in str(pace)
    assert design.predicted_cycles < 64 * idle, "one step in so many cycles would be as slow as longer intervals"


def test_a_sequential_schedule_has_no_loops_that_idle() -> None:
    with pytest.raises(RecurrenceViolation, match="loop-carried dependence passes"):
        compiler.compile(parse_scop(PROGRAMS["reversed_rows"], "f.c"), schedule="sequential", memory="dual-port")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_compute_what_gcc_does(name: str, tmp_path) -> None:
    generator = np.random.default_rng(3)
    data = {array: generator.integers(-(1 << 15), 1 << 15, shape, np.int16) for array, shape in SHAPES.items()}
    found = interpret(parse_scop(PROGRAMS[name]), {"a": data["a"]})
    call(compile_c(tmp_path, {"f": PROGRAMS[name]}), "f", list(data.values()))
    np.testing.assert_array_equal(found["y"], data["y"])
