"""Pipelines of the package `halide` through RTL: results are Halide's, cycles as predicted."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

hl = pytest.importorskip("halide")

from halide_check import random_inputs  # noqa: E402

from compiler.bind.registry import compile_program  # noqa: E402
from compiler.frontend.halide import load_pipeline  # noqa: E402
from compiler.ir.floating import same  # noqa: E402

APPS = Path(__file__).parents[1] / "apps" / "halide"
x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
U8, U16, I32 = hl.UInt(8), hl.UInt(16), hl.Int(32)


def application(name, **sizes):
    return runpy.run_path(str(APPS / f"{name}.py"))["build"](**sizes), None


def bilateral_grid():
    """Scattered writes of a Tuple, a blur of it, and reads where data says."""
    source = hl.ImageParam(U8, 2, "image")
    r = hl.RDom([(0, 2), (0, 2)], "r")
    value = source[x * 2 + r.x, y * 2 + r.y]
    grid, blurred, out = hl.Func("grid"), hl.Func("blurred"), hl.Func("out")
    grid[x, y, z] = (hl.cast(U16, 0), hl.cast(U16, 0))
    level = hl.cast(I32, value // 64)
    grid[x, y, level] = (grid[x, y, level][0] + value, grid[x, y, level][1] + 1)
    blurred[x, y, z] = (grid[x, y, z][0] + grid[x + 1, y, z][0], grid[x, y, z][1] + grid[x + 1, y, z][1])
    blurred.compute_root()
    sums = blurred[x // 2, y // 2, hl.cast(I32, source[x, y] // 64)]
    out[x, y] = sums[0] // hl.max(sums[1], hl.cast(U16, 1))
    return out, [4, 4]


CASES = {
    "conv_layer": (lambda: application("conv_layer", size=3, channels=2, features=2), ("dataflow",)),
    "bilateral_grid": (bilateral_grid, ("fpga", "dataflow")),
    "blur": (lambda: application("blur", width=7, height=6), ("dataflow",)),
    "interpolate": (lambda: application("interpolate", width=4, height=4, levels=2), ("fpga",)),
}


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize(("name", "target"), [(name, target) for name, (_, targets) in CASES.items()
                                              for target in targets])
def test_hardware_computes_what_halide_does(name, target, simulator):
    outputs, sizes = CASES[name][0]()
    loaded = load_pipeline(outputs, sizes)
    design = compile_program(loaded.program, target)
    inputs = random_inputs(loaded.program, 5, limit=255)
    wanted = loaded.reference(inputs)
    run = design.simulate(inputs, simulator)
    for output, values in wanted.items():
        assert same(run.outputs[output], values), output
    if design.predicted_cycles is not None:
        assert run.cycles == design.predicted_cycles
