"""On-chip main memory: block RAM behind AXI4, with a second way in for the self-check."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.dma.axi import Axi4Signature, Response
from hw.dma.beat_walk import BeatWalk
from hw.errors import SluiceError

__all__ = ["OnChipMemory", "OnChipMemoryError"]

_LEAST_WORDS = 2
"""So that there is an address bit: a memory port without address has a range of [-1:0] in Verilog."""


class OnChipMemoryError(SluiceError):
    """An on-chip memory that cannot be built."""


class OnChipMemory(wiring.Component):
    """`size` bytes (rounded up to two beats at least) from address 0 as an AXI4 subordinate.

    Incrementing bursts of 1 to 256 beats of 1 to `beat_bytes` bytes, from any start address, one beat per cycle; one
    read and one write burst at a time, each independent of the other. The first read beat comes 2 cycles after the
    address, a write response 1 cycle after the last beat. A beat outside the memory answers DECERR, any other kind of
    burst SLVERR; neither writes anything.

    Ports:
        bus: the AXI4 subordinate.
        side_request: the side port takes the memory; only while `bus` is quiet. Everything below needs it.
        side_address: byte address (32 bits).
        side_data: the `beat_bytes` bytes that hold `side_address`, one cycle later.
        side_clear: zero the byte at `side_address`.

    Raises `OnChipMemoryError` if `contents` is longer than `size` or `size` is not positive.
    """

    def __init__(self, size: int, contents: bytes = b"", *, beat_bytes: int = 8, id_width: int = 1):
        if size <= 0:
            raise OnChipMemoryError(f"an on-chip memory of {size} bytes cannot be built")
        if len(contents) > size:
            raise OnChipMemoryError(f"{len(contents)} bytes do not fit into an on-chip memory of {size} bytes")
        self.words = max(_LEAST_WORDS, -(-size // beat_bytes))
        self._beat_bytes = beat_bytes
        self._contents = contents
        super().__init__({
            "bus": In(Axi4Signature(address_width=32, data_width=8 * beat_bytes, id_width=id_width)),
            "side_request": In(1),
            "side_address": In(32),
            "side_data": Out(8 * beat_bytes),
            "side_clear": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(
            shape=8 * self._beat_bytes, depth=self.words, init=_to_words(self._contents, self._beat_bytes)
        )
        read = storage.read_port()
        write = storage.write_port(granularity=8)
        m.submodules.reader = reader = _Reader(self.bus.signature, self.words)
        m.submodules.writer = writer = _Writer(self.bus.signature, self.words)
        for channel, engine in (("ar", reader), ("r", reader), ("aw", writer), ("w", writer), ("b", writer)):
            _pass_through(m, getattr(self.bus, channel), getattr(engine, channel), inward=channel in ("ar", "aw", "w"))
        lane_bits = ceil_log2(self._beat_bytes)
        side_word = self.side_address[lane_bits : lane_bits + len(read.addr)]
        side_strobe = Mux(self.side_clear, 1 << self.side_address[:lane_bits], 0)
        m.d.comb += [
            read.addr.eq(Mux(self.side_request, side_word, reader.word)),
            read.en.eq(self.side_request | reader.enable),
            reader.data.eq(read.data),
            self.side_data.eq(read.data),
            write.addr.eq(Mux(self.side_request, side_word, writer.word)),
            write.data.eq(Mux(self.side_request, 0, writer.data)),
            write.en.eq(Mux(self.side_request, side_strobe, writer.strobe)),
        ]
        return m


def _to_words(contents: bytes, size: int) -> list[int]:
    return [int.from_bytes(contents[start : start + size], "little") for start in range(0, len(contents), size)]


def _pass_through(m: Module, outer: wiring.PureInterface, inner: wiring.PureInterface, *, inward: bool) -> None:
    """Tie a stream of the bus to the same stream of an engine."""
    source, sink = (outer, inner) if inward else (inner, outer)
    m.d.comb += [
        sink.payload.eq(source.payload),
        sink.valid.eq(source.valid),
        source.ready.eq(sink.ready),
    ]


class _Reader(wiring.Component):
    """Read bursts: `ar` in, `r` out, `word` and `enable` to a memory port whose `data` comes a cycle later.

    No proof: it answers bursts, whose contract is that of the memory in the test bench; programs run on it in
    simulation.
    """

    def __init__(self, signature: Axi4Signature, words: int):
        self._axi = signature
        self._words = words
        members = signature.members
        super().__init__({
            "ar": In(members["ar"].signature),
            "r": Out(members["r"].signature),
            "word": Out(ceil_log2(words)),
            "enable": Out(1),
            "data": In(signature.data_width),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        burst = BeatWalk(self._axi)
        response = Signal(2)
        advance = Signal()
        m.d.comb += [
            advance.eq(~self.r.valid | self.r.ready),
            self.word.eq(burst.address[burst.lane_bits :]),
            self.enable.eq(burst.active & advance),
            self.ar.ready.eq(~burst.active | (advance & (burst.left == 0))),
            self.r.p.data.eq(Mux(self.r.p.resp == Response.OKAY, self.data, 0)),
            self.r.p.resp.eq(response),
        ]
        with m.If(advance):
            m.d.sync += [
                self.r.valid.eq(burst.active),
                self.r.p.last.eq(burst.left == 0),
                self.r.p.id.eq(burst.id),
                response.eq(burst.response(self._words)),
            ]
            with m.If(burst.active):
                burst.step(m)
                m.d.sync += burst.active.eq(burst.left != 0)
        with m.If(self.ar.valid & self.ar.ready):
            burst.start(m, self.ar.payload)
        return m


class _Writer(wiring.Component):
    """Write bursts: `aw` and `w` in, `b` out, `word`, `data` and byte `strobe` to a memory port.

    No proof: it answers bursts, whose contract is that of the memory in the test bench; programs run on it in
    simulation.
    """

    def __init__(self, signature: Axi4Signature, words: int):
        self._axi = signature
        self._words = words
        members = signature.members
        super().__init__({
            "aw": In(members["aw"].signature),
            "w": In(members["w"].signature),
            "b": Out(members["b"].signature),
            "word": Out(ceil_log2(words)),
            "data": Out(signature.data_width),
            "strobe": Out(signature.data_width // 8),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        burst = BeatWalk(self._axi)
        beat = Signal()
        okay = Signal()
        worst = Signal(2)
        response = burst.response(self._words)
        m.d.comb += [
            self.aw.ready.eq(~burst.active & ~self.b.valid),
            self.w.ready.eq(burst.active),
            beat.eq(self.w.valid & self.w.ready),
            okay.eq(response == Response.OKAY),
            self.word.eq(burst.address[burst.lane_bits :]),
            self.data.eq(self.w.p.data),
            self.strobe.eq(self.w.p.strb & (beat & okay).replicate(len(self.strobe))),
        ]
        with m.If(self.b.ready):
            m.d.sync += self.b.valid.eq(0)
        with m.If(self.aw.valid & self.aw.ready):
            burst.start(m, self.aw.payload)
            m.d.sync += worst.eq(Response.OKAY)
        with m.If(beat):
            burst.step(m)
            with m.If(~okay):
                m.d.sync += worst.eq(response)
            with m.If(burst.left == 0):
                m.d.sync += [
                    burst.active.eq(0),
                    self.b.valid.eq(1),
                    self.b.p.id.eq(burst.id),
                    self.b.p.resp.eq(Mux(okay, worst, response)),
                ]
        return m
