"""Recurrences of one operation and one cycle inside their processing element.

A connection from the result of an element to an operand of its own, one logical cycle later, would pass switch boxes
and input stages; the element has a way of its own from the result register to the operation (`PeConfig.feedback`). A
select before the operand, of what the recurrence begins with, goes into the element, too: its bit restarts it.

    bit    -> merge.bit0                         bit   -> sum.bit2  (restart)
    first  -> merge.word0                        first -> sum.word0
    sum    -> merge.word1  (distance 1)   =>     x     -> sum.word1
    merge  -> sum.word0
    x      -> sum.word1

The result is seen by others as before. The operand as the operation takes it has no wire: `operand_pin` names it, so
that validation can tell what is read there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from compiler.bind.cgra.netlist import Edge, Netlist, Node, PeNode, Pin
from hw.ops import Kind
from hw.pe.bfloat16 import BFLOAT16_OPERATIONS
from hw.pe.config import COUNT, FACTORS, PRODUCTS, RESTART, PeConfig

__all__ = ["LocalFeedback", "fold_feedback", "operand_pin", "result_pin"]

_OPERAND = "operand"

_STEP = 1
"""Logical cycles from a result to the operand that it can be: what the bypass of an element takes."""


def operand_pin(node: str, number: int) -> Pin:
    """Word operand `number` of a processing element as its operation takes it, a cycle before the result."""
    return Pin(node, f"{_OPERAND}{number}")


def result_pin(pin: Pin) -> Pin | None:
    """The result of the element whose operand a pin of `operand_pin` is, None for any other pin."""
    return Pin(pin.node, "word0") if pin.port.startswith(_OPERAND) else None


@dataclass(frozen=True)
class LocalFeedback:
    """A netlist with its local recurrences inside elements. `selects`: by the output of selects that are gone, the
    operand that they were for. `own`: by element the operand that is its own result, without a select."""

    netlist: Netlist
    selects: Mapping[Pin, Pin]
    own: Mapping[str, Pin]

    def operand_of(self, pin: Pin, node: str) -> Pin | None:
        """The operand that the values of `pin` are for an element; None if they come over wires."""
        if pin in self.selects:
            return self.selects[pin]
        return self.own.get(node) if pin == Pin(node, "word0") else None


def fold_feedback(netlist: Netlist, kept: Collection[Pin]) -> LocalFeedback:
    """`netlist` with every recurrence that fits inside its element. `kept`: pins that something outside it names."""
    folding = _Folding(dict(netlist.nodes), {edge.sink: edge for edge in netlist.edges}, frozenset(kept))
    for name in netlist.nodes:
        folding.fold(name)
    return LocalFeedback(replace(netlist, nodes=folding.nodes, edges=tuple(folding.into.values())),
                         folding.selects, folding.own)


class _Folding:
    """`into`: the connection of every input that has one."""

    def __init__(self, nodes: dict[str, Node], into: dict[Pin, Edge], kept: frozenset[Pin]) -> None:
        self.nodes, self.into, self.kept = nodes, into, kept
        self.selects: dict[Pin, Pin] = {}
        self.own: dict[str, Pin] = {}
        self._takers: dict[Pin, int] = {}
        for edge in into.values():
            self._takers[edge.source] = self._takers.get(edge.source, 0) + 1

    def fold(self, name: str) -> None:
        """Fold the recurrence of an element, if it has one."""
        node = self.nodes.get(name)
        if not isinstance(node, PeNode) or not _can_feed_back(node.config):
            return
        for number in _operands(node.config):
            edge = self.into.get(Pin(name, f"word{number}"))
            if edge is not None and (self._is_own(name, edge) or self._is_restarted(node, edge)):
                self._take(node, number, edge)
                return

    def _is_own(self, name: str, edge: Edge) -> bool:
        return edge.source == Pin(name, "word0") and edge.distance == _STEP

    def _is_restarted(self, node: PeNode, edge: Edge) -> bool:
        """Whether the edge is from a select of the own result where its bit is 0, which nobody else takes."""
        before = self.nodes[edge.source.node]
        if not isinstance(before, PeNode) or before.config.op != "select" or before.config.feedback is not None:
            return False
        own = self.into.get(Pin(before.name, "word1"))
        alone = self._takers[edge.source] == 1 and edge.source not in self.kept and edge.distance == 0
        return (alone and own is not None and self._is_own(node.name, own) and before.config.bit_constants[0] is None
                and Pin(node.name, RESTART) not in self.into)

    def _take(self, node: PeNode, number: int, edge: Edge) -> None:
        """Leave out the edge, or the select that it comes from."""
        del self.into[edge.sink]
        config, operand = replace(node.config, feedback=number), operand_pin(node.name, number)
        if edge.source.node == node.name:
            self.own[node.name] = operand
        else:
            config = self._restarted(config, node.name, number, edge.source.node)
            self.selects[edge.source] = operand
        self.nodes[node.name] = replace(node, config=config)

    def _restarted(self, config: PeConfig, name: str, number: int, select: str) -> PeConfig:
        """The configuration with what a select does, whose other connections the element gets."""
        before = self.nodes.pop(select)
        assert isinstance(before, PeNode)
        del self.into[Pin(select, "word1")]
        for port, mine in (("bit0", RESTART), ("word0", f"word{number}")):
            if Pin(select, port) in self.into:
                sink = Pin(name, mine)
                self.into[sink] = replace(self.into.pop(Pin(select, port)), sink=sink)
        constants = list(config.constants)
        constants[number] = before.config.constants[0]
        return replace(config, restart=True, constants=(constants[0], constants[1], constants[2]))


def _can_feed_back(config: PeConfig) -> bool:
    if config.op == COUNT.name or config.op in BFLOAT16_OPERATIONS:
        return False
    return config.operation.result is Kind.WORD and config.feedback is None


def _operands(config: PeConfig) -> range:
    """Word operands that the own result can be."""
    words = config.operation.operands.count(Kind.WORD)
    return range(FACTORS if config.op in PRODUCTS else 0, words)
