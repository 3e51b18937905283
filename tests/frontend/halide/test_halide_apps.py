"""The applications in `apps/halide`: what Halide computes, and what those in the loop-nest language compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from halide_check import random_inputs, require_halide_results

from compiler.bind.registry import compile_program
from compiler.frontend.apps import load
from compiler.frontend.halide import load_pipeline
from compiler.ir.interpret import interpret

pytest.importorskip("halide")

FOLDER = Path(__file__).parents[3] / "apps" / "halide"
SIZES = {"gaussian": {"width": 12, "height": 9}, "harris": {"width": 12, "height": 11},
         "unsharp": {"width": 12, "height": 10}, "gaussian_pyramid": {"size": 16}, "laplacian_pyramid": {"size": 8},
         "upsample": {"width": 6, "height": 5}, "gemm": {"size": 8}}
OTHERS = {"conv_layer": {"size": 4}, "camera_pipeline": {"width": 3, "height": 2}, "blur": {"width": 20, "height": 15},
          "interpolate": {"width": 9, "height": 8}, "local_laplacian": {"width": 8, "height": 6, "levels": 2},
          "bilateral_grid": {"width": 6, "height": 5, "spacing": 4, "values": 3}}
"""Those that there are in Halide only."""


def build(name, sizes):
    scope: dict = {}
    exec(compile((FOLDER / f"{name}.py").read_text(), name, "exec"), scope)
    return scope["build"](**sizes)


def test_all_applications_are_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SIZES, *OTHERS}


@pytest.mark.parametrize("name", [*SIZES, *OTHERS])
def test_results_are_those_of_halide(name):
    require_halide_results(load_pipeline(build(name, (SIZES | OTHERS)[name])), limit=255)


@pytest.mark.parametrize("name", SIZES)
def test_results_are_those_of_loop_nests(name):
    program, other = load(f"halide/{name}", **SIZES[name]), load(name, **_others(name))
    inputs = random_inputs(program, 1, limit=255)
    padded = {a.name: _padded(inputs[b.name], a.shape) for a, b in zip(other.inputs, program.inputs, strict=True)}
    (found,), (wanted,) = interpret(program, inputs).values(), interpret(other, padded).values()
    assert np.array_equal(found, wanted)


def _others(name):
    return SIZES[name] | ({"unroll": 1} if name == "gemm" else {})


def _padded(data, shape):
    """The last row and column of the pyramid's declared input are not read."""
    return np.pad(data, [(0, size - have) for size, have in zip(shape, data.shape, strict=True)])


@pytest.mark.parametrize("name", SIZES)
def test_predicted_cycles_on_fpga_are_those_of_loop_nests(name):
    ours = compile_program(load(f"halide/{name}", **SIZES[name]), "fpga").predicted_cycles
    others = compile_program(load(name, **_others(name)), "fpga").predicted_cycles
    assert ours == others


@pytest.mark.parametrize("name", ["gaussian", "gaussian_pyramid", "upsample"])
def test_predicted_cycles_on_dataflow_are_those_of_loop_nests(name):
    ours = compile_program(load(f"halide/{name}", **SIZES[name]), "dataflow")
    others = compile_program(load(name, **_others(name)), "dataflow")
    assert ours.predicted_cycles <= others.predicted_cycles
