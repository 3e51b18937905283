"""Several AXI4 managers on one memory."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4Signature

__all__ = ["AxiJoin"]


class AxiJoin(wiring.Component):
    """Joins `managers` AXI4 managers, the first with the highest priority; nothing is delayed on the way.

    Ports: `manager`, one for each, and `memory`. Every manager may have transactions outstanding, up to `outstanding`
    together for reads and for writes, and uses one identifier; memory answers in order. Write data goes in the order
    of the addresses, so a manager must not hold its address back until its data is taken, and the memory must take
    addresses without waiting for data.
    """

    def __init__(self, signature: Axi4Signature, managers: int, outstanding: int = 32):
        self._managers = managers
        self._outstanding = outstanding
        super().__init__({"manager": In(signature).array(managers), "memory": Out(signature)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        read_order, write_order, answer_order = (self._order(m, name) for name in ("read", "write", "answer"))
        self._addresses(m, "ar", [read_order])
        self._addresses(m, "aw", [write_order, answer_order])
        self._answers(m, "r", read_order, self.memory.r.p.last)
        self._answers(m, "b", answer_order, 1)
        self._write_data(m, write_order)
        return m

    def _order(self, m: Module, name: str) -> SyncFIFO:
        fifo = SyncFIFO(width=max(1, (self._managers - 1).bit_length()), depth=self._outstanding)
        m.submodules[name] = fifo
        return fifo

    def _channels(self, name: str) -> list:
        return [getattr(self.manager[index], name) for index in range(self._managers)]

    def _addresses(self, m: Module, name: str, orders: list[SyncFIFO]) -> None:
        """The manager with the highest priority, but what memory has been offered stays until it is taken."""
        channels, memory = self._channels(name), getattr(self.memory, name)
        held, holding = Signal(range(self._managers), name=f"{name}_held"), Signal(name=f"{name}_holding")
        choice = Signal.like(held, name=f"{name}_choice")
        first: Value | int = self._managers - 1
        for index in reversed(range(self._managers - 1)):
            first = Mux(channels[index].valid, index, first)
        room = Signal(name=f"{name}_room")
        m.d.comb += [room.eq(orders[0].w_rdy & orders[-1].w_rdy), choice.eq(Mux(holding, held, first))]
        with m.Switch(choice):
            for index, channel in enumerate(channels):
                with m.Case(index):
                    m.d.comb += [
                        memory.payload.eq(channel.payload),
                        memory.valid.eq(channel.valid & room),
                        channel.ready.eq(memory.ready & room),
                    ]
        m.d.sync += [holding.eq(memory.valid & ~memory.ready), held.eq(choice)]
        for order in orders:
            m.d.comb += [order.w_data.eq(choice), order.w_en.eq(memory.valid & memory.ready)]

    def _answers(self, m: Module, name: str, order: SyncFIFO, last: Value | int) -> None:
        channels, memory = self._channels(name), getattr(self.memory, name)
        for channel in channels:
            m.d.comb += channel.payload.eq(memory.payload)
        with m.If(order.r_rdy), m.Switch(order.r_data):
            for index, channel in enumerate(channels):
                with m.Case(index):
                    m.d.comb += [channel.valid.eq(memory.valid), memory.ready.eq(channel.ready)]
        m.d.comb += order.r_en.eq(memory.valid & memory.ready & last)

    def _write_data(self, m: Module, order: SyncFIFO) -> None:
        memory = self.memory.w
        with m.If(order.r_rdy), m.Switch(order.r_data):
            for index, channel in enumerate(self._channels("w")):
                with m.Case(index):
                    m.d.comb += [
                        memory.payload.eq(channel.payload),
                        memory.valid.eq(channel.valid),
                        channel.ready.eq(memory.ready),
                    ]
        m.d.comb += order.r_en.eq(memory.valid & memory.ready & memory.p.last)
