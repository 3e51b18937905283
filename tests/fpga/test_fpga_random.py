"""Random members of the array's class of programs as pipelines, emulated and compared with the interpreter."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from pipeline_emulator import run_pipeline
from random_programs import programs

import compiler
from compiler.input_files import random_inputs
from compiler.ir.interpret import interpret
from hw.pipeline.streams import ArrayStream


def emulate(design, inputs):
    """Outputs of the original program, by way of the streams' walks through memory and the emulated pipeline."""
    given_parts = design.parts.split(inputs)
    words = {s.name: given_parts[s.name].ravel()[elements(s)] for s in design.system.inputs}
    results = run_pipeline(design.system.pipeline, words)
    found = {}
    for stream in design.system.outputs:
        array = design.parts.program.array(stream.name)
        whole = np.zeros(array.shape, np.int64)
        whole.ravel()[elements(stream)] = results[stream.name].astype(np.int64)
        found[stream.name] = whole
    return design.parts.join(found, inputs)


def elements(stream: ArrayStream) -> np.ndarray:
    first = np.array(stream.addresses) // stream.element_bytes
    return (first[:, None] + np.arange(stream.row)).ravel()


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(largest=10))
def test_random_programs_compile_and_compute(program):
    design = compiler.compile(program, target="fpga")
    inputs = random_inputs(program, 5)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(emulate(design, inputs)[name], expected)
    assert design.predicted_cycles >= design.lower_bound


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(largest=8))
def test_latencies_change_times_only(program):
    inputs = random_inputs(program, 6)
    expected = interpret(program, inputs)
    for options in ({"operator_latency": 2, "multiplier_latency": 4}, {"register_gap": 1}, {"multiplier_latency": 1}):
        outputs = emulate(compiler.compile(program, target="fpga", **options), inputs)
        for name, wanted in expected.items():
            np.testing.assert_array_equal(outputs[name], wanted)
