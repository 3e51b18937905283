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
    """An element or a section, at known indices, of an array whose elements are named is these elements; a reference to
    a section is one to the whole array, where its indices are known to be those of the section."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        source = out.producer(node.operands[0]) if node.kind == "AREF" else None
        if source is None:
            return super().node(out, node)
        if source.kind == "ARR_DEF" and known_bounds(node) is not None:
            return _elements(out, node, source)
        if source.kind == "AREF" and known_bounds(source) is not None and _is_inside(out, node):
            return out.add(_composed(out, node, source))
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


def _is_inside(out: Rebuilt, node: Node) -> bool:
    """Whether indices are known to be those of elements, by their values or by their types."""
    extents, rest = out.type(node.operands[0]).extents, list(node.operands[1:])
    for slot, extent in zip(str(node.attribute("pattern")), extents, strict=True):
        taken, rest = (rest[:3], rest[3:]) if slot == ":" else (rest[:1], rest[1:])
        low, high = _least(out, taken[0]), _most(out, taken[:2][-1])
        if extent is None or low < 0 or high >= extent or not all(isinstance(o, Constant) for o in taken[1:]):
            return False
    return True


def _least(out: Rebuilt, index: Operand) -> int:
    return int(index.value) if isinstance(index, Constant) else _source(out, index).minimum


def _most(out: Rebuilt, index: Operand) -> int:
    return int(index.value) if isinstance(index, Constant) else _source(out, index).maximum


def _source(out: Rebuilt, index: Operand) -> Scalar:
    """The type that an index had before it was widened."""
    node = out.producer(index)
    scalar = out.type(index).scalar
    while node is not None and node.kind == "CAST":
        before = out.type(node.operands[0]).scalar
        if before.floating or before.fraction or not (scalar.minimum <= before.minimum
                                                      and before.maximum <= scalar.maximum):
            break
        scalar, node = before, out.producer(node.operands[0])
    return scalar


def _composed(out: Rebuilt, node: Node, source: Node) -> Node:
    """`A[a:b:c][d:e:f]` is `A[c*d+a : c*e+a : c*f]`, where d, e and f lie in the section, and `A[a:b:c][i]` is
    `A[c*i+a]`."""
    inner, slots = list(node.operands[1:]), iter(str(node.attribute("pattern")))
    pattern: str = ""
    operands: list[Operand] = [source.operands[0]]
    for slot, bound in zip(str(source.attribute("pattern")), _bounds(source), strict=True):
        if slot == ".":
            pattern, operands = pattern + ".", [*operands, Constant(bound[0], _INDEX)]
            continue
        kind, low, step = next(slots), bound[0], bound[2]
        taken, inner = (inner[:3], inner[3:]) if kind == ":" else (inner[:1], inner[1:])
        pattern += kind
        operands += [_scaled(out, o, step, low) for o in taken[:2]]
        if kind == ":":
            operands.append(_scaled(out, taken[2], step, 0))
    return Node("AREF", tuple(operands), node.outputs, (("pattern", pattern),), (), node.place)


def _scaled(out: Rebuilt, index: Operand, times: int, plus: int) -> Operand:
    """`times` an index, and `plus`."""
    if isinstance(index, Constant):
        return Constant(int(index.value) * times + plus, _INDEX)
    type_ = Type(_INDEX)
    (held,) = out.add(Node("CAST", (index,), (type_,)))
    (product,) = out.add(Node("MUL", (held, Constant(times, _INDEX)), (type_,)))
    return out.add(Node("ADD", (product, Constant(plus, _INDEX)), (type_,)))[0]


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
