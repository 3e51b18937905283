"""Values a fixed number of ticks later: registers that step with the kernel."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

__all__ = ["Taps"]


class Taps:
    """Delayed copies of values. Equal requests share registers; `en` is the kernel's step.

    Use within one `elaborate`: ``taps.delayed(value, 3)`` is `value` three enabled cycles ago.
    """

    def __init__(self, m: Module, en: Value):
        self._m = m
        self._en = en
        self._chains: dict[int, list[Value]] = {}

    @property
    def enable(self) -> Value:
        """The kernel's step."""
        return self._en

    def delayed(self, value: Value, ticks: int, name: str = "", *, reset_less: bool = False) -> Value:
        """`value` of `ticks` (at least 0) enabled cycles ago; 0 before there was one. `reset_less`: it may be any then;
        registers around products can only move into multipliers of an FPGA together if no reset tells them apart.
        They are called `name` with a number, "" for that of `value` if it is a signal, whose attributes they have."""
        chain = self._chains.setdefault(id(value), [value])
        while len(chain) <= ticks:
            attributes = value.attrs if isinstance(value, Signal) else {}
            name = name or (f"{value.name}_late" if isinstance(value, Signal) else "tap")
            register = Signal(value.shape(), name=f"{name}_{len(chain)}", reset_less=reset_less, attrs=attributes)
            with self._m.If(self._en):
                self._m.d.sync += register.eq(chain[-1])
            chain.append(register)
        return chain[ticks]
