"""Walks over graphs of nodes that share parts, without recursion: expressions nest thousands of levels deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

__all__ = ["postorder_of"]

_Node = TypeVar("_Node")


def postorder_of(roots: Sequence[_Node], children: Callable[[_Node], Sequence[_Node]]) -> Iterator[_Node]:
    """Every node object below `roots` once, those that it uses first."""
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
