"""Common subexpressions are computed once (Hammes 2000, section 4.1.8)."""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Edge, Node, Operand
from compiler.frontend.sac.ddcf.kinds import GENERATOR_KINDS, RETURN_KINDS
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter

__all__ = ["ShareSubexpressions"]


class ShareSubexpressions(Rewriter):
    """A simple node that computes what one before it in the graph does is that one. Compound nodes stay apart, as do
    generators, of which each adds dimensions to a loop, and what ends a loop."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.graphs or node.kind in (*GENERATOR_KINDS, *RETURN_KINDS, "NEXT"):
            return out.add(replace(node, graphs=self.inner(out, node)))
        for number, other in enumerate(out.nodes):
            if other == node:
                return [Edge(number, port) for port in range(len(node.outputs))]
        return out.add(node)
