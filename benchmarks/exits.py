"""Loops that end when the data say so, on fpga and dataflow: cycles over the steps that the data ask for.

    python -m benchmarks.exits [NAME ...] [-o benchmarks/results/exits.json]

Cycles are measured in RTL simulation (Icarus) and must be those predicted for the data; results are compared with the
interpreter's. A step is a comparison of a symbol, a number that a pass of the merge sort puts in its place, or a step
of a point of Mandelbrot's set, counted by a few lines of Python here. The loop of `kmp_steps` is alone, those of the
other searches and of the points are inside others; a pass of `merge_sort` always takes the time of the longest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
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


def _comparisons_from_each_place(data: Data) -> int:
    """Comparisons of a search that begins anew at every place of the text."""
    pattern, text, count = data["pattern"], data["text"], 0
    for start in range(len(text) - len(pattern)):
        differs = np.flatnonzero(pattern != text[start:start + len(pattern)])
        count += int(differs[0]) + 1 if len(differs) else len(pattern)
    return count


def _point_steps(height: int, width: int, most: int) -> int:
    """Steps of all points of Mandelbrot's set, in numbers with 12 bits of fraction."""
    count = 0
    for y, x in product(range(height), range(width)):
        real, imag = (x - width // 2 - width // 6) * (12288 // width), (y - height // 2) * (8192 // height)
        a = b = 0
        for _ in range(most):
            count += 1
            if (a * a >> 12) + (b * b >> 12) > 4 << 12:
                break
            a, b = (a * a >> 12) - (b * b >> 12) + real, (a * b >> 11) + imag
    return count


@dataclass(frozen=True)
class _Case:
    """A C file of `apps/irregular` with its sizes, data by name, and how many steps they ask for. `options`: by
    target."""

    file: str
    sizes: Mapping[str, int]
    data: Mapping[str, Data]
    steps: Callable[[Data], int]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


_SEARCHES = {name: {**_PATTERN, "text": text.astype(np.int8)} for name, text in _TEXTS.items()}

_LONG = {"pattern": np.resize([1, 2, 1, 3], 16).astype(np.int8)}
_POINTS = {"H": 16, "W": 16, "MOST": 64}

PROGRAMS: Mapping[str, _Case] = {
    "kmp_steps": _Case("kmp_steps", {"N": 128}, _SEARCHES, _comparisons),
    "kmp": _Case("kmp", {"N": 128}, _SEARCHES, _comparisons),
    "kmp, pattern of 16": _Case("kmp", {"N": 32, "P": 16}, {"random": {
        **_LONG, "text": _TEXTS["random"][:32].astype(np.int8), "failure": np.r_[0, 0, 1, 0, 1:13].astype(np.int32)}},
        _comparisons),
    "naive_search": _Case("naive_search", {"N": 32, "P": 16}, {"random": {
        **_LONG, "text": _TEXTS["random"][:48].astype(np.int8)}}, _comparisons_from_each_place),
    "mandelbrot": _Case("mandelbrot", _POINTS, {"whole set": {}}, lambda _: _point_steps(*_POINTS.values()),
                        {"dataflow": {"interleave": 4}}),
    "merge_sort": _Case("merge_sort", {"N": 64, "PASSES": 6}, {"random": {
        "x_in": np.random.default_rng(0).integers(-999, 999, 64).astype(np.int32)}}, lambda _: 64 * 6),
}


def measure(name: str) -> dict[str, Any]:
    """Cycles of a program on each target. Raises `FigureError` if a result is wrong or cycles not the predicted
    ones."""
    case = PROGRAMS[name]
    program = load_c(_FOLDER / f"{case.file}.c", **case.sizes)
    return {target: _measured(f"{name} on {target}", compiler.compile(program, target=target,
                                                                      **case.options.get(target, {})), case)
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
