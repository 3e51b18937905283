"""Command line: ``python -m compiler.tune APP --board ulx3s-85f`` finds the best systolic array for a C kernel."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from compiler.bind.systolic.options import Options
from compiler.bind.systolic.tuner.budget import Budget, TunerError, board_budget, parse_budget
from compiler.bind.systolic.tuner.candidate import Candidate
from compiler.bind.systolic.tuner.record import Record
from compiler.bind.systolic.tuner.search import Search
from compiler.bind.systolic.tuner.spread import Cluster
from compiler.cli.settings import read_settings
from compiler.frontend.apps import load
from hw.command import run_command
from hw.files import write_atomic

__all__ = ["main"]


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=command, description=__doc__)
    parser.add_argument("app", help="an application file, such as apps/systolic/mm.c")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of the application")
    parser.add_argument("--board", help="the budget is what this board's FPGA holds")
    parser.add_argument("--budget", metavar="NAME=N,…", help="multipliers, block_ram, luts; in place of the board's")
    parser.add_argument("--macs", type=int, metavar="N", help="exactly so many evaluations of the body per cycle")
    parser.add_argument("--bus-bits", type=int, default=64, metavar="N", help="width of the memory port (default: 64)")
    parser.add_argument("--reassociate", action="store_true",
                        help="let sums of floating-point numbers be made in any order")
    parser.add_argument("--latency", metavar="OP:N,…", help="cycles of operations on floating-point numbers")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="spread the search over the workers of a dask scheduler")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep what was found there, and go on from it")
    parser.add_argument("--plot", type=Path, metavar="IMAGE", help="draw cycles against resources")
    parser.add_argument("--top", type=int, default=8, metavar="N", help="designs to list (default: 8)")
    return parser


def main(arguments: Sequence[str] | None = None, command: str = "python -m compiler.tune") -> int:
    """Run the command line, which calls itself `command`. Returns the exit status."""
    options = _parser(command).parse_args(arguments)
    return run_command(lambda: _run(options, Console(markup=False, emoji=False, highlight=False)))


def _run(options: argparse.Namespace, console: Console) -> int:
    found = _search(options, console)
    console.print(_table(found[: max(1, options.top)]))
    for candidate in found[:1]:
        console.print(f"compile the first one with: python -m compiler {options.app} --target systolic "
                      f"{candidate} --option bus_bits={options.bus_bits}", soft_wrap=True)
    if options.plot:
        write_atomic(options.plot, pareto_plot(found, options.plot.suffix))
        console.print(f"plot: {options.plot}", soft_wrap=True)
    return 0


def _search(options: argparse.Namespace, console: Console) -> list[Candidate]:
    if options.macs is not None and options.macs < 1:
        raise TunerError(f"--macs is {options.macs}, not at least 1")
    if options.plot and options.plot.suffix not in (".png", ".svg", ".pdf"):
        raise TunerError(f"--plot {options.plot}: the picture is a .png, .svg or .pdf")
    search = Search(load(options.app, **read_settings("--set", options.set)), _budget(options), options.bus_bits,
                    options.macs, options.reassociate, tuple((Options(latency=options.latency).latency or {}).items()))
    record = Record(options.record, search.key)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("shapes"),
               TimeRemainingColumn())
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(options.scheduler)) if options.scheduler else None
        bar = stack.enter_context(Progress(*columns, console=console, transient=True,
                                           disable=not console.is_terminal))
        task = bar.add_task(f"searching arrays for {search.program.name}", total=None)
        spread = None if cluster is None else lambda shapes: cluster.search(search.text(), shapes)
        return search.run(record, spread, lambda done, total: bar.update(task, completed=done, total=total))


def _budget(options: argparse.Namespace) -> Budget:
    if options.budget:
        return parse_budget(options.budget)
    return board_budget(options.board) if options.board else Budget()


def _table(found: Sequence[Candidate]) -> Table:
    table = Table(title="arrays by the models, fastest first")
    for title in ("space", "array", "lanes", "steps per tile", "cycles", "multipliers", "block RAM", "LUT", "FF"):
        table.add_column(title)
    for c in found:
        lanes = f"{c.lanes} of {c.simd}" if c.lanes > 1 else "1"
        steps = " ".join(f"{name}:{count}" for name, count in c.time if count > 1)
        table.add_row(",".join(c.space), "x".join(map(str, c.array)), lanes, steps,
                      *map(str, (c.cycles, c.multipliers, c.block_ram, c.luts, c.flip_flops)))
    return table


def pareto_plot(found: Sequence[Candidate], suffix: str) -> bytes:
    """A picture of the designs that no other beats: cycles against LUTs, coloured by multipliers."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5))
    dots = axes.scatter([c.luts for c in found], [c.cycles for c in found], c=[c.multipliers for c in found], s=18)
    axes.set(xlabel="LUT (model)", ylabel="cycles (model)", xscale="log", yscale="log")
    figure.colorbar(dots, label="multipliers")
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix.lstrip("."), dpi=110)
    plt.close(figure)
    return buffer.getvalue()
