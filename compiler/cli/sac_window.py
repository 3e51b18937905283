"""The command line's part for SA-C on the machine of the thesis: ``--target window``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.bind.window import WILDFORCE, WindowApplication, link_board, place_on_windows
from compiler.bind.window.stripes import choose_stripes
from compiler.cli.settings import UsageError, read_settings
from compiler.frontend.sac import SacProgram
from compiler.frontend.sac.ddcf import interpret

__all__ = ["WINDOW", "run_on_windows"]

WINDOW = "window"
"""What the target is called."""

_MHZ = 10.0
"""The clock of times on the board of the thesis, about that of its machines."""


def run_on_windows(written: SacProgram, program: SacProgram | None, inputs: Sequence[np.ndarray],
                   options: argparse.Namespace, console: Console) -> tuple[SacProgram, list[np.ndarray], bool]:
    """Simulate `program`, or `written` with as many rows of windows at a time as save cycles, with its loops on window
    machines; print what ran. Returns it, the outputs of its main graph, and whether these are the interpreter's."""
    memories = _memories(options)
    if program is None:
        stripes = choose_stripes(written, memories)
        program = stripes.program
        if options.explain:
            console.print(_tried(stripes.tried, stripes.depth))
    placed = place_on_windows(program, memories)
    reference = interpret(written.module, written.main.name, inputs)
    if options.simulator == "none":
        results = reference
    else:
        with console.status(f"simulating {written.name} ({options.simulator}; the first run builds)"):
            results = placed.simulate(inputs, options.simulator)
        console.print(_runs(placed, memories))
    for fate, obstacle in placed.host:
        where = f"line {fate.loop.place.line}" if fate.loop.place else "?"
        console.print(Text(f"{where} stays on the host: {obstacle.kind}: {obstacle.reason}; {obstacle.rewrite}"),
                      soft_wrap=True)
    equal = all(map(np.array_equal, results, reference))
    if options.simulator != "none":
        console.print(_checks(written, placed, equal, options.simulator))
    return program, results, equal


def _memories(options: argparse.Namespace) -> int:
    given = read_settings("--option", options.option)
    unknown = sorted(set(given) - {"memories"})
    if unknown:
        raise UsageError(f"--option {unknown[0]}: target window has the option memories (1 or 2)")
    memories = given.get("memories", 1)
    if memories not in (1, 2):
        raise UsageError(f"--option memories={memories}: a window machine has 1 memory, or 2 with one for results")
    return int(memories)


def _tried(tried: Sequence[tuple[int, int]], taken: int | None) -> Table:
    table = Table("rows of windows at a time", "least cycles, model", "outcome", title="stripes of the program")
    for depth, cycles in tried:
        table.add_row(str(depth), str(cycles), "taken" if depth == taken else "")
    if taken is None:
        table.add_row("", "", "pragmas are followed")
    return table


def _runs(placed: WindowApplication, memories: int) -> Table:
    table = Table("loop", "starts", "iterations", "words read", "written", "cycles", "least",
                  title=Text(f"{placed.program.name} on window machines with {memories} "
                             f"{'memory' if memories == 1 else 'memories'}"))
    for name in placed.loops:
        runs = [run for loop, run in placed.runs if loop == name]
        numbers = (len(runs), *(sum(getattr(run, field) for run in runs)
                                for field in ("iterations", "reads", "writes", "cycles", "least_cycles")))
        table.add_row(name, *map(str, numbers))
    return table


def _checks(written: SacProgram, placed: WindowApplication, equal: bool, simulator: str) -> Table:
    table = Table(title=Text(f"{written.name}: the whole application ({simulator})"), show_header=False)
    for title, board in ((f"board of the thesis, {_MHZ:g} MHz (model)", WILDFORCE),
                         (f"board with a serial link, {_MHZ:g} MHz (model)", link_board())):
        elapsed = board.elapsed(placed.starts(_MHZ))
        table.add_row(title, f"{elapsed.configurations} configurations {elapsed.configuration_ms:.1f} ms, transfers "
                             f"{elapsed.transfer_ms:.2f} ms, runs {elapsed.run_ms:.2f} ms")
    table.add_row("equal to the interpreter", "yes" if equal else "NO")
    return table
