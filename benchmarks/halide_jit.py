"""Halide's own code on this machine's processor beside the times that designs are predicted to take.

    python -m benchmarks.halide_jit [NAME ...] [-o benchmarks/results/halide_jit.json]

A time of Halide is the best of several runs of compiled code, as the program is written: it has no schedule, so
that is one thread. A time of a design is its predicted start to done at the clock rate that the table of the targets
has for the program of that name, which is of smaller sizes: a model.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.registry import compile_program
from compiler.frontend.apps import import_application, shipped
from compiler.frontend.halide import HalideProgram, load_pipeline
from compiler.ir.types import Int

__all__ = ["PROGRAMS", "halide_table", "main", "measured"]

PROGRAMS: dict[str, dict[str, int]] = {
    "gaussian": {"width": 256, "height": 256}, "harris": {"width": 256, "height": 256},
    "unsharp": {"width": 256, "height": 256}}
"""Applications of `apps/halide`, and their sizes."""

TARGETS = ("fpga", "dataflow")
_RUNS = 20

MEASUREMENT = Measurement("halide_jit", "programs", "program", PROGRAMS)


def _loaded(name: str) -> HalideProgram:
    module = import_application(shipped()[f"halide/{name}"])
    return load_pipeline(module.build(**PROGRAMS[name]), name=name)


def measured(name: str) -> dict[str, Any]:
    """Milliseconds of Halide, and of each target's design."""
    loaded = _loaded(name)
    generator = np.random.default_rng(0)
    inputs = {}
    for array in loaded.program.inputs:
        assert isinstance(array.type, Int)
        inputs[array.name] = generator.integers(0, 256, array.shape, array.type.dtype)
    found: dict[str, Any] = {"size": PROGRAMS[name], "halide ms": round(1e3 * loaded.seconds(inputs, _RUNS), 3)}
    for target in TARGETS:
        start = time.process_time()
        design = compile_program(loaded.program, target)
        mhz = read_results("targets")["programs"][name][target]["mhz"]["mhz"]
        found[target] = {"start to done predicted": design.predicted_start_to_done, "mhz": mhz,
                         "ms": round(design.predicted_start_to_done / mhz / 1e3, 3),
                         "compile seconds": round(time.process_time() - start, 1)}
    return found


def halide_table() -> str:
    """The committed results as Markdown."""
    results = read_results("halide_jit")
    rows = [[name, f"{found['size']['width']}x{found['size']['height']}", f"{found['halide ms']}",
             *(f"{found[t]['start to done predicted']} / {found[t]['mhz']} MHz = {found[t]['ms']}" for t in TARGETS)]
            for name, found in results["programs"].items()]
    text = (f"Pipelines of `apps/halide` (`python -m benchmarks.halide_jit`): milliseconds of Halide's compiled code "
            f"on {results['processor']}, one thread, the best of {results['runs']} runs, and of designs: predicted "
            "cycles from start to done at the clock rate that the table of the targets has for smaller sizes (model).")
    return f"{text}\n\n{table(['program', 'size', 'Halide ms', *(f'{t} ms' for t in TARGETS)], rows)}"


def _processor() -> str:
    """The name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "a processor")


@reports_errors
def main() -> None:
    """Measure the programs that are asked for and write the results."""
    MEASUREMENT.run(MEASUREMENT.parse(MEASUREMENT.parser(__doc__)), measured,
                    {"processor": _processor(), "runs": _RUNS})


if __name__ == "__main__":
    sys.exit(main())
