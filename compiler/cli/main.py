"""Command line: ``python -m compiler APP --target T`` compiles an application, simulates it and reports."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from compiler.attempts import watch_attempts
from compiler.bind.design import Design, InputError, Run, prediction_rows
from compiler.bind.page import add_section, html_text
from compiler.bind.ported_design import PortedDesign
from compiler.bind.registry import TARGETS, compile_program, target
from compiler.bind.streamed_design import StreamedDesign
from compiler.bind.vector.apps import load_any
from compiler.cli import images
from compiler.cli.board import add_board_options, check_board_options, program_design, run_on_board
from compiler.cli.input_files import read_inputs
from compiler.cli.network import is_chain, run_chain, without_designs
from compiler.cli.output_files import output_paths, print_places, write_outputs
from compiler.cli.pass_output import ListPasses, show_attempts, show_passes
from compiler.cli.ports import stream_lines, with_ports
from compiler.cli.sac import run_sac
from compiler.cli.settings import UsageError, read_settings, simulation_settings, target_options
from compiler.cli.sizes import SizedCommand
from compiler.cli.vector import run_vector
from compiler.frontend.apps import MODEL, applications, load, sac_applications
from compiler.frontend.c_scop import list_functions, load_c
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.hints import Hint, find_hints
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.memory_bounds import BOUNDS_CHECKS, with_bounds
from compiler.ir.program import Array, Program
from compiler.passes.scheduled import ScheduledProgram
from hw.command import run_command
from hw.designs.hardware import load_hardware
from hw.files import write_atomic
from hw.main_memory import DEFAULT_MEMORY

__all__ = ["main"]

_TARGET = "cgra"
"""The target of programs for which none is named."""


def _folder(text: str) -> Path:
    """A folder's path. Raises what argparse reports for an empty one, which would be the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("needs the name of a folder")
    return Path(text)


