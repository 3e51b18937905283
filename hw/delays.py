"""How long operations take on an FPGA, without registers: measured periods, interpolated by width.

The table, `TABLE_FILE`, is what ``python -m benchmarks.operator_delays`` measures on an ECP5-85 of the slowest speed
grade: clock periods of chains of `COUNTS` equal operations between registers, at `WIDTHS` bits. The delay of an
operation is what one more of them adds, with the wire to the next; that of one which was not measured is the sum of
those it is made of. Registers and the wire to the first operation take the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, inf, log
from pathlib import Path

__all__ = ["COUNTS", "MEASURED", "MEMORY_OUTPUT", "TABLE_FILE", "WIDTHS", "OperatorDelays", "operator_delays"]

TABLE_FILE = Path(__file__).parent / "operator_delays.json"

MEMORY_OUTPUT = 4.0
"""Nanoseconds from the clock to the word of a block memory without a register behind it, on an ECP5."""

WIDTHS = (8, 16, 32)
"""Bits of the operations that are measured."""

COUNTS = (1, 3)
"""Operations in the chains that are measured."""

MEASURED = ("add", "lt", "eq", "select", "xor", "shr", "mul")
"""Operations of `hw.ops` that are measured; comparisons with a selection behind them."""

_PARTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("pass", "cast", "read", "const", "index"), ()),
    **dict.fromkeys(("add", "sub", "neg", "carry", "adc", "sbb"), ("add",)),
    **dict.fromkeys(("lt", "ge", "gt", "le"), ("lt",)),
    **dict.fromkeys(("eq", "ne"), ("eq",)),
    **dict.fromkeys(("and", "or", "xor", "lut3"), ("xor",)),
    **dict.fromkeys(("shl", "shr"), ("shr",)),
    **dict.fromkeys(("mul", "mul_mid", "mul_high"), ("mul",)),
    "select": ("select",), "min": ("lt", "select"), "max": ("lt", "select"), "abs": ("add", "select"),
    "absd": ("add", "add", "select"), "mad": ("mul", "add"),
}
"""Operations that follow each other in one."""

_SELECTING = {"lt", "eq"}
"""Those whose chains have selections in between."""

_WIRES = {"shl", "shr", "and", "or", "xor"}
"""Operations that are wires if an operand is constant."""


_EQUALITIES = {"eq", "ne"}
"""Operations that are a tree of tables of four inputs if an operand is constant."""


@dataclass(frozen=True)
class OperatorDelays:
    """`periods`: nanoseconds from clock edge to clock edge, by operation (of `MEASURED`) and width, for `COUNTS`."""

    periods: Mapping[str, Mapping[int, tuple[float, float]]]

    @property
    def register(self) -> float:
        """Nanoseconds of a period that are left to registers and the wire from them."""
        return max(first - _step(first, last) for row in self.periods.values() for first, last in row.values())

    def room(self, clock_mhz: int) -> float:
        """Nanoseconds for operations in a period of this clock rate."""
        return 1000 / clock_mhz - self.register

    def delay(self, op: str, width: int, *, constant: bool = False) -> float:
        """Nanoseconds from operands of `width` bits to the result; `constant`: one of them is. Infinite for what is
        never built without registers, as a division is not."""
        if op not in _PARTS:
            return inf
        if constant and op in _WIRES:
            return 0.0
        if constant and op in _EQUALITIES:
            return self._measured("select", width) * max(1, ceil(log(width, 4)))
        return sum(self._measured(part, width) for part in _PARTS[op])

    def _measured(self, op: str, width: int) -> float:
        """Of one operation alone, which takes at least a look-up table and a wire, as a selection does: synthesis puts
        some of equal operations into one table, which it may not be able to do with others."""
        chained, table = self._interpolated(op, width), self._interpolated("select", width)
        return max(table, chained - table if op in _SELECTING else chained)

    def _interpolated(self, op: str, width: int) -> float:
        """What one more operation takes: linear in the width, beyond the widest, too."""
        known = sorted((bits, _step(*periods)) for bits, periods in self.periods[op].items())
        pairs = list(pairwise(known))
        (low, first), (high, last) = next((pair for pair in pairs if width <= pair[1][0]), pairs[-1])
        return max(0.0, first + (last - first) * (width - low) / (high - low))


def _step(first: float, last: float) -> float:
    """What each further operation adds."""
    return (last - first) / (COUNTS[1] - COUNTS[0])


@cache
def operator_delays() -> OperatorDelays:
    """Those of the table."""
    table = json.loads(TABLE_FILE.read_text())["periods"]
    return OperatorDelays({op: {int(width): (first, last) for width, (first, last) in row.items()}
                           for op, row in table.items()})
