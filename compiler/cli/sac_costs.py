"""What the command line shows of the cost of a SA-C program's loops."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compiler.frontend.sac import SacProgram
from compiler.frontend.sac.cost import LoopCost, loop_costs

__all__ = ["print_costs"]

_HEAD = ("loop", "starts", "extents", "iterations", "reads", "writes", "cycles", "2 memories")


def print_costs(program: SacProgram, console: Console) -> None:
    """A table of the loops that have no loops inside; a line if the extents of none are known."""
    sized, _ = program.optimised(["sizes", "fold", "sizes"])
    costs = loop_costs(sized.module, sized.main.name)
    if not costs:
        console.print(Text(f"program {program.name} has no loops whose extents are known"))
        return
    table = Table(*_HEAD, title=Text("loops, words of memory and least cycles (model)"))
    for cost in costs:
        table.add_row(*map(Text, _row(cost)))
    console.print(table)


def _row(cost: LoopCost) -> tuple[str, ...]:
    place = f"line {cost.place.line}" if cost.place else "?"
    counts = (cost.iterations, cost.reads, cost.writes, cost.one_memory, cost.two_memories)
    return place, str(cost.starts), "x".join(map(str, cost.extents)), *map(str, counts)
