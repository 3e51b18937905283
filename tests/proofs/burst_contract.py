"""Contracts of burst engines: bytes arrive where they belong, in order, none lost; AXI's rules; an end.

One job of one row is given, of up to `MOST_BYTES` bytes at any address in the first or last 16 bytes of two pages.
Memory is free to take and answer when it likes within `OBSTRUCTED` cycles in all; for the rest a job must end within
`PATIENCE` cycles. The byte at an address is the low byte of the address, so a byte from elsewhere shows.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Assume, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In
from formal import Contract

from hw.dma.spec import DmaSpec

__all__ = ["DEPTH", "LateWriterProof", "ReaderProof", "WriterProof"]

SPEC = DmaSpec(data_width=16, max_beats=2, outstanding=2)
BYTES = SPEC.bytes
MOST_BYTES = 3
OBSTRUCTED = 1
PATIENCE = 12
DEPTH = 1 + OBSTRUCTED + PATIENCE + 1
_PAGE = 4096


class _EngineProof(Contract):
    """What both directions have: the job, the address channel, the end."""

    patience = PATIENCE
    depth = DEPTH

    def __init__(self, kind: Any):
        self._kind = kind
        super().__init__({"address": In(32), "bytes": In(range(MOST_BYTES + 1)), "address_ready": In(1), "beat": In(1),
                          "word": In(1), "answer": In(1)})

    def _job(self, m: Module, dut: Any) -> tuple[Signal, Signal]:
        """Gives the job in the first cycle; the results are its address and length, from the cycle after on."""
        begun, address, length = Signal(), Signal(32), Signal(range(MOST_BYTES + 1))
        m.d.sync += begun.eq(1)
        with m.If(~begun):
            m.d.comb += Assume((self.bytes != 0) & (self.bytes <= MOST_BYTES) & (self.address[13:] == 0))
            m.d.comb += Assume(self.address[4:12].all() | ~self.address[4:12].any())
            m.d.sync += [address.eq(self.address), length.eq(self.bytes)]
        m.d.comb += [dut.job.valid.eq(~begun), dut.job.p.address.eq(self.address), dut.job.p.row_bytes.eq(self.bytes),
                     dut.job.p.rows.eq(1), dut.job.p.planes.eq(1)]
        self._begun = begun
        return address, length

    def _stable(self, m: Module, channel: Any, name: str) -> None:
        """What is offered stays until it is taken."""
        offered, before = Signal(), Signal.like(Value.cast(channel.payload))
        m.d.sync += [offered.eq(channel.valid & ~channel.ready), before.eq(Value.cast(channel.payload))]
        self.must(m, ~offered | channel.valid, f"{name} is taken back")
        self.must(m, ~offered | (Value.cast(channel.payload) == before), f"{name} changes while it is offered")

    def _bursts(self, m: Module, channel: Any, address: Value, length: Value, done: Value) -> None:
        """Bursts follow each other from the first byte's beat to the last one's, and none crosses a page."""
        following, some = Signal(32), Signal()
        expected = Mux(some, following, address & ~(BYTES - 1))
        size = (channel.p.len + 1) * BYTES
        with m.If(channel.valid & channel.ready):
            m.d.sync += [some.eq(1), following.eq(channel.p.addr + size)]
        self.must(m, ~channel.valid | (channel.p.addr[:12] + size <= _PAGE), "a burst crosses 4 KiB")
        self.must(m, ~channel.valid | (channel.p.len < SPEC.max_beats), "a burst is too long")
        self.must(m, ~channel.valid | (channel.p.addr == expected), "a burst is elsewhere")
        end = (address + length + BYTES - 1)[:32] & ~(BYTES - 1)
        self.must(m, ~done | (some & (following == end)), "the bursts are not those of the row")

    def _ends(self, m: Module, dut: Any, obstructed: Value) -> Signal:
        """The job ends once, within `patience` cycles and those in which others keep it waiting."""
        kept, busy, ended = Signal(range(OBSTRUCTED + 2)), Signal(range(self.patience + 2)), Signal()
        m.d.comb += Assume(kept <= OBSTRUCTED)
        with m.If(self._begun & ~ended):
            m.d.sync += [
                kept.eq(kept + obstructed), busy.eq(busy + ~obstructed)]
        with m.If(dut.done):
            m.d.sync += ended.eq(1)
        self.must(m, busy <= self.patience, "the job does not end")
        self.must(m, ~(dut.done & ended), "the job ends twice")
        self.must(m, ~(dut.error | (ended & dut.busy)), "busy or wrong after the end")
        return ended


class ReaderProof(_EngineProof):
    """The words that come out are the row's bytes, the first one in the low bits, and zeros."""

    def state(self, m: Module) -> None:
        m.submodules.dut = dut = self._kind(SPEC)
        address, length = self._job(m, dut)
        due_address, due_beats = (Array(Signal(width, name=f"{name}{k}") for k in range(2))
                                  for name, width in (("due", 32), ("beats", 8)))
        due = Signal(range(3))  # bursts that memory has taken and not answered, the first one at place 0
        taken, given, ended = dut.ar.valid & dut.ar.ready, dut.r.valid & dut.r.ready, Signal()
        m.d.comb += [
            dut.ar.ready.eq(self.address_ready & (due != 2)), dut.r.valid.eq(self.beat & (due != 0)),
            dut.r.p.last.eq(due_beats[0] == 0), dut.word.ready.eq(self.word), ended.eq(given & dut.r.p.last),
            *(dut.r.p.data.word_select(k, 8).eq(due_address[0] + k) for k in range(BYTES)),
        ]
        with m.If(ended):
            m.d.sync += [due_address[0].eq(due_address[1]), due_beats[0].eq(due_beats[1])]
        with m.Elif(given):
            m.d.sync += [due_address[0].eq(due_address[0] + BYTES), due_beats[0].eq(due_beats[0] - 1)]
        with m.If(taken):
            place = due - ended
            m.d.sync += [due_address[place[0]].eq(dut.ar.p.addr), due_beats[place[0]].eq(dut.ar.p.len)]
        m.d.sync += due.eq(due + taken - ended)
        self._stable(m, dut.ar, "an address")
        self._stable(m, dut.word, "a word")
        self._bursts(m, dut.ar, address, length, dut.done)
        self._words(m, dut, address, length)
        self._ends(m, dut, (dut.ar.valid & ~dut.ar.ready) | ((due != 0) & ~dut.r.valid)
                   | (dut.word.valid & ~dut.word.ready))

    def _words(self, m: Module, dut: Any, address: Value, length: Value) -> None:
        came = Signal(range(2 * MOST_BYTES))  # bytes that have come
        with m.If(dut.word.valid & dut.word.ready):
            m.d.sync += came.eq(came + BYTES)
        expected = Cat(Mux(came + k < length, (address + came + k)[:8], 0) for k in range(BYTES))
        self.must(m, ~dut.word.valid | (dut.word.p.data == expected), "another word")
        self.must(m, ~dut.word.valid | (dut.word.p.last == (came + BYTES >= length)), "another end")
        self.must(m, ~dut.word.valid | (came < length), "a word too many")


