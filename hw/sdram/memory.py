"""Main memory in SDRAM, behind AXI4."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4Signature, Response
from hw.dma.beat_walk import BeatWalk
from hw.sdram.chip import SdramChip, SdramCycles
from hw.sdram.controller import SdramController
from hw.sdram.pins import SdramPins

__all__ = ["SdramMemory"]

_BURSTS = 16
"""Addresses that wait in each direction."""
_BEATS = 32
"""Beats that wait in each direction: written ones for the chip, read ones for whom they are for."""
_TURN = 16
"""Beats in one direction while the other one waits."""


class SdramMemory(wiring.Component):
    """`size` bytes from address 0, at most those of the chip, as an AXI4 subordinate of `data_width` bits.

    Incrementing bursts of 1 to 256 beats of 1 to `data_width` / 8 bytes, from any start address; up to 16 bursts of
    each direction wait. Reads and writes take turns after up to 16 beats, and a write takes its turn only when its data
    is there. A beat takes as many cycles as it has words of the chip. A write is answered when its last beat is on
    its way to the chip, where nothing overtakes it. A beat outside the memory answers DECERR, any other kind of burst
    SLVERR; neither reads or writes anything.

    Ports: `bus`, the subordinate, and `pins` of the chip. Raises `SdramError` as `SdramController` does.
    """

    def __init__(self, chip: SdramChip, cycles: SdramCycles, *, size: int | None = None, data_width: int = 64,
                 id_width: int = 1):
        self._controller = SdramController(chip, cycles, data_width)
        self.words = -(-min(size or chip.size, chip.size) // (data_width // 8))
        self._tag = data.StructLayout({"id": id_width, "last": 1, "resp": 2})
        super().__init__({
            "bus": In(Axi4Signature(address_width=32, data_width=data_width, id_width=id_width)),
            "pins": Out(SdramPins(chip)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.controller = controller = self._controller
        wiring.connect(m, controller.pins, wiring.flipped(self.pins))
        (reading, was_read), (writing, was_written) = (self._walk(m, name) for name in ("ar", "aw"))
        tags, write = self._reads(m), self._written(m)
        response = {walk: walk.response(self.words) for walk in (reading, writing)}
        answers, worst = self._answers(m), Signal(2)
        may_read = Signal()
        may_write = Signal()
        m.d.comb += [
            may_read.eq(reading.active & tags.w_rdy),
            may_write.eq(writing.active & write.r_rdy & answers.w_rdy),
        ]
        chosen = self._turns(m, may_read, may_write)
        taken = Signal()
        refused = Signal()
        now = Mux(chosen, response[writing], response[reading])
        access = controller.access
        word = Mux(chosen, writing.address, reading.address)
        m.d.comb += [
            refused.eq(now != Response.OKAY),
            access.p.write.eq(chosen),
            access.p.index.eq(word >> reading.lane_bits),
            Cat(access.p.data, access.p.strobe).eq(write.r_data),
            access.valid.eq((may_read | may_write) & ~refused),
            taken.eq((may_read | may_write) & (access.ready | refused)),
            was_read.eq(taken & ~chosen),
            was_written.eq(taken & chosen),
            tags.w_en.eq(taken & ~chosen),
            write.r_en.eq(taken & chosen),
        ]
        tag = data.View(self._tag, tags.w_data)
        m.d.comb += [tag.id.eq(reading.id), tag.last.eq(reading.left == 0), tag.resp.eq(response[reading])]
        m.d.comb += [answers.w_en.eq(taken & chosen & (writing.left == 0)),
                     answers.w_data.eq(Cat(writing.id, Mux(refused, now, worst)))]
        with m.If(taken & chosen):
            m.d.sync += worst.eq(Mux(writing.left == 0, Response.OKAY, Mux(refused, now, worst)))
        return m

    # Bursts.

    def _walk(self, m: Module, name: str) -> tuple[BeatWalk, Signal]:
        """A burst of a direction, followed by the next without a pause, and what says that a beat of it is done."""
        channel = getattr(self.bus, name)
        payload = channel.payload.shape()
        m.submodules[f"{name}_queue"] = queue = SyncFIFO(width=payload.size, depth=_BURSTS)
        stepped = Signal(name=f"{name}_stepped")
        walk = BeatWalk(self.bus.signature)
        m.d.comb += [
            queue.w_data.eq(channel.payload), queue.w_en.eq(channel.valid), channel.ready.eq(queue.w_rdy),
            queue.r_en.eq(~walk.active | (stepped & (walk.left == 0))),
        ]
        with m.If(stepped):
            walk.step(m)
            m.d.sync += walk.active.eq(walk.left != 0)
        with m.If(queue.r_en & queue.r_rdy):
            fields: Any = data.View(payload, queue.r_data)
            walk.start(m, fields)
        return walk, stepped

    def _turns(self, m: Module, may_read: Value, may_write: Value) -> Value:
        """Whether the next beat is written: the direction stays while it can, for some beats if the other one waits."""
        writing, left = Signal(), Signal(range(_TURN), init=_TURN - 1)
        chosen = Signal()
        m.d.comb += chosen.eq(Mux(may_read & may_write, writing ^ (left == 0), may_write))
        with m.If(may_read | may_write):
            m.d.sync += writing.eq(chosen)
            with m.If(chosen != writing):
                m.d.sync += left.eq(_TURN - 1)
            with m.Elif(self._controller.access.valid & self._controller.access.ready & (left != 0)):
                m.d.sync += left.eq(left - 1)
        return chosen

    # Channels.

    def _reads(self, m: Module) -> SyncFIFO:
        """The queue of what is known of beats before their data; there is room for the data of all of them."""
        bus, read = self.bus.r, self._controller.read
        m.submodules.tags = tags = SyncFIFO(width=self._tag.size, depth=_BEATS)
        m.submodules.beats = beats = SyncFIFOBuffered(width=len(read.data), depth=_BEATS + 1)
        tag = data.View(self._tag, tags.r_data)
        okay = tag.resp == Response.OKAY
        m.d.comb += [
            beats.w_data.eq(read.data), beats.w_en.eq(read.valid),
            bus.valid.eq(tags.r_rdy & (beats.r_rdy | ~okay)),
            bus.p.id.eq(tag.id), bus.p.last.eq(tag.last), bus.p.resp.eq(tag.resp),
            bus.p.data.eq(Mux(okay, beats.r_data, Const(0))),
            tags.r_en.eq(bus.valid & bus.ready),
            beats.r_en.eq(bus.valid & bus.ready & okay),
        ]
        return tags

    def _written(self, m: Module) -> SyncFIFOBuffered:
        """The queue of data and strobes to write."""
        channel = self.bus.w
        m.submodules.written = queue = SyncFIFOBuffered(width=len(channel.p.data) + len(channel.p.strb), depth=_BEATS)
        m.d.comb += [queue.w_data.eq(Cat(channel.p.data, channel.p.strb)), queue.w_en.eq(channel.valid),
                     channel.ready.eq(queue.w_rdy)]
        return queue

    def _answers(self, m: Module) -> SyncFIFO:
        """The queue of answers to writes."""
        channel = self.bus.b
        m.submodules.answers = queue = SyncFIFO(width=len(channel.p.id) + len(channel.p.resp), depth=_BURSTS)
        m.d.comb += [Cat(channel.p.id, channel.p.resp).eq(queue.r_data), channel.valid.eq(queue.r_rdy),
                     queue.r_en.eq(channel.ready)]
        return queue
