"""Recurrences as arrays on emitted Verilog: bit-exact against gcc and the interpreter, with stalls on every channel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c
from recurrence_programs import APPS, SIZES, program_data, recurrence

import compiler
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.systolic.recurrence import RecurrenceDesign, Settings, compile_recurrence
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

STALLS = StallProfile.uniform(0.25)
SPACES = (("i",), ("j",), ("k",), ("i", "j"), ("i", "k"), ("j", "k"))


def by_gcc(name: str, program: Program, inputs: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    """What the compiled C function computes: inputs first, then outputs; a changed input is its own output."""
    macros = "".join(f"#define {key} {value}\n" for key, value in SIZES[name].items())
    library = compile_c(folder, {name: macros + (APPS / f"{name}.c").read_text()})
    arguments: dict[str, np.ndarray] = {}
    for array in (*program.inputs, *program.outputs):
        values = inputs.get(array.name, np.zeros(array.shape, np.int64))
        arguments.setdefault(array.name.removesuffix("_in"), np.ascontiguousarray(values.astype(array.type.dtype)))
    call(library, name, list(arguments.values()))
    return {array.name: arguments[array.name] for array in program.outputs}


def check(design: RecurrenceDesign, expected: dict[str, np.ndarray], inputs: dict[str, np.ndarray], simulator: str,
          stall: StallProfile | None) -> int:
    """Outputs are as expected; the cycles of the run."""
    run = design.simulate(inputs, simulator, seed=5, stall=stall)
    for name, values in expected.items():
        assert np.array_equal(run.outputs[name], values), name
    return run.cycles


@cache
def triangle() -> RecurrenceDesign:
    """LU with space loops j and k, by the target's own choice of class."""
    design = compiler.compile(recurrence("lu"), target="systolic", space="j,k")
    assert isinstance(design, RecurrenceDesign)
    return design


def test_lu_on_both_simulators(simulator: str, tmp_path: Path) -> None:
    """Wang 2021, section 8.2: the triangle of space loops j and k, from plain C. The model of the array is exact when
    memory is not late."""
    program = recurrence("lu")
    inputs = program_data(program, 1)
    expected = by_gcc("lu", program, inputs, tmp_path)
    assert np.array_equal(expected["A"], interpret(program, inputs)["A"])
    assert len(np.unique(expected["A"])) > 8
    design = triangle()
    assert check(design, expected, inputs, simulator, None) == design.predicted_cycles
    check(design, expected, inputs, simulator, STALLS)


@pytest.mark.parametrize("space", SPACES[:-1], ids="".join)
def test_lu_for_every_choice_of_space_loops(space: tuple[str, ...]) -> None:
    program = recurrence("lu")
    inputs = program_data(program, 2)
    check(compile_recurrence(program, space), interpret(program, inputs), inputs, "icarus", STALLS)


@pytest.mark.parametrize("name", [name for name in SIZES if name not in ("lu", "subsequence")])
def test_other_recurrences_equal_gcc(name: str, tmp_path: Path) -> None:
    program = recurrence(name)
    inputs = program_data(program, 3)
    expected = by_gcc(name, program, inputs, tmp_path)
    settings = Settings(divider_bits=3, multiplier=1)
    check(compile_recurrence(program, settings=settings), expected, inputs, "icarus", STALLS)


def test_division_by_zero_and_memory_errors() -> None:
    """A zero pivot gives what the interpreter gives; an error of the memory ends the run with a message."""
    program, design = recurrence("lu"), triangle()
    inputs = {"A_in": np.array([[0, 5, 1, 2], [3, 1, 4, 1], [5, 9, -2, 6], [-(1 << 31), 5, 3, 5]])}
    check(design, interpret(program, inputs), inputs, "icarus", None)
    for fault, message in (("read A_in", "with a memory error while reading a stream"),
                           ("write A", "with a memory error while writing a stream"),
                           ("stuck ar", "with error WATCHDOG: nothing moved; streams .* have words left to move")):
        with pytest.raises(DataflowError, match=f"the run ended {message}"):
            design.simulate(inputs, "icarus", inject=fault)
