"""Fusion of loops side by side: those that take the same windows of the same arrays, and those of one shape whose
results meet in a loop (Hammes 2000, sections 4.1.4 and 8.6, which describes them and leaves them to the future).

The first kind also joins several readers of one array, so that the loop that makes it has one reader, and can be fused
with it; the second joins several makers of arrays that one loop reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.ddcf.graph import Edge, Graph, Node, Operand
from compiler.frontend.sac.extents import Extents
from compiler.frontend.sac.passes.loops import LoopBuilder, LoopView, Refusal, loop_view, pragmas_of
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.sizes import generator_extents
from compiler.frontend.sac.types import Type

__all__ = ["FuseSiblings"]


@dataclass(frozen=True)
class _Siblings:
    """Two loops of one graph by number, the first one before the second."""

    first: int
    second: int


class FuseSiblings(Rewriter):
    """Fuses every two loops side by side that can be."""

    def graph(self, graph: Graph, inputs: Sequence[Type], known: dict[int, Operand] | None = None) -> Graph:
        done = super().graph(graph, inputs, known)
        fused = self._fused(done)
        while fused is not None:
            done, fused = fused, self._fused(fused)
        return done

    def _fused(self, graph: Graph) -> Graph | None:
        loops = [k for k, node in enumerate(graph.nodes) if node.kind in ("FORALL", "FORNXT")]
        after = _successors(graph) if len(loops) > 1 else []
        for place, second in enumerate(loops):
            for first in loops[:place]:
                upper, lower = graph.nodes[first], graph.nodes[second]
                kind = _kind(graph, after, first, second)
                if kind is None:
                    continue
                try:
                    _check(upper, lower)
                except Refusal as reason:
                    self.report.refused("siblings", lower.place, f"with the loop at {upper.place}: {reason}")
                    continue
                self.report.done("siblings", lower.place, f"with the loop at {upper.place}: {kind}")
                return _joined(graph, after, _Siblings(first, second))
        return None


def _successors(graph: Graph) -> list[set[int]]:
    """For each node those that need it, directly or not."""
    after: list[set[int]] = [set() for _ in graph.nodes]
    for number in reversed(range(len(graph.nodes))):
        for operand in graph.nodes[number].operands:
            if isinstance(operand, Edge):
                after[operand.number] |= {number} | after[number]
    return after


def _kind(graph: Graph, after: Sequence[set[int]], first: int, second: int) -> str | None:
    """Why two loops belong together; None if they do not, or if one needs the other."""
    if second in after[first]:
        return None
    one, other = loop_view(graph.nodes[first]), loop_view(graph.nodes[second])
    if _sources(one) == _sources(other):
        return "the same generators"
    if "CROSS" in (one.joined, other.joined):
        return None
    extents = _extents(graph, one)
    if None in extents or extents != _extents(graph, other):
        return None
    for node in graph.nodes:
        arrays = {o.number for o in node.operands if isinstance(o, Edge)}
        if node.kind in ("FORALL", "FORNXT") and {first, second} <= arrays:
            return f"both of shape {list(extents)}, and read by the loop at {node.place}"
    return None


def _sources(view: LoopView) -> tuple[str, list[Node]]:
    """Generators with the operands of the graph around."""
    return view.joined, [_outside(view, part) for part in view.parts]


def _outside(view: LoopView, part: Node) -> Node:
    return replace(part, operands=tuple(substitute(o, view.node.operands, ()) for o in part.operands))


def _extents(graph: Graph, view: LoopView) -> Extents:
    types = [graph.type(substitute(o, view.node.operands, ())) for o in view.graph.nodes[0].operands]
    return generator_extents(view.graph.nodes[0], types)


def _check(upper: Node, lower: Node) -> None:
    """Raises `Refusal` for pragmas that would not mean the same any more."""
    if pragmas_of(upper) != pragmas_of(lower):
        raise Refusal("they have different pragmas")


def _joined(graph: Graph, after: Sequence[set[int]], pair: _Siblings) -> Graph:
    """`graph` with one loop for two; what needs the first one and stands before the second comes after both."""
    out = Rebuilt(graph.inputs)
    values: dict[int, list[Operand]] = {}

    def moved(operand: Operand) -> Operand:
        return values[operand.number][operand.port] if isinstance(operand, Edge) else operand

    def outside(node: Node) -> Node:
        return replace(node, operands=tuple(map(moved, node.operands)))

    between = [k for k in range(pair.first + 1, pair.second) if k in after[pair.first]]
    order = [k for k in range(len(graph.nodes)) if k != pair.first and k not in between]
    place = order.index(pair.second)
    for number in (*order[:place], pair.second, *between, *order[place + 1:]):
        if number != pair.second:
            values[number] = out.add(outside(graph.nodes[number]))
            continue
        found = _one_loop(out, outside(graph.nodes[pair.first]), outside(graph.nodes[pair.second]))
        count = len(graph.nodes[pair.first].outputs)
        values |= {pair.first: found[:count], pair.second: found[count:]}
    return out.finish([moved(o) for o in graph.outputs])


def _one_loop(out: Rebuilt, upper: Node, lower: Node) -> list[Operand]:
    """Both bodies below generators of which none stands twice."""
    views = (loop_view(upper), loop_view(lower))
    loop = LoopBuilder(out)
    parts: list[Node] = []
    places: list[list[int]] = []
    shared = _sources(views[0]) == _sources(views[1])
    for view in views:
        entered = [replace(p, operands=tuple(map(loop.enter, _outside(view, p).operands))) for p in view.parts]
        if shared and parts:
            places.append(list(range(len(parts))))
            continue
        places.append([])
        for part in entered:
            if view.joined == "CROSS" or part not in parts:
                parts.append(part)
                places[-1].append(len(parts) - 1)
            else:
                places[-1].append(parts.index(part))
    captures = [[Edge(place[edge.number], edge.port) for edge in view.captures]
                for view, place in zip(views, places, strict=True)]
    all_captures = list(dict.fromkeys(edge for row in captures for edge in row))
    brought = dict(zip(all_captures, loop.generate(parts, all_captures, lower.place, views[1].joined), strict=True))
    ends: list[Operand] = []
    for view, row in zip(views, captures, strict=True):
        arguments = loop.enter_all(view, view.node.operands)
        values = loop.take(view.graph, arguments, [brought[edge] for edge in row])
        ends += [substitute(o, arguments, values) for o in view.graph.outputs]
    return loop.finish(ends, lower, pragmas_of(lower))

