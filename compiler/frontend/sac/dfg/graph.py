"""Nodes and edges of dataflow graphs. All of it is immutable; `DfgBuilder` makes graphs.

Tokens have bits and no type: whether they have a sign is the node's affair. An operand that is constant or an input of
the graph brings a token whenever one is needed, and so does a node that has no other operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compiler.frontend.sac.ddcf.graph import Argument, Attribute, Edge
from compiler.frontend.sac.syntax import Place

__all__ = ["Dfg", "DfgBuilder", "DfgNode", "Input", "Operand", "Word"]


@dataclass(frozen=True)
class Word:
    """A constant of `width` bits; `value` is not negative."""

    value: int
    width: int


Operand = Edge | Argument | Word


@dataclass(frozen=True)
class DfgNode:
    """One node: its kind (`compiler.frontend.sac.dfg.kinds`), what enters, how many bits leave at each output."""

    kind: str
    operands: tuple[Operand, ...]
    widths: tuple[int, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    place: Place | None = field(default=None, compare=False)

    def attribute(self, name: str) -> Attribute:
        """The attribute of this name, which the node's kind has."""
        return dict(self.attributes)[name]

    def number(self, name: str) -> int:
        """An attribute that is an integer."""
        value = self.attribute(name)
        assert isinstance(value, int)
        return value


@dataclass(frozen=True)
class Input:
    """An argument word that the host writes before the run."""

    name: str
    width: int


@dataclass(frozen=True)
class Dfg:
    """The graph of one loop; `output` is the token that says that all results are in memory."""

    name: str
    inputs: tuple[Input, ...]
    nodes: tuple[DfgNode, ...]
    output: Operand
    place: Place | None = field(default=None, compare=False)

    def width(self, operand: Operand) -> int:
        """Bits of what `operand` brings."""
        return operand_width(operand, self.inputs, self.nodes)

    def streams(self) -> list[bool]:
        """For each node whether it has tokens of its own for each iteration: generators, CIRCULATE, and what follows
        them; all others are the same in all iterations."""
        found = [node.kind in _SOURCES for node in self.nodes]
        for number, node in enumerate(self.nodes):
            found[number] |= any(isinstance(o, Edge) and found[o.number] for o in node.operands)
        return found


_SOURCES = ("SCALARGEN", "ELEGEN", "SLICEGEN", "WINDOWGEN", "CIRCULATE")


def operand_width(operand: Operand, inputs: Sequence[Input], nodes: Sequence[DfgNode]) -> int:
    """Bits of what `operand` brings in a graph with these inputs and nodes."""
    if isinstance(operand, Word):
        return operand.width
    if isinstance(operand, Argument):
        return inputs[operand.number].width
    return nodes[operand.number].widths[operand.port]


class DfgBuilder:
    """A graph that grows. Nodes without state that stand twice are one."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.nodes: list[DfgNode] = []
        self._known: dict[DfgNode, int] = {}

    def input(self, name: str, width: int = 32) -> Argument:
        """A new argument word."""
        self.inputs.append(Input(name, width))
        return Argument(len(self.inputs) - 1)

    def width(self, operand: Operand) -> int:
        """Bits of what `operand` brings."""
        return operand_width(operand, self.inputs, self.nodes)

    def add(self, kind: str, operands: Sequence[Operand], widths: Sequence[int], place: Place | None = None,
            **attributes: Attribute) -> list[Edge]:
        """A node with this kind, an equal one if there is one; its outputs."""
        node = DfgNode(kind, tuple(operands), tuple(widths), tuple(sorted(attributes.items())), place)
        number = self._known.get(node) if kind != "CIRCULATE" else None
        if number is None:
            self.nodes.append(node)
            number = self._known[node] = len(self.nodes) - 1
        return [Edge(number, port) for port in range(len(widths))]

    def feed(self, circulate: Edge, following: Operand) -> None:
        """Let `following` be what a CIRCULATE node gets from the iteration before: the only edge that goes back."""
        node = self.nodes[circulate.number]
        first, _, count = node.operands
        self.nodes[circulate.number] = replace(node, operands=(first, following, count))

    def finish(self, name: str, output: Operand, place: Place | None) -> Dfg:
        """The graph, without nodes from which nothing gets to `output`."""
        used = sorted(self._reach(output))
        moved = {number: position for position, number in enumerate(used)}

        def renumbered(operand: Operand) -> Operand:
            return Edge(moved[operand.number], operand.port) if isinstance(operand, Edge) else operand

        nodes = tuple(replace(self.nodes[n], operands=tuple(map(renumbered, self.nodes[n].operands))) for n in used)
        return Dfg(name, tuple(self.inputs), nodes, renumbered(output), place)

    def _reach(self, output: Operand) -> set[int]:
        """Numbers of the nodes from which something gets to `output`."""
        found: set[int] = set()
        ahead = [output]
        while ahead:
            operand = ahead.pop()
            if isinstance(operand, Edge) and operand.number not in found:
                found.add(operand.number)
                ahead += self.nodes[operand.number].operands
        return found
