"""The thirty kernels of PolyBench against gcc, and on targets whose class they mark out."""

from typing import Any

import numpy as np
import pytest
from pipeline_emulator import run_design

import compiler
from benchmarks.polybench import KERNELS, measured_floats
from benchmarks.polybench_reference import arguments, gcc_results, inputs_of, program_of
from compiler.ir.interpret import interpret

TRIANGLES = ("correlation", "lu", "ludcmp", "nussinov", "symm", "trisolv", "trmm")
"""Kernels whose loops depend on each other, so that reads see several statements' values, or none, in triangles."""


def test_there_are_thirty():
    assert len(KERNELS) == 30


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_program_computes_what_gcc_does(kernel: str) -> None:
    for seed in (1, 2):
        data = arguments(kernel, seed)
        wanted = gcc_results(kernel, data)
        for name, values in interpret(program_of(kernel), inputs_of(program_of(kernel), data)).items():
            np.testing.assert_array_equal(values, wanted[name], err_msg=f"{kernel}: {name}")


@pytest.mark.parametrize("kernel", TRIANGLES)
def test_a_pipeline_reads_in_triangles(kernel: str) -> None:
    data = arguments(kernel, 3)
    design: Any = compiler.compile(program_of(kernel), target="fpga")
    wanted = gcc_results(kernel, data)
    for name, values in run_design(design, inputs_of(program_of(kernel), data)).items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=f"{kernel}: {name}")


@pytest.mark.parametrize(("kernel", "kind"), [("cholesky", "float"), ("correlation", "double"), ("heat_3d", "float")])
def test_floating_point_numbers_are_those_of_gcc(kernel: str, kind: str) -> None:
    """`python -m benchmarks.polybench --type float` compares them all."""
    program, data = program_of(kernel, kind), arguments(kernel, 1, kind)
    wanted = gcc_results(kernel, data, kind)
    for name, values in interpret(program, inputs_of(program, data)).items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=f"{kernel}: {name}")


def test_a_floating_point_kernel_is_compiled_and_compared() -> None:
    found = measured_floats("atax", "fpga", "own", "float")
    assert found["cycles (model)"] < 400 and "refused" not in found
