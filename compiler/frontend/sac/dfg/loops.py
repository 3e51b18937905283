"""Which loops of a program become dataflow graphs, and what keeps the others on the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.frontend.sac.ddcf.graph import Function, Graph, Module, Node
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS
from compiler.frontend.sac.dfg.convert import convert_loop
from compiler.frontend.sac.dfg.criteria import Obstacle, find_obstacles
from compiler.frontend.sac.dfg.graph import Dfg
from compiler.frontend.sac.dfg.interface import Interface
from compiler.frontend.sac.dfg.verify import verify_dfg

__all__ = ["LoopFate", "convert_loops"]


@dataclass(frozen=True)
class LoopFate:
    """What became of a loop of `function`: a graph, or reasons why there is none."""

    function: str
    loop: Node
    dfg: Dfg | None
    interface: Interface | None
    obstacles: tuple[Obstacle, ...]


def convert_loops(module: Module) -> list[LoopFate]:
    """All loops of all functions, outer ones first; graphs of those that can be one, named after function and line."""
    names: dict[str, int] = {}
    return [_fate(function, graph, loop, names) for function in module.functions
            for graph, loop in _loops(function.graph)]


def _loops(graph: Graph) -> Iterator[tuple[Graph, Node]]:
    for node in graph.nodes:
        if node.kind in LOOP_KINDS:
            yield graph, node
        for inner in node.graphs:
            yield from _loops(inner)


def _fate(function: Function, graph: Graph, loop: Node, names: dict[str, int]) -> LoopFate:
    kept = any(pragma.name == "no_dfg" for pragma in function.pragmas)
    obstacles = find_obstacles(loop)
    if kept:
        obstacles = [Obstacle(loop.kind, loop.place, f"the pragma no_dfg keeps function '{function.name}' on the host",
                              "take the pragma away")]
    if obstacles:
        return LoopFate(function.name, loop, None, None, tuple(obstacles))
    name = f"{function.name}_{loop.place.line if loop.place else 0}"
    names[name] = names.get(name, 0) + 1
    dfg, interface = convert_loop(loop, [graph.type(operand) for operand in loop.operands],
                                  name if names[name] == 1 else f"{name}_{names[name]}")
    verify_dfg(dfg)
    return LoopFate(function.name, loop, dfg, interface, ())
