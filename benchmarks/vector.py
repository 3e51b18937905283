"""Cycles of the vector benchmarks written by hand in C, and of plain C on the same scalar core.

    python -m benchmarks.vector [--lanes 1,4,16,64] [--case fir] [--element word] [--smoke] [--model] [-o FILE]

Every program runs on the emitted Verilog in Verilator; its results are compared bit for bit with numpy, and its lower
bound is that of the operations and bytes that it really uses, counted by running the same program on the instruction
simulator. `--model` does only the latter: it prints bounds and no cycles.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.results import RESULTS, write_results
from benchmarks.vector_cases import CASES, ELEMENTS, Arrays, Case
from hw.errors import SluiceError
from hw.soc.model import model_firmware
from hw.soc.program import Firmware, build_program
from hw.soc.run import run_firmware
from hw.vector_lanes.spec import VectorSpec

__all__ = ["LANES", "LATENCY", "SCALAR_LANES", "VectorFigureError", "lower_bound", "main", "measure_rate",
           "measure_scalar", "measure_shortest", "measure_vector", "model_vector", "parse_lanes"]

LANES = (1, 4, 16, 64)
SCALAR_LANES = 4
"""The system whose scalar core runs the plain C programs."""

LATENCY = 20
"""Cycles from a read address to its first data, as a DRAM has it. Reads and writes share one beat per cycle."""

RATE_LANES, RATE_MACROS = 16, {"N": 4096, "LENGTH": 64}
"""Machine and sizes of the measurement of the instruction rate."""

MEMORY_BYTES = 1 << 21
OPTIONS = ("-O3",)

_FOLDER = Path(__file__).parent / "vector_c"


class VectorFigureError(SluiceError):
    """A measurement whose result is wrong: its figures mean nothing."""


def _program(source: str, spec: VectorSpec, size: int, macros: Mapping[str, int]) -> Firmware:
    files = [_FOLDER / f"{source}.c", *sorted(_FOLDER.glob("*.h"))]
    return build_program(files, spec, defines={"ELEMENT": size, **macros}, options=OPTIONS, memory_bytes=MEMORY_BYTES)


def _data(case: Case, element: str, macros: Mapping[str, int]) -> tuple[Arrays, Arrays]:
    size = ELEMENTS[element]
    inputs = case.inputs(size, macros, np.random.default_rng(size))
    return inputs, case.reference(size, macros, inputs)


def _compare(what: str, array: Callable[[str, Any], np.ndarray[Any, Any]], expected: Arrays) -> None:
    for name, values in expected.items():
        got = array(name, values.dtype)[: values.size].reshape(values.shape)
        if not np.array_equal(got, values):
            place = tuple(int(i) for i in np.argwhere(got != values)[0])
            raise VectorFigureError(f"{what}: {name}{list(place)} is {got[place]}, the reference says {values[place]}")


def lower_bound(counts: Mapping[str, int], spec: VectorSpec) -> dict[str, Any]:
    """Cycles that the lanes and the memory need at least for what a program uses, each if it were never idle."""
    lanes = -(-counts["operation_bytes"] // spec.row_bytes)
    memory = -(-counts["dma_bytes"] // spec.memory_bytes)
    return {"operations": counts["operations"], "transferred bytes": counts["dma_bytes"], "ALU bound": lanes,
            "memory bound": memory, "bound": max(lanes, memory)}


def model_vector(case: Case, element: str, lanes: int, macros: Mapping[str, int]) -> dict[str, Any]:
    """Run a vector program on the instruction-set simulator. Raises `VectorFigureError` if its result is wrong."""
    spec = VectorSpec(lanes)
    inputs, expected = _data(case, element, macros)
    result = model_firmware(_program(case.source, spec, ELEMENTS[element], macros), spec, loads=inputs)
    _compare(f"{case.name}, {element}, V{lanes}, simulator", result.array, expected)
    return {**lower_bound(result.kernel, spec), "core instructions": result.kernel["instructions"],
            "vector instructions": result.kernel["vector_instructions"], "wavefronts": result.kernel["ideal_cycles"]}


def measure_vector(case: Case, element: str, lanes: int, macros: Mapping[str, int]) -> dict[str, Any]:
    """The same and its cycles in RTL simulation."""
    figures = model_vector(case, element, lanes, macros)
    spec = VectorSpec(lanes)
    inputs, expected = _data(case, element, macros)
    start = time.perf_counter()
    result = run_firmware(_program(case.source, spec, ELEMENTS[element], macros), spec, loads=inputs,
                          dumps=list(expected), latency=LATENCY)
    seconds = time.perf_counter() - start
    _compare(f"{case.name}, {element}, V{lanes}, Verilator", result.array, expected)
    cycles, counters = result.kernel_cycles, result.counters
    return {**figures, "cycles": cycles, "ratio": round(cycles / figures["bound"], 3), "busy": counters.busy,
            "bubbles": counters.bubbles, "simulation seconds": round(seconds, 1)}


def measure_scalar(case: Case, smoke: bool = False) -> dict[str, int]:
    """Cycles of the plain C version on words: `measured`, of one of `parts` parts of the problem, and all of it.

    Raises `VectorFigureError` if its result is wrong.
    """
    spec, parts = VectorSpec(SCALAR_LANES), 1 if smoke else case.part
    macros = dict(case.smoke if smoke else case.sizes)
    if parts > 1:
        macros["ROWS"] //= parts
    inputs, expected = _data(case, "word", macros)
    result = run_firmware(_program(f"{case.source}_scalar", spec, ELEMENTS["word"], macros), spec, loads=inputs,
                          dumps=list(expected), latency=LATENCY, cycle_limit=200_000_000)
    _compare(f"{case.name}, plain C", result.array, expected)
    return {"cycles": result.kernel_cycles * parts, "measured": result.kernel_cycles, "parts": parts}


def measure_shortest(lanes: int) -> int:
    """Cycles of the shortest program that loads, computes and stores. Raises `VectorFigureError`."""
    spec = VectorSpec(lanes)
    result = run_firmware(_program("shortest", spec, ELEMENTS["word"], {}), spec, dumps=["y"], latency=LATENCY,
                          loads={"x": np.array([41], np.int32)})
    _compare(f"shortest program, V{lanes}", result.array, {"y": np.array([42], np.int32)})
    return result.kernel_cycles


def measure_rate() -> dict[str, Any]:
    """How busy the core keeps the lanes with short vectors: rate.c, data in the scratchpad."""
    case, spec = CASES["fir"], VectorSpec(RATE_LANES)
    inputs, expected = _data(case, "word", RATE_MACROS)
    result = run_firmware(_program("rate", spec, ELEMENTS["word"], RATE_MACROS), spec, loads=inputs,
                          dumps=list(expected), latency=LATENCY)
    _compare("instruction rate", result.array, expected)
    return {"lanes": RATE_LANES, "vector length": RATE_MACROS["LENGTH"], "cycles": result.kernel_cycles,
            "instructions": result.counters.instructions, "busy": result.counters.busy,
            "busy share": round(result.counters.busy / result.kernel_cycles, 4)}


# --- command line -----------------------------------------------------------------------------------------------------


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", default=",".join(map(str, LANES)), help="lanes of the machines, with commas")
    parser.add_argument("--case", choices=list(CASES), help="one benchmark instead of all")
    parser.add_argument("--element", choices=list(ELEMENTS), help="one element type instead of all")
    parser.add_argument("--smoke", action="store_true", help="small problems")
    parser.add_argument("--model", action="store_true", help="no RTL simulation")
    parser.add_argument("--vector-only", action="store_true", help="do not run plain C")
    parser.add_argument("--update", action="store_true", help="keep the other figures of the output file")
    parser.add_argument("-o", "--output", type=Path,
                        help="JSON file (default for a run of everything: benchmarks/results/vector.json)")
    return parser.parse_args(arguments)


def parse_lanes(text: str) -> list[int]:
    """Numbers of lanes from a text such as ``1,4``. Raises `VectorFigureError`."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise VectorFigureError(f"--lanes takes numbers with commas between them, not '{text}'") from None


