"""The thirty kernels of PolyBench in integers against gcc, and on targets whose class they mark out."""

import numpy as np
import pytest
from pipeline_emulator import run_design
from polybench import arguments, gcc_results, inputs_of, program_of

import compiler
from benchmarks.polybench import KERNELS
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
        for name, values in interpret(program_of(kernel), inputs_of(kernel, data)).items():
            np.testing.assert_array_equal(values, wanted[name], err_msg=f"{kernel}: {name}")


@pytest.mark.parametrize("kernel", TRIANGLES)
def test_a_pipeline_reads_in_triangles(kernel: str) -> None:
    data = arguments(kernel, 3)
    design = compiler.compile(program_of(kernel), target="fpga")
    wanted = gcc_results(kernel, data)
    for name, values in run_design(design, inputs_of(kernel, data)).items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=f"{kernel}: {name}")
