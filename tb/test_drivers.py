"""The C driver of every target runs the design's Verilog: loads memory, starts it, and takes the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from driver_bench import DriverBench
from emitted_systems import emitted, system_design

from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret

BASE = 0x3000
"""Where memory is on the design's bus; the vector processor's program is linked for address 0."""

CASES = [("dataflow", "icarus", BASE), ("dataflow", "verilator", BASE), ("systolic", "icarus", BASE),
         ("fpga", "icarus", BASE), ("cgra", "icarus", BASE), ("recurrence", "icarus", BASE), ("vector", "icarus", 0)]

TWICE = ("dataflow", "vector")
"""Where a second run is tried: configuration and program stay in memory."""


@pytest.mark.parametrize(("name", "simulator", "base"), CASES)
def test_drivers_run_designs(name: str, simulator: str, base: int, tmp_path: Path) -> None:
    top, sources = emitted(name)
    design = system_design(name)
    bench = DriverBench(design, tmp_path, sources, top, simulator, bus_address=base)
    assert bench.load() == 0
    for seed in (1, 2) if simulator == "icarus" and name in TWICE else (1,):
        inputs = random_inputs(design.program, seed)
        code, outputs = bench.run(inputs)
        assert bench.error(code) == "no error"
        for array, expected in interpret(design.program, inputs).items():
            np.testing.assert_array_equal(outputs[array], expected)
    assert bench.runs == bench.cleaned == bench.invalidated == seed
    assert bench.cycles == design.predicted_start_to_done or not design.start_to_done_is_exact


def test_a_program_that_is_linked_for_another_address(tmp_path: Path) -> None:
    assert DriverBench(system_design("vector"), tmp_path, bus_address=BASE).load() == -3
