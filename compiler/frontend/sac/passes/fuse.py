"""Fusion of a loop that makes an array with the one that reads it (Hammes 2000, section 4.1.4).

The new loop has the lower loop's shape. Its windows hold what one window of the lower loop is computed from: a copy of
the upper loop inside, over these windows, computes it, with as much redundancy as windows overlap. Full unrolling and
`compiler.frontend.sac.passes.nextify` do the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Function, Graph, Node, Operand
from compiler.frontend.sac.passes.dead import drop_dead_nodes
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    Refusal,
    array_windows,
    isolate_arrays,
    loop_view,
    pragmas_of,
    set_extents,
    window_node,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.unroll import MOST_ITERATIONS, MOST_NODES
from compiler.frontend.sac.types import SIZE, Type

__all__ = ["FuseLoops"]


@dataclass(frozen=True)
class _Pair:
    """Two loops of one graph: nodes by number, and the lower loop's generator over the upper loop's array."""

    graph: Graph
    upper: int
    lower: int
    part: int


class FuseLoops(Rewriter):
    """Fuses every pair whose preconditions hold; says of the others which one does not."""

    def function(self, function: Function) -> Function:
        fused = super().function(function)
        return function if fused == function else drop_dead_nodes(fused)

    def graph(self, graph: Graph, inputs: Sequence[Type], known: dict[int, Operand] | None = None) -> Graph:
        done = super().graph(graph, inputs, known)
        fused = self._fused(done)
        while fused is not None:
            done, fused = fused, self._fused(fused)
        return done

    def _fused(self, graph: Graph) -> Graph | None:
        """`graph` with one pair fused."""
        for pair in _pairs(graph):
            place = graph.nodes[pair.lower].place
            upper = graph.nodes[pair.upper]
            try:
                sizes = _check(pair)
            except Refusal as reason:
                self.report.refused("fuse", place, f"with the loop at {upper.place}: {reason}")
                continue
            self.report.done("fuse", place, f"with the loop at {upper.place}: windows of {sizes}")
            return _replaced(pair)
        return None


def _pairs(graph: Graph) -> list[_Pair]:
    found = []
    for number, node in enumerate(graph.nodes):
        if node.kind not in ("FORALL", "FORNXT"):
            continue
        for part, generator in enumerate(loop_view(node).parts):
            array = generator.operands[0]
            source = node.operands[array.number] if isinstance(array, Argument) else None
            if isinstance(source, Edge) and graph.nodes[source.number].kind == "FORALL":
                found.append(_Pair(graph, source.number, number, part))
    return found


def _check(pair: _Pair) -> str:
    """The new loop's windows. Raises `Refusal` if the pair cannot be fused."""
    upper, lower = loop_view(pair.graph.nodes[pair.upper]), loop_view(pair.graph.nodes[pair.lower])
    if len(upper.node.outputs) != 1:
        raise Refusal(f"it gives {len(upper.node.outputs)} values, and one is fused")
    (end,) = upper.ends
    if end.kind != "CONSTRUCT_ARRAY":
        raise Refusal(f"it gives {end.kind}, which needs all of its iterations, and not an array of them")
    if upper.graph.type(end.operands[0]).is_array:
        raise Refusal("it gives an array of arrays")
    array = lower.parts[pair.part].operands[0]
    assert isinstance(array, Argument)
    if _uses(pair.graph)[Edge(pair.upper)] > 1 or lower.body_uses(array.number) or sum(
            array in part.operands for part in lower.parts) > 1:
        raise Refusal("something other than one generator of this loop uses its array, too")
    if "CROSS" in (upper.joined, lower.joined):
        raise Refusal("generators are joined by cross")
    if any(node.kind == "LOOP_INDICES" for node in upper.graph.nodes):
        raise Refusal("its body uses loop_indices")
    if ("no_unroll",) in pragmas_of(upper.node):
        raise Refusal("it has the pragma no_unroll")
    windows = [array_windows(part) for part in upper.parts]
    below = array_windows(lower.parts[pair.part])
    if below is None or None in windows:
        raise Refusal("sizes and steps of windows are not known, or dimensions are taken whole")
    iterations = prod(size for size, _ in below)
    if iterations > MOST_ITERATIONS or iterations * sum(1 for _ in upper.graph.walk()) > MOST_NODES:
        raise Refusal(f"{iterations} of its iterations in one are more than are unrolled")
    return ", ".join(_sizes(_composed(above, below)) for above in windows if above is not None)


def _uses(graph: Graph) -> Counter[Operand]:
    return Counter([*(o for node in graph.nodes for o in node.operands), *graph.outputs])


