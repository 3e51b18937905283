"""Dataflow kernels with their managers on emitted Verilog: rows F12, F14, F15, F24, F26 to F28, F31, F32 and
F34 of Bok 2018, on both simulators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c
from dataflow_group import Group
from merged_programs import merged
from network_programs import matmul, program

import compiler
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.runtime_sizes import SizedDesign, compile_sizes
from compiler.bind.design import InputError, Run
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.frontend.kernel import cast
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.sim.simulate import StallProfile

APPS = Path(__file__).resolve().parents[1] / "apps" / "dataflow"
STENCILS = Path(__file__).resolve().parents[1] / "tests" / "support" / "stencils"
STALLS = StallProfile.uniform(0.2)
PROGRAMS = [path.stem for path in sorted(APPS.glob("*.c"))]
SIZES = {"matmul": {"N": 6}, "fir": {"N": 20, "TAPS": 5}, "jacobi_1d": {"N": 12}, "jacobi_2d": {"N": 6}, "lu": {"N": 5}}

IMAGES = {"brighten_blur": {"size": 6, "tiles": 1}, "cascade": {"width": 8, "height": 7},
          "conv_3_3": {"width": 6, "height": 6}, "gaussian": {"width": 6, "height": 6},
          "harris": {"width": 9, "height": 8}, "unsharp": {"width": 8, "height": 7},
          "upsample": {"width": 3, "height": 2}}
"""Stencils of the array target; C functions that compute the same in other words are in ``tests/support/stencils``."""

WIDE = """
void wide(const uint64_t a[3][3], const int64_t b[3], uint64_t y[3][3], int64_t z[3]) {
#pragma scop
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) y[i][j] = a[j][i];
  for (int i = 0; i < 3; i++)
    for (int j = i + 1; j < 3; j++) y[i][j] = y[j][i];
  for (int i = 0; i < 3; i++) z[i] = b[i] * b[2 - i] + (b[i] >> 5);
#pragma endscop
}"""
"""Words of 64 bits; an output that is read again."""

LEVELS = """
void levels(int16_t A[7][6]) {
#pragma scop
  for (int i = 1; i < 7; i++)
    for (int j = 1; j < 6; j++) A[i][j] = A[i - 1][j] + A[i][j - 1] * 3;
#pragma endscop
}"""


def designed(tested: Program, **options: object) -> DataflowDesign:
    design = compiler.compile(tested, target="dataflow", **options)
    assert isinstance(design, DataflowDesign)
    return design


@pytest.fixture(scope="module")
def sized() -> SizedDesign:
    """One kernel for matrices of 2 x 2 to 5 x 5."""
    return compile_sizes(lambda **sizes: load_c(APPS / "matmul.c", **sizes), {"N": (2, 5)})


@pytest.fixture(scope="module")
def group(sized: SizedDesign) -> Group:
    """All systems of this file in one simulation per simulator."""
    designs = {name: designed(load_c(APPS / f"{name}.c", **SIZES.get(name, {"N": 9}))) for name in PROGRAMS}
    designs["lanes"] = designed(matmul(8), lanes=4, latency={"add": 6})
    designs["chip"] = designed(matmul(6, transposed=False), reorder="chip")
    designs["tiled"] = designed(matmul(5), transform="tile(i=4, j=3, on=[InitC, Comp, WriteC])")
    designs["widths"] = designed(merged({"odd": odd_widths(), "wide": program("wide", WIDE)}))
    designs["ramp"] = designed(program("ramp", RAMP))
    designs["images"] = designed(merged({name: load(name, **sizes) for name, sizes in IMAGES.items()}))
    designs["levels"] = designed(program("levels", LEVELS))
    designs["sized"] = sized.at(N=5)
    return Group(designs)


def odd_widths() -> Program:
    """Words of 5, 13 and 27 bits."""
    prg = prog("widths")
    prg.add_input("a", (4, 7), Int(5))
    prg.add_input("b", (4, 7), Int(13, signed=False))
    prg.add_output("c", (4, 7), Int(27))
    op = prg.add_loop("y", 0, 4).add_loop("x", 0, 7).add_op("step")
    op.add_load("a", "x", "y")
    op.add_load("b", "x", "y")
    op.add_function(lambda a, b: cast(Int(27), a) * cast(Int(27), b) - cast(Int(27), a))
    op.add_store("c", "x", "y")
    return prg.build()


def check(group: Group, name: str, simulator: str, stall: StallProfile | None, seed: int = 1,
          at: DataflowDesign | None = None) -> Run:
    """Outputs are the interpreter's, unstalled cycles as predicted."""
    design = at or group.designs[name]
    inputs = random_inputs(design.program, seed)
    run = group.run(name, inputs, simulator, stall, seed, at)
    for output, values in interpret(design.program, inputs).items():
        assert np.array_equal(run.outputs[output], values), output
    assert run.cycles == design.predicted_cycles
    assert run.wall_cycles > run.cycles + run.stall_cycles
    return run


