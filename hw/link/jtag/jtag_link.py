"""The link over the JTAG pins of an ECP5."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.link.executor import system_ports
from hw.link.host_link import LINK_LIGHTS, HostLink
from hw.link.jtag.data_register import LinkDataRegister
from hw.link.protocol import LinkSpec

__all__ = ["JtagLink"]

_MOST_HZ = 30e6
"""Of the test clock: what the fastest cables do."""


class JtagLink(wiring.Component):
    """`HostLink` behind the data register of instruction ER1.

    The cell JTAGG leads to the FPGA's own test access port: its clock is the pin's, `JTDI` is the pin TDI behind a
    register of rising edges, the pin TDO takes `JTDO1` by falling edges in Shift-DR, `JCE1` is high in Capture-DR and
    Shift-DR with that instruction, `JSHIFT` in Shift-DR. There is one such cell.

    Ports: `memory`, `registers`, `irq`, `greeted`, `busy`, `damaged` as there.
    """

    def __init__(self, spec: LinkSpec):
        self._spec = spec
        super().__init__(system_ports(spec) | {name: Out(1) for name in LINK_LIGHTS})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.link = link = HostLink(self._spec)
        m.submodules.register = register = LinkDataRegister()
        wiring.connect(m, register.received, link.received)
        wiring.connect(m, link.sent, register.sent)
        wiring.connect(m, link.memory, wiring.flipped(self.memory))
        wiring.connect(m, link.registers, wiring.flipped(self.registers))
        m.d.comb += link.irq.eq(self.irq)
        m.d.comb += [getattr(self, name).eq(getattr(link, name)) for name in LINK_LIGHTS]
        clock = Signal(name="jtag_clock")
        m.submodules.pins = Instance(
            "JTAGG", p_ER1="ENABLED", p_ER2="ENABLED", o_JTCK=clock, o_JTDI=register.tdi, o_JSHIFT=register.shift,
            o_JCE1=register.enable, i_JTDO1=register.tdo, i_JTDO2=Const(0))
        m.d.comb += register.tck.eq(clock)
        if platform is not None:
            platform.add_clock_constraint(clock, _MOST_HZ)
        return m
