"""What flows between units: a value stream named by the pin that carries it, or a constant."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.cgra.netlist import Pin
from hw.ops import Kind

__all__ = ["Constant", "Operand", "Signal"]


@dataclass(frozen=True)
class Signal:
    """At logical cycle s this is what `pin` carries for logical cycle ``s - distance``.

    `rank` estimates when it is available: the number of units between it and the global buffer, or `FLEXIBLE` for
    memory outputs, whose timing adapts to the reader, or `LAST`, less the cycles that there are for the way, for what
    depends on the result that it goes into and has little time.
    """

    pin: Pin
    kind: Kind
    distance: int = 0
    rank: int = 0

    FLEXIBLE = 1 << 20
    LAST = 1 << 21

    @property
    def units(self) -> int:
        """Units between it and the global buffer, none where it comes out of a memory."""
        return self.rank if self.rank < Signal.FLEXIBLE else 0

    @property
    def recurrence_critical(self) -> bool:
        """Whether it has little time from the result to the next one."""
        return self.rank > Signal.FLEXIBLE

    def delayed(self, cycles: int) -> Signal:
        """The same stream, `cycles` logical cycles later."""
        return Signal(self.pin, self.kind, self.distance + cycles, self.rank)


@dataclass(frozen=True)
class Constant:
    """A value that never changes, as the 16-bit pattern (or the bit) that represents it."""

    value: int
    kind: Kind = Kind.WORD


Operand = Signal | Constant
