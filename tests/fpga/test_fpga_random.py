"""Random members of the array's class of programs as pipelines, emulated and compared with the interpreter."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from pipeline_emulator import run_design
from random_accumulations import accumulations
from random_programs import programs

import compiler
from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(largest=10))
def test_random_programs_compile_and_compute(program):
    design = compiler.compile(program, target="fpga")
    inputs = random_inputs(program, 5)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run_design(design, inputs)[name], expected)
    assert design.predicted_cycles >= design.lower_bound


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(accumulations())
def test_random_accumulations_compile_and_compute(program):
    design = compiler.compile(program, target="fpga")
    inputs = random_inputs(program, 5)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run_design(design, inputs)[name], expected)
    assert design.predicted_cycles >= design.lower_bound


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(largest=8))
def test_latencies_change_times_only(program):
    inputs = random_inputs(program, 6)
    expected = interpret(program, inputs)
    for options in ({"operator_latency": 2, "multiplier_latency": 4}, {"register_gap": 1}, {"multiplier_latency": 1}):
        outputs = run_design(compiler.compile(program, target="fpga", **options), inputs)
        for name, wanted in expected.items():
            np.testing.assert_array_equal(outputs[name], wanted)
