"""One C function on one target, compared with what gcc makes of the same text."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from c_reference import call, compile_c
from pipeline_emulator import run_design
from systolic_programs import emulate

import compiler
from compiler.bind.systolic.design import SystolicDesign
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program

Data = Mapping[str, np.ndarray]


def gcc_results(text: str, name: str, data: Data) -> dict[str, np.ndarray]:
    """What gcc's function leaves in its arrays, whose order is that of `data`; _Float16 rounds with every operation."""
    memory = {array: values.copy() for array, values in data.items()}
    with tempfile.TemporaryDirectory() as folder:
        call(compile_c(Path(folder), {name: text}, "-fexcess-precision=16"), name, list(memory.values()))
    return memory


def inputs_of(program: Program, data: Data) -> dict[str, np.ndarray]:
    """The inputs of `program` among the arrays before the call; an array that is changed is ``NAME_in``."""
    return {array.name: data[_parameter(array.name, data)] for array in program.inputs}


def _parameter(name: str, data: Data) -> str:
    return name if name in data else name.rpartition("_in")[0]


def on_machine(program: Program, inputs: Data, options: Mapping[str, Any]) -> Data:
    """The vector program on the instruction simulator."""
    return compiler.compile(program, target="vector", **options).execute(inputs)


def on_pipeline(program: Program, inputs: Data, options: Mapping[str, Any]) -> Data:
    """The pipeline's cells, emulated."""
    design: Any = compiler.compile(program, target="fpga", **options)
    return _in_order_of_program(design, inputs, run_design(design, inputs))


def on_array(program: Program, inputs: Data, options: Mapping[str, Any]) -> Data:
    """The array's configuration, proved against the program on every compile."""
    compiler.compile(program, target="cgra", **options)
    return interpret(program, inputs)


def on_network(program: Program, inputs: Data, options: Mapping[str, Any]) -> Data:
    """The process network, proved against the program on every compile."""
    compiler.compile(program, target="dataflow", **options)
    return interpret(program, inputs)


def on_elements(program: Program, inputs: Data, options: Mapping[str, Any]) -> Data:
    """The array of a kernel, emulated; that of a recurrence, proved against the program on every compile."""
    design = compiler.compile(program, target="systolic", **options)
    if isinstance(design, SystolicDesign) and len(program.outputs) == 1:
        words = {name: v if v.dtype.kind not in "iu" else v.astype(object if v.itemsize > 4 else np.int64)
                 for name, v in inputs.items()}
        found = {program.outputs[0].name: emulate(design.plan, words)}
        return _in_order_of_program(design, inputs, found)
    return interpret(program, inputs)


MODELS: dict[str, Callable[[Program, Data, Mapping[str, Any]], Data]] = {
    "vector": on_machine, "fpga": on_pipeline, "cgra": on_array, "dataflow": on_network, "systolic": on_elements,
}
"""How results of a target are found without an RTL simulator."""


def simulated(target: str, *simulators: str) -> Callable[[Program, Data, Mapping[str, Any]], Data]:
    """How they are found with some; raises `AssertionError` where the predicted cycles are not those simulated, or
    where one simulator finds something else than another."""

    def run(program: Program, inputs: Data, options: Mapping[str, Any]) -> Data:
        design = compiler.compile(program, target=target, **options)
        runs = {simulator: design.simulate(inputs, simulator) for simulator in simulators}
        first = runs[simulators[0]]
        for simulator, found in runs.items():
            if design.predicts_exactly:
                assert found.cycles == design.cycles_for(inputs), f"mispredicted on {simulator}"
            assert found.cycles == first.cycles, f"{simulator} takes other cycles than {simulators[0]}"
            require_same(found.outputs, first.outputs, simulator, "")
        return _in_order_of_program(design, inputs, first.outputs)

    return run


def _in_order_of_program(design: Any, inputs: Data, found: Data) -> Data:
    """What the program computes, if that is `found`, or if `found` is what it computes with sums in the order that the
    design states. Raises `AssertionError` if it is not."""
    if design.reference is design.program:
        return found
    require_same(found, interpret(design.reference, inputs), "stated order", "")
    return interpret(design.program, inputs)


def require_same(found: Data, wanted: Data, place: str, text: str) -> None:
    """Raise `AssertionError` if an array that `place` leaves is not the wanted one; zeros have signs."""
    for array, values in found.items():
        if values.dtype.kind == "f":
            zero = wanted[array] == 0
            np.testing.assert_array_equal(np.signbit(values[zero]), np.signbit(wanted[array][zero]), place)
        np.testing.assert_array_equal(values, wanted[array], err_msg=f"{place}: {array}\n{text}")


def require_gcc_results(text: str, name: str, data: Data, run: Callable[[Program, Data, Mapping[str, Any]], Data],
                        options: Mapping[str, Any] | None = None) -> None:
    """Raise `AssertionError` unless the interpreter and `run` give for the program what gcc's function leaves."""
    wanted = gcc_results(text, name, data)
    program = parse_scop(text, f"{name}.c", function=name)
    inputs = inputs_of(program, data)
    require_same(interpret(program, inputs), wanted, "interpreter", text)
    require_same(run(program, inputs, options or {}), wanted, "target", text)
