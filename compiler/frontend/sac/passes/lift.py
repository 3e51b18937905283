"""Arrays of constants of which a loop takes elements at unknown places are made before it: tables of hardware.
Other passes want them inside, where elements at known places become constants."""

from __future__ import annotations

from compiler.frontend.sac.ddcf.graph import Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS
from compiler.frontend.sac.passes.hoist import without_nodes
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter

__all__ = ["LiftTables"]


class LiftTables(Rewriter):
    """Moves such arrays in front of the loops that they are in."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        tables = _tables(node.graphs[-1]) if node.kind in LOOP_KINDS else []
        return out.add(without_nodes(out, node, tables) if tables else node)


def _tables(graph: Graph) -> list[int]:
    return [number for number, node in enumerate(graph.nodes)
            if node.kind == "ARR_DEF" and all(isinstance(o, Constant) for o in node.operands)
            and any(_looks_up(user, Edge(number)) for user in graph.nodes)]


def _looks_up(user: Node, table: Edge) -> bool:
    """Whether a node takes elements of the table that are not known."""
    if table not in user.operands or user.kind == "CONSTRUCT_TILE":
        return False
    return user.kind != "AREF" or not all(isinstance(index, Constant) for index in user.operands[1:])
