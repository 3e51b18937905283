"""LU decomposition on a triangular array: cycles in RTL simulation, load and drain included, against published ones.

    python -m benchmarks.systolic_lu [-n 12,16,20,24] [-f 12,16] [--simulator icarus]
                                     [-o benchmarks/results/systolic_lu.json]

The source is PolyBench's, in place (`apps/systolic/lu.c`), in integers of 32 bits, and in `float` with operators
of the cycles in `LATENCIES`. Cycles go from the start command to the end of the run: memory reads and writes and
everything between them. In `float` the model's cycles are taken for all sizes, and those of RTL for the sizes of `-f`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import RESULTS, write_results
from compiler.bind.systolic.recurrence import RecurrenceDesign, Settings, compile_recurrence
from compiler.frontend.c_scop import load_c
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.dataflow.floating import FLOAT_LATENCY
from hw.errors import SluiceError

__all__ = ["PUBLISHED", "main", "matrix"]

PUBLISHED = {12: 855, 16: 1308, 20: 1920, 24: 2610}
"""Cycles by matrix size (Wang 2021, table 8: microseconds at 250 MHz)."""

LATENCIES: dict[str, dict[str, int] | None] = {
    "float32, short operators": {"add": 4, "sub": 4, "mul": 3, "div": 11}, "float32": None}
"""Cycles of operators on floating-point numbers, where they are not `hw.dataflow.floating.FLOAT_LATENCY`. The short
ones have clock rates that are near each other, and runs take at most half of the published cycles."""

SPACE = ("j", "k")
SOURCE = Path(__file__).resolve().parents[1] / "apps" / "systolic" / "lu.c"


class FigureError(SluiceError):
    """A figure that cannot be taken."""


def matrix(size: int, seed: int) -> np.ndarray:
    """A matrix whose elimination has small numbers, quotients that are not all exact, and no zero among its pivots."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        lower = np.tril(rng.integers(-3, 4, (size, size)), -1) + np.eye(size, dtype=np.int64)
        upper = np.triu(rng.integers(-9, 10, (size, size)), 1) + np.diag(rng.choice([-7, -3, 2, 5, 8], size))
        found = lower @ upper + rng.integers(-1, 2, (size, size))
        if _pivots(found).all():
            return found
    raise FigureError(f"no matrix of size {size} without a zero among its pivots was found")


def _pivots(values: np.ndarray) -> np.ndarray:
    """The diagonal after elimination; 0 from a zero, or a number that does not fit 32 bits, on."""
    work = values.astype(object)
    size = len(work)
    found = np.zeros(size, bool)
    for k in range(size):
        if work[k, k] == 0 or abs(work).max() >= 1 << 31:
            return found
        found[k] = True
        for i in range(k + 1, size):
            magnitude = abs(work[i, k]) // abs(work[k, k])
            work[i, k] = -magnitude if (work[i, k] < 0) != (work[k, k] < 0) else magnitude
            work[i, k + 1 :] -= work[i, k] * work[k, k + 1 :]
    return found


def measure(size: int, simulator: str) -> dict[str, Any]:
    """The figures of one size. Raises `FigureError` if the hardware's result is not the interpreter's."""
    return _measured(size, simulator, load_c(SOURCE, N=size), matrix(size, size), Settings())


def measure_floats(size: int, simulator: str, latency: dict[str, int] | None) -> dict[str, Any]:
    """The same in single precision."""
    values = np.random.default_rng(size).standard_normal((size, size)).astype(np.float32)
    return _measured(size, simulator, _floats(size), values, Settings(floats=latency))


def predict_floats(size: int, latency: dict[str, int] | None) -> int:
    """Cycles from start to done in single precision, by the model."""
    return compile_recurrence(_floats(size), SPACE, Settings(floats=latency)).predicted_start_to_done


def _floats(size: int) -> Program:
    return load_c(SOURCE, N=size, FLOAT_BITS=32)


def _measured(size: int, simulator: str, program: Program, values: np.ndarray, settings: Settings) -> dict[str, Any]:
    design = compile_recurrence(program, SPACE, settings)
    inputs = {"A_in": values}
    run = design.simulate(inputs, simulator)
    if not same(run.outputs["A"], interpret(program, inputs)["A"]):
        raise FigureError(f"LU of size {size}: the array's result is not the interpreter's")
    return {"cycles": run.wall_cycles, "published": PUBLISHED.get(size), **_parts(design, run.cycles)}


def _parts(design: RecurrenceDesign, cycles: int) -> dict[str, Any]:
    return {
        "first word in to last word out": cycles, "of the model": design.predicted_cycles,
        "longest chain or stream": design.lower_bound, "resources": design.resources,
        "compile seconds": round(design.compile_seconds, 2),
    }


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--sizes", default=",".join(map(str, PUBLISHED)), help="matrix sizes")
    parser.add_argument("-f", "--floats", default="12,16", help="sizes in RTL in single precision")
    parser.add_argument("--simulator", default="icarus", choices=("icarus", "verilator"))
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "systolic_lu.json")
    options = parser.parse_args()
    results: dict[str, Any] = {"space loops": ", ".join(SPACE), "simulator": options.simulator, "sizes": {}}
    sizes = [int(size) for size in options.sizes.split(",")]
    results["floats"] = {}
    try:
        for size in sizes:
            results["sizes"][str(size)] = measure(size, options.simulator)
            print(f"n = {size}: {results['sizes'][str(size)]['cycles']} cycles, published {PUBLISHED.get(size, '-')}")
        for name, latency in LATENCIES.items():
            kind = {"latency": {**FLOAT_LATENCY, **(latency or {})},
                    "model": {str(size): predict_floats(size, latency) for size in sizes}, "sizes": {}}
            results["floats"][name] = kind
            for size in (int(size) for size in options.floats.split(",") if size):
                kind["sizes"][str(size)] = found = measure_floats(size, options.simulator, latency)
                print(f"{name}, n = {size}: {found['cycles']} cycles", flush=True)
    except (SluiceError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write_results(options.output, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
