"""What nothing uses is dropped: nodes, outputs and inputs of compound nodes (Hammes 2000, section 4.1.8).

A node that would end the run with an error is dropped, too, if nothing uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Edge, Function, Graph, Module, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS

__all__ = ["drop_dead", "drop_dead_nodes"]


def drop_dead(module: Module) -> Module:
    """`module` without what is not used."""
    return Module(tuple(drop_dead_nodes(function) for function in module.functions))


def drop_dead_nodes(function: Function) -> Function:
    """The same for one function."""
    outputs = range(len(function.graph.outputs))
    return replace(function, graph=_graph(function.graph, outputs, range(len(function.graph.inputs))))


def _graph(graph: Graph, outputs: Sequence[int], inputs: Sequence[int], read: frozenset[int] = frozenset()) -> Graph:
    """`graph` with these outputs and inputs alone, and what they need. Inputs that are `read` elsewhere are carried."""
    used = _used(graph, outputs, read)
    places: dict[Edge, Edge] = {}
    nodes: list[Node] = []
    numbers = {number: Argument(place) for place, number in enumerate(inputs)}

    def moved(operand: Operand) -> Operand:
        if isinstance(operand, Edge):
            return places[operand]
        return numbers[operand.number] if isinstance(operand, Argument) else operand

    for number, node in enumerate(graph.nodes):
        if number not in used:
            continue
        ports = sorted(used[number]) if node.graphs else range(len(node.outputs))
        node = _node(node, ports, numbers if node.kind == "NEXT" else None)
        nodes.append(replace(node, operands=tuple(moved(operand) for operand in node.operands)))
        places |= {Edge(number, port): Edge(len(nodes) - 1, place) for place, port in enumerate(ports)}
    return Graph(tuple(graph.inputs[number] for number in inputs), tuple(nodes),
                 tuple(moved(graph.outputs[port]) for port in outputs))


def _used(graph: Graph, outputs: Sequence[int], read: frozenset[int] = frozenset()) -> dict[int, set[int]]:
    """The nodes that are needed, with the outputs that are used. A loop's generator always is; a value is carried if
    the loop reads it or returns it."""
    used: dict[int, set[int]] = {}
    arguments: set[int] = set()
    pending: list[Operand] = [*(graph.outputs[port] for port in outputs), *map(Argument, read)]
    carried = {node.number("input"): number for number, node in enumerate(graph.nodes) if node.kind == "NEXT"}
    for number, node in enumerate(graph.nodes):
        if node.kind in ("DOT", "CROSS", "SCALARGEN", "ELEGEN", "WINDOWGEN"):
            used[number] = set()
            pending += node.operands
    while pending:
        operand = pending.pop()
        if isinstance(operand, Argument) and operand.number not in arguments:
            arguments.add(operand.number)
            if operand.number in carried:
                pending.append(Edge(carried[operand.number]))
        elif isinstance(operand, Edge):
            if operand.number not in used:
                pending += graph.nodes[operand.number].operands
            node = graph.nodes[operand.number]
            used.setdefault(operand.number, set()).add(operand.port)
            if node.kind == "NEXT":
                pending.append(Argument(node.number("input")))
    return used


def _node(node: Node, ports: Sequence[int], numbers: dict[int, Argument] | None) -> Node:
    """`node` with these outputs alone, and without inputs that its graphs do not use."""
    if numbers is not None:
        return replace(node, attributes=(("input", numbers[node.number("input")].number),))
    if not node.graphs:
        return node
    ahead = 1 if node.kind == "SWITCH" else 0
    tests = 1 if node.kind == "WHILE" else 0
    kept = [range(len(g.outputs)) if k < tests else ports for k, g in enumerate(node.graphs)]
    count = len(node.operands) - ahead
    read = _arguments(node.graphs[0], kept[0], frozenset()) if tests else frozenset()
    needed = [_arguments(g, o, read) for g, o in zip(node.graphs, kept, strict=True)]
    inputs = [k for k in range(count) if any(k in found for found in needed)]
    graphs = tuple(_graph(g, o, inputs, read) for g, o in zip(node.graphs, kept, strict=True))
    operands = node.operands[:ahead] + tuple(node.operands[ahead + k] for k in inputs)
    kind = node.kind
    if kind == "FORNXT" and not any(n.kind == "NEXT" for n in graphs[0].nodes):
        kind = "FORALL"
    assert kind in LOOP_KINDS or kind == node.kind
    return replace(node, kind=kind, operands=operands, graphs=graphs, outputs=tuple(node.outputs[p] for p in ports))


def _arguments(graph: Graph, outputs: Sequence[int], read: frozenset[int]) -> frozenset[int]:
    """The inputs that these outputs need, and those that are `read` elsewhere."""
    used = _used(graph, outputs, read)
    reads = [o for number in used for o in graph.nodes[number].operands] + [graph.outputs[port] for port in outputs]
    found = read | {o.number for o in reads if isinstance(o, Argument)}
    return found | {graph.nodes[number].number("input") for number in used if graph.nodes[number].kind == "NEXT"}
