"""The command line's part for SA-C on hardware: what of a program goes where, and a run of all of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.bind.application_forms import ChosenForm
from compiler.bind.applications import Placed, PlacedGroup, RunDesign, in_rtl, place_application
from compiler.bind.design import Design, Run
from compiler.bind.host_process import run_driver, write_driver
from compiler.bind.registry import target
from compiler.cli.board import program_design, run_on_board
from compiler.cli.settings import UsageError, simulation_settings, target_options
from compiler.frontend.sac import SacProgram
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.dfg import LoopFate
from compiler.frontend.sac.host_c import compile_host, run_host
from hw.errors import SluiceError
from hw.files import write_atomic

__all__ = ["forms_table", "hardware_options", "run_on_hardware"]


def hardware_options(options: argparse.Namespace) -> dict[str, Any]:
    """The target's options; passes are those of graphs."""
    return {name: value for name, value in target_options(options).items() if name != "passes"}


def forms_table(chosen: ChosenForm) -> Table:
    """What was tried, and how it ended."""
    table = Table("form", "cycles, predicted", "iterations on the host", "LUT, model", "outcome",
                  title="forms of the program")
    for form in chosen.tried:
        numbers = ["" if n is None else str(n) for n in (form.cycles, form.host_iterations, form.luts)]
        table.add_row(*map(Text, (form.name, *numbers, form.outcome)))
    return table


def run_on_hardware(written: SacProgram, program: SacProgram | Placed, inputs: Sequence[np.ndarray],
                    options: argparse.Namespace, console: Console) -> tuple[list[np.ndarray], bool]:
    """Print where the loops of `program`, which is `written` after passes, run on ``--target``, and simulate all of it.
    It may have its designs already.

    Returns the outputs of the main graph, and whether they equal what the interpreter gives for `written`. Without a
    simulator these are the interpreter's.
    """
    with console.status(f"compiling {written.name} for {options.target}"):
        placed = program if isinstance(program, Placed) else place_application(
            program, inputs, options.target, **hardware_options(options))
    reference = interpret(written.module, written.main.name, inputs)
    results, equal = placed.expected, True
    run_design, place = _runner(placed, options, console)
    if run_design is not None:
        with console.status(f"running {written.name} ({place})"):
            results = placed.run(run_design)
    if placed.groups:
        console.print(_loops(placed, options.target))
    for line in _reasons(placed):
        console.print(Text(line), soft_wrap=True)
    if run_design is not None:
        equal = _same(results, reference)
        checks = _checks(written, placed, results, reference, place)
        if options.host_c:
            equal = _driver_checks(checks, placed, reference, run_design) and equal
        console.print(checks)
    if options.host_c:
        options.host_c.parent.mkdir(parents=True, exist_ok=True)
        groups = [group.group for group in placed.groups]
        write_atomic(options.host_c, write_driver(placed.application, groups, options.host_c.parent).encode())
    if options.directory:
        _emit(placed, options.directory, console)
    return results, equal


def _runner(placed: Placed, options: argparse.Namespace, console: Console) -> tuple[RunDesign | None, str]:
    """What runs designs, None if nothing does, and where. Raises `UsageError`."""
    if options.port:
        if len(placed.groups) > 1 and not options.program:
            raise UsageError(f"--port: {len(placed.groups)} designs share the board, which holds one: add --board "
                             "NAME --program, which loads each before it runs")
        return _OnBoard(options, console), f"board at {options.port}"
    if options.program and len(placed.groups) != 1:
        raise UsageError(f"--program: {len(placed.groups)} designs share the board, which holds one: add --port "
                         "DEVICE, so that each is loaded before it runs")
    if options.program:
        program_design(options, placed.groups[0].design, None, console)
    if options.program or options.simulator == "none":
        return None, ""
    settings = [simulation_settings(options, group.design) for group in placed.groups]
    return in_rtl(options.simulator, **(settings[0] if settings else {})), options.simulator


