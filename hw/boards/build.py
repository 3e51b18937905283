"""A design for a board: Verilog, constraints, manifest, and where free tools place the bitstream and its figures.

    python -m hw.build --board de3 [--design cgra|vector|DIR] [--array RxC] [--lanes N] [--pins FILE] [-o DIR]
                       [--pnr | --program]

Exit status: 0, 1 for an error (one line on standard error), 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import amaranth
from rich.console import Console
from rich.table import Table

from hw.boards.flow import FLOWS
from hw.boards.pins import parse_connection
from hw.boards.program import program_board
from hw.boards.project import CARRIERS, TOP, LinkOptions, Project, make_project
from hw.boards.registry import BoardError, boards, find, find_board
from hw.command import run_command
from hw.designs.registry import DESIGNS, load_design
from hw.designs.system import SystemDesign
from hw.ecp5.pnr import (
    Figures,
    PnrError,
    check_fits,
    count_cells,
    finish_netlist,
    read_report,
    run_tool,
    tool_version,
)
from hw.files import write_atomic
from hw.link.protocol import DEFAULT_BAUD
from hw.litedram.core import read_core
from hw.sdram.chip import CHIPS, find_chip

__all__ = ["build_board", "main"]

_OUTPUT = Path("rtl_out")


class _Parser(argparse.ArgumentParser):
    """Wrong arguments are one line on standard error."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None, command: str = "python -m hw.build") -> int:
    """The command line, which calls itself `command`. Returns the exit status."""
    options = _parser(command).parse_args(arguments)
    return run_command(lambda: _run(options, Console(highlight=False, soft_wrap=True)))


def build_board(arguments: Sequence[str], console: Console) -> None:
    """The same as `main` for a program that reports errors itself. Raises what is wrong, all of it `SluiceError`s."""
    _build(_parser("sluice build").parse_args(arguments), console)


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.list:
        _print_list(console)
    else:
        _build(options, console)
    return 0


def _parser(command: str) -> _Parser:
    parser = _Parser(prog=command, description="Builds a design for an FPGA board.")
    add = parser.add_argument
    add("--list", action="store_true", help="name boards and designs")
    add("--board", default="de3", help="a board of --list (default de3)")
    add("--design", default="cgra", help="a design of --list, or a directory written by the compiler (default cgra)")
    add("--array", metavar="RxC", help="rows and columns of the array, or a file that describes it (default 4x4)")
    add("--lanes", type=int, metavar="N", help="lanes of the vector processor: 1, 2, 4 to 64 (default 4)")
    add("--bank-words", type=int, metavar="N", help="16-bit words in half a bank of the global buffer")
    add("--divide", type=int, choices=(1, 2, 4, 8, 16), help="clock divider (default: to 50 MHz or less)")
    add("--mhz", type=float, metavar="F", help="clock of up to F MHz by a phase-locked loop")
    add("--pins", type=Path, metavar="FILE", help="the board vendor's pin file, .qsf or .csv (de3)")
    add("--connect", action="append", default=[], metavar="PORT=NAME",
        help="a port is the pin file's signal NAME, or =~NAME if that is active low (repeat)")  # fmt: skip
    add("--link", nargs="?", const="uart", choices=tuple(CARRIERS),
        help="the host runs the design (design.on_board), over the board's serial line (uart) or its JTAG pins (jtag)")
    add("--baud", type=int, metavar="N", help=f"bits per second of --link uart (default {DEFAULT_BAUD})")
    add("--memory-bytes", type=int, metavar="N", help="main memory of --link (default: what the design's data takes)")
    add("--memory", choices=("chip", "sdram", "litedram"),
        help="where main memory of --link is (default: chip, the FPGA's)")
    add("--sdram-chip", metavar="NAME", help=f"of --memory sdram: {', '.join(CHIPS)} (default {next(iter(CHIPS))})")
    add("--litedram", type=Path, action="append", default=[], metavar="PATH",
        help="of --memory litedram: LiteDRAM's generated Verilog, files or folders (repeat)")
    add("--pnr", action="store_true", help=f"synthesize, place and route ({', '.join(FLOWS)})")
    add("--program", action="store_true", help="--pnr, and load the bitstream into the board")
    add("-o", "--output", type=Path, metavar="DIR", help="where to write (default rtl_out/BOARD/DESIGN)")
    return parser