def _file(text: str) -> Path:
    """A file's path. Raises what argparse reports for an empty one."""
    if not text:
        raise argparse.ArgumentTypeError("needs the name of a file")
    return Path(text)


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=command, description=__doc__)
    parser.add_argument("app", help="an application file (one in Python is executed), or one of: "
                                    f"{', '.join(applications())}; `sluice list` names more")
    parser.add_argument("--target", help=f"one of: {', '.join(TARGETS)} (default: {_TARGET}; SA-C programs: the host); "
                                           "for SA-C also window")
    parser.add_argument("--memory", help="memory tiles: pub (wide fetch, default), dual-port, dual-port-pe, buffet")
    parser.add_argument("--array", metavar="RxC", help="rows and columns of tiles (default: 8x8)")
    parser.add_argument("--hardware", metavar="FILE", help="TOML or JSON file that describes array and memories")
    parser.add_argument("--lanes", type=int, metavar="N", help="lanes of the targets dataflow, fpga and vector")
    parser.add_argument("--fusion-level", type=int, metavar="N", help="loops that stages share (default: all)")
    parser.add_argument("--tile-depth", type=int, metavar="N", help="outer loops that enumerate tiles")
    parser.add_argument("--half-words", type=int, metavar="N", help="words in half a global-buffer bank")
    parser.add_argument("--memory-latency", type=int, metavar="N",
                        help="cycles from an address to its first beat of main memory (default: "
                             f"{DEFAULT_MEMORY.latency})")
    parser.add_argument("--memory-bursts", type=int, metavar="N",
                        help=f"bursts that main memory takes at once in a direction (default: {DEFAULT_MEMORY.bursts})")
    parser.add_argument("--seed", type=int, help="of placement (default: 0)")
    parser.add_argument("--reassociate", action="store_true",
                        help="sums of floating-point numbers may be computed in another order, which the reference "
                             "follows")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="any option of the target (repeat)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of the application")
    parser.add_argument("--function", metavar="NAME", help="the function of a C or SA-C file with several")
    parser.add_argument("--bounds-check", choices=BOUNDS_CHECKS, default="trap",
                        help="what becomes of an index of data that may be outside (default: trap)")
    parser.add_argument("--list", action="store_true", help="print the functions of a C file that can be compiled")
    parser.add_argument("-I", dest="include", action="append", default=[], metavar="DIR",
                        help="where a C file's includes are looked for (repeat)")
    parser.add_argument("--ddcf", type=_file, metavar="FILE",
                        help="write the graphs of a SA-C program there: a picture if it ends in .svg, .png or .pdf, "
                             "else text")
    parser.add_argument("--dfg", type=_file, metavar="FILE",
                        help="write the dataflow graphs of a SA-C program's loops there, in the same way")
    parser.add_argument("--fixed-extents", action="store_true",
                        help="passes know the extents of a SA-C program's inputs")
    parser.add_argument("--loops", action="store_true",
                        help="print iterations and memory accesses of a SA-C program's loops, with fixed extents")
    parser.add_argument("--passes", metavar="A,B", help="passes in place of the target's, such as normalize-loops,"
                                                        "pad-domains; of a SA-C program those over graphs, or: all")
    parser.add_argument("--list-passes", action=ListPasses, help="print the passes over programs of loops, and end")
    parser.add_argument("--print-after", action="append", default=[], metavar="PASS",
                        help="print the program, or the graphs of a SA-C program, after a pass changed it, or after "
                             "all (repeat)")
    parser.add_argument("--explain", action="store_true", help="print what the search tried, and how it ended")
    parser.add_argument("--time-passes", action="store_true", help="print how long each pass took")
    parser.add_argument("--host-c", type=_file, metavar="FILE", help="write a SA-C program there in C")
    parser.add_argument("--sizes", action="append", default=[], metavar="NAME=A..B",
                        help="one hardware for these values of a parameter, which is a register (dataflow; repeat)")
    parser.add_argument("--simulator", choices=("verilator", "icarus", "none"), default="verilator")
    add_board_options(parser)
    parser.add_argument("--ports", metavar="KIND", help="stream[=BITS]: AXI4-Streams (with beats of BITS) in place of "
                                                        "memory and registers (fpga, dataflow); wishbone, or "
                                                        "control=wishbone,memory=wishbone,reset=low,address_bits=64")
    parser.add_argument("--stall-seed", type=int, metavar="N", help="random memory stalls from this seed")
    parser.add_argument("--waves", action="store_true", help="record a waveform")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=]FILE",
                        help="an input: an image, or an array as .npy (repeat; default of one image: a photograph)")
    parser.add_argument("--ascii", action="store_true", help="write PGM and PPM files of a SA-C program as text")
    parser.add_argument("--random", type=int, metavar="SEED", help="draw the inputs that are not given at random")
    parser.add_argument("--output", action="append", default=[], metavar="[NAME=]FILE",
                        help="where an output goes: an image, or an array as .npy (repeat)")
    parser.add_argument("--report", type=_folder, metavar="DIR",
                        help="write report.html and comparison.png there; of a SA-C program what became of each loop")
    parser.add_argument("-o", "--directory", type=_folder, metavar="DIR", help="where Verilog and the design go")
    return parser


def main(arguments: Sequence[str] | None = None, command: str = "python -m compiler") -> int:
    """Run the command line, which calls itself `command`. Returns the exit status: 0 if all results equal
    the reference, else 1."""
    options = _parser(command).parse_args(arguments)
    return run_command(lambda: _run(options, Console(markup=False, emoji=False, highlight=False)))


