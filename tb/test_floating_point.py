"""Floating-point programs on emitted Verilog, on both simulators: every bit is the interpreter's, and gcc's where gcc
has the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_reference import call, compile_c
from dataflow_group import Group

import compiler
from compiler.bind.dataflow.design import DataflowDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.frontend.kernel import cast
from compiler.frontend.loop_nest import prog
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import BFLOAT16, FLOAT32
from hw.sim.simulate import StallProfile

APPS = Path(__file__).resolve().parents[1] / "apps" / "float"
STALLS = StallProfile.uniform(0.2)
SIZES = {"matmul": {"N": 4}, "fir": {"N": 15, "TAPS": 4}, "stencil": {"N": 12}, "jacobi": {"N": 9, "T": 2},
         "lu": {"N": 4}, "triangular_solve": {"N": 5}}

QUOTIENTS = """
void quotients(const float a[16], const int n[16], float y[16], int m[16]) {
#pragma scop
  for (int i = 0; i < 16; i++) {
    y[i] = -a[i] / (a[15 - i] + n[i]);
    m[i] = (int)y[i] + (a[i] >= 0.0f);
  }
#pragma endscop
}
"""
SPECIAL = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80400000, 0x00800000, 0x7F7FFFFF,
                    0x3F800001, 0x4F000000, 0x4E800001, 0xC2280000, 0x00000F00, 0xBF000000, 0x3F000000],
                   np.uint32).view(np.float32)


def mixed() -> Program:
    """bfloat16 in, sums in single precision, bfloat16 out."""
    prg = prog("mixed", BFLOAT16)
    prg.add_input("a", (9,))
    prg.add_output("b", (8,))
    op = prg.add_loop("x", 0, 8).add_op("S")
    op.add_load("a", "x")
    op.add_load("a", "x + 1")
    op.add_function(lambda u, v: cast(BFLOAT16, cast(FLOAT32, u * 3) + cast(FLOAT32, v) * 0.1))
    op.add_store("b", "x")
    return prg.build()


@pytest.fixture(scope="module")
def group() -> Group:
    """All systems of this file in one simulation per simulator."""
    programs = {name: load_c(APPS / f"{name}.c", **sizes) for name, sizes in SIZES.items()}
    programs |= {"quotients": parse_scop(QUOTIENTS), "mixed": mixed()}
    designs = {}
    for name, program in programs.items():
        design = compiler.compile(program, target="dataflow")
        assert isinstance(design, DataflowDesign)
        designs[name] = design
    return Group(designs)


def check(group: Group, name: str, inputs: dict[str, np.ndarray], simulator: str) -> dict[str, np.ndarray]:
    """Outputs are the interpreter's, unstalled cycles as predicted."""
    design = group.designs[name]
    run = group.run(name, inputs, simulator, STALLS, 3)
    for output, values in interpret(design.program, inputs).items():
        assert same(run.outputs[output], values), output
    assert run.cycles == design.predicted_cycles
    return run.outputs


@pytest.mark.parametrize("name", SIZES)
def test_programs_equal_gcc(name: str, group: Group, simulator: str, tmp_path: Path) -> None:
    program = group.designs[name].program
    inputs = random_inputs(program, 2)
    outputs = check(group, name, inputs, simulator)
    defines = "".join(f"#define {key} {value}\n" for key, value in SIZES[name].items())
    library = compile_c(tmp_path, {name: defines + (APPS / f"{name}.c").read_text()}, f"-I{APPS}")
    memory = {key.removesuffix("_in"): array.copy() for key, array in inputs.items()}
    memory |= {key: np.zeros_like(array) for key, array in outputs.items() if key not in memory}
    memory = {key: array.astype(np.int16) if array.dtype == np.int64 else array for key, array in memory.items()}
    call(library, name, list(memory.values()))
    for key, values in outputs.items():
        assert same(values, memory[key]), key


def test_special_values_quotients_and_conversions(group: Group, simulator: str) -> None:
    n = np.array([0, 1, -1, 16777217, 2147483647, -2147483648, 0, 5, 0, 3, 0, 0, -7, 0, 100, 1])
    check(group, "quotients", {"a": SPECIAL, "n": n}, simulator)


def test_several_formats_in_one_program(group: Group, simulator: str) -> None:
    check(group, "mixed", {"a": np.array([1, 1.0078125, -2.5, 3e38, 1e-40, 0, 7, np.inf, 0.1015625], np.float32)
                           * np.array([1, 1, 1, 0, 0, 1, 1, 1, 1], np.float32)}, simulator)


EVERYTHING = """
#include <math.h>
void everything(const float A[4][4], const float B[4][4], const int n[4], const double x[4], float C[4][4],
                double d[4], int m[4]) {
#pragma scop
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++) {
      C[i][j] = 0.5f;
      for (int k = 0; k < 4; k++) C[i][j] += A[i][k] * B[k][j];
    }
    d[i] = fma(sqrt(fabs(x[i])), x[i], n[i]) / fmax(x[3 - i], 0.25);
    m[i] = (int)A[i][0] + (A[i][1] < B[i][2]);
  }
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def pipeline() -> Any:
    """Sums, double, functions, conversions and comparisons in one pipeline."""
    return compiler.compile(parse_scop(EVERYTHING), target="fpga")


def test_a_pipeline_of_its_own_computes_what_gcc_computes(pipeline: Any, simulator: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    inputs = {"A": generator.standard_normal((4, 4)).astype(np.float32), "B": SPECIAL.reshape(4, 4)[::-1].copy(),
              "n": np.array([5, -7, 0, 16777217], np.int32), "x": np.array([2.0, -1e-310, 1e300, -0.1])}
    memory = {**inputs, "C": np.zeros((4, 4), np.float32), "d": np.zeros(4), "m": np.zeros(4, np.int32)}
    call(compile_c(tmp_path, {"everything": EVERYTHING}), "everything", list(memory.values()))
    run = pipeline.simulate(inputs, simulator, seed=3, stall=STALLS)
    for name in ("C", "d", "m"):
        found, wanted = run.outputs[name], memory[name]
        numbers = ~np.isnan(wanted)
        assert same(found[numbers], wanted[numbers].astype(found.dtype)) and np.isnan(found[~numbers]).all(), name
    assert run.cycles == pipeline.predicted_cycles


def test_sums_of_a_pipeline_take_turns_in_the_adder() -> None:
    """A reduction that waits for an adder of twelve stages goes around the loops that are free: a product per cycle."""
    program = load_c(APPS / "matmul.c", N=12)
    design = compiler.compile(program, target="fpga")
    assert 12**3 <= design.predicted_cycles < 12**3 + 250
