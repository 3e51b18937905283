"""The configuration bus inside the array: a chain of registers from unit to unit down a column."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.config import CLEAR_ADDRESS
from hw.lib.configuration import CONFIGURATION_PORT, WORD_BITS
from hw.lib.multiplexer import hold

__all__ = ["BUS", "BusReceiver"]

BUS = {"valid": 1, "address": 32, "data": WORD_BITS}
"""Signals of the bus and their widths: one word in each cycle in which valid is 1."""


class BusReceiver(wiring.Component):
    """A unit's register on the bus, and the decoder behind it.

    `i_valid`, `i_address`, `i_data` are the bus from the unit before, `o_*` the same for the unit after, one cycle
    later. From these, `cfg_*` and `clear` (see `hw.lib.configuration.CONFIGURATION_PORT`) are decoded for the unit
    whose address is `id`.
    """

    def __init__(self) -> None:
        ports = {"id": In(16)}
        for name, width in BUS.items():
            ports |= {f"i_{name}": In(width), f"o_{name}": Out(width)}
        super().__init__(ports | {name: Out(member.shape) for name, member in CONFIGURATION_PORT.items()})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [
            self.o_valid.eq(self.i_valid),
            self.o_address.eq(hold(self.o_address, self.i_valid, self.i_address)),
            self.o_data.eq(hold(self.o_data, self.i_valid, self.i_data)),
        ]
        unit = self.o_address[16:]
        m.d.comb += [
            self.cfg_valid.eq(self.o_valid & (unit == self.id)),
            self.cfg_feature.eq(self.o_address[8:16]),
            self.cfg_register.eq(self.o_address[:8]),
            self.cfg_data.eq(self.o_data),
            self.clear.eq(self.o_valid & (unit == CLEAR_ADDRESS >> 16)),
        ]
        return m

    def connect(self, m: Module, unit: wiring.Component) -> None:
        """Connect the receiver to the ports `id` and `i_cfg_*` of a unit, and to `o_cfg_*` if it has them."""
        m.d.comb += self.id.eq(unit.id)
        for name in BUS:
            m.d.comb += getattr(self, f"i_{name}").eq(getattr(unit, f"i_cfg_{name}"))
            if hasattr(unit, f"o_cfg_{name}"):
                m.d.comb += getattr(unit, f"o_cfg_{name}").eq(getattr(self, f"o_{name}"))

    def serve(self, m: Module, part: wiring.Component) -> None:
        """Connect a part of the unit that has a configuration port, with or without `clear`."""
        for name in CONFIGURATION_PORT:
            if hasattr(part, name):
                m.d.comb += getattr(part, name).eq(getattr(self, name))
