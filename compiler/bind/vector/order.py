"""Evaluation order: the generalisation by Appel and Supowit of the algorithm of Sethi and Ullman, and what lives when.

Operands are evaluated in the order of falling (memory needed while evaluating - memory of the result), which needs
the least memory for a tree with any number of operands of any size. Shared nodes are evaluated at their first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.bind.vector.graph import Leaf, Node, nodes_of
from compiler.bind.vector.translate import Graph

__all__ = ["Order", "evaluation_order"]


@dataclass(frozen=True)
class Order:
    """`nodes` to evaluate, in order; `first_use` and `last_use` of every node by another one: positions in `nodes`
    (results: last their number)."""

    nodes: tuple[Node, ...]
    first_use: Mapping[Node, int]
    last_use: Mapping[Node, int]


def _inputs(node: Node, skipped: set[Node]) -> list[Node]:
    """What has to be there before `node`: operands, those of operations carried out inside it included."""
    found: list[Node] = []
    for access in node.accesses:
        found += _inputs(access.node, skipped) if access.node in skipped else [access.node]
    return list(dict.fromkeys(found))


def evaluation_order(graph: Graph, weight: Mapping[Node, int], skipped: set[Node]) -> Order:
    """The order for results with buffers of `weight` bytes; `skipped` nodes are part of their consumer."""
    roots = [r.node for r in graph.results]
    need: dict[Node, int] = {}
    sorted_inputs: dict[Node, list[Node]] = {}
    for node in nodes_of(roots):
        if isinstance(node, Leaf):
            need[node] = 0
            continue
        children = [c for c in _inputs(node, skipped) if not isinstance(c, Leaf)]
        children.sort(key=lambda c: need[c] - weight.get(c, 0), reverse=True)
        held, most = 0, 0
        for child in children:
            most = max(most, held + need[child])
            held += weight.get(child, 0)
        need[node] = max(most, held, weight.get(node, 0))
        sorted_inputs[node] = children
    nodes = _walk(roots, sorted_inputs)
    position = {node: i for i, node in enumerate(nodes)}
    last = {node: i for i, node in enumerate(nodes)}
    first: dict[Node, int] = {}
    for node in nodes:
        for source in _inputs(node, skipped):
            first.setdefault(source, position[node])
            last[source] = position[node]
    last.update({root: len(nodes) for root in roots})
    return Order(tuple(nodes), first, last)


def _walk(roots: list[Node], inputs: Mapping[Node, list[Node]]) -> list[Node]:
    done: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in done or isinstance(node, Leaf):
            continue
        if ready:
            done[node] = None
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(inputs[node]))
    return list(done)