def _print_list(console: Console) -> None:
    table = Table(title="boards", title_justify="left")
    for heading in ("board", "device", "clock MHz", "--pnr"):
        table.add_column(heading)
    for board in boards().values():
        table.add_row(board.name, board.device, f"{board.clock_hz / 1e6:g}", "yes" if board.can_place else "no")
    console.print(table)
    table = Table(title="designs", title_justify="left")
    table.add_column("design")
    table.add_column("what it is")
    for design in DESIGNS.values():
        table.add_row(design.name, design.summary)
    table.add_row("DIR", "a directory that the compiler wrote")
    console.print(table)


def _build(options: argparse.Namespace, console: Console) -> None:
    board = find_board(options.board)
    place = options.pnr or options.program
    if place and not board.can_place:
        raise BoardError(f"board {board.name} ({board.device}) has no free tools for --pnr; boards of "
                         f"these families have: {', '.join(FLOWS)}")
    if not Path(options.design).is_dir():
        find("design", options.design, DESIGNS)
    connections = [parse_connection(text) for text in options.connect]
    link = _link(options)
    with _progress(console, "hardware"):
        design = load_design(options.design, options.array, options.bank_words, options.lanes)
        project = make_project(board, design, divide=options.divide, mhz=options.mhz, pins=options.pins,
                               connections=connections, link=link)
    output = options.output or _OUTPUT / board.name / design.image.name
    files: dict[str, str | bytes] = dict(project.files)
    manifest = _manifest(project, design)
    figures = None
    if place:
        products, figures = _place_and_route(project, console)
        files |= products
        manifest["figures"] = figures.as_json()
        manifest["tools"] |= {tool: tool_version(tool) for tool in FLOWS[board.family].stages}
    _write(output, files, manifest)
    console.print(f"{output}: {len(files)} files and manifest.json, core clock {project.clock_hz / 1e6:g} MHz")
    _report(console, project, figures)
    if options.program:
        program_board(board, output, TOP)
        console.print(f"loaded {output}/{TOP}{FLOWS[board.family].bitstream} into {board.name}")


def _link(options: argparse.Namespace) -> LinkOptions | None:
    if options.sdram_chip is not None and options.memory != "sdram":
        raise BoardError("--sdram-chip is about --memory sdram, which is not given")
    if bool(options.litedram) != (options.memory == "litedram"):
        raise BoardError("--litedram PATH and --memory litedram belong together")
    if options.link == "jtag" and options.baud is not None:
        raise BoardError("--baud is about --link uart: the cable sets the clock of JTAG")
    if options.link:
        sdram = find_chip(options.sdram_chip or next(iter(CHIPS))) if options.memory == "sdram" else None
        baud = DEFAULT_BAUD if options.baud is None else options.baud
        litedram = read_core(options.litedram) if options.litedram else None
        return LinkOptions(baud, options.memory_bytes, sdram, options.link, litedram)
    for name in ("baud", "memory_bytes", "memory"):
        if getattr(options, name) is not None:
            raise BoardError(f"--{name.replace('_', '-')} is about --link, which is not given")
    return None


@contextmanager
def _progress(console: Console, what: str):
    """A spinner while something runs, where there is a terminal."""
    with console.status(f"{what} …"):
        yield


