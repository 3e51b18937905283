"""Where in an address space of 64 bits the memory of a system with addresses of 32 bits lies."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4LiteSignature, Axi4Signature
from hw.dma.register_file import RegisterFile
from hw.dma.register_slice import Skid
from hw.dma.registers import Register, RegisterMap

__all__ = ["BASE_HIGH", "BASE_LOW", "AddressWindow", "LiteSplit", "base_registers"]

BASE_LOW, BASE_HIGH = "MEMORY_BASE_LOW", "MEMORY_BASE_HIGH"


def base_registers(end: int) -> tuple[Register, Register]:
    """The registers of the base address, the last ones before byte `end`."""
    text = "bits {} of what is added to all addresses of memory; not to be changed while a run is going on"
    return (Register(BASE_LOW, end - 8, "write", text.format("31:0")),
            Register(BASE_HIGH, end - 4, "write", text.format("63:32")))


class LiteSplit(wiring.Component):
    """AXI4-Lite to two subordinates: `low` where bit `address_width` of an address is 0, else `high`.

    Ports: `bus` (subordinate, one bit of address more), `low`, `high` (managers). An access of each direction at a
    time, a cycle later.
    """

    def __init__(self, address_width: int):
        self._width = address_width
        super().__init__({
            "bus": In(Axi4LiteSignature(address_width=address_width + 1)),
            "low": Out(Axi4LiteSignature(address_width=address_width)),
            "high": Out(Axi4LiteSignature(address_width=address_width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._way(m, "aw", "b", "w")
        self._way(m, "ar", "r", None)
        return m

    def _way(self, m: Module, request: str, answer: str, words: str | None) -> None:
        """One direction: the request is held while it is on its way, the side until the answer has gone."""
        come, gone = getattr(self.bus, request), getattr(self.bus, answer)
        busy, waits, side = (Signal(name=f"{request}_{name}") for name in ("busy", "waits", "side"))
        held = Signal.like(come.payload, name=f"{request}_held")
        m.d.comb += come.ready.eq(~busy)
        with m.If(come.valid & come.ready):
            m.d.sync += [held.eq(come.payload), side.eq(come.p.addr[self._width]), busy.eq(1), waits.eq(1)]
        for number, port in enumerate((self.low, self.high)):
            here = busy & (side == number)
            asked, told = getattr(port, request), getattr(port, answer)
            m.d.comb += [asked.p.addr.eq(held.addr), asked.p.prot.eq(held.prot), asked.valid.eq(here & waits),
                         told.ready.eq(here & gone.ready)]
            with m.If(asked.valid & asked.ready):
                m.d.sync += waits.eq(0)
            with m.If(here):
                m.d.comb += [gone.valid.eq(told.valid), gone.payload.eq(told.payload)]
            if words:
                given, word = getattr(self.bus, words), getattr(port, words)
                m.d.comb += [word.payload.eq(given.payload), word.valid.eq(here & given.valid)]
                with m.If(here):
                    m.d.comb += given.ready.eq(word.ready)
        with m.If(gone.valid & gone.ready):
            m.d.sync += busy.eq(0)


class AddressWindow(wiring.Component):
    """Adds the base address of its registers to all addresses of memory; a cycle of latency on the address channels.

    Ports: `s_axil` (subordinate, registers of `base_registers` at its end), `i` (AXI4 subordinate, 32-bit addresses),
    `o` (AXI4 manager, 64-bit addresses).
    """

    def __init__(self, data_width: int, register_width: int):
        self._map = RegisterMap("base", base_registers(1 << register_width))
        super().__init__({
            "s_axil": In(Axi4LiteSignature(address_width=register_width)),
            "i": In(Axi4Signature(address_width=32, data_width=data_width)),
            "o": Out(Axi4Signature(address_width=64, data_width=data_width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = RegisterFile(self._map)
        connect(m, flipped(self.s_axil), registers.bus)
        base = Cat(registers.memory_base_low, registers.memory_base_high)
        for channel in ("aw", "ar"):
            source, sink = getattr(self.i, channel), getattr(self.o, channel)
            m.submodules[channel] = slice_ = Skid(sink.payload.shape())
            m.d.comb += [slice_.i.valid.eq(source.valid), source.ready.eq(slice_.i.ready)]
            for name in sink.payload.shape().members:
                value = getattr(source.p, name)
                m.d.comb += getattr(slice_.i.p, name).eq(base + value if name == "addr" else value)
            connect(m, slice_.o, flipped(sink))
        connect(m, flipped(self.i.w), flipped(self.o.w))
        connect(m, flipped(self.o.b), flipped(self.i.b))
        connect(m, flipped(self.o.r), flipped(self.i.r))
        return m
