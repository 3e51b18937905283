"""Loops whose extents are known become their iterations (Hammes 2000, section 4.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, MANY_KINDS, RETURN_KINDS
from compiler.frontend.sac.passes.loops import generator_rank
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.sizes import generator_extents
from compiler.frontend.sac.types import BOOL, SIZE, Type

__all__ = ["MOST_ITERATIONS", "MOST_NODES", "UnrollInnerLoops", "UnrollLoops"]

MOST_ITERATIONS = 64
MOST_NODES = 4096
"""A loop with more iterations, or that would become more nodes, stays a loop. (The thesis has no such limit.)"""


class UnrollLoops(Rewriter):
    """Full unrolling of FORALL and FORNXT. Loops with the pragma ``no_unroll``, generators with parameters that are not
    known, and returns that have no form side by side (accumulations, means, values at extremes) stay."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind not in ("FORALL", "FORNXT") or self.stays(node):
            return out.add(node)
        graph = node.graphs[0]
        extents = _known_extents(node, graph, [out.type(operand) for operand in node.operands])
        if extents is None or not all(_can_end(graph, n) for n in graph.nodes if n.kind in RETURN_KINDS):
            return out.add(node)
        self.report.done("unroll", node.place, f"{prod(extents)} iterations")
        return _Unrolled(out, node, graph, extents).outputs()

    def stays(self, node: Node) -> bool:
        """Whether this one is not for unrolling."""
        return False


class UnrollInnerLoops(UnrollLoops):
    """The same for loops inside of loops, for those that take nothing but constants, which become constants themselves,
    and for those that carry arrays or have loops inside that may need what they carry. Any other loop is what hardware
    can run, and its iterations would be left to the host."""

    def __init__(self, report: Report | None = None) -> None:
        super().__init__(report)
        self.depth = 0

    def within(self, out: Rebuilt, node: Node) -> Node:
        around = node.kind in LOOP_KINDS
        self.depth += around
        found = super().within(out, node)
        self.depth -= around
        return found

    def stays(self, node: Node) -> bool:
        constant = all(isinstance(operand, Constant) for operand in node.operands)
        return not self.depth and not constant and not _carries_arrays_or_loops(node)


def _carries_arrays_or_loops(node: Node) -> bool:
    graph = node.graphs[0]
    carried = [graph.type(n.operands[0]) for n in graph.nodes if n.kind == "NEXT"]
    return any(type_.is_array for type_ in carried) or (bool(carried) and any(
        inner.kind in LOOP_KINDS for inner in graph.walk()))


def _known_extents(node: Node, graph: Graph, types: Sequence[Type]) -> tuple[int, ...] | None:
    """Extents of a loop that is small enough."""
    generator = graph.nodes[0]
    carried = {n.number("input") for n in graph.nodes if n.kind == "NEXT"}
    pragmas = dict(node.attributes).get("pragmas", ())
    if not _is_constant(generator) or (isinstance(pragmas, tuple) and ("no_unroll",) in pragmas):
        return None
    entering = [types[o.number] if isinstance(o, Argument) and o.number not in carried else graph.type(o)
                for o in generator.operands]
    extents = generator_extents(generator, entering)
    if any(extent is None for extent in extents):
        return None
    count = prod(extent or 0 for extent in extents)
    if count > MOST_ITERATIONS or count * sum(1 for _ in graph.walk()) > MOST_NODES:
        return None
    return tuple(extent or 0 for extent in extents)


def _is_constant(node: Node) -> bool:
    """Whether sizes and steps of a generator are known."""
    if node.kind in ("DOT", "CROSS"):
        return all(map(_is_constant, node.graphs[0].nodes))
    parameters = node.operands if node.kind == "SCALARGEN" else node.operands[1:]
    whole = node.kind == "SCALARGEN" or ":" not in str(node.attribute("pattern"))
    return whole and all(isinstance(operand, Constant) for operand in parameters)


def _can_end(graph: Graph, node: Node) -> bool:
    if node.kind == "CONSTRUCT_ARRAY":
        return not graph.type(node.operands[0]).is_array
    return f"{node.kind}_MANY" in MANY_KINDS