def _manifest(project: Project, design: SystemDesign) -> dict[str, Any]:
    image = design.image
    return {
        "format": "sluice-build",
        "version": 1,
        "board": project.board.name,
        "device": project.board.device,
        "design": image.name,
        "top": TOP,
        "array": image.array,
        "parameters": dict(image.parameters),
        "memory_bytes": image.memory_bytes,
        "oscillator_hz": project.board.clock_hz,
        "clock_hz": project.clock_hz,
        "lights": list(project.lights),
        "self_check": list(project.checked),
        "link": None if project.link is None else _describe_link(project.link, design),
        "virtual_pins": list(project.virtual),
        "pins_left_to_fitter": list(project.unplaced),
        "warnings": project.warnings,
        "tools": {"amaranth": amaranth.__version__},
    }


def _describe_link(link: LinkOptions, design: SystemDesign) -> dict[str, Any]:
    memory = "chip" if link.sdram is None else f"SDRAM {link.sdram.name}"
    memory = memory if link.litedram is None else f"DDR3 by {link.litedram.module}"
    way = {"baud": link.baud} if link.carrier == "uart" else {}
    return {"carrier": link.carrier, **way, "design": design.fingerprint.hex(), "memory": memory}


def _place_and_route(project: Project, console: Console) -> tuple[dict[str, str | bytes], Figures]:
    """Products to keep by name, and the figures. Raises `PnrError`."""
    flow = FLOWS[project.board.family]
    with tempfile.TemporaryDirectory(prefix="sluice-pnr-") as name:
        directory = Path(name)
        for file, text in project.files.items():
            (directory / file).write_text(text)
        for tool, *arguments in project.commands:
            if tool in flow.stages:  # what comes after is for loading the bitstream
                with _progress(console, flow.stages[tool]):
                    run_tool(tool, arguments, directory)
                if tool == "yosys" and project.board.family == "ecp5":
                    _finish_ecp5(project, directory)
        figures = read_report(directory / f"{TOP}.report.json", flow.cells)
        if flow.flip_flop is not None:
            cells = count_cells(directory / f"{TOP}.json", TOP).items()
            figures = replace(figures, ff=sum(count for cell, count in cells if cell.startswith(flow.flip_flop)))
        return {f"{TOP}{suffix}": _product(directory, suffix) for suffix in (flow.bitstream, ".report.json")}, figures


def _finish_ecp5(project: Project, directory: Path) -> None:
    large = any(option.endswith("85k") for command in project.commands for option in command)
    finish_netlist(directory / f"{TOP}.json", TOP, sites=large)
    check_fits(directory / f"{TOP}.json", TOP, project.board.device)


def _product(directory: Path, suffix: str) -> bytes:
    try:
        return (directory / f"{TOP}{suffix}").read_bytes()
    except OSError as error:
        raise PnrError(f"the tools wrote no {TOP}{suffix}") from error


def _write(output: Path, files: Mapping[str, str | bytes], manifest: dict[str, Any]) -> None:
    """All files, the manifest last: a directory with a manifest is complete."""
    digests = {}
    for name, content in sorted(files.items()):
        write_atomic(output / name, content)
        digests[name] = hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
    manifest["files"] = digests
    write_atomic(output / "manifest.json", json.dumps(manifest, indent=2, sort_keys=True) + "\n")


def _report(console: Console, project: Project, figures: Figures | None) -> None:
    for warning in project.warnings:
        console.print(f"note: {warning}")
    if figures is None:
        return
    table = Table()
    table.add_column("resource")
    table.add_column("used", justify="right")
    table.add_column("of", justify="right")
    names = {"lut": "LUT", "ff": "FF", "block_ram": "block RAM", "multipliers": "multipliers"}
    for name, label in names.items():
        table.add_row(label, str(getattr(figures, name)), str(figures.available[name]))
    console.print(table)
    console.print(_clock_line(figures))


def _clock_line(figures: Figures) -> str:
    if figures.mhz is None:
        return "MHz: no path between registers"
    verdict = "met" if figures.met else "missed: the bitstream may not work at this clock, try a larger --divide"
    return f"MHz: {figures.mhz:.2f} (target {figures.target_mhz:.2f}, {verdict})"