class WriterProof(_EngineProof):
    """The bytes that are written are the words', each at its place; every burst has as many beats as it says."""

    def state(self, m: Module) -> None:
        m.submodules.dut = dut = self._kind(SPEC)
        address, length = self._job(m, dut)
        put = Signal(range(2 * MOST_BYTES))  # bytes of words that were taken
        m.d.comb += [
            dut.aw.ready.eq(self.address_ready), dut.w.ready.eq(self.beat), dut.word.valid.eq(self.word),
            *(dut.word.payload.word_select(k, 8).eq(address + put + k) for k in range(BYTES)),
        ]
        with m.If(dut.word.valid & dut.word.ready):
            m.d.sync += put.eq(put + BYTES)
        self.must(m, ~(dut.word.valid & dut.word.ready) | (put < length), "a word too many is taken")
        owed = self._beats(m, dut)
        self._stable(m, dut.aw, "an address")
        self._stable(m, dut.w, "data")
        self._bursts(m, dut.aw, address, length, dut.done)
        self._bytes(m, dut, address, length)
        self._ends(m, dut, (dut.aw.valid & ~dut.aw.ready) | (dut.w.valid & ~dut.w.ready) | (owed & ~dut.b.valid)
                   | (dut.word.ready & ~dut.word.valid) | ~self.word)

    def _beats(self, m: Module, dut: Any) -> Value:
        """Memory answers bursts that it has whole; the result is whether it owes an answer."""
        lengths = Array(Signal(8, name=f"len{k}") for k in range(4))
        sizes = Array(Signal(8, name=f"size{k}") for k in range(4))
        addressed, sent, answered, beat = (Signal(range(5), name=name) for name in ("aws", "ws", "bs", "place"))
        takes, writes = dut.aw.valid & dut.aw.ready, dut.w.valid & dut.w.ready
        with m.If(takes):
            m.d.sync += [addressed.eq(addressed + 1), lengths[addressed[:2]].eq(dut.aw.p.len)]
        with m.If(writes):
            m.d.sync += beat.eq(Mux(dut.w.p.last, 0, beat + 1))
            with m.If(dut.w.p.last):
                m.d.sync += [sent.eq(sent + 1), sizes[sent[:2]].eq(beat)]
        whole = Mux(addressed < sent, addressed, sent)
        m.d.comb += dut.b.valid.eq(self.answer & (answered != whole))
        with m.If(dut.b.valid & dut.b.ready):
            m.d.sync += answered.eq(answered + 1)
        fits = [(k >= addressed) | (k >= sent) | (lengths[k] == sizes[k]) for k in range(4)]
        self.must(m, Cat(fits).all(), "a burst has another length")
        self.must(m, ~dut.done | (addressed == sent), "a burst has no data, or data no burst")
        return answered != whole

    def _bytes(self, m: Module, dut: Any, address: Value, length: Value) -> None:
        written = Signal(range(2 * MOST_BYTES))  # bytes so far
        place, strobes = (address + written)[:32], dut.w.p.strb
        first = place[0]
        expected = Cat((k >= first) & (written + k - first < length) for k in range(BYTES))
        data, beat = dut.w.p.data, place & ~(BYTES - 1)
        good = [~strobes[k] | (data.word_select(k, 8) == (beat + k)[:8]) for k in range(BYTES)]
        self.must(m, ~dut.w.valid | (strobes == expected), "other bytes are written")
        self.must(m, ~dut.w.valid | Cat(good).all(), "a byte has another value")
        with m.If(dut.w.valid & dut.w.ready):
            m.d.sync += written.eq(written + sum(strobes[k] for k in range(BYTES)))
        self.must(m, ~dut.done | (written == length), "bytes are missing")


class LateWriterProof(WriterProof):
    """The same, a cycle later."""

    patience = PATIENCE + 1
    depth = DEPTH + 1
