"""Halide's own code on this machine's processor beside the times that designs are predicted to take.

    python -m benchmarks.halide_jit [NAME ...] [-o benchmarks/results/halide_jit.json]

A time of Halide is the best of several runs of compiled code, as the program is written: it has no schedule, so
that is one thread. A time of a design is its predicted start to done at the clock rate that the table of the targets
has for the program of that name, which is of smaller sizes: a model. Programs that the table does not have get cycles
alone. The interpreter's results are compared with Halide's at the same size.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.registry import compile_program
from compiler.frontend.apps import import_application, shipped
from compiler.frontend.halide import HalideProgram, load_pipeline
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Array, Program
from compiler.ir.types import Float, Int
from hw.errors import SluiceError

__all__ = ["PROGRAMS", "halide_table", "main", "measured"]

_SQUARE = {"width": 512, "height": 512}
PROGRAMS: dict[str, dict[str, int]] = {
    "gaussian": _SQUARE, "harris": _SQUARE, "unsharp": _SQUARE, "blur": _SQUARE, "gaussian_pyramid": {"size": 512},
    "upsample": {"width": 256, "height": 256}, "laplacian_pyramid": {"size": 512},
    "camera_pipeline": {"width": 128, "height": 128}, "conv_layer": {"size": 32}, "gemm": {"size": 128},
    "interpolate": _SQUARE, "local_laplacian": {"width": 128, "height": 128},
    "bilateral_grid": {"width": 128, "height": 128}}
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
    inputs = {array.name: _drawn(array, generator) for array in loaded.program.inputs}
    found: dict[str, Any] = {"size": PROGRAMS[name], "halide ms": round(1e3 * loaded.seconds(inputs, _RUNS), 3),
                             "interpreter seconds": _interpreted(loaded, inputs)}
    for target in TARGETS:
        try:
            found[target] = _predicted(loaded.program, name, target)
        except SluiceError as error:
            found[target] = {"refused": str(error)}
    return found


def _drawn(array: Array, generator: np.random.Generator) -> np.ndarray:
    if isinstance(array.type, Float):
        return generator.uniform(0, 1, array.shape).astype(array.type.dtype)
    assert isinstance(array.type, Int)
    return generator.integers(0, min(256, array.type.maximum + 1), array.shape, array.type.dtype)


def _interpreted(loaded: HalideProgram, inputs: Mapping[str, np.ndarray]) -> float:
    """Processor seconds of the interpreter, whose results have to be Halide's."""
    wanted, start = loaded.reference(inputs), time.process_time()
    results = interpret(loaded.program, inputs)
    seconds = time.process_time() - start
    for output, values in wanted.items():
        if not same(results[output], values):
            raise SluiceError(f"{loaded.program.name}: the interpreter's {output} is not Halide's")
    return round(seconds, 1)


def _predicted(program: Program, name: str, target: str) -> dict[str, Any]:
    """Of a design: cycles, and their time where the clock rate is known."""
    start = time.process_time()
    cycles = compile_program(program, target).predicted_start_to_done
    found = {"start to done predicted": cycles, "compile seconds": round(time.process_time() - start, 1)}
    mhz = read_results("targets")["programs"].get(name, {}).get(target, {}).get("mhz", {}).get("mhz")
    return found | ({"mhz": mhz, "ms": round(cycles / mhz / 1e3, 3)} if mhz else {})


def halide_table() -> str:
    """The committed results as Markdown."""
    results = read_results("halide_jit")
    rows = [[name, "x".join(map(str, found["size"].values())), f"{found['halide ms']}",
             *(_time(found[t]) for t in TARGETS)]
            for name, found in results["programs"].items()]
    text = (f"Pipelines of `apps/halide` (`python -m benchmarks.halide_jit`): milliseconds of Halide's compiled code "
            f"on {results['processor']}, one thread, the best of {results['runs']} runs, and of designs: predicted "
            "cycles from start to done at the clock rate that the table of the targets has for smaller sizes (model).")
    return f"{text}\n\n{table(['program', 'size', 'Halide ms', *(f'{t} ms' for t in TARGETS)], rows)}"


def _time(found: dict[str, Any]) -> str:
    if "refused" in found:
        return "-"
    cycles = f"{found['start to done predicted']}"
    return f"{cycles} / {found['mhz']} MHz = {found['ms']}" if "mhz" in found else f"{cycles} cycles"


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
