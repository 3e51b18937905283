"""What is kept of the first access outside of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["TRAP_CYCLES", "Outside", "Trap"]

TRAP_CYCLES = 3
"""Clock cycles from an access outside of its memory to the registers that say so."""


class Outside(NamedTuple):
    """An access that may be outside of its memory of `depth` words: its number, its index, and whether it happens."""

    number: int
    index: Value
    depth: int
    happens: Value

    @property
    def now(self) -> Value:
        """Whether it happens outside."""
        return self.happens & ((self.index < 0) | (self.index >= self.depth))


class Trap(NamedTuple):
    """Registers: whether there has been an access outside, the number of the first one, and its index."""

    set: Signal
    number: Signal
    index: Signal

    def keep_first(self, m: Module, en: Value, accesses: Sequence[Outside]) -> Value:
        """Keep the first access that is outside in a cycle with `en`, `TRAP_CYCLES` later; of several in one cycle, the
        last of `accesses`. Comparing an index and choosing among accesses are long paths, and have a cycle each: the
        result is whether this is one."""
        indices, moved = _indices(m, accesses), _register(m, en, "en_late")
        outside = [access._replace(index=index, happens=_register(m, access.happens, "happens_late")).now
                   for access, index in zip(accesses, indices, strict=True)]
        indices = [_register(m, index, "index_later") for index in indices]
        outside = [_register(m, now, "outside") for now in outside]
        looks = _register(m, moved, "en_later") & ~self.set
        with m.If(looks & Cat(outside).any()):
            m.d.sync += self.set.eq(1)
        self._name(m, looks, accesses, indices, outside)
        return moved | looks

    def stop_at_first(self, m: Module, en: Value, accesses: Sequence[Outside]) -> None:
        """The same, but `set` is there one cycle after the access: what comes from it can be kept from leaving."""
        found = Signal()
        m.d.comb += found.eq(en & Cat(access.now for access in accesses).any() & ~self.set)
        with m.If(found):
            m.d.sync += self.set.eq(1)
        outside = [_register(m, access.now, "outside") for access in accesses]
        self._name(m, _register(m, found, "found_late"), accesses, _indices(m, accesses), outside)

    def _name(self, m: Module, looks: Value, accesses: Sequence[Outside], indices: Sequence[Value],
              outside: Sequence[Value]) -> None:
        for access, index, now in zip(accesses, indices, outside, strict=True):
            with m.If(looks & now):
                m.d.sync += [self.number.eq(access.number), self.index.eq(index)]


def _indices(m: Module, accesses: Sequence[Outside]) -> list[Value]:
    return [_register(m, access.index, "index_late") for access in accesses]


def _register(m: Module, value: Value, name: str) -> Value:
    register = Signal(value.shape(), name=name)
    m.d.sync += register.eq(value)
    return register
