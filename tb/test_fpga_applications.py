"""Applications as pipelines of their own on both simulators: bit-exact, and as many unstalled cycles as predicted.

Memory stalls and back-pressure are random; the pipeline stands still for them, so they change the clock cycles of a run
but neither its results nor its unstalled cycles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chained_programs import RECURRENCES, recurrence
from hypothesis import HealthCheck, Phase, given, settings
from merged_programs import merged
from random_accumulations import accumulations
from random_programs import programs

import compiler
from compiler.bind.fpga.errors import FpgaError
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

SMALL: dict[str, dict[str, Any]] = {
    "gaussian": {"width": 16, "height": 12},
    "harris": {"width": 16, "height": 12},
    "unsharp": {"width": 20, "height": 14},
    "upsample": {"width": 15, "height": 11},
    "cascade": {"width": 16, "height": 12},
    "conv_3_3": {"width": 16, "height": 12},
    "brighten_blur": {"tiles": 3, "size": 12},
    "gaussian_tiled": {"width": 20, "tile": 9},
    "gaussian_pyramid": {"size": 16},
    "laplacian_pyramid": {"size": 16},
    "gemm": {"size": 8, "unroll": 4},
    "mobilenet_layer": {"size": 6},
    "resnet_layer": {"size": 6, "inputs": 2, "outputs": 2, "unroll_in": 2, "unroll_out": 1},
    "fir": {"CHANNELS": 4, "N": 24},
    "sobel": {"H": 8, "W": 24},
}
STALLS = StallProfile.uniform(0.3)


def check(program: Any, design: Any, simulator: str, **extra: Any) -> Any:
    inputs = random_inputs(program, 7)
    run = design.simulate(inputs, simulator, **extra)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles
    return run


@pytest.mark.parametrize("app", SMALL)
def test_application_is_exact_and_on_time(app):
    program = load(app, **SMALL[app])
    design = compiler.compile(program, target="fpga")
    check(program, design, "icarus", seed=0xC0FFEE, stall=STALLS)


def test_all_applications_at_once():
    """Side by side in one pipeline, which takes one build: a stream and more for each, in and out, one memory bus."""
    program = merged({app: load(app, **parameters) for app, parameters in SMALL.items()})
    design = compiler.compile(program, target="fpga")
    assert min(len(design.system.inputs), len(design.system.outputs)) >= len(SMALL)
    check(program, design, "verilator", seed=0xC0FFEE, stall=STALLS)


def test_recurrences_of_a_cycle(simulator):
    """Side by side: operators without registers of their own."""
    program = merged({name: recurrence(name) for name in RECURRENCES})
    design = compiler.compile(program, target="fpga")
    assert design.choices["initiation interval"] == "1"
    check(program, design, simulator, seed=0xC0FFEE, stall=STALLS)


def test_stalls_change_nothing_but_the_clock():
    program = load("gaussian", **SMALL["gaussian"])
    design = compiler.compile(program, target="fpga")
    calm = check(program, design, "icarus")
    stalled = check(program, design, "icarus", seed=3, stall=StallProfile.uniform(0.5))
    assert calm.stall_cycles < 40, "only the first words are waited for"
    assert stalled.wall_cycles > calm.wall_cycles


def test_lanes_are_words_per_cycle(simulator):
    """Four strips at once, over a bus that is wide enough."""
    program = load("gaussian", width=16, height=18, lanes=4)
    design = compiler.compile(program, target="fpga", bus_bits=128)
    check(program, design, simulator, seed=4, stall=STALLS)
    assert len(design.system.outputs) == 4
    assert design.predicted_cycles <= 16 * (18 // 4 + 2) + 10


POLYNOMIALS = """
void f(const int x[12], const int c[4], int y[12], unsigned short large[1]) {
#pragma scop
  large[0] = 0;
  for (int i = 0; i < 12; i++) {
    y[i] = c[3];
    for (int k = 2; k >= 0; k--) y[i] = y[i] * x[i] + c[k];
    if (y[i] > 1000) large[0] += 1;
  }
#pragma endscop
}"""


def test_recurrences_side_by_side(simulator):
    """The product of one polynomial is computed while those of others begin, and a condition stands before a sum."""
    program = parse_scop(POLYNOMIALS)
    design = compiler.compile(program, target="fpga")
    check(program, design, simulator, seed=6, stall=STALLS)
    assert design.predicted_cycles <= 2 * 12 * 3


def test_a_recurrence_of_hundreds_of_cycles(simulator):
    """Ten divisions one after the other, each of the result of the one before."""
    body = "".join(f"s /= x[i] | {k}; " for k in range(1, 11))
    program = parse_scop(f"""void f(const int x[3], int y[3]) {{
#pragma scop
    for (int i = 0; i < 3; i++) {{ int s = i ? y[i - 1] + (7 << 26) : 7 << 28; {body} y[i] = s; }}
#pragma endscop
}}""", "f.c")
    design = compiler.compile(program, target="fpga")
    assert design.predicted_cycles > 2 * 10 * 32
    check(program, design, simulator, seed=6, stall=STALLS)


def test_random_programs(simulator):
    count = 1 if simulator == "verilator" else 4

    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(programs(largest=10) | accumulations())
    def run(program):
        check(program, compiler.compile(program, target="fpga"), simulator, seed=5, stall=STALLS)

    run()


def test_memory_error_ends_the_run_with_its_name():
    program = load("gaussian", **SMALL["gaussian"])
    design = compiler.compile(program, target="fpga")
    data = random_inputs(program, 1)
    for fault, error in (("read input 17", "READ"), ("write output 17", "WRITE")):
        with pytest.raises(FpgaError, match=f"the run ended with error {error}"):
            design.simulate(data, "icarus", inject=fault)
