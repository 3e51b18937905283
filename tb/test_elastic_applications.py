"""Applications on buffets and ready-valid tracks, on both simulators: the results of the other memories, on time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from random_accumulations import accumulations
from random_programs import programs

import compiler
from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.route import Unroutable
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

ARRAY = "4x4"
STALLS = StallProfile.uniform(0.4)

APPS: dict[str, dict[str, dict[str, Any]]] = {
    "gaussian": {"verilator": {}, "icarus": {"width": 22, "height": 5}},
    "upsample": {"verilator": {}, "icarus": {"width": 8, "height": 6}},
    "brighten_blur": {"verilator": {"tiles": 4}, "icarus": {"tiles": 2, "size": 22}},
    "gemm": {"verilator": {"size": 8, "unroll": 1}, "icarus": {"size": 5, "unroll": 1}},
}
TILE_DEPTH = {"brighten_blur": 1}


def check(program: Program, simulator: str, **options: Any) -> None:
    """Results of the reference, in as many cycles as the token game says: memory may stall, the cycles stay."""
    design = compiler.compile(program, memory="buffet", array=ARRAY, **options)
    inputs = random_inputs(program, 3)
    run = design.simulate(inputs, simulator, seed=5, stall=STALLS)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles


@pytest.mark.parametrize("app", APPS)
def test_application_on_buffets(app: str, simulator: str) -> None:
    options = {"tile_depth": TILE_DEPTH[app]} if app in TILE_DEPTH else {}
    check(load(app, **APPS[app][simulator]), simulator, **options)


@pytest.mark.parametrize("kind", ["stencils", "sums"])
def test_random_program_on_buffets(kind: str, simulator: str) -> None:
    @settings(max_examples=2, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(programs(largest=8, stages=2) if kind == "stencils" else accumulations(["rows"]))
    def run(program: Program) -> None:
        try:
            check(program, simulator)
        except (ArrayTooSmall, ElasticError, Unroutable):
            assume(False)

    run()
