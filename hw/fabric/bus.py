"""The configuration bus inside the array: a chain of registers from unit to unit down a column."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, In, Member, Out

from hw.fabric.config import CLEAR_ADDRESS
from hw.lib.configuration import WORD_BITS, ConfigSignature, passed_on
from hw.lib.multiplexer import hold

__all__ = ["CLEAR", "BusReceiver", "BusSignature"]

CLEAR = {"valid": 1, "address": CLEAR_ADDRESS, "data": 0}
"""The word on the bus that makes all units forget their configuration."""


class BusSignature(wiring.Signature):
    """The bus: in each cycle with `valid`, `data` (32 bits) for `address` (32): unit, feature and register. With
    `clearing`, signals begin as the word that clears."""

    def __init__(self, *, clearing: bool = False):
        widths = {"valid": 1, "address": 32, "data": WORD_BITS}
        super().__init__({
            name: Member(Flow.Out, width, init=CLEAR[name] if clearing else 0)  # pyright: ignore[reportCallIssue]
            for name, width in widths.items()})


class BusReceiver(wiring.Component):
    """A unit's register on the bus, and the decoder behind it.

    `i` is the bus from the unit before, `o` that for the unit after, one cycle later. From it, `cfg` (a
    `hw.lib.configuration.ConfigSignature`) and `clear` are decoded for the unit whose address is `id`.
    """

    def __init__(self) -> None:
        super().__init__({
            "id": In(16), "i": In(BusSignature()), "o": Out(BusSignature()), "cfg": Out(ConfigSignature()),
            "clear": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [
            self.o.valid.eq(self.i.valid),
            self.o.address.eq(hold(self.o.address, self.i.valid, self.i.address)),
            self.o.data.eq(hold(self.o.data, self.i.valid, self.i.data)),
        ]
        unit = self.o.address[16:]
        m.d.comb += [
            self.cfg.valid.eq(self.o.valid & (unit == self.id)),
            self.cfg.feature.eq(self.o.address[8:16]),
            self.cfg.register.eq(self.o.address[:8]),
            self.cfg.data.eq(self.o.data),
            self.clear.eq(self.o.valid & (unit == CLEAR_ADDRESS >> 16)),
        ]
        return m

    def connect(self, m: Module, unit: Any) -> None:
        """Connect the receiver to the ports `id` and `i_cfg` of a unit, and to `o_cfg` if it has it."""
        m.d.comb += [self.id.eq(unit.id), *passed_on(unit.i_cfg, self.i)]
        if hasattr(unit, "o_cfg"):
            m.d.comb += passed_on(self.o, unit.o_cfg)

    def serve(self, m: Module, part: Any) -> None:
        """Connect a part of the unit that has a configuration port, with or without `clear`."""
        m.d.comb += passed_on(self.cfg, part.cfg)
        if hasattr(part, "clear"):
            m.d.comb += part.clear.eq(self.clear)
