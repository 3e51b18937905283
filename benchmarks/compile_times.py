"""Processor time that compiling takes on the whole 16x32 array, place, route and validation included.

    python -m benchmarks.compile_times [NAME ...] [-o benchmarks/results/compile_times.json]

Processor time, because other work on the machine does not count in it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import compiler
from benchmarks.applications import APPLICATIONS
from benchmarks.command import Measurement, reports_errors
from benchmarks.resnet_layers import LAYERS, part_of
from compiler.frontend.apps import load
from compiler.ir.program import Program

__all__ = ["PROGRAMS", "main", "measured"]

OPTIONS = {"memory": "pub", "array": "16x32"}
_LIMITS = {"stencil": 10, "layer": 60}
"""Seconds that compiling may take."""
_LAYERS = ("gemm", "resnet_layer", "mobilenet_layer")
_LARGEST = "conv3_x"
"""The ResNet layer whose part is among the programs."""

PROGRAMS = {app: "layer" if app in _LAYERS else "stencil" for app in APPLICATIONS} | {f"ResNet {_LARGEST}": "layer"}
"""What is compiled, and what kind of program it is."""

MEASUREMENT = Measurement("compile_times", "programs", "program", PROGRAMS)


def _program(name: str) -> Program:
    return load(name) if name in APPLICATIONS else load("resnet_layer", **part_of(LAYERS[_LARGEST]))


def measured(name: str) -> dict[str, Any]:
    """Compile a program and say how long that takes."""
    program = _program(name)
    options = OPTIONS if name in APPLICATIONS else {**OPTIONS, "tile_depth": 2}
    start = time.process_time()
    design = compiler.compile(program, **options)
    seconds = time.process_time() - start
    kind = PROGRAMS[name]
    return {"kind": kind, "seconds": round(seconds, 2), "limit": _LIMITS[kind], "resources": design.resources,
            "cycles predicted": design.predicted_cycles, "lower bound": design.lower_bound}


@reports_errors
def main() -> None:
    """Measure the programs that are asked for and write the results."""
    MEASUREMENT.run(MEASUREMENT.parse(MEASUREMENT.parser(__doc__)), measured, OPTIONS)


if __name__ == "__main__":
    sys.exit(main())
