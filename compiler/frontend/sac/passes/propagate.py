"""Known values go where they are used: into graphs, out of arrays, through conditions (Hammes 2000, sections 4.1.6 and
4.1.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.types import Kind, Scalar, Type

__all__ = ["PropagateConstants", "PropagateElements", "SelectKnownCases", "known_bounds"]

_INDEX = Scalar(Kind.INT, 32)


class PropagateConstants(Rewriter):
    """Constants, and arrays of constants, that enter a compound node are known inside of it."""

    def inner(self, out: Rebuilt, node: Node) -> tuple[Graph, ...]:
        entering = node.operands[1:] if node.kind == "SWITCH" else node.operands
        carried = {n.number("input") for graph in node.graphs for n in graph.nodes if n.kind == "NEXT"}
        known = {k: o for k, o in enumerate(entering) if isinstance(o, Constant) and k not in carried}
        arrays = {k: producer for k, o in enumerate(entering) if k not in carried
                  for producer in [out.producer(o)] if producer is not None and _is_known_array(producer)}
        return tuple(self._graph(node, graph, known, arrays) for graph in node.graphs)

    def _graph(self, node: Node, graph: Graph, known: Mapping[int, Operand], arrays: Mapping[int, Node]) -> Graph:
        if not arrays or node.kind in ("DOT", "CROSS"):
            return self.graph(graph, graph.inputs, known)
        # The generator is a loop's first node, and stays so.
        first = 1 if graph.nodes and graph.nodes[0].kind in ("DOT", "CROSS") else 0
        return self.graph(_with_arrays(graph, arrays, first), graph.inputs, known)


def _is_known_array(node: Node) -> bool:
    return node.kind == "ARR_DEF" and all(isinstance(operand, Constant) for operand in node.operands)


def _with_arrays(graph: Graph, arrays: Mapping[int, Node], first: int) -> Graph:
    """`graph` with arrays of its own instead of these inputs, where its body uses them."""
    used = {o.number for node in graph.nodes[first:] for o in node.operands if isinstance(o, Argument)}
    wanted = {k: array for k, array in arrays.items() if k in used}
    places = {k: Edge(first + position) for position, k in enumerate(wanted)}

    def moved(operand: Operand) -> Operand:
        if isinstance(operand, Edge):
            return operand if operand.number < first else Edge(operand.number + len(wanted), operand.port)
        return places.get(operand.number, operand) if isinstance(operand, Argument) else operand

    body = tuple(replace(node, operands=tuple(map(moved, node.operands))) for node in graph.nodes[first:])
    return Graph(graph.inputs, (*graph.nodes[:first], *wanted.values(), *body), tuple(map(moved, graph.outputs)))


class PropagateElements(Rewriter):
    """An element or a section, at known indices, of an array whose elements are named is these elements; a section of a
    section is one of the whole array."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.kind != "AREF" or not all(isinstance(o, Constant) for o in node.operands[1:]):
            return super().node(out, node)
        source = out.producer(node.operands[0])
        if source is not None and source.kind == "ARR_DEF":
            return _elements(out, node, source)
        if source is not None and source.kind == "AREF" and all(isinstance(o, Constant) for o in source.operands[1:]):
            return out.add(_composed(node, source))
        return out.add(node)


def known_bounds(node: Node) -> list[tuple[int, ...]] | None:
    """For each dimension of a reference's array an index, or low, high and step; None if one is not known."""
    return _bounds(node) if all(isinstance(o, Constant) for o in node.operands[1:]) else None


def _bounds(node: Node) -> list[tuple[int, ...]]:
    numbers = [int(o.value) for o in node.operands[1:] if isinstance(o, Constant)]
    found = []
    for slot in str(node.attribute("pattern")):
        count = 3 if slot == ":" else 1
        found.append(tuple(numbers[:count]))
        numbers = numbers[count:]
    return found


def _elements(out: Rebuilt, node: Node, source: Node) -> list[Operand]:
    shape = tuple(extent or 0 for extent in source.outputs[0].extents)
    places = np.arange(prod(shape)).reshape(shape)
    slices = []
    for extent, bound in zip(shape, _bounds(node), strict=True):
        last = bound[0] if len(bound) == 1 else bound[1]
        if bound[0] < 0 or last >= extent or (len(bound) == 3 and bound[2] < 1):
            return out.add(node)
        slices.append(bound[0] if len(bound) == 1 else slice(bound[0], bound[1] + 1, bound[2]))
    taken = places[tuple(slices)]
    if not node.outputs[0].is_array:
        return [source.operands[int(taken)]]
    operands = tuple(source.operands[int(place)] for place in taken.ravel())
    return out.add(Node("ARR_DEF", operands, (Type(node.outputs[0].scalar, taken.shape),), (), (), node.place))


def _composed(node: Node, source: Node) -> Node:
    """`A[a:b:c][d:e:f]` is `A[c*d+a : c*e+a : c*f]`. Raises nothing: indices are inside, or fail in the same way."""
    outer = iter(_bounds(node))
    pattern, bounds = "", []
    slots = iter(str(node.attribute("pattern")))
    for slot, bound in zip(str(source.attribute("pattern")), _bounds(source), strict=True):
        if slot == ".":
            pattern, bounds = pattern + ".", [*bounds, *bound]
            continue
        inner, low, step = next(outer), bound[0], bound[2]
        pattern += next(slots)
        bounds += [step * inner[0] + low] if len(inner) == 1 else [step * inner[0] + low, step * inner[1] + low,
                                                                    step * inner[2]]
    constants = tuple(Constant(bound, _INDEX) for bound in bounds)
    return Node("AREF", (source.operands[0], *constants), node.outputs, (("pattern", pattern),), (), node.place)


class SelectKnownCases(Rewriter):
    """A switch whose key is known is the case that it selects."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.kind != "SWITCH" or not isinstance(node.operands[0], Constant):
            return super().node(out, node)
        selectors = node.attribute("selectors")
        assert isinstance(selectors, tuple)
        for graph, numbers in zip(self.inner(out, node), selectors, strict=True):
            if numbers is None or (isinstance(numbers, tuple) and node.operands[0].value in numbers):
                return out.splice(graph, node.operands[1:])
        raise AssertionError("a switch without a case for its key")
