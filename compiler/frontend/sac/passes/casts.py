"""Conversions of whole arrays go to where elements are used (Hammes 2000, section 4.1.6.1)."""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Edge, Node, Operand
from compiler.frontend.sac.passes.loops import LoopBuilder, isolate_arrays, loop_view, pragmas_of
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute

__all__ = ["MoveCasts"]


class MoveCasts(Rewriter):
    """A converted array that a generator or a reference takes is taken as it was; what is taken is converted."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind in ("AREF", "EXTENTS"):
            return _taken(out, node)
        if node.kind in ("FORALL", "FORNXT"):
            return _loop(out, node)
        return out.add(node)


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
