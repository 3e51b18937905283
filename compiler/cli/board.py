"""A compiled design on a board, by the command line: built, loaded, run."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.console import Console

from compiler.bind.design import Design, Run
from compiler.cli.settings import UsageError
from hw.boards.build import build_board
from hw.boards.project import CARRIERS
from hw.link.protocol import DEFAULT_BAUD

__all__ = ["add_board_options", "check_board_options", "program_design", "run_on_board"]

_ANSWER_SECONDS = 0.2
_BUILDING = {"link": "--link", "mhz": "--mhz", "memory_bytes": "--memory-bytes", "main_memory": "--memory"}
"""Options of --program, and what `sluice build` calls them."""


def add_board_options(parser: argparse.ArgumentParser) -> None:
    """The options that are about boards."""
    add = parser.add_argument
    add("--port", metavar="DEVICE",
        help="run the board on this serial line, built with --link, in place of a simulation, or that behind a JTAG "
             "cable: jtag:CABLE as openFPGALoader calls it, jtag:xvc://HOST:PORT")
    add("--baud", type=int, default=DEFAULT_BAUD, metavar="N", help=f"bits per second of the board's serial line "
                                                                    f"(default {DEFAULT_BAUD})")
    add("--link", choices=tuple(CARRIERS), help="of --program: what carries the link (default: uart, the serial line; "
                                                "jtag: the JTAG pins)")
    add("--answer-seconds", type=float, default=_ANSWER_SECONDS, metavar="S",
        help=f"what a board may take to answer before it is asked again (default {_ANSWER_SECONDS})")
    add("--board", metavar="NAME", help="a board of `sluice build --list`, for --program")
    add("--program", action="store_true",
        help="build the design for --board with a link to the host and load it there, before --port runs it")
    add("--mhz", type=float, metavar="F", help="of --program: a clock of up to F MHz")
    add("--memory-bytes", type=int, metavar="N", help="of --program: main memory (default: what the data takes)")
    add("--main-memory", choices=("chip", "sdram"), help="of --program: where main memory is (default: chip)")


def check_board_options(options: argparse.Namespace) -> None:
    """Raises `UsageError` for what does not go together."""
    if options.program and not options.board:
        raise UsageError("--program needs to know the board: add --board NAME")
    if options.board and not options.program:
        raise UsageError("--board is for --program; a board that is loaded already needs --port alone")
    for name in _BUILDING:
        if getattr(options, name) is not None and not options.program:
            raise UsageError(f"--{name.replace('_', '-')} is about --program, which is not given")
    if options.answer_seconds <= 0:
        raise UsageError(f"--answer-seconds {options.answer_seconds:g}: give a time above 0")


def program_design(options: argparse.Namespace, design: Design, inputs: Mapping[str, np.ndarray] | None,
                   console: Console) -> None:
    """Build the bitstream of `design` with a link and load it into the board. Raises what `sluice build` reports."""
    with tempfile.TemporaryDirectory(prefix="sluice-board-") as folder:
        directory = design.emit(Path(folder) / "design", inputs)
        arguments = ["--board", options.board, "--design", str(directory), "--program"]
        arguments += [] if options.link == "jtag" else ["--link", "--baud", str(options.baud)]
        for name, option in _BUILDING.items():
            value = getattr(options, name)
            arguments += [] if value is None else [option, str(value)]
        build_board(arguments, console)


def run_on_board(options: argparse.Namespace, design: Design, inputs: Mapping[str, np.ndarray]) -> Run:
    """A run on the board at the port. Raises `LinkError`."""
    with design.on_board(options.port, options.baud, answer_seconds=options.answer_seconds) as board:
        return board.simulate(inputs)
