"""A watchdog for runs: tells when nothing has moved for as long as the host allows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.registers import Field, Register

__all__ = ["WATCHDOG", "Watchdog", "bus_moves", "watchdog_register"]

_BITS = 32

WATCHDOG = "clock cycles without progress after which the run ends with error WATCHDOG; 0 (after reset): never"


def watchdog_register(offset: int) -> Register:
    """Register WATCHDOG at byte `offset`."""
    return Register("WATCHDOG", offset, "write", "limit of a run that hangs", (Field("cycles", 0, _BITS, WATCHDOG),))


class Watchdog(wiring.Component):
    """Ports: `limit` (clock cycles, 0: off); `running`: a run is going on; `progress`: something moves in this cycle.
    `expired` is high for one cycle, at most once in a run: when nothing has moved for `limit` cycles and up to two
    more.
    """

    def __init__(self) -> None:
        super().__init__({"limit": In(_BITS), "running": In(1), "progress": In(1), "expired": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left, on, spent = Signal(_BITS + 1), Signal(), Signal()  # left counts down to -1, so that its sign tells
        moved = Signal(init=1)
        m.d.comb += self.expired.eq(left[-1] & on & ~spent)
        m.d.sync += [moved.eq(self.progress | ~self.running), on.eq(self.limit != 0)]  # these end long paths
        with m.If(moved):
            m.d.sync += left.eq(self.limit)
        with m.Elif(~left[-1]):
            m.d.sync += left.eq(left - 1)
        with m.If(~self.running):
            m.d.sync += spent.eq(0)
        with m.Elif(self.expired):
            m.d.sync += spent.eq(1)
        return m


def bus_moves(axi: Any) -> Value:
    """Whether a beat or an address passes on any channel of the AXI4 interface `axi`."""
    channels = [getattr(axi, name) for name in ("aw", "w", "b", "ar", "r")]
    return Cat(channel.valid & channel.ready for channel in channels).any()
