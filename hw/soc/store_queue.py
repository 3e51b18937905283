"""Stores of the scalar core on their way to main memory."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.axi import address_payload, is_error
from hw.soc.line_buffer import REQUEST, memory_bus, word_bits

__all__ = ["STORE", "StoreQueue"]

STORE = data.StructLayout({"address": 29, "data": 32, "sel": 4})
"""A word: its address in words, and which of its bytes are stored."""


class StoreQueue(wiring.Component):
    """Takes a word per cycle and writes it to main memory; up to `depth` (a power of two) wait for their response.

    store: the words, in order. aw, w, b: write channels of main memory, one burst of one beat for each word.
    line: a line (byte address / 32); hit: some word of it has not been acknowledged by memory. empty: all have been.
    error: memory refused a word.
    """

    def __init__(self, beat_bytes: int, depth: int = 8):
        self._beat_bytes = beat_bytes
        self._depth = depth
        members = memory_bus(beat_bytes).members
        super().__init__({
            "store": In(stream.Signature(STORE)),
            "aw": members["aw"],
            "w": members["w"],
            "b": members["b"],
            "line": In(26),
            "hit": Out(1),
            "empty": Out(1),
            "error": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self._depth
        index = len(range(depth)).bit_length() - 1
        # Numbers of the words that were taken, addressed, sent and acknowledged, one bit more than an index has.
        taken, addressed, sent, answered = (Signal(index + 1, name=name) for name in _STEPS)
        lines = Array(Signal(26, name=f"line_{place}") for place in range(depth))
        take = Signal()
        m.d.comb += [
            self.store.ready.eq((taken - answered)[: index + 1] != depth),
            take.eq(self.store.valid & self.store.ready),
            self.empty.eq(taken == answered),
            self.hit.eq(Cat(
                (line == self.line) & ((place - answered)[:index] < (taken - answered)[: index + 1])
                for place, line in enumerate(lines)
            ).any()),
            self.b.ready.eq(1),
            self.error.eq(self.b.valid & is_error(self.b.p.resp)),
        ]  # fmt: skip
        with m.If(take):
            m.d.sync += [lines[taken[:index]].eq(self.store.p.address[3:]), taken.eq(taken + 1)]
        with m.If(self.b.valid):
            m.d.sync += answered.eq(answered + 1)
        self._channels(m, take, taken, addressed, sent)
        return m

    def _channels(self, m: Module, take: Signal, taken: Signal, addressed: Signal, sent: Signal) -> None:
        index = len(taken) - 1
        m.submodules.words = words = Memory(shape=STORE, depth=self._depth, init=[])
        write, for_address, for_data = words.write_port(), *(words.read_port(domain="comb") for _ in range(2))
        shift = word_bits(self._beat_bytes)
        place = for_data.data.address[:shift]
        burst = Signal(REQUEST)
        m.d.comb += [
            write.addr.eq(taken[:index]),
            write.data.eq(self.store.p),
            write.en.eq(take),
            for_address.addr.eq(addressed[:index]),
            for_data.addr.eq(sent[:index]),
            self.aw.valid.eq(addressed != taken),
            burst.address.eq(for_address.data.address[shift:] << (shift + 2)),
            *address_payload(self.aw.p, burst, self._beat_bytes),
            self.w.valid.eq(sent != taken),
            self.w.p.data.eq(for_data.data.data.replicate(self._beat_bytes // 4)),
            self.w.p.strb.eq((for_data.data.sel << (place << 2)) if shift else for_data.data.sel),
            self.w.p.last.eq(1),
        ]
        m.d.sync += [
            addressed.eq(addressed + (self.aw.valid & self.aw.ready)),
            sent.eq(sent + (self.w.valid & self.w.ready)),
        ]


_STEPS = ("taken", "addressed", "sent", "answered")
