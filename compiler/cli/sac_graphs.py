"""What the command line shows of a SA-C program's graphs: files, passes, and what became of each loop."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from rich.console import Console
from rich.text import Text

from compiler.bind.page import html_page, html_table, html_text
from compiler.frontend.sac import SacProgram
from compiler.frontend.sac.ddcf import Module, print_module
from compiler.frontend.sac.dfg import LoopFate, convert_loops, print_dfgs
from compiler.frontend.sac.passes import PASSES, count_nodes
from compiler.frontend.sac.picture import FORMATS, picture_dfgs, picture_module
from compiler.ir.types import ProgramError
from hw.files import write_atomic

__all__ = ["optimised", "report_loops", "write_graphs"]


def optimised(program: SacProgram, passes: str | None, shown: Sequence[str], console: Console
              ) -> tuple[SacProgram, list[str]]:
    """`program` after the passes that are named, or ``all``; and lines that say what they did, which are printed, as
    are the graphs after each pass in `shown`. Raises `ProgramError` for a pass that does not exist."""
    for name in shown:
        if name not in PASSES:
            raise ProgramError(f"there is no pass '{name}'; there are: {', '.join(PASSES)}")
    if passes is None:
        if shown:
            raise ProgramError("--print-after shows what a pass does: give --passes, too, such as --passes all")
        return program, []

    def observe(name: str, module: Module) -> None:
        if name in shown:
            console.print(Text(f"// after {name}\n{print_module(module)}"), soft_wrap=True)

    after, done = program.optimised([name for name in passes.split(",") if name], observe)
    lines = [note + (f" ({count} times)" if count > 1 else "")
             for note, count in Counter(map(str, done.notes)).items()]
    counts = ", ".join(f"{name} {count} ({done.nodes[name]:+} nodes)" for name, count in done.changes.items()) or "none"
    rounds = f"; rounds of the cycle: {', '.join(map(str, done.rounds))}" if done.rounds else ""
    lines.append(f"nodes: {_total(program)} before passes, {_total(after)} after; changes by pass: {counts}{rounds}")
    lines += [f"{name} changed nothing" for name in shown if name not in done.changes]
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    return after, lines


def _total(program: SacProgram) -> int:
    return sum(count_nodes(program.module).values())


def write_graphs(program: SacProgram, options: argparse.Namespace) -> None:
    """The files of ``--ddcf`` and ``--dfg``: pictures or text. Raises `ProgramError` if no loop has a graph."""
    if options.ddcf:
        if options.ddcf.suffix.lower() in FORMATS:
            picture_module(options.ddcf, program.module)
        else:
            write_atomic(options.ddcf, print_module(program.module).encode())
    if options.dfg:
        fates = convert_loops(program.module)
        graphs = [fate.dfg for fate in fates if fate.dfg is not None]
        if not graphs:
            raise ProgramError(_without_graphs(program, fates))
        if options.dfg.suffix.lower() in FORMATS:
            picture_dfgs(options.dfg, graphs)
        else:
            write_atomic(options.dfg, print_dfgs(graphs).encode())


def _without_graphs(program: SacProgram, fates: Sequence[LoopFate]) -> str:
    if not fates:
        return f"program {program.name} has no loops, so it has no dataflow graphs"
    return f"no loop of program {program.name} can be a dataflow graph: {fates[-1].obstacles[0]}"


def report_loops(written: SacProgram, program: SacProgram, notes: Sequence[str], folder: Path
                 ) -> list[str]:
    """A line for each loop of `program`, which was `written` before passes: what became of it; also as ``report.html``
    in `folder`, with counts of nodes and with the graphs."""
    fates = convert_loops(program.module)
    graphs = print_dfgs([fate.dfg for fate in fates if fate.dfg is not None])
    before, after = count_nodes(written.module), count_nodes(program.module)
    kinds = [(kind, f"{before.get(kind, 0)} → {after.get(kind, 0)}") for kind in sorted({*before, *after})]
    page = html_page(f"{program.name}: loops", [
        ("Loops", _html_rows([_row(fate) for fate in fates])),
        ("Passes", html_text("\n".join(notes) or "none")),
        ("Nodes before and after passes", html_table(kinds)),
        ("Dataflow graphs", html_text(graphs or "none")),
        ("Graphs of the program", html_text(print_module(program.module)))])
    write_atomic(folder / "report.html", page.encode())
    return [f"{line} in {function}: {kind} of {nodes} nodes: {became}"
            for line, function, kind, nodes, became in map(_row, fates)]


def _row(fate: LoopFate) -> tuple[str, str, str, str, str]:
    place = fate.loop.place
    nodes = sum(1 for graph in fate.loop.graphs for _ in graph.walk())
    became = (f"dataflow graph {fate.dfg.name}, {len(fate.dfg.nodes)} nodes" if fate.dfg is not None
              else f"stays on the host: {_short(fate)}")
    return f"line {place.line}" if place else "?", fate.function, fate.loop.kind, str(nodes), became


def _short(fate: LoopFate) -> str:
    first, *others = fate.obstacles
    line = f"line {first.place.line}: " if first.place else ""
    more = f" (and {len(others)} more)" if others else ""
    return f"{line}{first.kind}: {first.reason}; {first.rewrite}{more}"


def _html_rows(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("loop", "function", "kind", "nodes", "became"))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
