"""Choices for the hardware of a recurrence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.bind.dataflow.options import Options as Latencies
from compiler.ir.expr import Apply, Cast, is_floating, postorder
from compiler.ir.program import Statement
from compiler.ir.types import Int
from compiler.sched.space_time.errors import SpaceTimeError
from hw.dataflow.floating import FLOAT_LATENCY
from hw.ops import DIVISIONS, MULTIPLICATIONS
from hw.systolic.recurrence.divider import divider_latency

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """`divider_bits`: quotient bits that a divider finds per cycle (1 to 8). `multiplier`, `operator`: cycles of
    multiplications and of other operations; `floats`: of operations on floating-point numbers, where they are not
    those of `hw.dataflow.floating.FLOAT_LATENCY`. Raises `SpaceTimeError`."""

    divider_bits: int = 4
    multiplier: int = 2
    operator: int = 1
    floats: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        for name, low, high in (("divider_bits", 1, 8), ("multiplier", 0, 8), ("operator", 0, 8)):
            if not low <= getattr(self, name) <= high:
                raise SpaceTimeError(f"{name} is {getattr(self, name)}, not in {low}..{high}")

    def interval(self, statement: Statement) -> int:
        """Cycles from one instance of `statement` in a cell to the next: more than 1 if it divides integers."""
        widths = [_width(node) for node in postorder(statement.value)
                  if isinstance(node, Apply) and node.op in DIVISIONS and not is_floating(node)]
        return divider_latency(max(widths), self.divider_bits) if widths else 1

    def latencies(self, statement: Statement) -> Latencies:
        """Latency of every operation of `statement`. Raises `SpaceTimeError` if it divides integers and floating-point
        numbers, which take different times."""
        nodes = [node for node in postorder(statement.value) if isinstance(node, Apply | Cast)]
        floating = {node.op if isinstance(node, Apply) else "cast" for node in nodes if is_floating(node)}
        plain = {node.op for node in nodes if isinstance(node, Apply) and not is_floating(node)}
        if plain & floating & set(DIVISIONS):
            raise SpaceTimeError(f"{statement} divides integers and floating-point numbers, which take different "
                                 "times; legal is a statement for each")
        cycles = {op: self.operator for op in plain if op != "pass"}
        cycles |= dict.fromkeys(plain & set(MULTIPLICATIONS), self.multiplier)
        cycles |= dict.fromkeys(plain & set(DIVISIONS), self.interval(statement))
        return Latencies(latency=cycles | {op: self._float(op) for op in floating})

    def _float(self, op: str) -> int:
        return (self.floats or {}).get(op, FLOAT_LATENCY[op])


def _width(node: Apply) -> int:
    type = node.args[0].type
    assert isinstance(type, Int)
    return type.width