def _composed(above: Sequence[tuple[int, int]], below: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Windows and steps that hold all that one window `below` is computed from."""
    return [((low - 1) * step + size, step * low_step)
            for (size, step), (low, low_step) in zip(above, below, strict=True)]


def _sizes(windows: Sequence[tuple[int, int]]) -> str:
    return f"{' x '.join(str(size) for size, _ in windows)} in steps of {' x '.join(str(step) for _, step in windows)}"


def _replaced(pair: _Pair) -> Graph:
    out = Rebuilt(pair.graph.inputs)
    arguments = [Argument(number) for number in range(len(pair.graph.inputs))]
    values: list[list[Operand]] = []
    for number, node in enumerate(pair.graph.nodes):
        node = replace(node, operands=tuple(substitute(o, arguments, values) for o in node.operands))
        if number != pair.lower:
            values.append(out.add(node))
            continue
        edge = values[pair.upper][0]
        assert isinstance(edge, Edge)
        values.append(_Fused(out, out.nodes[edge.number], node, pair.part).outputs())
    return out.finish([substitute(o, arguments, values) for o in pair.graph.outputs])


class _Fused:
    """One loop for two."""

    def __init__(self, out: Rebuilt, upper: Node, lower: Node, part: int) -> None:
        self.upper, self.lower, self.part = loop_view(isolate_arrays(upper)), loop_view(lower), part
        self.above = [array_windows(p) or [] for p in self.upper.parts]
        self.below = array_windows(self.lower.parts[part]) or []
        self.loop = LoopBuilder(out)
        self.captures: dict[Edge, int] = {}
        """Values of the new loop's generators, and where they leave them."""
        self.captured: list[Operand] = []

    def outputs(self) -> list[Operand]:
        """The new loop, and what it gives."""
        self._generate()
        window = self._window()
        found = [self._lower_value(edge, window) for edge in self.lower.captures]
        arguments = self.loop.enter_body(self.lower)
        values = self.loop.take(self.lower.graph, arguments, found)
        ends = [substitute(o, arguments, values) for o in self.lower.graph.outputs]
        return self.loop.finish(ends, self.lower.node, pragmas_of(self.lower.node))

    def _generate(self) -> None:
        """Windows of the upper loop's arrays, and the lower loop's other generators."""
        parts = []
        for part, above in zip(self.upper.parts, self.above, strict=True):
            array = self._entered(self.upper, part.operands[0])
            scalar = part.outputs[0].scalar
            parts.append(window_node(array, scalar, _composed(above, self.below), self.lower.node.place))
        for part in self._others():
            parts.append(replace(part, operands=tuple(self._entered(self.lower, o) for o in part.operands)))
        wanted = [Edge(k) for k in range(len(self.upper.parts))]
        wanted += [edge for edge in self.upper.captures if edge.port]
        wanted += [self._moved(edge) for edge in self.lower.captures if edge.number != self.part or edge.port]
        self.captures = {edge: k for k, edge in enumerate(dict.fromkeys(wanted))}
        self.captured = self.loop.generate(parts, list(self.captures), self.lower.node.place)

    def _others(self) -> list[Node]:
        return [part for k, part in enumerate(self.lower.parts) if k != self.part]

    def _moved(self, edge: Edge) -> Edge:
        """A value of the lower loop's generators, of the new ones: indices of the fused one are those of the first
        array."""
        if edge.number == self.part:
            return Edge(0, edge.port)
        return Edge(len(self.upper.parts) + edge.number - (edge.number > self.part), edge.port)

    def _entered(self, view: LoopView, operand: Operand) -> Operand:
        return self.loop.enter(substitute(operand, view.node.operands, ()))

    def _value(self, edge: Edge) -> Operand:
        return self.captured[self.captures[edge]]

    def _window(self) -> Operand:
        """What the upper loop gives for one window of the lower one."""
        inner = LoopBuilder(self.loop.body)
        windows = {part.operands[0]: self._value(Edge(k)) for k, part in enumerate(self.upper.parts)}
        parts = [replace(part, operands=(inner.enter(windows[part.operands[0]]), *part.operands[1:]))
                 for part in self.upper.parts]
        captured = inner.generate(parts, self.upper.captures, self.upper.node.place)
        for k, edge in enumerate(self.upper.captures):
            if edge.port:
                begin = inner.enter(self._value(edge))
                add = Node("ADD", (captured[k], begin), (Type(SIZE),), (), (), self.upper.node.place)
                captured[k] = inner.body.add(add)[0]
        arguments = [inner.enter(windows.get(Argument(k)) or self.loop.enter(o))
                     for k, o in enumerate(self.upper.node.operands)]
        graph = set_extents(self.upper.graph, tuple(size for size, _ in self.below))
        values = inner.take(graph, arguments, captured)
        return inner.finish([substitute(o, arguments, values) for o in graph.outputs], self.upper.node)[0]

    def _lower_value(self, edge: Edge, window: Operand) -> Operand:
        """What the lower loop's generators brought."""
        if edge.number != self.part:
            return self._value(self._moved(edge))
        place = self.lower.node.place
        if edge.port:
            step = self.above[0][edge.port - 1][1]
            index = self._value(self._moved(edge))
            divided = Node("DIV", (index, Constant(step, SIZE)), (Type(SIZE),), (), (), place)
            return index if step == 1 else self.loop.body.add(divided)[0]
        if self.lower.parts[self.part].kind == "WINDOWGEN":
            return window
        rank = len(self.below)
        element = Node("AREF", (window, *[Constant(0, SIZE)] * rank), (Type(self.loop.body.type(window).scalar),),
                       (("pattern", "." * rank),), (), place)
        return self.loop.body.add(element)[0]
