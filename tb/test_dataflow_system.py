"""Dataflow kernels with their managers on emitted Verilog: rows F14, F15, F26, F27, F30 to F32 and F34 of seed 003."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c
from network_programs import matmul, program, random_data

import compiler
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.design import InputError
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

APPS = Path(__file__).resolve().parents[1] / "apps" / "dataflow"
STALLS = StallProfile.uniform(0.2)
SIZES = {"matmul": {"N": 6}, "fir": {"N": 20, "TAPS": 5}, "jacobi_1d": {"N": 12}, "jacobi_2d": {"N": 6}, "lu": {"N": 5}}


def check(design: DataflowDesign, tested: Program, simulator: str, stall: StallProfile | None, seed: int = 1) -> None:
    """Outputs are the interpreter's, unstalled cycles as predicted."""
    inputs = random_data(tested, seed)
    run = design.simulate(inputs, simulator, seed=seed, stall=stall)
    for name, values in interpret(tested, inputs).items():
        assert np.array_equal(run.outputs[name], values), name
    assert run.cycles == design.predicted_cycles
    assert run.wall_cycles > run.cycles + run.stall_cycles


def test_f14_f15_f26_matrix_product(simulator: str) -> None:
    """One blocking call; gaps on every AXI channel change timing, never data; every word moves once."""
    tested = matmul(16, transposed=False)
    design = compiler.compile(tested, target="dataflow")
    assert isinstance(design, DataflowDesign)
    for stall in (None, STALLS):
        check(design, tested, simulator, stall)
    inputs = random_data(tested)
    run = design.simulate(inputs, simulator)
    assert run.counters == {"memory read beats": 2 * 256 * 2 // 8, "memory write beats": 256 * 2 // 8}
    expected = inputs["a"].astype(np.int64) @ inputs["b"].astype(np.int64)
    assert np.array_equal(run.outputs["c"], expected.astype(np.int16))


def test_f27_f32_lanes_and_a_deep_adder(simulator: str) -> None:
    tested = matmul(12)
    design = compiler.compile(tested, target="dataflow", lanes=4, latency={"add": 6})
    assert isinstance(design, DataflowDesign)
    assert design.plan.kernel.ticks == 12**3 // 4
    check(design, tested, simulator, STALLS)


def test_f31_reordering_on_the_chip(simulator: str) -> None:
    tested = matmul(6, transposed=False)
    design = compiler.compile(tested, target="dataflow", reorder="chip")
    assert isinstance(design, DataflowDesign)
    assert design.resources["reorder channels"] == 1
    check(design, tested, simulator, STALLS)


@pytest.mark.parametrize("name", [path.stem for path in sorted(APPS.glob("*.c"))])
def test_f34_programs_equal_gcc(name: str, tmp_path: Path) -> None:
    sizes = SIZES.get(name, {"N": 9})
    tested = load_c(APPS / f"{name}.c", **sizes)
    design = compiler.compile(tested, target="dataflow")
    assert isinstance(design, DataflowDesign)
    inputs = random_data(tested)
    run = design.simulate(inputs, "icarus", seed=2, stall=STALLS)
    assert run.cycles == design.predicted_cycles
    macros = "".join(f"#define {key} {value}\n" for key, value in sizes.items())
    library = compile_c(tmp_path, {name: macros + (APPS / f"{name}.c").read_text()})
    arguments, results = _arguments(tested, inputs)
    call(library, name, arguments)
    for output, values in results.items():
        assert np.array_equal(run.outputs[output], values), output


def _arguments(tested: Program, inputs: dict[str, np.ndarray]) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The C function's arrays: inputs before outputs, and those that it changes in place once."""
    arguments: list[np.ndarray] = []
    results: dict[str, np.ndarray] = {}
    names = {array.name for array in tested.outputs}
    for array in tested.inputs:
        values = np.ascontiguousarray(inputs[array.name].astype(array.type.dtype))
        arguments.append(values)
        target = array.name.removesuffix("_in")
        if target != array.name and target in names:
            results[target] = values
    for array in tested.outputs:
        if array.name not in results:
            results[array.name] = np.zeros(array.shape, array.type.dtype)
            arguments.append(results[array.name])
    return arguments, results


def test_memory_errors_end_the_run_with_a_code() -> None:
    tested = matmul(6, transposed=False)
    design = compiler.compile(tested, target="dataflow", reorder="chip")
    assert isinstance(design, DataflowDesign)
    ins, outs = design.executable.places
    inputs = random_data(tested)
    for place, kind in ((ins[1], "reading"), (outs[0], "writing")):
        with pytest.raises(DataflowError, match=f"the run ended with a memory error while {kind} a stream"):
            design.executable.run(inputs, "icarus", seed=1, stall=None, waves=False,
                                  errors=(place.address, place.address + place.bytes - 1))


def test_a_kernel_without_inputs() -> None:
    text = "void f(int8_t y[7][3]) {\n#pragma scop\nfor (int i = 0; i < 7; i++) for (int j = 0; j < 3; j++) " \
           "y[i][j] = i * 3 - j;\n#pragma endscop\n}"
    tested = program("ramp", text)
    design = compiler.compile(tested, target="dataflow")
    assert isinstance(design, DataflowDesign)
    check(design, tested, "icarus", STALLS)


def test_inputs_that_do_not_fit() -> None:
    design = compiler.compile(matmul(6, transposed=False), target="dataflow")
    with pytest.raises(InputError, match="input b is missing"):
        design.simulate({"a": np.zeros((6, 6), np.int16)}, "icarus")
