"""Conversions of whole arrays go to where elements are used (Hammes 2000, section 4.1.6.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import STRUCTURING_KINDS
from compiler.frontend.sac.passes.loops import LoopBuilder, isolate_arrays, loop_view, pragmas_of
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.types import Type

__all__ = ["MoveCasts"]


class MoveCasts(Rewriter):
    """A converted array that a generator or a reference takes is taken as it was; what is taken is converted. An array
    of a loop that is used only after a conversion to no more bits is made of converted elements."""

    def graph(self, graph: Graph, inputs: Sequence[Type], known: Mapping[int, Operand] | None = None) -> Graph:
        return super().graph(_made_converted(graph), inputs, known)

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind in ("AREF", "EXTENTS"):
            return _taken(out, node)
        if node.kind in ("FORALL", "FORNXT"):
            return _loop(out, node)
        return out.add(node)


def _made_converted(graph: Graph) -> Graph:
    """`graph` with conversions of loops' arrays inside of the loops."""
    uses = Counter([*(o for node in graph.nodes for o in node.operands), *graph.outputs])
    nodes = list(graph.nodes)
    moved: dict[Operand, Operand] = {}
    for number, node in enumerate(graph.nodes):
        source = node.operands[0] if node.kind == "CAST" and node.outputs[0].is_array else None
        if isinstance(source, Edge) and uses[source] == 1 and _makes(nodes[source.number], source.port, node):
            nodes[source.number] = _converting(nodes[source.number], source.port, node)
            moved[Edge(number)] = source
    if not moved:
        return graph
    kept = tuple(replace(node, operands=tuple(moved.get(o, o) for o in node.operands)) for node in nodes)
    return replace(graph, nodes=kept, outputs=tuple(moved.get(o, o) for o in graph.outputs))


def _makes(loop: Node, port: int, cast: Node) -> bool:
    """Whether a loop makes the array that is converted, to elements of no more bits."""
    return (loop.kind in ("FORALL", "FORNXT") and loop_view(loop).ends[port].kind in STRUCTURING_KINDS
            and cast.outputs[0].scalar.width <= loop.outputs[port].scalar.width)


def _converting(loop: Node, port: int, cast: Node) -> Node:
    """The loop with one array of converted elements."""
    graph, scalar = loop.graphs[0], cast.outputs[0].scalar
    end = loop_view(loop).ends[port]
    last = len(graph.nodes)
    taken = graph.type(end.operands[0])
    converted = Node("CAST", (end.operands[0],), (taken.of(scalar),), (), (), cast.place)
    made = replace(end, operands=(Edge(last),), outputs=(end.outputs[0].of(scalar),))
    outputs = tuple(Edge(last + 1) if k == port else o for k, o in enumerate(graph.outputs))
    types = tuple(type_.of(scalar) if k == port else type_ for k, type_ in enumerate(loop.outputs))
    graph = replace(graph, nodes=(*graph.nodes, converted, made), outputs=outputs)
    return replace(loop, outputs=types, graphs=(graph,))


def _unconverted(out: Rebuilt, operand: Operand) -> Operand | None:
    """The array that is converted to `operand`."""
    source = out.producer(operand)
    return source.operands[0] if source is not None and source.kind == "CAST" and source.outputs[0].is_array else None


def _taken(out: Rebuilt, node: Node) -> list[Operand]:
    array = _unconverted(out, node.operands[0])
    if array is None:
        return out.add(node)
    entering = (array, *node.operands[1:])
    if node.kind == "EXTENTS":
        return out.add(replace(node, operands=entering))
    outputs = (node.outputs[0].of(out.type(array).scalar),)
    (taken,) = out.add(replace(node, operands=entering, outputs=outputs))
    return out.add(Node("CAST", (taken,), node.outputs, (), (), node.place))


def _loop(out: Rebuilt, node: Node) -> list[Operand]:
    arrays = [part.operands[0] for part in loop_view(node).parts if part.kind != "SCALARGEN"]
    if all(_unconverted(out, substitute(array, node.operands, ())) is None for array in arrays):
        return out.add(node)
    view = loop_view(isolate_arrays(node))
    loop = LoopBuilder(out)
    parts, wanted = [], {}
    for number, part in enumerate(view.parts):
        outside = [substitute(o, view.node.operands, ()) for o in part.operands]
        array = None if part.kind == "SCALARGEN" else _unconverted(out, outside[0])
        outputs = part.outputs
        if array is not None:
            wanted[Edge(number)] = part.outputs[0]
            outside[0] = array
            outputs = (part.outputs[0].of(out.type(array).scalar), *part.outputs[1:])
        parts.append(replace(part, operands=tuple(map(loop.enter, outside)), outputs=outputs))
    captured = loop.generate(parts, view.captures, view.graph.nodes[0].place, view.joined)
    for place, edge in enumerate(view.captures):
        if edge in wanted:
            (captured[place],) = loop.body.add(Node("CAST", (captured[place],), (wanted[edge],), (), (), node.place))
    arguments = loop.enter_body(view)
    values = loop.take(view.graph, arguments, captured)
    return loop.finish([substitute(o, arguments, values) for o in view.graph.outputs], node, pragmas_of(node))
