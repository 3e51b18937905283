"""Cycles, resources, compile time and simulation speed of every application on every memory.

    python -m benchmarks.applications [APP ...] [--memory MEMORY ...] [-o benchmarks/results/applications.json]

Every cycle count is measured in RTL simulation of the emitted Verilog, which is compared with the reference. With
names of applications or memories, only those are measured, and the results there are of the others are kept.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import compiler
from benchmarks.checks import check_run
from benchmarks.command import Measurement, reports_errors
from benchmarks.results import kept_results
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.frontend.apps import load
from compiler.ir.program import Program

__all__ = ["APPLICATIONS", "main", "measure", "measure_program"]

ARRAY = "8x4"
APPLICATIONS = {
    **dict.fromkeys(("gaussian", "conv_3_3", "cascade", "brighten_blur", "upsample", "gaussian_tiled",
                     "gaussian_pyramid", "fir", "sobel"), ARRAY),
    "harris": "16x8",
    **dict.fromkeys(("unsharp", "laplacian_pyramid", "gemm", "resnet_layer", "mobilenet_layer",
                     "camera_pipeline"), "16x32"),
}
"""The applications and the arrays that they are measured on."""

MEMORIES = ("pub", "dual-port", "dual-port-pe", "buffet")
ICARUS: dict[str, dict[str, Any]] = {
    "harris": {"array": "16x8", "width": 24, "height": 10},
    "unsharp": {"array": "16x8", "width": 14, "height": 10},
    "laplacian_pyramid": {"array": "8x8", "size": 8},
    "mobilenet_layer": {"array": "8x16", "size": 6},
    "camera_pipeline": {"array": "16x24", "width": 16, "height": 12},
}
"""What is measured on Icarus too, how small, and on the smallest array that fits: too slow for the test suite, which
runs the others there."""
LARGER = {
    ("mobilenet_layer", "dual-port"): "12x16",
    ("mobilenet_layer", "buffet"): "12x16",
    ("laplacian_pyramid", "dual-port-pe"): "8x16",
}
"""Other arrays on Icarus, for memories of which it takes more, or whose addresses take processing elements."""


def measure(app: str, memory: str, array: str, simulator: str = "verilator", **parameters: Any) -> dict[str, Any]:
    """Compile and simulate one application, by default at its published size.

    Raises `FigureError` if a result is wrong or, of cycles, not the predicted one.
    """
    return measure_program(app, load(app, **parameters), simulator, {"memory": memory, "array": array})


def measure_program(name: str, program: Program, simulator: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """`measure` for any program and any `options` of the target."""
    start = time.perf_counter()
    design = compiler.compile(program, **options)
    seconds = time.perf_counter() - start
    generator = np.random.default_rng(0)
    inputs = {a.name: generator.integers(0, 256, a.shape) for a in program.inputs}
    run = design.simulate(inputs, simulator)
    check_run(f"{name} on {options['memory']}", design, run, program, inputs)
    return {
        "cycles simulated": run.cycles, "cycles predicted": design.predicted_cycles,
        "lower bound": design.lower_bound, "ratio": round(run.cycles / design.lower_bound, 4),
        "path latency": design.path_latency, "resources": design.resources,
        "stalled cycles": run.stall_cycles, "clock cycles start to done": run.wall_cycles,
        "words live": sum(s.live_words for s in design.storage),
        "words allocated": sum(s.allocated_words for s in design.storage),
        "compile seconds": round(seconds, 2), "simulated cycles per second": round(run.cycles_per_second),
    }


def figures_of(app: str, memory: str) -> dict[str, Any]:
    """All figures of an application on one memory, or why the array is too small for it (`refused`)."""
    figures: dict[str, Any] = {"array": APPLICATIONS[app]}
    try:
        figures |= measure(app, memory, APPLICATIONS[app])
    except ArrayTooSmall as error:
        return figures | {"refused": str(error)}
    if app in ICARUS:
        case: dict[str, Any] = ICARUS[app] | {"array": LARGER.get((app, memory), ICARUS[app]["array"])}
        small = measure(app, memory, simulator="icarus", **case)
        figures["icarus"] = case | {key: small[key] for key in ("cycles simulated", "cycles predicted")}
    return figures


@reports_errors
def main() -> None:
    """Measure everything that is asked for and write the results."""
    measurement = Measurement("applications", "applications", "application", APPLICATIONS)
    parser = measurement.parser(__doc__)
    parser.add_argument("--memory", action="append", choices=MEMORIES, help="measure this memory (default: all)")
    options = measurement.parse(parser)
    partly = options.names or options.memory
    found: dict[str, dict[str, Any]] = kept_results(options.output, "applications") if partly else {}
    pairs = [(app, memory) for memory in options.memory or MEMORIES for app in options.names or APPLICATIONS]
    for app, memory in track(pairs, description="simulating", console=Console(stderr=True)):
        figures = found.get(app, {}) | {memory: figures_of(app, memory)}
        found[app] = {kind: figures[kind] for kind in MEMORIES if kind in figures}
        measurement.write(options.output, found, {})


if __name__ == "__main__":
    sys.exit(main())
