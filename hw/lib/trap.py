"""What is kept of the first access outside of its memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from amaranth.hdl import Module, Signal, Value

__all__ = ["Outside", "Trap"]


class Outside(NamedTuple):
    """An access that may be outside of its memory: its number, its index, and whether it is outside now."""

    number: int
    index: Value
    now: Value


class Trap(NamedTuple):
    """Registers: whether there has been an access outside, the number of the first one, and its index."""

    set: Signal
    number: Signal
    index: Signal

    def keep_first(self, m: Module, en: Value, accesses: Iterable[Outside]) -> None:
        """Keep the first access that is outside in a cycle with `en`; of several in one cycle, the last of `accesses`.
        Which one it is does not wait for `en`, which comes late."""
        found, number, index = Signal(), Signal.like(self.number), Signal.like(self.index)
        for access in accesses:
            with m.If(access.now):
                m.d.comb += [found.eq(1), number.eq(access.number), index.eq(access.index)]
        with m.If(en & found & ~self.set):
            m.d.sync += [self.set.eq(1), self.number.eq(number), self.index.eq(index)]
