"""Which nodes can end a run with an error: passes move no such node to where it would not have run."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.ddcf.graph import Constant, Graph, Node, operand_type
from compiler.frontend.sac.types import Type

__all__ = ["can_fail"]

_FAILING = ("FCALL", "FOREIGN", "WHILE", "CHECK_EXTENTS", "ARR_UPDATE", "ARRAY_CONCAT", "ARRAY_CONCAT_VERT",
            "CONSTRUCT_CONCAT")


def can_fail(node: Node, inputs: Sequence[Type], nodes: Sequence[Node]) -> bool:
    """Whether `node`, in a graph with these inputs and nodes, may have no result for some operands."""
    if node.kind in _FAILING or node.kind.startswith("ACCUM") or node.kind == "HISTOGRAM":
        return True
    if node.kind in ("DOT", "CROSS"):
        return not _is_simple(node)
    if node.graphs:
        return any(_graph_can_fail(graph) for graph in node.graphs)
    types = [operand_type(operand, inputs, nodes) for operand in node.operands]
    if node.kind == "AREF":
        return not _is_inside(node, types[0])
    if node.kind in ("DIV", "MOD"):
        divisor = node.operands[1]
        return not node.outputs[0].scalar.floating and not (isinstance(divisor, Constant) and divisor.value)
    if node.kind.endswith("SHIFT"):
        amount = node.operands[1]
        return amount.value < 0 if isinstance(amount, Constant) else types[1].scalar.signed
    return False


def _graph_can_fail(graph: Graph) -> bool:
    return any(can_fail(node, graph.inputs, graph.nodes) for node in graph.nodes)


def _is_simple(node: Node) -> bool:
    """Generators that are not joined, with sizes and steps that are known."""
    inner = node.graphs[0].nodes
    known = all(isinstance(o, Constant) for part in inner
                for o in (part.operands[2::3] if part.kind == "SCALARGEN" else part.operands[1:]))
    return known and (len(inner) == 1 or node.kind == "CROSS")


def _is_inside(node: Node, array: Type) -> bool:
    """Whether the indices are known to be those of elements."""
    rest = list(node.operands[1:])
    for slot, extent in zip(str(node.attribute("pattern")), array.extents, strict=True):
        taken, rest = (rest[:3], rest[3:]) if slot == ":" else (rest[:1], rest[1:])
        numbers = [int(o.value) for o in taken if isinstance(o, Constant)]
        if extent is None or len(numbers) < len(taken) or numbers[0] < 0 or numbers[:2][-1] >= extent:
            return False
    return True
