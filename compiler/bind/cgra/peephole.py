"""Fewer units for the same value: patterns of two or three operations that one operation, or none, replaces.

What they shorten is above all the way around recurrences, where every unit takes cycles of each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.bind.cgra.netlist import Edge, PeNode, Pin
from compiler.bind.cgra.operands import Constant, Operand, Signal
from compiler.bind.sums import MASK, WIDTH

__all__ = ["Unit", "simplify", "without_unused"]


@dataclass(frozen=True)
class Unit:
    """An operation of `hw.ops` on operands, whose words are signed or not."""

    op: str
    operands: tuple[Operand, ...]
    signed: bool


Made = Mapping[Pin, Unit]
"""What computes the word or bit of each pin, as far as it is known."""


def simplify(unit: Unit, made: Made) -> Operand | Unit:
    """An operand that has the value of `unit` already, or the operation that is best for it."""
    match unit.op, unit.operands:
        case "ne", (Signal() as word, Constant(0)):
            return _bit(word, made) or unit
        case "and", (Signal() as word, Constant(mask)):
            return word if mask & 1 and _bit(word, made) else _upper_bits(word, mask, made) or unit
        case "or", (Signal() as above, Signal() as below):
            return _joined(above, below, made) or _joined(below, above, made) or unit
    return unit


def _unit(signal: Signal, made: Made, op: str) -> Unit | None:
    """The operation that computes a signal in the same cycle, if it is `op`."""
    unit = None if signal.distance else made.get(signal.pin)
    return unit if unit is not None and unit.op == op else None


def _bit(word: Signal, made: Made) -> Operand | None:
    """The bit of which a word is the number."""
    select = _unit(word, made, "select")
    return select.operands[0] if select and select.operands[1:] == (Constant(1), Constant(0)) else None


def _upper_bits(word: Signal, mask: int, made: Made) -> Unit | None:
    """An arithmetic shift of which only the bits of the word itself are kept is a logical one."""
    shift = _unit(word, made, "shr")
    if shift is None or not isinstance(shift.operands[1], Constant):
        return None
    amount = shift.operands[1].value
    return Unit("shr", shift.operands, signed=False) if amount < WIDTH and mask == MASK >> amount else None


def _joined(above: Signal, below: Signal, made: Made) -> Unit | None:
    """A word shifted left, with what fits below it, is a product and a sum."""
    left, right = _unit(above, made, "shl"), _unit(below, made, "shr")
    if left is None or right is None or right.signed:
        return None
    up, down = left.operands[1], right.operands[1]
    if not isinstance(up, Constant) or not isinstance(down, Constant) or not WIDTH - down.value <= up.value < WIDTH:
        return None
    return Unit("mad", (left.operands[0], Constant(1 << up.value), below), signed=False)


def without_unused(pes: Sequence[PeNode], edges: Sequence[Edge], kept: Pin) -> tuple[list[PeNode], list[Edge]]:
    """The units and connections without units that nothing takes words or bits from; `kept` is taken."""
    units, wires = list(pes), list(edges)
    while True:
        heard = {edge.source.node for edge in wires} | {kept.node}
        left = [pe for pe in units if pe.name in heard]
        if len(left) == len(units):
            return units, wires
        silent = {pe.name for pe in units} - heard
        units, wires = left, [edge for edge in wires if edge.sink.node not in silent]