def test_f14_f15_f26_matrix_product(group: Group, simulator: str) -> None:
    """One blocking call; memory without gaps, the other runs are with them; every word moves once."""
    run = check(group, "matmul", simulator, None)
    assert run.counters == {"memory read beats": 2 * 36 * 2 // 8, "memory write beats": 36 * 2 // 8}


def test_f26_one_call_multiplies_matrices() -> None:
    design = designed(matmul(16, transposed=False))
    inputs = random_inputs(design.program, 0)
    expected = inputs["a"].astype(np.int64) @ inputs["b"].astype(np.int64)
    run = design.simulate(inputs, "icarus", stall=STALLS)
    assert np.array_equal(run.outputs["c"], expected.astype(np.int16))
    assert run.cycles == design.predicted_cycles


def test_f27_f32_lanes_and_a_deep_adder(group: Group, simulator: str) -> None:
    assert group.designs["lanes"].plan.kernel.ticks == 8**3 // 4
    check(group, "lanes", simulator, STALLS)


def test_f27_levels_of_a_recurrence_over_two_loops(group: Group, simulator: str) -> None:
    assert "idle ticks" in group.designs["levels"].choices
    check(group, "levels", simulator, STALLS)


def test_f31_reordering_on_the_chip(group: Group, simulator: str) -> None:
    assert group.designs["chip"].resources["reorder channels"] == 1
    check(group, "chip", simulator, STALLS)


@pytest.mark.parametrize("name", ["tiled", "widths", "ramp"])
def test_f24_f28_tiles_with_remainders_odd_and_wide_words_no_inputs(group: Group, simulator: str, name: str) -> None:
    check(group, name, simulator, STALLS)


def test_f34_stencils_of_the_array_equal_gcc(group: Group, simulator: str, tmp_path: Path) -> None:
    """Programs of loop nests in one network, whose parts have nothing to do with each other."""
    design = group.designs["images"]
    assert design.resources["input streams"] == len(IMAGES)
    inputs = random_inputs(design.program, 1)
    run = check(group, "images", simulator, STALLS, seed=1)
    library = compile_c(tmp_path, {name: _stencil(name) for name in IMAGES})
    for name in IMAGES:
        (given,) = (array for array in design.program.inputs if array.name.startswith(f"{name}_"))
        (made,) = (array for array in design.program.outputs if array.name.startswith(f"{name}_"))
        wanted = np.zeros(made.shape, made.type.dtype)
        call(library, name, [np.ascontiguousarray(inputs[given.name].astype(given.type.dtype)), wanted])
        assert np.array_equal(run.outputs[made.name], wanted), name


def _stencil(name: str) -> str:
    macros = "".join(f"#define {key.upper()} {value}\n" for key, value in IMAGES[name].items())
    return macros + (STENCILS / f"{name}.c").read_text()


def test_f12_one_build_for_many_sizes(group: Group, sized: SizedDesign, simulator: str) -> None:
    for size in (5, 2):
        check(group, "sized", simulator, STALLS, size, sized.at(N=size))


def test_f12_sizes_that_the_kernel_is_not_made_for(group: Group, sized: SizedDesign) -> None:
    design = sized.at(N=3)
    wrong = replace(design, sizes=(6,), program=load_c(APPS / "matmul.c", N=3))
    wrong.__dict__["executable"] = replace(design.executable, sizes=(6,))
    wrong.executable.__dict__["places"] = design.executable.places
    with pytest.raises(DataflowError, match="the kernel is not made for N=6"):
        group.run("sized", random_inputs(design.program, 0), "icarus", None, at=wrong)
    with pytest.raises(DataflowError, match=r"size N is 6, not in 2\.\.5 that the kernel is made for"):
        sized.at(N=6)
    with pytest.raises(DataflowError, match="sizes are N, not M"):
        sized.at(M=3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_f34_programs_equal_gcc(name: str, group: Group, simulator: str, tmp_path: Path) -> None:
    design = group.designs[name]
    inputs = random_inputs(design.program, 0)
    run = group.run(name, inputs, simulator, STALLS, seed=2)
    assert run.cycles == design.predicted_cycles
    for side, beats in zip(design.executable.places, run.counters.values(), strict=True):
        assert beats == sum(-(-place.bytes // 8) for place in side)
    macros = "".join(f"#define {key} {value}\n" for key, value in SIZES.get(name, {"N": 9}).items())
    library = compile_c(tmp_path, {name: macros + (APPS / f"{name}.c").read_text()})
    arguments, results = _arguments(design.program, inputs)
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
    design = designed(matmul(6, transposed=False), reorder="chip")
    inputs = random_inputs(design.program, 0)
    for fault, kind in (("read b 2", "reading"), ("write c 3", "writing")):
        with pytest.raises(DataflowError, match=f"the run ended with a memory error while {kind} a stream"):
            design.simulate(inputs, "icarus", inject=fault)


RAMP = """void f(int8_t y[7][3]) {
#pragma scop
  for (int i = 0; i < 7; i++) for (int j = 0; j < 3; j++) y[i][j] = i * 3 - j;
#pragma endscop
}"""


def test_inputs_that_do_not_fit() -> None:
    design = compiler.compile(matmul(6, transposed=False), target="dataflow")
    with pytest.raises(InputError, match="input b is missing"):
        design.simulate({"a": np.zeros((6, 6), np.int16)}, "icarus")
