"""Kernels of PolyBench, whose reads are triangles, on both simulators, with random stalls."""

from typing import Any

import numpy as np
import pytest

import compiler
from benchmarks.polybench_reference import arguments, gcc_results, inputs_of, program_of
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)


@pytest.mark.parametrize(("kernel", "target", "macros"), [
    ("correlation", "fpga", ()), ("lu", "fpga", ()), ("trisolv", "fpga", ()), ("trisolv", "dataflow", ()),
    # Triangles of sources that are more boxes than decisions may lead to.
    ("durbin", "fpga", (("N", 18),)), ("gramschmidt", "fpga", (("M", 3), ("N", 14))),
    ("floyd_warshall", "fpga", (("N", 12),)),  # reads of one statement, of its last results and of those before
    ("nussinov", "fpga", (("N", 11),))])  # what is before the recurrence and behind it runs at a rate of its own
def test_results_are_those_of_gcc(kernel: str, target: str, macros: tuple[tuple[str, int], ...],
                                  simulator: str) -> None:
    data, program = arguments(kernel, 5, macros=macros), program_of(kernel, macros=macros)
    design: Any = compiler.compile(program, target=target)
    run = design.simulate(inputs_of(program, data), simulator, seed=7, stall=STALLS)
    wanted = gcc_results(kernel, data, macros=macros)
    for name, values in run.outputs.items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=f"{kernel}: {name}")
    assert run.cycles == design.predicted_cycles
