"""Diagrams of DDCF graphs and of dataflow graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Function, Graph, Module, Node
from compiler.frontend.sac.ddcf.kinds import GENERATOR_KINDS, LOOP_KINDS, RETURN_KINDS
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Word
from compiler.frontend.sac.dfg.kinds import GENERATORS, RETURNS
from compiler.frontend.sac.picture.draw import draw
from compiler.frontend.sac.picture.layout import Box, Diagram, Wire

__all__ = ["picture_dfgs", "picture_module"]

_MOST_OPERANDS = 28
"""Characters of a line of constants."""


def picture_module(path: Path, module: Module) -> None:
    """A picture of all functions. Raises `ProgramError` if it cannot be made."""
    draw(path, Diagram(tuple(_function(function) for function in module.functions), ()))


def picture_dfgs(path: Path, graphs: Sequence[Dfg]) -> None:
    """A picture of dataflow graphs. Raises `ProgramError` if it cannot be made."""
    draw(path, Diagram(tuple(Box((graph.name,), "loop", (_dfg(graph),)) for graph in graphs), ()))


def _function(function: Function) -> Box:
    names = [f"{port.name}: {type_}" for port in function.parameters for type_ in port.types]
    results = [f"{port.name}: {type_}" for port in function.results for type_ in port.types]
    return Box((f"function {function.name}",), "loop", (_graph(function.graph, names, results),))


def _graph(graph: Graph, names: Sequence[str], results: Sequence[str] = ()) -> Diagram:
    """Inputs, nodes, outputs. Only inputs that something uses are drawn."""
    used = sorted({o.number for node in graph.nodes for o in node.operands if isinstance(o, Argument)}
                  | {o.number for o in graph.outputs if isinstance(o, Argument)})
    boxes = [Box((names[number],), "port") for number in used]
    places = {number: position for position, number in enumerate(used)}
    first = len(boxes)
    boxes += [_node(node) for node in graph.nodes]
    wires = [wire for number, node in enumerate(graph.nodes)
             for wire in _wires(node.operands, places, first, first + number)]
    for number, operand in enumerate(graph.outputs):
        if isinstance(operand, Edge) and graph.nodes[operand.number].kind in (*RETURN_KINDS, "NEXT") and not results:
            continue
        text = results[number] if results else "result"
        boxes.append(Box((text if not isinstance(operand, Constant) else f"{text} = {operand.value}",), "port"))
        wires += _wires([operand], places, first, len(boxes) - 1)
    return Diagram(tuple(boxes), tuple(wires))


def _wires(operands: Sequence[object], inputs: dict[int, int], first: int, target: int) -> list[Wire]:
    found = []
    for slot, operand in enumerate(operands):
        if isinstance(operand, Edge):
            found.append(Wire(first + operand.number, operand.port, target, slot))
        elif isinstance(operand, Argument):
            found.append(Wire(inputs[operand.number], 0, target, slot))
    return found


def _node(node: Node) -> Box:
    role = ("loop" if node.kind in LOOP_KINDS else "switch" if node.kind == "SWITCH" else
            "generator" if node.kind in ("DOT", "CROSS", *GENERATOR_KINDS) else
            "return" if node.kind in (*RETURN_KINDS, "NEXT") else "node")
    place = f"line {node.place.line}" if node.place else ""
    head = " ".join([node.kind, *(str(value) for name, value in node.attributes if name in ("function", "pattern"))])
    types = ", ".join(map(str, dict.fromkeys(map(str, node.outputs))))
    if node.graphs:
        shift = 1 if node.kind == "SWITCH" else 0
        inside = [_graph(graph, [f"in {n}: {t}" for n, t in enumerate(graph.inputs, shift)]) for graph in node.graphs]
        cases = f" {_cases(node)}" if node.kind == "SWITCH" else ""
        return Box((f"{head}{cases}   {types}   {place}",), role, tuple(inside))
    constants = _constants([o.value if isinstance(o, Constant) else None for o in node.operands])
    return Box(tuple(line for line in (head, constants, types, place) if line), role)


def _cases(node: Node) -> str:
    """The numbers of each case."""
    selectors = node.attribute("selectors")
    assert isinstance(selectors, tuple)
    return " | ".join(", ".join(map(str, numbers)) if isinstance(numbers, tuple) else "others"
                      for numbers in selectors)


def _constants(values: Sequence[int | float | None]) -> str:
    """Operands that are known, a dot for each that a wire brings; nothing if no operand is known."""
    if all(value is None for value in values):
        return ""
    text = ", ".join("·" if value is None else str(value) for value in values)
    return text if len(text) <= _MOST_OPERANDS else text[:_MOST_OPERANDS - 1] + "…"


def _dfg(graph: Dfg) -> Diagram:
    used = sorted({o.number for node in graph.nodes for o in node.operands if isinstance(o, Argument)})
    places = {number: position for position, number in enumerate(used)}
    boxes = [Box((f"{graph.inputs[n].name}: {graph.inputs[n].width}",), "port") for n in used]
    first = len(boxes)
    boxes += [_dfg_node(node) for node in graph.nodes]
    wires = [Wire(w.source, w.port, w.target, w.slot, back=w.source >= w.target)
             for number, node in enumerate(graph.nodes)
             for w in _wires(node.operands, places, first, first + number)]
    boxes.append(Box(("done",), "port"))
    wires += _wires([graph.output], places, first, len(boxes) - 1)
    return Diagram(tuple(boxes), tuple(wires))


def _dfg_node(node: DfgNode) -> Box:
    role = ("generator" if node.kind in GENERATORS else "return" if node.kind in RETURNS else
            "switch" if node.kind in ("SELECTOR", "CIRCULATE") else "node")
    constants = _constants([o.value if isinstance(o, Word) else None for o in node.operands])
    bits = " ".join(map(str, node.widths[:8])) + (" …" if len(node.widths) > 8 else "")
    return Box(tuple(line for line in (node.kind, constants, f"{bits} bits" if role != "return" else "") if line), role)
