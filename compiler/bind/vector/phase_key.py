"""When two phases are the same: graphs of different builders that are alike, node by node."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields

from compiler.bind.vector.access import Access
from compiler.bind.vector.graph import Node, nodes_of
from compiler.bind.vector.phases import Phase

__all__ = ["phase_key"]

UNUSED = ("number", "location")
"""Fields of nodes that make no difference to code."""


def phase_key(phase: Phase) -> Hashable:
    """Equal for phases of a program that become the same code: its constants are those of one name."""
    numbers: dict[Node, int] = {}

    def plain(value: object) -> Hashable:
        match value:
            case Node():
                return numbers[value]
            case Access():
                return numbers[value.node], value.matrix, value.offset
            case tuple():
                return tuple(map(plain, value))
            case _:
                assert isinstance(value, Hashable)
                return value

    found: list[Hashable] = []
    for node in nodes_of([result.node for result in phase.graph.results]):
        numbers[node] = len(numbers)
        own = tuple(plain(getattr(node, field.name)) for field in fields(node) if field.name not in UNUSED)
        found.append((type(node).__name__, own))
    results = tuple((r.name, numbers[r.node], r.starts, r.shape, r.dtype, r.memory) for r in phase.graph.results)
    return tuple(found), results
