"""Common subexpressions are computed once (Hammes 2000, section 4.1.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.frontend.sac.ddcf.graph import Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import GENERATOR_KINDS, RETURN_KINDS
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.types import Type

__all__ = ["ShareSubexpressions"]


class ShareSubexpressions(Rewriter):
    """A simple node that computes what one before it in the graph does is that one. Compound nodes stay apart, as do
    generators, of which each adds dimensions to a loop, and what ends a loop."""

    def __init__(self, report: Report | None = None) -> None:
        super().__init__(report)
        self.known: dict[Node, list[Operand]] = {}
        """What stands in the graph that is written, and what it gives."""

    def graph(self, graph: Graph, inputs: Sequence[Type], known: Mapping[int, Operand] | None = None) -> Graph:
        around, self.known = self.known, {}
        done = super().graph(graph, inputs, known)
        self.known = around
        return done

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.graphs or node.kind in (*GENERATOR_KINDS, *RETURN_KINDS, "NEXT"):
            return out.add(self.within(out, node))
        if node not in self.known:
            self.known[node] = out.add(node)
        return self.known[node]
