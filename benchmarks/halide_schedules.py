"""Predicted start to done without a schedule, by search, beside that with a schedule as users of Halide write them.

    python -m benchmarks.halide_schedules [PROGRAM/TARGET ...] [-o benchmarks/results/halide_schedules.json]

The users' schedule is for all programs the one of Halide's tutorials: the output in tiles, whose inner loop has lanes
and whose rows of tiles are parallel, and every other Func that is stored computed at the tiles, with lanes as well; an
update keeps its loops. What Halide itself refuses of that for a program is left out: parallel, then the places of
Funcs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.registry import compile_program
from compiler.frontend.apps import import_application, shipped
from compiler.frontend.halide import PipelineError, load_pipeline
from compiler.ir.program import Program

__all__ = ["PROGRAMS", "main", "measured", "schedule_table"]

PROGRAMS: dict[str, dict[str, int]] = {
    "blur": {"width": 34, "height": 34}, "gaussian": {"width": 34, "height": 34},
    "upsample": {"width": 16, "height": 16}, "gaussian_pyramid": {"size": 128},
    "unsharp": {"width": 22, "height": 22}, "harris": {"width": 22, "height": 22}, "gemm": {"size": 16},
    "laplacian_pyramid": {"size": 16}, "conv_layer": {"size": 8}, "camera_pipeline": {"width": 16, "height": 8},
    "interpolate": {"width": 16, "height": 16}}
"""Applications of `apps/halide`, and their sizes."""

TARGETS = ("fpga", "dataflow")
_TILE, _LANES = 8, 4

NAMES = [f"{name}/{target}" for name in PROGRAMS for target in TARGETS]
MEASUREMENT = Measurement("halide_schedules", "programs", "program", NAMES)


def tiled(output: Any, parallel: bool) -> str:
    """Give an output a schedule; the loop at which other Funcs are computed."""
    import halide as hl

    x, y, *_ = output.args()
    outer = [hl.Var(name) for name in ("tile_x", "tile_y", "in_x", "in_y")]
    guard = hl.TailStrategy.GuardWithIf
    if output.num_update_definitions():
        return ""
    output.tile(x, y, *outer, _TILE, _TILE, guard).vectorize(outer[2], _LANES, guard)
    if parallel:
        output.parallel(outer[1])
    return "tile_x"


def users_program(name: str) -> tuple[Program, str]:
    """The program with a user's schedule, and what of that it is."""
    import halide as hl

    attempts: list[tuple[str, Callable[[Any], None]]] = [
        ("tiles, lanes, parallel, compute_at", lambda f: _scheduled(f, True, True)),
        ("tiles, lanes, compute_at", lambda f: _scheduled(f, False, True)),
        ("tiles, lanes, parallel", lambda f: _scheduled(f, True, False))]
    for text, schedule in attempts:
        output = _built(name)
        try:
            schedule(output)
            return load_pipeline(output, name=name, schedule="lanes").program, text
        except (PipelineError, hl.HalideError):
            continue
    return load_pipeline(_built(name), name=name, schedule="lanes").program, "as the application has it"


def _built(name: str) -> Any:
    return import_application(shipped()[f"halide/{name}"]).build(**PROGRAMS[name])


def _scheduled(output: Any, parallel: bool, inside: bool) -> None:
    """The schedule; Funcs that the application stores are computed at the tiles if `inside`."""
    import halide as hl

    place = tiled(output, parallel)
    if not inside or not place:
        return
    pipeline = hl.Pipeline(output)
    number = 0
    while True:
        try:
            func = pipeline.get_func(number)
        except hl.HalideError:  # past the last one
            return
        number += 1
        if func.name() != output.name() and not func.num_update_definitions() and _stored(func):
            func.compute_at(output, hl.Var(place))
            func.vectorize(func.args()[0], _LANES, hl.TailStrategy.GuardWithIf)


def _stored(func: Any) -> bool:
    """Whether it has two dimensions or more, and is no input."""
    return len(func.args()) > 1 and not func.name().endswith("_im")


def measured(name: str) -> dict[str, Any]:
    """Predicted cycles from start to done of both."""
    program, target = name.split("/")
    users, text = users_program(program)
    own = load_pipeline(_built(program), name=program, schedule="auto").program
    first, second = (compile_program(p, target) for p in (users, own))
    return {"user's schedule": text, "user": first.predicted_start_to_done, "auto": second.predicted_start_to_done}


def schedule_table() -> str:
    """The committed results as Markdown."""
    rows = [[name, found["user's schedule"], found["user"], found["auto"], f"{found['auto'] / found['user']:.2f}"]
            for name, found in read_results("halide_schedules")["programs"].items()]
    text = ("Pipelines of `apps/halide` with tiles and lanes as Halide's tutorials have them, as far as Halide takes "
            "them, beside `schedule=auto` (`python -m benchmarks.halide_schedules`): predicted cycles from start to "
            "done.")
    return f"{text}\n\n{table(['program', 'schedule', 'with it', 'auto', 'ratio'], rows)}"


@reports_errors
def main() -> None:
    """Measure the programs that are asked for and write the results."""
    MEASUREMENT.run(MEASUREMENT.parse(MEASUREMENT.parser(__doc__)), measured, {})


if __name__ == "__main__":
    sys.exit(main())
