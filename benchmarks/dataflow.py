"""The dataflow target: ticks against their bound, words moved and kept, time from C to Verilog, area and MHz.

    python -m benchmarks.dataflow [--simulator icarus|verilator|none] [--area [NAME ...]] [--seeds N] [-o FILE]

Every program of ``apps/dataflow`` is compiled, simulated with random stalls of memory and compared with the
interpreter. Then the matrix product with 1, 2, 4 and 8 lanes, and with an adder of 12 ticks. `--area` measures instead,
on an ECP5-85 by yosys and nextpnr, the whole system (kernel, DMA, registers) of each program; results of what is not
measured this time are kept. With `--seeds` each is placed so many times, and the fastest placement counts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.area import GENERATED_MHZ, Subject, measure
from benchmarks.checks import check_run
from benchmarks.command import reports_errors
from benchmarks.results import RESULTS, write_results
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.target import compile_program
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from hw.dataflow.system import SYSTEM_MODULE
from hw.errors import SluiceError
from hw.sim.simulate import StallProfile

__all__ = ["main", "measure_design"]

_APPS = Path(__file__).parents[1] / "apps" / "dataflow"
_FLOAT = _APPS.parent / "float"
_SIZES = {"jacobi_2d": {"N": 16, "T": 4}, "lu": {"N": 20}, "triangular_solve": {"N": 24}}
"""Where the file's own sizes are too small to tell the steady state from its ends."""

_STALLS = StallProfile.uniform(0.2)
_MATRIX = 16
_LANES = (1, 2, 4, 8)
_DEEP = {"add": 12}


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dataflow", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", choices=("icarus", "verilator", "none"), default="icarus")
    parser.add_argument("--area", nargs="*", metavar="NAME", help="measure area and MHz (of all, or of these programs)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="with --area: placements tried (default 1)")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "dataflow.json", metavar="FILE")
    options = parser.parse_args(arguments)
    if options.area is None:
        _measure_cycles(options.simulator, options.output)
    else:
        _measure_area(options.area, options.output, options.seeds)


def measure_design(design: DataflowDesign, simulator: str) -> dict[str, Any]:
    """The figures of one design. Raises `FigureError` if a simulation's results or ticks are not as predicted."""
    bound, storage = design.bound, design.storage
    figures: dict[str, Any] = {
        "ticks": design.plan.kernel.ticks, "cycles predicted": design.predicted_cycles, "bound": bound.ticks,
        "busiest node": bound.busiest, "ratio": round(design.predicted_cycles / bound.ticks, 3),
        "words in": sum(s.words for s in design.plan.kernel.inputs),
        "words out": sum(s.words for s in design.plan.kernel.outputs),
        "words kept": sum(s.allocated_words for s in storage), "words live": sum(s.live_words for s in storage),
        "choices": design.plan.choices,
    }
    if simulator == "none":
        return figures
    inputs = random_inputs(design.program, 0)
    run = design.simulate(inputs, simulator, seed=1, stall=_STALLS)
    check_run(design.program.name, design, run, design.program, inputs)
    return figures | {"cycles simulated": run.cycles, "stall cycles": run.stall_cycles,
                      "wall cycles": run.wall_cycles, "beats read": run.counters["memory read beats"],
                      "beats written": run.counters["memory write beats"]}


def _measure_cycles(simulator: str, output: Path) -> None:
    console = Console(highlight=False)
    results: dict[str, Any] = {"simulator": simulator, "programs": {}, "matmul": {}}
    for path in sorted(_APPS.glob("*.c")):
        design, build = _built(path)
        results["programs"][path.stem] = {**measure_design(design, simulator), **build}
        _say(console, path.stem, results["programs"][path.stem])
    for name, options in _matrix_options().items():
        design = compile_program(load_c(_APPS / "matmul.c", N=_MATRIX), options)
        ideal = _MATRIX**3 * (12 if options.interleave == 1 else 1) // options.lanes
        figures = measure_design(design, simulator)
        results["matmul"][name] = {**figures, "N": _MATRIX, "ideal ticks": ideal,
                                   "over ideal": round(design.predicted_cycles / ideal - 1, 4)}
        _say(console, f"matmul {name}", results["matmul"][name])
    write_results(output, {**_kept(output), **results})


def _built(path: Path) -> tuple[DataflowDesign, dict[str, Any]]:
    """The design of a program, and what it took from C to Verilog: processor time, that of tools included."""
    sizes, start = _SIZES.get(path.stem, {}), sum(os.times()[:4])
    design = compile_program(load_c(path, **sizes), Options())
    lines = sum(text.count("\n") for text in design.executable.sources.values())
    return design, {"C to Verilog seconds": round(sum(os.times()[:4]) - start, 2), "sizes": sizes,
                    "lines of Verilog": lines}


def _matrix_options() -> dict[str, Options]:
    lanes = {f"P={lanes}": Options(lanes=lanes) for lanes in _LANES}
    return lanes | {"adder of 12 ticks, one sum at a time": Options(latency=_DEEP, interleave=1),
                    "adder of 12 ticks, interleaved": Options(latency=_DEEP),
                    "adder of 12 ticks, interleaved, P=4": Options(latency=_DEEP, lanes=4)}


def _say(console: Console, name: str, figures: Mapping[str, Any]) -> None:
    console.print(f"{name}: {figures['cycles predicted']} cycles, bound {figures['bound']}, "
                  f"ratio {figures['ratio']}, {figures['words kept']} words kept")


def _kept(output: Path) -> dict[str, Any]:
    """Results of earlier runs."""
    try:
        found = json.loads(output.read_text())
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if key != "python"}


def _subjects() -> dict[str, tuple[Path, dict[str, int], Options]]:
    """What area is measured of by name: file of a program, its sizes and options."""
    programs = {path.stem: (path, {}, Options()) for path in sorted(_APPS.glob("*.c"))}
    floating = {f"{path.stem} (float)": (path, {}, Options()) for path in sorted(_FLOAT.glob("*.c"))}
    return programs | floating | {"matmul P=4": (_APPS / "matmul.c", {"N": _MATRIX}, Options(lanes=4))}


def _measure_area(names: Sequence[str], output: Path, seeds: int) -> None:
    console = Console(highlight=False)
    subjects = _subjects()
    for name in names or subjects:
        if name not in subjects:
            raise SluiceError(f"there is no '{name}'; there are: {', '.join(subjects)}")
        path, sizes, options = subjects[name]
        program = load_c(path, **sizes)
        sources = compile_program(program, options).executable.sources
        subject = Subject(SYSTEM_MODULE, sources, alone=False, target_mhz=GENERATED_MHZ)
        figures = measure(subject, seeds=seeds)
        kept = _kept(output)
        write_results(output, {**kept, "area": {**kept.get("area", {}), name: figures}})
        console.print(f"{name}: {figures}")


if __name__ == "__main__":
    sys.exit(main())