def _run(options: argparse.Namespace, console: Console) -> int:
    sac = sac_applications().get(options.app, Path(options.app))
    if sac.suffix == ".sc":
        if options.ports:
            raise UsageError("--ports is for one design, and a SA-C application has several, with a host between them")
        _check_place(options)
        return run_sac(sac, options, console)
    for name in ("fixed_extents", "loops", "ddcf", "dfg", "host_c", "ascii"):
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} is for SA-C programs; the name of one ends in .sc")
    if options.list:
        console.print("\n".join(list_functions(_c_file(options), options.include)))
        return 0
    _check(options)
    options.target = options.target or _TARGET
    if options.hardware:
        options.target = load_hardware(options.hardware).target
    if options.app.endswith(MODEL) and is_chain(options):
        if options.ports:
            raise UsageError("--ports is for one design, and this model becomes several: take --set designs=one")
        return run_chain(options, console)
    sized = SizedCommand(options, target_options(options)) if options.sizes else None
    if sized and not sized.chosen:
        return sized.run(console)
    program = _load(options)
    if isinstance(program, ArrayProgram):
        if options.ports:
            raise UsageError("--ports is for programs of loops on fpga or dataflow, not for parallel arrays")
        if options.port or options.program:
            raise UsageError("--port runs programs of loops; load parallel arrays in Python and call design.on_board")
        return run_vector(options, program, target_options(options), console)
    program = with_bounds(program, options.bounds_check)
    inputs = _inputs(options, program)
    outputs = output_paths(program, options.output)
    progress = Progress(SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(),
                        console=console, transient=True, disable=not console.is_terminal)
    with progress:
        task = progress.add_task(f"compiling {program.name}")
        if sized:
            design = sized.engine().at(**sized.chosen)
        else:
            with (watch_attempts(lambda text: progress.update(task, description=f"compiling {program.name}: {text}")),
                  show_passes(progress.console, options.print_after, options.time_passes),
                  show_attempts(progress.console, options.explain)):
                design = compile_program(program, options.target, **target_options(options))
        placed = with_ports(options.ports, design)
        run, reference = None, {} if inputs is None else interpret(_reference(design, program), inputs)
        if options.program:
            progress.update(task, description=f"building {program.name} for {options.board}")
            program_design(options, design, inputs, progress.console)
        if inputs is not None and _runs(options):
            progress.update(task, description=_running(options, program.name))
            run = _run_design(options, placed, inputs)
        with watch_attempts(lambda text: progress.update(task, description=f"looking for hints: {text}")):
            hints = find_hints(design, run)
        if options.directory:
            progress.update(task, description="writing Verilog")
            placed.emit(options.directory, inputs)
        if options.report:
            progress.update(task, description="writing the report")
            _write_report(options.report, design, inputs, reference, run, hints)
    equal = run is None or _equal(run, reference)
    predicted = design.cycles_for(inputs) if run and inputs is not None else design.predicted_cycles
    console.print(_table(design, run, equal, target(options.target).PLACE, predicted))
    if isinstance(program, ScheduledProgram):
        console.print(f"schedule: {'; '.join(program.remarks)}", soft_wrap=True)
    for hint in hints:
        console.print(f"hint: {hint}", soft_wrap=True)
    for line in stream_lines(placed, inputs):
        console.print(line, soft_wrap=True)
    _write_results(options, outputs, run, console)
    return 0 if equal else 1


def _reference(design: Design, program: Program) -> Program:
    """What the interpreter runs: `program`, with all of its checks, unless the design states another order of sums."""
    return program if design.reference is design.program else design.reference


def _runs(options: argparse.Namespace) -> bool:
    """Whether a board or a simulator runs the design; one that is loaded without a port is not run."""
    return options.port is not None if options.program else options.simulator != "none"


def _running(options: argparse.Namespace, name: str) -> str:
    if options.port:
        return f"running {name} on the board at {options.port}"
    return f"simulating {name} ({options.simulator}; the first run builds)"


def _run_design(options: argparse.Namespace, design: Design | StreamedDesign | PortedDesign,
                inputs: Mapping[str, np.ndarray]) -> Run:
    """On a board, or in a simulator."""
    if options.port and isinstance(design, Design):
        return run_on_board(options, design, inputs)
    return design.simulate(inputs, options.simulator, **simulation_settings(options, design))


def _inputs(options: argparse.Namespace, program: Program) -> dict[str, np.ndarray] | None:
    """The inputs; without a simulation none are needed: None where some are missing."""
    if options.simulator != "none" or options.input or options.random is not None:
        return read_inputs(program, options.input, options.random)
    try:
        return read_inputs(program, [], None)
    except InputError:
        return None


