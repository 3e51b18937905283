"""Choices for the hardware of a recurrence."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.dataflow.options import Options as Latencies
from compiler.ir.expr import Apply, postorder
from compiler.ir.program import Statement
from compiler.ir.types import Int
from compiler.sched.space_time.errors import SpaceTimeError
from hw.ops import DIVISIONS
from hw.systolic.recurrence.divider import divider_latency

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """`divider_bits`: quotient bits that a divider finds per cycle (1 to 8). `multiplier`, `operator`: cycles of
    multiplications and of other operations. Raises `SpaceTimeError`."""

    divider_bits: int = 4
    multiplier: int = 2
    operator: int = 1

    def __post_init__(self) -> None:
        for name, low, high in (("divider_bits", 1, 8), ("multiplier", 0, 8), ("operator", 0, 8)):
            if not low <= getattr(self, name) <= high:
                raise SpaceTimeError(f"{name} is {getattr(self, name)}, not in {low}..{high}")

    def interval(self, statement: Statement) -> int:
        """Cycles from one instance of `statement` in a cell to the next: more than 1 if it divides."""
        widths = [_width(node) for node in postorder(statement.value)
                  if isinstance(node, Apply) and node.op in DIVISIONS]
        return divider_latency(max(widths), self.divider_bits) if widths else 1

    def latencies(self, statement: Statement) -> Latencies:
        """Latency of every operation of `statement`."""
        plain = {node.op for node in postorder(statement.value) if isinstance(node, Apply)}
        cycles = {op: self.operator for op in plain if op != "pass"}
        cycles |= dict.fromkeys(plain & {"mul", "mul_mid", "mul_high", "mad"}, self.multiplier)
        return Latencies(latency=cycles | dict.fromkeys(plain & set(DIVISIONS), self.interval(statement)))


def _width(node: Apply) -> int:
    type = node.args[0].type
    assert isinstance(type, Int)
    return type.width
