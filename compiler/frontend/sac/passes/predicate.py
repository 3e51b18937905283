"""``while`` loops for circuits: as many iterations as there can be, of which those count that the condition lets run.

How many there can be follows from the condition, where it bounds a counter, or a pragma says it. What such a loop
returns has no extents before the run. Arrays of as many elements as there are iterations hold it, and a counter says
how many of them count (Hammes 2000, section 8.5, which leaves it open). Behind a loop with a pragma alone the ``while``
loop stays, for iterations beyond those: it has none, where the pragma is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, MANY_KINDS, RETURN_KINDS
from compiler.frontend.sac.passes.loops import LoopBuilder, Refusal, pragmas_of, ranges_node, with_pragmas
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.sections import BOUND, first_elements
from compiler.frontend.sac.passes.trip_counts import most_trips
from compiler.frontend.sac.types import BOOL, Type

__all__ = ["PredicateLoops"]

_MOST = 1 << 16
"""Iterations of a loop that becomes one which counts."""


class PredicateLoops(Rewriter):
    """``while`` loops whose condition bounds a counter, or with the pragma ``max_trips (N)``, become FORNXT loops of
    that many iterations, in which those after the last one keep what is carried. Loops that return arrays of arrays, or
    reductions that two loops cannot share (means, places of extremes, those by label), stay; so do loops inside others
    that have the pragma alone."""

    def __init__(self, report: Report | None = None) -> None:
        super().__init__(report)
        self._around = 0

    def inner(self, out: Rebuilt, node: Node) -> tuple[Graph, ...]:
        """The graphs of a compound node."""
        self._around += node.kind in LOOP_KINDS
        found = super().inner(out, node)
        self._around -= node.kind in LOOP_KINDS
        return found

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind != "WHILE" or any(name == "rest_of" for name, *_ in pragmas_of(node)):
            return out.add(node)
        known, stated = most_trips(node), [int(n) for name, n, *_ in pragmas_of(node) if name == "max_trips"]
        trips = min([*stated, known or _MOST + 1])
        try:
            if not trips or trips > _MOST:
                raise Refusal(f"its condition bounds no counter by up to {_MOST}, and no pragma says how many "
                              "iterations it has: // PRAGMA (max_trips (64))")
            if self._around and trips != known:
                raise Refusal("it is inside a loop, so nothing can follow its pragma's iterations: let its condition "
                              f"bound a counter, as in while (k < {trips} && ...) {{ next k = k + 1; ... }}")
            made = _Predicated(out, node, trips, complete=trips == known)
        except Refusal as reason:
            self.report.refused("predicate", node.place, str(reason))
            return out.add(node)
        self.report.done("predicate", node.place, f"{trips} iterations, as long as the condition holds")
        return made.outputs()


class _Predicated:
    """One ``while`` loop while it becomes a loop that counts; a `complete` one has no rest. Raises `Refusal`."""

    def __init__(self, out: Rebuilt, node: Node, trips: int, complete: bool) -> None:
        self.out, self.source, self.trips, self.complete = out, node, trips, complete
        self.test, self.graph = node.graphs
        self.ends = [n for n in self.graph.nodes if n.kind in RETURN_KINDS]
        self.carried = {n.number("input"): n for n in self.graph.nodes if n.kind == "NEXT"}
        for end in self.ends:
            _check(self.graph, end)
        if any(n.kind == "LOOP_INDICES" for n in self.graph.walk()):
            raise Refusal("its body asks for the index of the loop")
        self.loop = LoopBuilder(out)

    def outputs(self) -> list[Operand]:
        """What both loops give together."""
        *found, count = self._counted()
        after = dict(zip(self.carried, found[len(self.ends):], strict=True))
        ended = dict(zip(map(id, self.ends), found, strict=False))
        given = [self.graph.nodes[o.number] for o in self.graph.outputs if isinstance(o, Edge)]
        if self.complete:
            return [after[node.number("input")] if node.kind == "NEXT" else self._first(node, ended[id(node)], count)
                    for node in given]
        operands = tuple(after.get(k, o) for k, o in enumerate(self.source.operands))
        rest = self.out.add(with_pragmas(replace(self.source, operands=operands), [("rest_of", self.trips)]))
        return [self._joined(node, ended, count, more) for node, more in zip(given, rest, strict=True)]

    def _first(self, end: Node, found: Operand, count: Operand) -> Operand:
        """What iterations that ran gave to a result."""
        return first_elements(self.out, found, count, end.place) if end.kind == "CONSTRUCT_ARRAY" else found

    def _counted(self) -> list[Operand]:
        """The loop that counts: what its returns give, what it carried last, and how many iterations counted."""
        loop, place = self.loop, self.source.place
        entered = [loop.carry(o) if k in self.carried else loop.enter(o) for k, o in enumerate(self.source.operands)]
        going, count = loop.carry(Constant(1, BOOL)), loop.carry(Constant(0, BOUND))
        loop.generate([ranges_node((self.trips,), place)], [Edge(0, 0)], place)
        holds, = loop.body.splice(self.test, entered)
        runs, = loop.body.add(Node("BIT_AND", (going, holds), (Type(BOOL),), (), (), place))
        values = self._body(runs, entered)
        ends = [self._end(end, values, runs) for end in self.ends]
        nexts = [loop.next(entered[k], values[id(n)][0]) for k, n in self.carried.items()]
        loop.next(going, runs)
        one, = loop.body.add(Node("CAST", (runs,), (Type(BOUND),), (), (), place))
        more, = loop.body.add(Node("ADD", (count, one), (Type(BOUND),), (), (), place))
        return loop.finish([*ends, *nexts, loop.next(count, more)], self.source, [("no_unroll",)])

    def _body(self, runs: Operand, entered: Sequence[Operand]) -> dict[int, list[Operand]]:
        """For each node that ends the loop what enters it, computed in iterations that run; in the others what was
        carried, and zeros."""
        wanted = [*self.ends, *self.carried.values()]
        run, keep = Rebuilt(self.graph.inputs), Rebuilt(self.graph.inputs)
        arguments = [Argument(k) for k in range(len(self.graph.inputs))]
        computed = run.copy(self.graph.nodes, arguments, [], lambda _, node: [] if _is_end(node) else run.add(node))
        kept: list[Operand] = []
        for node in wanted:
            if node.kind == "NEXT":
                kept.append(Argument(node.number("input")))
            else:
                scalars = [self.graph.type(o).scalar for o in node.operands]
                kept += [Constant(0.0 if scalar.floating else 0, scalar) for scalar in scalars]
        leaving = [substitute(o, arguments, computed) for node in wanted for o in node.operands]
        types = tuple(self.graph.type(o) for node in wanted for o in node.operands)
        made = iter(self.loop.body.add(Node("SWITCH", (runs, *entered), types, (("selectors", ((1,), None)),),
                                            (run.finish(leaving), keep.finish(kept)), self.source.place)))
        return {id(node): [next(made) for _ in node.operands] for node in wanted}

    def _end(self, end: Node, values: dict[int, list[Operand]], runs: Operand) -> Operand:
        operands = values[id(end)]
        outputs = end.outputs
        if end.kind == "CONSTRUCT_ARRAY":
            outputs = (Type(end.outputs[0].scalar, (self.trips,)),)
        elif len(operands) == 1:
            operands = [*operands, runs]
        return self.loop.body.add(replace(end, operands=tuple(operands), outputs=outputs))[0]

    def _joined(self, end: Node, ended: dict[int, Operand], count: Operand, more: Operand) -> Operand:
        """A result of the loop that counts and of the rest."""
        if end.kind == "NEXT":
            return more
        found = self._first(end, ended[id(end)], count)
        if end.kind == "CONSTRUCT_ARRAY":
            return self.out.add(Node("ARRAY_CONCAT", (found, more), end.outputs, (), (), end.place))[0]
        both = (found, Constant(1, BOOL), more, Constant(1, BOOL))
        return self.out.add(Node(f"{end.kind}_MANY", both, end.outputs, (), (), end.place))[0]


def _check(graph: Graph, end: Node) -> None:
    if any(graph.type(o).is_array for o in end.operands):
        raise Refusal("it returns arrays of its iterations: return their elements")
    if end.kind != "CONSTRUCT_ARRAY" and f"{end.kind}_MANY" not in MANY_KINDS:
        raise Refusal(f"two loops cannot share {end.kind}: return array(...), or carry the value by next")
    if end.kind in ("MEDIAN", "MODE"):
        raise Refusal(f"two loops cannot share {end.kind}: return array(...)")


def _is_end(node: Node) -> bool:
    return node.kind == "NEXT" or node.kind in RETURN_KINDS
