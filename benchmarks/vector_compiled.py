"""Cycles of the vector applications compiled from parallel arrays, against those written by hand (Liu 2012, table 5.2).

    python -m benchmarks.vector_compiled [--lanes 1,4,16,64] [--app fir] [--element word,half,byte] [-o FILE]

Each application is compiled to C, runs on the emitted Verilog in Verilator with the memory of `benchmarks.vector`, and
is compared bit for bit with numpy. The sizes and the element types are those of the programs written by hand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.command import reports_errors
from benchmarks.results import RESULTS, kept_results, read_results, write_results
from benchmarks.vector import LANES, VectorFigureError, parse_lanes
from benchmarks.vector_cases import CASES, ELEMENTS
from compiler.bind.vector.apps import applications, load
from compiler.bind.vector.target import Options, compile_arrays

__all__ = ["HAND_WRITTEN", "main", "measure"]

HAND_WRITTEN = {"fir": "fir", "fir2d": "2Dfir", "life": "life", "imgblend": "imgblend", "median": "median",
                "motest": "motest"}
"""Applications of parallel arrays and the names of the same benchmarks written by hand."""

SIGNED = ("fir2d",)
"""Applications of signed numbers; the others are of unsigned ones."""


def measure(name: str, lanes: int, element: str = "word") -> dict[str, Any]:
    """Compile and run one application. Raises `VectorFigureError` if a result differs from numpy's."""
    program = load(name, dtype=f"{'' if name in SIGNED else 'u'}int{8 * ELEMENTS[element]}")
    inputs = program.random_inputs(np.random.default_rng(4))
    start = time.process_time()
    design = compile_arrays(program, Options(lanes=lanes))
    seconds = time.process_time() - start
    run = design.simulate(inputs)
    for output, expected in program.reference(inputs).items():
        if not np.array_equal(run.outputs[output], expected):
            raise VectorFigureError(f"{name} of {element}s on V{lanes}: '{output}' is not what numpy computes")
    figures = design.figures
    return {"cycles": run.cycles, "predicted (model)": design.predicted_cycles, "bound": design.lower_bound,
            "ratio": round(run.cycles / design.lower_bound, 3), "wavefronts": figures.wavefronts,
            "memory bound": -(-figures.memory_bytes // design.spec.memory_bytes),
            "operations": round(figures.operations), "transferred bytes": figures.memory_bytes,
            "compile seconds": round(seconds, 2)}


def _hand_written(name: str, lanes: int, element: str) -> int | None:
    """Cycles of the program written by hand, if they are among the committed results."""
    try:
        return read_results("vector")["benchmarks"][HAND_WRITTEN[name]][element][f"V{lanes}"]["cycles"]
    except (OSError, KeyError):
        return None


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", default=",".join(map(str, LANES)), help="lanes of the machines, with commas")
    parser.add_argument("--app", choices=applications(), help="one application instead of all")
    parser.add_argument("--element", choices=list(ELEMENTS), help="one element type instead of all")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "vector_compiled.json")
    options = parser.parse_args(arguments)
    figures = kept_results(options.output, "applications")
    for name in [options.app] if options.app else HAND_WRITTEN:
        for element in [e for e in CASES[HAND_WRITTEN[name]].elements if options.element in (None, e)]:
            lines = figures.setdefault(name, {}).setdefault(element, {})
            for lanes in parse_lanes(options.lanes):
                lines[f"V{lanes}"] = measure(name, lanes, element)
                _report(name, lanes, element, lines[f"V{lanes}"])
                write_results(options.output, {"memory latency": 20, "applications": figures})


def _report(name: str, lanes: int, element: str, line: dict[str, Any]) -> None:
    hand = _hand_written(name, lanes, element)
    beside = f", {hand / line['cycles']:.2f} times as fast as written by hand" if hand else ""
    bound = f"bound {line['bound']}, ratio {line['ratio']}, {line['operations']} operations"
    Console(width=160).print(f"{name:9}{element:5} V{lanes:<3} {line['cycles']} cycles, {bound}{beside}",
                             highlight=False)


if __name__ == "__main__":
    sys.exit(main())