def _measure_case(case: Case, options: argparse.Namespace, figures: dict[str, Any], console: Console) -> None:
    """Add to the figures of a benchmark: of plain C, and by element type and machine."""
    macros = case.smoke if options.smoke else case.sizes
    if not (options.model or options.vector_only or "plain C" in figures):
        figures["plain C"] = measure_scalar(case, options.smoke)
    for element in [e for e in case.elements if options.element in (None, e)]:
        for lanes in parse_lanes(options.lanes):
            measure = model_vector if options.model else measure_vector
            line = measure(case, element, lanes, macros)
            figures.setdefault(element, {})[f"V{lanes}"] = line
            console.print(f"{case.name:9}{element:5} V{lanes:<3} {_summary(line)}", highlight=False)
    _add_speed_ups(case, figures)


def _add_speed_ups(case: Case, figures: dict[str, Any]) -> None:
    """How many times faster than plain C every measured line is."""
    if "plain C" in figures:
        for line in [line for element in case.elements for line in figures.get(element, {}).values()]:
            if "cycles" in line:
                line["speed-up"] = round(figures["plain C"]["cycles"] / line["cycles"], 2)


def _summary(line: Mapping[str, Any]) -> str:
    text = f"bound {line['bound']} (ALU {line['ALU bound']}, memory {line['memory bound']})"
    if "cycles" in line:
        text = f"{line['cycles']} cycles, {text}, ratio {line['ratio']}"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and write the results."""
    options = _arguments(arguments)
    console = Console(width=160)
    cases = [CASES[options.case]] if options.case else list(CASES.values())
    whole = not (options.smoke or options.model or options.vector_only or options.case or options.element)
    output = options.output or (RESULTS / "vector.json" if whole or options.update else None)
    try:
        results = _earlier(output, options)
        for case in cases:
            _measure_case(case, options, results["benchmarks"].setdefault(case.name, {}), console)
            if output:
                write_results(output, results)
        if whole:
            results["instruction rate"] = measure_rate()
            results["shortest program"] = {f"V{lanes}": measure_shortest(lanes) for lanes in parse_lanes(options.lanes)}
    except SluiceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if output:
        write_results(output, results)
    return 0


def _earlier(output: Path | None, options: argparse.Namespace) -> dict[str, Any]:
    """The results to add figures to: those in the file with `--update`, else none."""
    fresh = {"problem": "smoke" if options.smoke else "full", "scalar core of": f"V{SCALAR_LANES}",
             "memory latency": LATENCY, "compiler options": list(OPTIONS), "benchmarks": {}}
    if not options.update or output is None or not output.exists():
        return fresh
    try:
        earlier = json.loads(output.read_text())
        same = all(earlier[key] == fresh[key] for key in fresh if key != "benchmarks")
    except (ValueError, KeyError, OSError) as error:
        raise VectorFigureError(f"{output} cannot be updated: {error}") from error
    if not same:
        raise VectorFigureError(f"{output} has figures of another kind of run and cannot be updated")
    return {**fresh, **earlier}


if __name__ == "__main__":
    sys.exit(main())
