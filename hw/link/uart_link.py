"""The link over a serial line."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.link.executor import system_ports
from hw.link.host_link import LINK_LIGHTS, HostLink
from hw.link.protocol import LinkSpec, LinkSpecError
from hw.soc.uart import UartReceiver, UartTransmitter

__all__ = ["LEAST_CYCLES", "UartLink", "uart_divisor"]

LEAST_CYCLES = 4
"""Clock cycles of a bit, at least: the receiver looks at the middle of each."""
_MOST_CYCLES = (1 << 16) - 1
_TOLERANCE = 0.02
"""How much longer or shorter a bit may be: both ends together may drift half a bit in ten."""


def uart_divisor(clock_hz: float, baud: int) -> int:
    """Clock cycles of a bit. Raises `LinkSpecError` if the clock is too slow for `baud`, or cannot divide to it."""
    if baud < 1:
        raise LinkSpecError(f"a serial line has 1 or more bits per second, not {baud}")
    cycles = round(clock_hz / baud)
    if not LEAST_CYCLES <= cycles <= _MOST_CYCLES:
        raise LinkSpecError(f"a clock of {clock_hz / 1e6:g} MHz serves {-(-clock_hz // _MOST_CYCLES):g} to "
                            f"{clock_hz // LEAST_CYCLES:g} bits per second, not {baud}")
    if abs(clock_hz / cycles / baud - 1) > _TOLERANCE:
        raise LinkSpecError(f"a clock of {clock_hz / 1e6:g} MHz gives {clock_hz / cycles:.0f} bits per second for "
                            f"{baud}, more than 2 % off: take {clock_hz / cycles:.0f}")
    return cycles


class UartLink(wiring.Component):
    """`HostLink` with bits of `divisor` clock cycles, eight data bits, no parity, one stop bit.

    Ports: `rx` and `tx`, the line; `memory`, `registers`, `irq`, `greeted`, `busy`, `damaged` as there.
    """

    def __init__(self, spec: LinkSpec, divisor: int):
        self._spec = spec
        self._divisor = divisor
        super().__init__({"rx": In(1), "tx": Out(1)} | system_ports(spec) | {name: Out(1) for name in LINK_LIGHTS})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver()
        m.submodules.transmitter = transmitter = UartTransmitter()
        m.submodules.link = link = HostLink(self._spec)
        wiring.connect(m, receiver.data, link.received)
        wiring.connect(m, link.sent, transmitter.data)
        wiring.connect(m, link.memory, wiring.flipped(self.memory))
        wiring.connect(m, link.registers, wiring.flipped(self.registers))
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx), link.irq.eq(self.irq)]
        m.d.comb += [part.divisor.eq(self._divisor) for part in (receiver, transmitter)]
        m.d.comb += [getattr(self, name).eq(getattr(link, name)) for name in LINK_LIGHTS]
        return m
