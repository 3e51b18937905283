"""A link in Amaranth's simulator, between a client and a small system."""

from __future__ import annotations

from collections import deque

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from hw.boards.memory import OnChipMemory
from hw.dma.axi import Axi4LiteSignature, Response
from hw.link.host_link import HostLink
from hw.link.protocol import LinkSpec

__all__ = ["DESIGN", "MEMORY", "LinkBench", "Registers"]

DESIGN = bytes(range(16))
MEMORY = 300


class Registers(wiring.Component):
    """Sixteen registers, of which the last one answers SLVERR; `writes` counts what is written."""

    def __init__(self) -> None:
        super().__init__({"bus": In(Axi4LiteSignature(address_width=6)), "writes": Out(16)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Array(Signal(32, name=f"register{k}") for k in range(16))
        bus = self.bus
        both = bus.aw.valid & bus.w.valid & ~bus.b.valid
        place = bus.aw.p.addr[2:]
        m.d.comb += [bus.aw.ready.eq(both), bus.w.ready.eq(both), bus.ar.ready.eq(~bus.r.valid)]
        with m.If(bus.b.ready):
            m.d.sync += bus.b.valid.eq(0)
        with m.If(bus.r.ready):
            m.d.sync += bus.r.valid.eq(0)
        with m.If(both):
            m.d.sync += [held[place].eq(bus.w.p.data), bus.b.valid.eq(1), self.writes.eq(self.writes + 1),
                         bus.b.p.resp.eq(Mux(place == 15, Response.SLVERR, Response.OKAY))]
        with m.If(bus.ar.valid & bus.ar.ready):
            place = bus.ar.p.addr[2:]
            m.d.sync += [bus.r.p.data.eq(held[place]), bus.r.valid.eq(1),
                         bus.r.p.resp.eq(Mux(place == 15, Response.SLVERR, Response.OKAY))]
        return m


class LinkBench:
    """A `ByteChannel` to a simulated board: `to_board` and `to_host` may change, drop or add bytes."""

    name = "the bench"

    def __init__(self, data_width: int = 64, payload: int = 64) -> None:
        spec = LinkSpec(MEMORY, 6, DESIGN, data_width=data_width, payload=payload)
        m = Module()
        m.submodules.link = self._link = link = HostLink(spec)
        m.submodules.memory = memory = OnChipMemory(MEMORY, bytes(k % 251 for k in range(MEMORY)),
                                                    beat_bytes=data_width // 8)
        m.submodules.registers = self.registers = registers = Registers()
        wiring.connect(m, link.memory, memory.bus)
        wiring.connect(m, link.registers, registers.bus)
        self._simulator = Simulator(m)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._board)
        self._waiting: deque[int] = deque()
        self._come = bytearray()
        self.seconds = 0.0
        self.to_board = self.to_host = bytes
        self.written = 0
        self.interrupt = False

    async def _board(self, ctx) -> None:
        link = self._link
        ctx.set(link.sent.ready, 1)
        while True:
            ctx.set(link.received.valid, bool(self._waiting))
            ctx.set(link.irq, self.interrupt)
            ctx.set(link.received.payload, self._waiting[0] if self._waiting else 0)
            *_, taken, sent, byte, self.written = await ctx.tick().sample(
                link.received.ready, link.sent.valid, link.sent.payload, self.registers.writes)
            if self._waiting and taken:
                self._waiting.popleft()
            if sent:
                self._come.append(byte)

    def clock(self) -> float:
        """Seconds of the simulation."""
        return self.seconds

    def write(self, content: bytes) -> None:
        self._waiting.extend(self.to_board(content))

    def read(self, seconds: float) -> bytes:
        """Runs the board until bytes came and no more do for a while, or until the time is over."""
        end, silent, before = self.seconds + seconds, 0, len(self._come)
        while self.seconds < end and (silent < 50 or not self._come):
            self._simulator.advance()
            self.seconds += 0.5e-6
            silent = 0 if len(self._come) > before else silent + 1
            before = len(self._come)
        come = self.to_host(bytes(self._come))
        self._come.clear()
        return come

    def close(self) -> None:
        pass