class _Unrolled:
    """The iterations of one loop, in the graph around it."""

    def __init__(self, out: Rebuilt, node: Node, graph: Graph, extents: tuple[int, ...]) -> None:
        self.out, self.node, self.graph, self.extents = out, node, graph, extents
        self.arguments = list(node.operands)
        self.collected: dict[int, list[list[Operand]]] = {
            number: [] for number, n in enumerate(graph.nodes) if n.kind in RETURN_KINDS}

    def outputs(self) -> list[Operand]:
        """All iterations, then what the loop gives."""
        for indices in product(*map(range, self.extents)):
            self._iteration(indices)
        ends = {number: self._end(self.graph.nodes[number], rows) for number, rows in self.collected.items()}
        final = {number: self.arguments[n.number("input")]
                 for number, n in enumerate(self.graph.nodes) if n.kind == "NEXT"}
        return [(ends | final)[o.number] for o in self.graph.outputs if isinstance(o, Edge)]

    def _iteration(self, indices: tuple[int, ...]) -> None:
        generator = self.graph.nodes[0]
        entering = [substitute(o, self.arguments, ()) for o in generator.operands]
        values: list[list[Operand]] = [self._captured(generator, entering, indices)]
        following = {}
        for number, node in enumerate(self.graph.nodes[1:], 1):
            operands = [substitute(operand, self.arguments, values) for operand in node.operands]
            if node.kind == "LOOP_INDICES":
                values.append([Constant(index, SIZE) for index in indices])
            elif node.kind == "NEXT":
                following[node.number("input")] = operands[0]
                values.append([])
            elif number in self.collected:
                self.collected[number].append(operands)
                values.append([])
            else:
                values.append(self.out.add(replace(node, operands=tuple(operands))))
        for number, operand in following.items():
            self.arguments[number] = operand

    def _captured(self, node: Node, entering: Sequence[Operand], indices: Sequence[int]) -> list[Operand]:
        """What a generator brings to one iteration."""
        if node.kind not in ("DOT", "CROSS"):
            return self._scalars(node, indices) if node.kind == "SCALARGEN" else self._section(node, entering, indices)
        found: list[list[Operand]] = []
        first = 0
        for inner in node.graphs[0].nodes:
            operands = [substitute(o, entering, ()) for o in inner.operands]
            rank = generator_rank(inner)
            own = indices if node.kind == "DOT" else indices[first:first + rank]
            found.append(self._captured(inner, operands, own))
            first += rank
        return [found[o.number][o.port] for o in node.graphs[0].outputs if isinstance(o, Edge)]

    def _scalars(self, node: Node, indices: Sequence[int]) -> list[Operand]:
        found: list[Operand] = []
        for index, type_, low, step in zip(indices, node.outputs, node.operands[::3], node.operands[2::3], strict=True):
            assert isinstance(low, Constant) and isinstance(step, Constant)
            scalar = type_.scalar
            value = (int(low.value) + index * int(step.value)) & ((1 << scalar.width) - 1)
            found.append(Constant(value - (1 << scalar.width) if value > scalar.maximum else value, scalar))
        return found

    def _section(self, node: Node, entering: Sequence[Operand], indices: Sequence[int]) -> list[Operand]:
        numbers = [int(o.value) for o in entering[1:] if isinstance(o, Constant)]
        steps = numbers[1::2] if node.kind == "WINDOWGEN" else numbers
        starts = [index * step for index, step in zip(indices, steps, strict=True)]
        bounds = starts if node.kind == "ELEGEN" else [
            n for start, size in zip(starts, numbers[::2], strict=True) for n in (start, start + size - 1, 1)]
        pattern = ("." if node.kind == "ELEGEN" else ":") * len(starts)
        operands = (entering[0], *(Constant(n, SIZE) for n in bounds))
        component = self.out.add(Node("AREF", operands, node.outputs[:1], (("pattern", pattern),), (), node.place))
        return [*component, *(Constant(start, SIZE) for start in starts)]

    def _end(self, node: Node, rows: list[list[Operand]]) -> Operand:
        if node.kind == "CONSTRUCT_ARRAY":
            array = Type(node.outputs[0].scalar, self.extents)
            return self.out.add(Node("ARR_DEF", tuple(row[0] for row in rows), (array,), (), (), node.place))[0]
        pairs = [part for row in rows for part in (row if len(row) == 2 else [row[0], Constant(1, BOOL)])]
        return self.out.add(Node(f"{node.kind}_MANY", tuple(pairs), node.outputs, (), (), node.place))[0]
