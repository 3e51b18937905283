"""Loops that end when the data say so, on fpga and dataflow: cycles over the steps that the data ask for.

    python -m benchmarks.exits [NAME ...] [-o benchmarks/results/exits.json]

Cycles are measured in RTL simulation (Icarus) and must be those predicted for the data; results are compared with the
interpreter's. A step is a comparison of a symbol, or a number that a pass of the merge sort puts in its place, counted
by a few lines of Python here. Of these programs only `kmp_steps` has a loop that ends early; a position of `kmp` and a
pass of `merge_sort` always take the time of the longest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from benchmarks.checks import check_run
from benchmarks.command import Measurement, reports_errors
from compiler.bind.design import Design
from compiler.frontend.c_scop import load_c

__all__ = ["PROGRAMS", "TARGETS", "main", "measure"]

TARGETS = ("fpga", "dataflow")
_FOLDER = Path(__file__).parents[1] / "apps" / "irregular"

Data = Mapping[str, np.ndarray]

_PATTERN = {"pattern": np.array([1, 2, 1, 3], np.int8), "failure": np.array([0, 0, 1, 0], np.int32)}
_TEXTS = {"random": np.random.default_rng(0).integers(1, 4, 128), "matching": np.resize([1, 2, 1, 3], 128),
          "failing": np.resize([1, 1], 128)}


def _comparisons(data: Data) -> int:
    """Comparisons of Knuth, Morris and Pratt's search."""
    pattern, failure, state, count = data["pattern"], data["failure"], 0, 0
    for symbol in data["text"]:
        count += 1
        while state > 0 and pattern[state] != symbol:
            state = int(failure[state - 1])
            count += 1
        state += int(pattern[state] == symbol)
        state = int(failure[-1]) if state == len(pattern) else state
    return count


@dataclass(frozen=True)
class _Case:
    """A C file of `apps/irregular` with its sizes, data by name, and how many steps they ask for."""

    file: str
    sizes: Mapping[str, int]
    data: Mapping[str, Data]
    steps: Callable[[Data], int]


_SEARCHES = {name: {**_PATTERN, "text": text.astype(np.int8)} for name, text in _TEXTS.items()}

PROGRAMS: Mapping[str, _Case] = {
    "kmp_steps": _Case("kmp_steps", {"N": 128}, _SEARCHES, _comparisons),
    "kmp": _Case("kmp", {"N": 128}, _SEARCHES, _comparisons),
    "merge_sort": _Case("merge_sort", {"N": 5, "PASSES": 3},
                        {"random": {"x_in": np.array([7, -2, 9, 0, 3], np.int32)}}, lambda _: 5 * 3),
}


def measure(name: str) -> dict[str, Any]:
    """Cycles of a program on each target. Raises `FigureError` if a result is wrong or cycles not the predicted
    ones."""
    case = PROGRAMS[name]
    program = load_c(_FOLDER / f"{case.file}.c", **case.sizes)
    return {target: _measured(f"{name} on {target}", compiler.compile(program, target=target), case)
            for target in TARGETS}


def _measured(name: str, design: Design, case: _Case) -> dict[str, Any]:
    program, rows = design.program, {}
    for kind, data in case.data.items():
        inputs = {array.name: data.get(array.name, data.get(f"{array.name}_in")) for array in program.inputs}
        given = {key: value for key, value in inputs.items() if value is not None}
        run = design.simulate(given, "icarus")
        check_run(f"{name}, {kind}", design, run, program, given)
        steps = case.steps(data)
        rows[kind] = {"steps": steps, "cycles simulated": run.cycles, "predicted": design.cycles_for(given),
                      "start to done": run.wall_cycles, "cycles per step": round(run.cycles / steps, 2)}
    return {"least": design.least_cycles, "most": design.predicted_cycles, "data": rows}


@reports_errors
def main() -> None:
    """Measure and write."""
    Measurement("exits", "programs", "program", PROGRAMS).command(__doc__, measure)


if __name__ == "__main__":
    sys.exit(main())
