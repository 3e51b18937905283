"""The same programs on every target that takes them: cycles and their ratio to the target's lower bound, area, MHz.

    python -m benchmarks.targets [--target NAME ...] [--program NAME ...] [--only cycles,rtl,area,mhz] [-o FILE]

``cycles`` are those that a design states before it is simulated; where a target's statement is an estimate, `exact` is
false. ``rtl``: clock cycles from start to done on Verilator, transfers included, for random inputs and the stated main
memory without random stalls; a result that differs from the interpreter's is an error. Area and MHz: see
`benchmarks.target_area`; half a minute and some minutes for each program and target. A program that a target refuses is
recorded with the refusal. Results of what is not asked for are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.results import RESULTS, kept_results, write_results
from benchmarks.target_area import PARTS
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.bind.design import Design
from compiler.bind.registry import TARGETS, compile_program
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["main", "programs"]

_APPS = Path(__file__).parents[1] / "apps"
_IMAGE = 32
"""Rows and columns of images."""

_BOTH = {"width": _IMAGE, "height": _IMAGE}
_ARRAYS = ("8x8", "16x16", "16x32")
"""Sizes of the array, the default one first."""

_PARTS = ("cycles", "rtl", *PARTS)
"""What can be measured."""

_STENCILS = {"brighten_blur": {"size": _IMAGE, "tiles": 1}, "cascade": _BOTH, "conv_3_3": _BOTH, "gaussian": _BOTH,
             "harris": _BOTH, "unsharp": _BOTH, "laplacian_pyramid": {"size": _IMAGE},
             "camera_pipeline": {"width": _IMAGE // 2, "height": _IMAGE // 2}}


def programs() -> dict[str, Callable[[], Program]]:
    """What is compiled: programs of the dataflow target, and stencils of the array target on small images."""
    files = sorted((_APPS / "dataflow").glob("*.c"))
    kernels: dict[str, Callable[[], Program]] = {path.stem: partial(load_c, path) for path in files}
    stencils: dict[str, Callable[[], Program]] = {n: partial(load, n, **sizes) for n, sizes in _STENCILS.items()}
    return kernels | stencils


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.targets", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", choices=tuple(TARGETS), help="only this one (repeat)")
    parser.add_argument("--program", action="append", choices=tuple(programs()), help="only this one (repeat)")
    parser.add_argument("--only", default=",".join(_PARTS), metavar="PARTS", help=f"some of {', '.join(_PARTS)}")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "targets.json", metavar="FILE")
    options = parser.parse_args(arguments)
    parts = options.only.split(",")
    if set(parts) - set(_PARTS):
        print(f"error: --only {options.only}: write some of {', '.join(_PARTS)}", file=sys.stderr)
        return 1
    _measure_all(options.program or list(programs()), options.target or list(TARGETS), parts, options.output)
    return 0


class WrongResult(Exception):
    """A fault of a target."""


def _measure_all(names: Sequence[str], targets: Sequence[str], parts: Sequence[str], output: Path) -> None:
    console = Console(highlight=False)
    kept = kept_results(output, "programs")
    for name in names:
        program = programs()[name]()
        for target in targets:
            entries = kept.setdefault(name, {})
            entries[target] = figures = _measured(program, target, parts, entries.get(target, {}))
            console.print(f"{name} on {target}: {figures}", soft_wrap=True)
            write_results(output, {"image": _IMAGE, "targets": list(TARGETS), "programs": kept})


def _measured(program: Program, target: str, parts: Sequence[str], before: dict[str, Any]) -> dict[str, Any]:
    """The wanted parts of the figures, those `before` for the others, or why the target refuses the program."""
    try:
        design = _compiled(program, target)
        cycles = _cycles(design)
        measured = _simulated(design) if "rtl" in parts else {}
    except SluiceError as error:
        return {"refused": _one_line(error)}
    kept = {key: value for key, value in before.items() if key != "refused"}
    kept |= cycles if "cycles" in parts else {}
    kept |= measured
    return kept | {part: _hardware(design, part) for part in parts if part in PARTS}


def _compiled(program: Program, target: str) -> Design:
    """On the array of default size, or on the first of the larger ones that the program fits."""
    if target != "cgra":
        return compile_program(program, target)
    for array in _ARRAYS[:-1]:
        with suppress(ArrayTooSmall):
            return compile_program(program, target, array=array)
    return compile_program(program, target, array=_ARRAYS[-1])


def _cycles(design: Design) -> dict[str, Any]:
    return {"cycles": design.predicted_cycles, "bound": design.lower_bound, "bound is of": design.bounds.binding,
            "start to done predicted": design.predicted_start_to_done, "exact": design.start_to_done_is_exact,
            "resources": dict(design.resources), "compile seconds": round(design.compile_seconds, 2)}


def _simulated(design: Design) -> dict[str, Any]:
    """Cycles of one run in RTL."""
    inputs = random_inputs(design.program, 0)
    run = design.simulate(inputs, "verilator")
    reference = interpret(design.program, inputs)
    if not all(same(run.outputs[name], reference[name]) for name in reference):
        raise WrongResult(f"{design.program.name}: the simulation differs from the reference")
    return {"start to done": run.wall_cycles, "unstalled": run.cycles}


def _hardware(design: Design, part: str) -> dict[str, Any]:
    try:
        return PARTS[part](design)
    except SluiceError as error:
        return {"failed": _one_line(error)}


def _one_line(error: SluiceError) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