def _load(options: argparse.Namespace) -> Program | ArrayProgram:
    """The application; for the vector processor those of parallel arrays come first."""
    parameters = without_designs(options) if options.app.endswith(MODEL) else read_settings("--set", options.set)
    if options.function or options.include:
        return load_c(_c_file(options), function=options.function, folders=options.include, **parameters)
    return load_any(options.app, **parameters) if options.target == "vector" else load(options.app, **parameters)


def _c_file(options: argparse.Namespace) -> str:
    """The application, which has to be a C file."""
    if not options.app.endswith(".c"):
        raise UsageError("--function, --list and -I are for C files; the name of one ends in .c")
    return options.app


def _check(options: argparse.Namespace) -> None:
    """What would be noticed only after everything else has been done."""
    _check_place(options)
    for name in ("random", "stall_seed", "seed"):
        if (getattr(options, name) or 0) < 0:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name)}: a seed is 0 or a positive number")
    if (options.port or options.program) and options.ports:
        raise UsageError("--ports changes what a board is made of, and --port runs one as it is: leave out one of them")
    if options.simulator == "none":
        wanted = {"--output": bool(options.output), "--waves": options.waves,
                  "--stall-seed": options.stall_seed is not None}
        for name, value in wanted.items():
            if value:
                raise UsageError(f"{name} needs a simulation, and --simulator none asks for none")


def _check_place(options: argparse.Namespace) -> None:
    """Options that are about boards, and about simulations alone."""
    check_board_options(options)
    for name, value in (("--waves", options.waves), ("--stall-seed", options.stall_seed is not None)):
        if options.port and value:
            raise UsageError(f"{name} is for simulations; --port runs a board")


def _equal(run: Run, reference: dict[str, np.ndarray]) -> bool:
    return all(same(run.outputs[name], reference[name]) for name in reference)


def _table(design: Design, run: Run | None, equal: bool, place: str, predicted: int) -> Table:
    table = Table(title=Text(f"{design.program.name} on {place}"), show_header=False)
    for _ in range(2):
        table.add_column(overflow="fold")
    rows = [*prediction_rows(design, run), *((name, str(value)) for name, value in design.resources.items())]
    for item in design.storage:
        rows.append((f"words of {item.name}", f"{item.live_words} live, {item.allocated_words} allocated"))
    rows.append(("compile time", f"{design.compile_seconds:.2f} s"))
    if run:
        rows.append(("simulation speed", f"{run.cycles_per_second:,.0f} cycles/s (build {run.build_seconds:.0f} s)"))
        if design.predicts_exactly:
            rows.append(("predicted = simulated", "yes" if run.cycles == predicted else "NO"))
        rows.append(("equal to the reference", "yes" if equal else "NO"))
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _write_report(folder: Path, design: Design, inputs: Mapping[str, np.ndarray] | None,
                  reference: dict[str, np.ndarray], run: Run | None, hints: Sequence[Hint]) -> None:
    page = design.report(run, None if run is None else _equal(run, reference))
    if hints:
        page = add_section(page, "Hints", html_text("\n".join(map(str, hints))))
    write_atomic(folder / "report.html", page)
    if run and inputs is not None:
        given, name = inputs[_pictured(design.program).name], next(iter(reference))
        title = f"{design.program.name}: {run.wall_cycles} cycles, {run.simulator}"
        picture = images.comparison_picture(given, run.outputs[name], reference[name], title)
        write_atomic(folder / "comparison.png", picture)


def _pictured(program: Program) -> Array:
    """The input that a picture of a run shows: the largest image, or where there is none the largest array."""
    return max(program.inputs, key=lambda array: (len(array.shape) in (2, 3), prod(array.shape)))


def _write_results(options: argparse.Namespace, outputs: Mapping[str, Path], run: Run | None,
                   console: Console) -> None:
    if run:
        write_outputs(outputs, run.outputs)
        for name, path in outputs.items():
            console.print(f"output {name}: {path}", soft_wrap=True)
    print_places(console, options, run, "Verilog and design directory")
