"""From an expression graph to the statements of a vector program: phases, tiles, loops around them."""

from __future__ import annotations

from typing import NamedTuple

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.contractions import ContractionPass
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.flatten import flattened
from compiler.bind.vector.graph import Node
from compiler.bind.vector.instruction_combining import CombinePass, CopyPass, NarrowPass
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.options import Options
from compiler.bind.vector.phases import Phase, split
from compiler.bind.vector.reductions import ReductionPass
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.select_loop_form import arranged
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.spill import PhasePlanner
from compiler.bind.vector.tile_loops import code_of
from compiler.bind.vector.tile_search import Choice
from compiler.bind.vector.translate import Graph, translate
from compiler.frontend.parallel_array.program import ArrayProgram
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Planned", "lowered", "planned"]


class Planned(NamedTuple):
    """A program's code, how it came about, and its predicted clock cycles."""

    cycles: float
    body: tuple[Statement, ...]
    phases: list[Phase]
    choices: list[Choice]


def planned(whole: Graph, planner: PhasePlanner, options: Options, spilled: tuple[Node, ...] = (),
            is_last: bool = True) -> Planned:
    """The best code for a graph, with some values stored and loaded again; `is_last` as in `PhasePlanner.plans`. Raises
    `VectorTargetError`."""
    builder = GraphBuilder()
    phases = split(whole, builder, spilled)
    segment = options.segment if len(phases) == 1 else None
    if segment is None:
        plans = planner.plans([flattened(phase, builder) for phase in phases], builder, is_last)
    elif len(segment) == len(phases[0].shape):
        plans = planner.with_segment(phases[0], segment)
    else:
        raise VectorTargetError(f"a segment of {len(segment)} dimensions does not fit results of shape "
                                f"{phases[0].shape}")
    phases, choices = [phase for phase, _ in plans], [choice for _, choice in plans]
    return Planned(*arranged(_groups(choices), planner.spec), phases, choices)


def lowered(program: ArrayProgram, spec: VectorSpec) -> Graph:
    """The graph of a program after all passes that concern the whole of it."""
    graph = translate(program, GraphBuilder())
    graph = ContractionPass(graph, GraphBuilder()).run()
    graph = ReductionPass(graph, GraphBuilder(), spec.lanes, spec.capacity // 4).run()
    graph = CombinePass(graph, GraphBuilder()).run()
    graph = NarrowPass(graph, GraphBuilder()).run()
    return CopyPass(graph, GraphBuilder()).run()


def _groups(choices: list[Choice]) -> list:
    settings, repeats = Settings(), Repeats()
    return [group for choice in choices for group in code_of(choice.plan, settings, repeats)]
