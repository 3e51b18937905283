"""The net of a scheduled program before its times are known: operations, streams and reads of buffers.

A node has one value per logical cycle of its statement. At logical cycle s a user wants the value that the node had for
logical cycle ``s - distance``; physical times follow by retiming (`compiler.bind.fpga.retime`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from compiler.bind.fpga.source_mux import Leaf, Selection
from hw.dataflow.spec import Word

__all__ = ["Kind", "Net", "Node", "Use"]

Kind = Literal["input", "constant", "counter", "operator", "port", "merge", "output"]

_LATE = 1 << 20
"""Arrival of what comes back, as a running sum: later than all else, so that it meets the fewest operators."""


@dataclass(frozen=True)
class Use:
    """Node number `node`, `distance` logical cycles ago."""

    node: int
    distance: int = 0


@dataclass
class Node:
    """One node. `words`: the operands' declared types. `value`: of a constant, or the number of a table.

    A port delivers a read whose distance varies: its operand is the producer, its `distance` the smallest number of
    cycles from producing a value to this read of it. A merge has one of two operands, as `selection` says, which may be
    later nodes. `statement`: whose cycles it counts; `read` of a port or a merge: its number; `leaves`: which values
    their operands are (None: those of another merge); `name`: array of a stream, iterator of a counter. `forwarded`: of
    a load, cycles after its index at which what it comes after is there (`hw.pipeline.spec.LoadCell`).
    """

    kind: Kind
    word: Word
    statement: str
    uses: tuple[Use, ...] = ()
    words: tuple[Word, ...] = ()
    op: str = ""
    latency: int = 0
    value: int = 0
    name: str = ""
    read: int = 0
    leaves: tuple[Leaf | None, ...] = ()
    selection: Selection | None = None
    arrival: int = 0
    forwarded: int = 0

    def delay(self, place: int) -> int:
        """Cycles from operand number `place` to the value."""
        return self.latency - (self.forwarded if place else 0)


@dataclass
class Net:
    """Nodes, each (but merges) after those that it uses; node of every statement's value; where every read comes from.
    """

    nodes: list[Node] = field(default_factory=list)
    results: dict[str, int] = field(default_factory=dict)
    reads: dict[tuple[str, int], Use] = field(default_factory=dict)
    _constants: dict[tuple[int, Word], int] = field(default_factory=dict)

    def add(self, node: Node) -> int:
        """Its number. `Node.arrival` becomes the earliest time of its value, all delays being as long as it takes."""
        arrivals = [self.nodes[use.node].arrival - use.distance for use in node.uses if not self.is_constant(use)]
        node.arrival = max(arrivals, default=0) + node.latency
        self.nodes.append(node)
        return len(self.nodes) - 1

    def add_merge(self, merge: Node) -> int:
        """A merge, which gets its operands when they are there."""
        merge.arrival = _LATE
        self.nodes.append(merge)
        return len(self.nodes) - 1

    def constant(self, value: int, word: Word) -> Use:
        """A node that is always `value`."""
        if (value, word) not in self._constants:
            self._constants[value, word] = self.add(Node("constant", word, "", value=value))
        return Use(self._constants[value, word])

    def is_constant(self, use: Use) -> bool:
        """Whether a use is of a constant."""
        return self.nodes[use.node].kind == "constant"

    def arrival(self, use: Use) -> int:
        """When a use can have its value, in logical cycles of the user; constants were always there."""
        return -(1 << 40) if self.is_constant(use) else self.nodes[use.node].arrival - use.distance

    @property
    def ends(self) -> list[int]:
        """The nodes that a run is for: outputs, and stores that nothing waits for, which assert something."""
        used = {use.node for node in self.nodes for use in node.uses}
        return [number for number, node in enumerate(self.nodes)
                if node.kind == "output" or (node.op == "store" and number not in used)]

    def edges(self) -> Iterator[tuple[int, int, Use]]:
        """(user, operand number, use) of all uses but those of constants."""
        for number, node in enumerate(self.nodes):
            for place, use in enumerate(node.uses):
                if not self.is_constant(use):
                    yield number, place, use
