"""Cycles, resources, compile time and simulation speed of every application on both memories.

    python -m benchmarks.applications [--array 8x4] [-o benchmarks/results/applications.json]

Every cycle count is measured in RTL simulation of the emitted Verilog, which is compared with the reference.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import compiler
from benchmarks.results import RESULTS, write_results
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from hw.errors import SluiceError

__all__ = ["APPLICATIONS", "main", "measure"]

APPLICATIONS = ("gaussian", "conv_3_3", "cascade", "brighten_blur", "upsample", "gaussian_tiled")
MEMORIES = ("pub", "dual-port")


class FigureError(SluiceError):
    """A measurement whose result is wrong: its figures mean nothing."""


def measure(app: str, memory: str, array: str) -> dict[str, Any]:
    """Compile and simulate one application at its published size. Raises `FigureError` if a result is wrong."""
    start = time.perf_counter()
    program = load(app)
    design = compiler.compile(program, memory=memory, array=array)
    seconds = time.perf_counter() - start
    generator = np.random.default_rng(0)
    inputs = {a.name: generator.integers(0, 256, a.shape) for a in program.inputs}
    run = design.simulate(inputs)
    for name, expected in interpret(program, inputs).items():
        if not np.array_equal(run.outputs[name], expected):
            raise FigureError(f"{app} on {memory}: output {name} differs from the reference")
    return {
        "cycles simulated": run.cycles, "cycles predicted": design.predicted_cycles,
        "lower bound": design.lower_bound, "ratio": round(run.cycles / design.lower_bound, 4),
        "path latency": design.path_latency, "resources": design.resources,
        "stalled cycles": run.stall_cycles, "clock cycles start to done": run.wall_cycles,
        "words live": sum(s.live_words for s in design.storage),
        "words allocated": sum(s.allocated_words for s in design.storage),
        "compile seconds": round(seconds, 2), "simulated cycles per second": round(run.cycles_per_second),
    }


def main() -> int:
    """Measure everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--array", default="8x4")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "applications.json")
    options = parser.parse_args()
    pairs = [(app, memory) for memory in MEMORIES for app in APPLICATIONS]
    try:
        figures: dict[str, dict[str, Any]] = {app: {} for app in APPLICATIONS}
        for app, memory in track(pairs, description="simulating", console=Console(stderr=True)):
            figures[app][memory] = measure(app, memory, options.array)
    except SluiceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write_results(options.output, {"array": options.array, "applications": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