class _OnBoard:
    """Runs designs on the board at the port; with ``--program`` it loads one unless it is the one that was loaded
    last."""

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self.options, self.console = options, console
        self.loaded: Design | None = None

    def __call__(self, design: Design, given: Mapping[str, np.ndarray]) -> Run:
        if self.options.program and design is not self.loaded:
            program_design(self.options, design, None, self.console)
            self.loaded = design
        return run_on_board(self.options, design, given)


def _loops(placed: Placed, target_name: str) -> Table:
    program = placed.application.program
    table = Table("loop", "runs on", "iterations", "cycles, predicted", "found", "least",
                  title=Text(f"{program.name} on {target(target_name).PLACE} and the host"))
    for number, group in enumerate(placed.groups, 1):
        run = placed.runs.get(group.group.program.name)
        lines = "\n".join(_line(fate) for fate in placed.fates(group))
        cycles = group.design.predicted_start_to_done, run.wall_cycles if run else "", group.design.lower_bound
        table.add_row(*map(Text, (lines, f"{target_name}, design {number}: {group.group.program.name}",
                                  _iterations(placed, group), *map(str, cycles))))
    return table


def _reasons(placed: Placed) -> Iterator[str]:
    """A line for each loop that stays on the host."""
    for fate, obstacle in placed.host:
        where = f"line {obstacle.place.line}: " if obstacle.place else ""
        yield f"{_line(fate)} stays on the host: {where}{obstacle.kind}: {obstacle.reason}; {obstacle.rewrite}"


def _line(fate: LoopFate) -> str:
    return f"line {fate.loop.place.line}" if fate.loop.place else "?"


def _iterations(placed: Placed, group: PlacedGroup) -> str:
    return "\n".join("x".join(map(str, placed.application.started[number].extents)) for number in group.group.numbers)


def _checks(written: SacProgram, placed: Placed, results: Sequence[np.ndarray], reference: Sequence[np.ndarray],
            place: str) -> Table:
    """What the run took, and what its results equal."""
    table = Table(title=Text(f"{written.name}: the whole application ({place})"), show_header=False)
    runs, designs = placed.runs.values(), [group.design for group in placed.groups]
    rows = [("designs that ran", str(len(runs))),
            ("clock cycles, start to done, of all", str(sum(run.wall_cycles for run in runs))),
            ("predicted", str(sum(design.predicted_start_to_done for design in designs))),
            ("bytes to designs and from them",
             f"{sum(d.traffic.bytes_in for d in designs)} and {sum(d.traffic.bytes_out for d in designs)}"),
            ("equal to the interpreter", "yes" if _same(results, reference) else "NO"),
            ("equal to the program in C on the host", _against_c(written, placed, results))]
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _driver_checks(table: Table, placed: Placed, reference: Sequence[np.ndarray], run_design: RunDesign) -> bool:
    """Rows about the driver in C, with its loops run again; whether its results are the interpreter's."""
    with TemporaryDirectory() as folder:
        run = run_driver(placed.application, [group.group for group in placed.groups], placed.inputs,
                         placed.execution(run_design), Path(folder))
    equal = _same(run.outputs, reference)
    table.add_row("configurations that the driver in C loaded", str(len(run.configurations)))
    table.add_row("starts of loops by it", str(len(run.starts)))
    table.add_row("its results equal to the interpreter", "yes" if equal else "NO")
    return equal


def _against_c(written: SacProgram, placed: Placed, results: Sequence[np.ndarray]) -> str:
    main = written.main
    try:
        with TemporaryDirectory() as folder:
            found = run_host(compile_host(written.host_c(), Path(folder)), placed.inputs, main.graph.inputs,
                             main.result_types)
    except SluiceError as error:
        return f"not compared: {error}"
    return "yes" if _same(results, found) else "NO"


def _same(results: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> bool:
    return all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
               for one, other in zip(results, expected, strict=True))


def _emit(placed: Placed, folder: Path, console: Console) -> None:
    """Verilog and a design directory for each design. Raises `UsageError` if there is none."""
    if not placed.groups:
        raise UsageError("--directory is for designs, and all loops of the program stay on the host")
    for group in placed.groups:
        path = group.design.emit(folder / group.group.program.name)
        console.print(Text(f"Verilog and design directory: {path}"), soft_wrap=True)
