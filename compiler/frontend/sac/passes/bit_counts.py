"""How many bits the operations of a graph have, by category: the measure of narrowing (Hammes 2000, section 7.3.1).

A union of bits needs logic for as many bits as its narrower operand has, of a known one those up to its highest; a
known 0 counts as wide as its type unless values are `known`. Conversions and shifts are wires.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend.sac.arithmetic import COMPARISONS
from compiler.frontend.sac.ddcf.graph import Constant, Edge, Graph, Node, Operand

__all__ = ["count_bits"]

_LOGIC = ("BIT_AND", "BIT_OR", "BIT_XOR", "BIT_NOT", "NOT", "AND_MANY", "OR_MANY")
_COMPARE = (*COMPARISONS, "MIN_MANY", "MAX_MANY", "MEDIAN_MANY", "MODE_MANY")
_ARITHMETIC = ("ADD", "SUB", "MUL", "DIV", "MOD", "NEG", "SUM_MANY", "PRODUCT_MANY")


def count_bits(graph: Graph, known: bool = False) -> dict[str, int]:
    """Bits of all operations of a graph and those inside. `known`: operands are as wide as their values are known to
    be, not as their types."""
    counts: dict[str, int] = {"logic": 0, "compare": 0, "arithmetic": 0, "selectors": 0}
    for around, node in _nodes(graph):
        if node.kind in _LOGIC:
            counts["logic"] += _many(node) * min((_width(around, o, known) for o in _counted(node)), default=0)
        elif node.kind in _COMPARE:
            counts["compare"] += _many(node) * max((_width(around, o, known) for o in _counted(node)), default=0)
        elif node.kind in _ARITHMETIC:
            counts["arithmetic"] += _many(node) * node.outputs[0].scalar.width
        elif node.kind == "SWITCH":
            counts["selectors"] += sum(t.scalar.width for t in node.outputs if not t.is_array)
    return counts


def _nodes(graph: Graph) -> Iterator[tuple[Graph, Node]]:
    for node in graph.nodes:
        yield graph, node
        for inner in node.graphs:
            yield from _nodes(inner)


def _many(node: Node) -> int:
    """Operations that a node stands for."""
    return max(0, len(node.operands) // 2 - 1) if node.kind.endswith("_MANY") else 1


def _counted(node: Node) -> tuple[Operand, ...]:
    """Operands that are computed with, and no masks."""
    return node.operands[::2] if node.kind.endswith("_MANY") else node.operands


def _width(graph: Graph, operand: Operand, known: bool) -> int:
    if isinstance(operand, Constant) and not operand.scalar.floating:
        value = int(operand.value)
        if value or known:
            return (value if value >= 0 else ~value).bit_length() + (value < 0)
    source = graph.nodes[operand.number] if isinstance(operand, Edge) else None
    if known and source is not None and source.kind == "CAST":
        before = graph.type(source.operands[0]).scalar
        if not before.signed and not before.floating and before.width < source.outputs[0].scalar.width:
            return before.width
    return graph.type(operand).scalar.width
