"""Operations that are seen from other spaces, as operations of these."""

from __future__ import annotations

from collections.abc import Container

from compiler.bind.vector.access import Access, compose
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Node, Op, Value

__all__ = ["inlined"]


def inlined(access: Access, rank: int, builder: GraphBuilder, kept: Container[Node] = frozenset()) -> Value:
    """The operation behind `access` as one of a space of `rank` dimensions, its operands inlined likewise: each once,
    however often it is used, as the remainders of a long division are. Those that are `kept` stay what they are."""
    known: dict[Access, Value] = {}
    waiting = [access]
    while waiting:
        current = waiting[-1]
        operands = None if current.node in kept else _operands_behind(current, rank)
        missing = [o for o in operands or () if isinstance(o, Access) and o not in known]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        node = current.node
        if operands is None or not isinstance(node, Op):
            known[current] = current
        elif current not in known:
            values = [known[o] if isinstance(o, Access) else o for o in operands]
            known[current] = builder.operation(node.operation, values, node.dtype, node.location, rank)
    return known[access]


def _operands_behind(access: Access, rank: int) -> list[Value] | None:
    """What the operation behind `access` takes, seen from there; None if it stays what it is."""
    node = access.node
    if not isinstance(node, Op) or access.is_translation(rank) or node.operation == "copy":
        return None
    return [compose(o, access.matrix, access.offset, rank) if isinstance(o, Access) else o for o in node.operands]
