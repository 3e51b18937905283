"""``concat`` for circuits: stream compaction into an array that has room for all elements that there may be.

A loop whose iterations return so many elements at most, by the cases of a ``switch`` or ``if``, writes each behind
those of the iterations before it, in the place that a counter says (Hammes 2000, section 8.5, which leaves it open).
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.passes.loops import LoopBuilder, Refusal, loop_view, pragmas_of
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute, with_operands
from compiler.frontend.sac.passes.sections import BOUND, first_elements
from compiler.frontend.sac.passes.sizes import generator_extents
from compiler.frontend.sac.types import BOOL, SIZE, Type

__all__ = ["CompactLoops"]

_MOST = 8
"""Elements of an iteration: each needs a memory of its own."""


class CompactLoops(Rewriter):
    """Loops of known extents that return ``concat`` of arrays of numbers, each one of known extents in all cases."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind not in ("FORALL", "FORNXT") or all(n.kind != "CONSTRUCT_CONCAT" for n in node.graphs[0].nodes):
            return out.add(node)
        try:
            found = _Compacted(out, node).outputs()
        except Refusal as reason:
            self.report.refused("compact", node.place, str(reason))
            return out.add(node)
        self.report.done("compact", node.place, "elements are written behind each other")
        return found


class _Compacted:
    """One loop while its arrays become elements. Raises `Refusal`, before it changes the graph around."""

    def __init__(self, out: Rebuilt, node: Node) -> None:
        self.out, self.view = out, loop_view(node)
        graph = self.view.graph
        types = [out.type(substitute(o, node.operands, ())) for o in graph.nodes[0].operands]
        extents = generator_extents(graph.nodes[0], types)
        if len(extents) != 1 or not extents[0]:
            raise Refusal("how many iterations it has is not known")
        self.trips = extents[0]
        self.sizes = {o.number: _largest(graph, graph.nodes[o.number]) for o in graph.outputs
                      if isinstance(o, Edge) and graph.nodes[o.number].kind == "CONSTRUCT_CONCAT"}
        self.loop = LoopBuilder(out)

    def outputs(self) -> list[Operand]:
        """What the loop gives."""
        loop, view = self.loop, self.view
        entered = loop.enter_all(view, view.node.operands)
        counters = {number: loop.carry(Constant(0, BOUND)) for number in self.sizes}

        def put(number: int, node: Node) -> list[Operand]:
            if number not in counters:
                return loop.body.add(node)
            return self._placed(node, self.sizes[number], counters[number])

        parts = [with_operands(p, tuple(substitute(o, entered, ()) for o in p.operands)) for p in view.parts]
        captured = loop.generate(parts, view.captures, view.node.place, view.joined)
        values = loop.take(view.graph, entered, captured, put)
        given = [values[o.number] for o in view.graph.outputs if isinstance(o, Edge)]
        found = iter(loop.finish([o for row in given for o in row], view.node, pragmas_of(view.node)))
        return [self._joined(end, [next(found) for _ in row]) for end, row in zip(view.ends, given, strict=True)]

    def _placed(self, end: Node, most: int, counter: Argument) -> list[Operand]:
        """Nodes that write each of up to `most` elements of an iteration into an array of its own, and the counter."""
        body = self.loop.body
        *elements, count = _elements(body, end.operands[0], most)
        room = Constant(self.trips * most, SIZE)
        found = []
        for number, element in enumerate(elements):
            place, = body.add(Node("ADD", (counter, Constant(number, BOUND)), (Type(BOUND),), (), (), end.place))
            label, = body.add(Node("CAST", (place,), (Type(SIZE),), (), (), end.place))
            there, = body.add(Node("GT", (count, Constant(number, BOUND)), (Type(BOOL),), (), (), end.place))
            type_ = Type(end.outputs[0].scalar, (self.trips * most,))
            found += body.add(Node("ACCUM_SUM", (element, label, room, there), (type_,), (), (), end.place))
        after, = body.add(Node("ADD", (counter, count), (Type(BOUND),), (), (), end.place))
        return [*found, self.loop.next(counter, after)]

    def _joined(self, end: Node, found: Sequence[Operand]) -> Operand:
        """A result of the loop: no place is written by two of the arrays, so their sum has all elements."""
        if end.kind != "CONSTRUCT_CONCAT":
            return found[0]
        *arrays, count = found
        joined = arrays[0]
        for more in arrays[1:]:
            joined = _sum(self.out, joined, more, end)
        return first_elements(self.out, joined, count, end.place)


def _largest(graph: Graph, end: Node) -> int:
    """The most elements that an iteration gives to `end`."""
    array = end.operands[0]
    type_ = graph.type(array)
    if type_.rank != 1 or type_.scalar.floating:
        raise Refusal(f"it joins {type_}, and elements of circuits are integers in one row")
    longest = _longest(graph, array)
    if longest is None or not 0 < longest <= _MOST:
        raise Refusal(f"how many elements an iteration gives is not known, or more than {_MOST}: let each case of a "
                      "switch give so many, such as A[0:0] and A[1:0]")
    return longest


def _longest(graph: Graph, array: Operand) -> int | None:
    """The most elements of an array, which may come from the cases of a switch."""
    length = graph.type(array).extents[0]
    node = graph.nodes[array.number] if isinstance(array, Edge) else None
    if length is not None or node is None or not isinstance(array, Edge) or node.kind != "SWITCH":
        return length
    cases = [_longest(case, case.outputs[array.port]) for case in node.graphs]
    known = [length for length in cases if length is not None]
    return max(known) if len(known) == len(cases) else None


def _elements(out: Rebuilt, array: Operand, most: int) -> list[Operand]:
    """`most` elements of an array, zeros behind its last, and how many there are."""
    length = out.type(array).extents[0]
    node = out.producer(array)
    if node is not None and isinstance(array, Edge) and length is None:
        graphs = []
        for case in node.graphs:
            inner = Rebuilt(case.inputs)
            leaving = inner.splice(case, [Argument(k) for k in range(len(case.inputs))])
            graphs.append(inner.finish(_elements(inner, leaving[array.port], most)))
        types = (*[Type(out.type(array).scalar)] * most, Type(BOUND))
        return out.add(Node("SWITCH", node.operands, types, node.attributes, tuple(graphs), node.place))
    assert length is not None
    scalar = out.type(array).scalar
    found: list[Operand] = [out.add(Node("AREF", (array, Constant(k, SIZE)), (Type(scalar),), (("pattern", "."),)))[0]
                            for k in range(length)]
    return [*found, *[Constant(0, scalar)] * (most - length), Constant(length, BOUND)]


def _sum(out: Rebuilt, left: Operand, right: Operand, end: Node) -> Operand:
    """Element by element."""
    scalar = out.type(left).scalar
    loop = LoopBuilder(out)
    parts = [Node("ELEGEN", (loop.enter(array), Constant(1, SIZE)), (Type(scalar), Type(SIZE)), (("pattern", "~"),), (),
                  end.place) for array in (left, right)]
    a, b = loop.generate(parts, [Edge(0, 0), Edge(1, 0)], end.place)
    added, = loop.body.add(Node("ADD", (a, b), (Type(scalar),), (), (), end.place))
    made, = loop.body.add(Node("CONSTRUCT_ARRAY", (added,), (out.type(left),), (), (), end.place))
    return loop.finish([made], end)[0]
