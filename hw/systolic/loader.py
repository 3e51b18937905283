"""Outermost I/O modules of what comes in: tiles from main memory, many streams on one AXI4 port (Wang 2021, 6.2).

Every stream asks only for bursts that it has room for, so what memory answers is always taken at once, and no stream
can block another one. The first tile of each comes before the second one of any: steps begin when all are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import CACHE_NORMAL, INCR, Axi4Signature, is_error
from hw.dma.register_slice import Skid
from hw.dma.word_queue import BlockQueue
from hw.systolic.tiles import ADDRESS_BITS, EXTENT_BITS, TileAddresses, each

__all__ = ["BURST", "BURST_BEATS", "Bursts", "Loader", "StreamPlan", "address_channel", "count_bursts"]

BURST_BEATS = 16
"""Longest burst. Bursts end at multiples of it, so none crosses a page of 4 KiB."""

QUEUE_BEATS = 64
OUTSTANDING = 16

BURST = data.StructLayout({"address": ADDRESS_BITS, "beats": range(BURST_BEATS + 1)})
"""`beats` beats of memory from byte `address` on."""


@dataclass(frozen=True)
class StreamPlan:
    """Tiles of `beats` beats of memory each, one for each turn of the first `loops` tile loops; those in `strided` have
    strides. `awaited`: the first tile comes before the second one of any; else it is for the first results."""

    beats: int
    loops: int
    strided: tuple[int, ...]
    awaited: bool = True


class Bursts(wiring.Component):
    """Cuts tiles of `plan.beats` beats into bursts of at most `longest`, a power of two; one every two cycles, or three
    if `tapered`.

    Ports: `load`, `base`, `extents`, `strides` as of `TileAddresses`; `o` (stream of `BURST`), `left`: there are more;
    `ahead`: all bursts of the first tile have gone. `tapered`: the last 16 beats of a run are bursts of at most 8 and 4
    beats, so that one which waits for its data ends soon after the last of them.
    """

    def __init__(self, plan: StreamPlan, bus_bits: int, *, longest: int = BURST_BEATS, tapered: bool = False):
        self._plan, self._bytes, self._longest, self._tapered = plan, bus_bits // 8, longest, tapered
        super().__init__({
            "load": In(1), "base": In(ADDRESS_BITS), "extents": In(EXTENT_BITS).array(plan.loops),
            "strides": In(ADDRESS_BITS).array(len(plan.strided)), "o": Out(stream.Signature(BURST)),
            "left": Out(1), "ahead": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tiles = tiles = TileAddresses(self._plan.loops, self._plan.strided)
        m.d.comb += [tiles.load.eq(self.load), tiles.base.eq(self.base), *each(tiles.extents, self.extents),
                     *each(tiles.strides, self.strides)]
        shift = self._bytes.bit_length() - 1
        place, left = Signal(ADDRESS_BITS - shift), Signal(range(self._plan.beats + 1))
        beats, last, some = self.o.p.beats, Signal(), Signal()  # last burst of the tile; whether any are left
        room, known = self._room(m, place, left, tiles.busy, some)
        fresh = Signal()  # the burst has come in this cycle; what follows it is found now, far from who takes it
        m.d.comb += self.left.eq(tiles.busy | some | self.o.valid)
        m.d.sync += fresh.eq(0)
        with m.If(fresh):
            m.d.sync += [place.eq(place + beats), left.eq(left - beats), some.eq(~last)]
        with m.If(self.o.valid):
            with m.If(self.o.ready):
                m.d.sync += [self.o.valid.eq(0), self.ahead.eq(self.ahead | last)]
        with m.Elif(some & known):
            m.d.sync += [self.o.valid.eq(1), self.o.p.address.eq(place << shift), fresh.eq(1),
                         last.eq(left <= room), beats.eq(Mux(left < room, left, room))]
        with m.Elif(~some):
            m.d.comb += tiles.o.ready.eq(1)
            with m.If(tiles.o.valid):
                m.d.sync += [place.eq(tiles.o.payload >> shift), left.eq(self._plan.beats), some.eq(1)]
        with m.If(self.load):
            m.d.sync += self.ahead.eq(0)
        return m

    def _room(self, m: Module, place: Value, left: Value, more: Value, some: Signal) -> tuple[Value, Value]:
        """Most beats of a burst that begins at `place`, and whether that is known already: tapered, it comes from a
        register. `more`: there are tiles after this one."""
        room = self._longest - place[: self._longest.bit_length() - 1]
        if not self._tapered:
            return room, Const(1)
        most, known = Signal(range(BURST_BEATS + 1)), Signal()
        ends, half, quarter = ~more & (left <= BURST_BEATS), BURST_BEATS // 2, BURST_BEATS // 4
        wanted, short = left > half, Signal()  # half a burst, else a quarter of one; whether there is room for more
        m.d.comb += short.eq(ends & Mux(wanted, room > half, room > quarter))
        m.d.sync += [most.eq(Mux(short, Mux(wanted, half, quarter), room)), known.eq(some & ~self.o.valid)]
        return most, known


class _Stream(wiring.Component):
    """Bursts of one stream, as far as there is room for their data, and the queue of these.

    Ports: as of `Bursts`, but `o`: beats of memory; `burst`: what to fetch; `data`, `valid`: it comes, `ended`
    with the last beat of a burst; `left`: there is more to come. `others`, one cycle before: so are the other streams
    ahead; until then no second tile is fetched.
    """

    def __init__(self, plan: StreamPlan, bus_bits: int):
        self._plan, self._bits = plan, bus_bits
        super().__init__({
            "load": In(1), "base": In(ADDRESS_BITS), "extents": In(EXTENT_BITS).array(plan.loops),
            "strides": In(ADDRESS_BITS).array(len(plan.strided)), "burst": Out(stream.Signature(BURST)),
            "data": In(bus_bits), "valid": In(1), "o": Out(stream.Signature(bus_bits)), "ahead": Out(1),
            "others": In(1), "ended": In(1), "left": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bursts = bursts = Bursts(self._plan, self._bits)
        m.submodules.queue = queue = BlockQueue(self._bits, QUEUE_BEATS)
        m.submodules.slice = slice_ = Skid(self._bits)  # what takes the beats can be far from the memory
        connect(m, slice_.o, flipped(self.o))
        free, able = Signal(range(QUEUE_BEATS + 1), init=QUEUE_BEATS), Signal()
        taken, given = self.burst.valid & self.burst.ready, slice_.i.valid & slice_.i.ready
        due = Signal(range(OUTSTANDING + 1))  # bursts that have begun and not ended
        m.d.sync += [due.eq(due + taken - self.ended), self.left.eq(bursts.left | (due != 0))]
        m.d.comb += [
            bursts.load.eq(self.load), bursts.base.eq(self.base), *each(bursts.extents, self.extents),
            *each(bursts.strides, self.strides), self.burst.p.eq(bursts.o.p), self.ahead.eq(bursts.ahead),
            self.burst.valid.eq(bursts.o.valid & able), bursts.o.ready.eq(self.burst.ready & able),
            queue.w_data.eq(self.data), queue.w_en.eq(self.valid), slice_.i.payload.eq(queue.r_data),
            slice_.i.valid.eq(queue.r_rdy), queue.r_en.eq(slice_.i.ready),
        ]
        # What goes and what is given back are counted a cycle later; another burst comes only after that.
        gone, back = Signal.like(self.burst.p.beats), Signal()
        following = Signal.like(free)
        m.d.comb += following.eq(free - gone + back)
        m.d.sync += [gone.eq(Mux(taken, self.burst.p.beats, 0)), back.eq(given), free.eq(following),
                     able.eq((following >= BURST_BEATS) & (self.others | ~bursts.ahead))]
        return m


class Loader(wiring.Component):
    """Streams of tiles. `load` starts all of them; for stream k: `base_K`, `extents_K` (of the loops that it has),
    `strides_K` and `o_K`, its beats of memory. `stop`: no more bursts begin. `busy`: answers are due; ``left[k]``: they
    are for stream k, or it has bursts to come; `error`: memory has reported one. `ar`, `r`: AXI4. Earlier streams have
    the right of way.

    No proof: queues of 64 beats and bursts of 16 are beyond the solver; its queues and the order of its bursts are
    proven.
    """

    def __init__(self, plans: Sequence[StreamPlan], bus_bits: int):
        self._plans, self._bits = list(plans), bus_bits
        axi = Axi4Signature(data_width=bus_bits).members
        ports = {"load": In(1), "stop": In(1), "busy": Out(1), "left": Out(len(self._plans)), "error": Out(1),
                 "ar": axi["ar"], "r": axi["r"]}
        for k, plan in enumerate(self._plans):
            ports |= {f"base_{k}": In(ADDRESS_BITS), f"extents_{k}": In(EXTENT_BITS).array(plan.loops),
                      f"strides_{k}": In(ADDRESS_BITS).array(len(plan.strided)),
                      f"o_{k}": Out(stream.Signature(bus_bits))}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        streams = [_Stream(plan, self._bits) for plan in self._plans]
        for k, part in enumerate(streams):
            m.submodules[f"stream{k}"] = part
            m.d.comb += [part.load.eq(self.load), part.base.eq(getattr(self, f"base_{k}"))]
            m.d.comb += each(part.extents, getattr(self, f"extents_{k}"))
            m.d.comb += each(part.strides, getattr(self, f"strides_{k}"))
            connect(m, part.o, flipped(getattr(self, f"o_{k}")))
        m.submodules.order = order = SyncFIFO(width=max(1, (len(streams) - 1).bit_length()), depth=OUTSTANDING)
        awaited = [part.ahead for plan, part in zip(self._plans, streams, strict=True) if plan.awaited]
        m.d.comb += [part.others.eq(Cat(awaited).all() & ~self.load) for part in streams]
        answered, ended = Signal(), Signal()
        m.d.comb += [self.r.ready.eq(1), answered.eq(self.r.valid & self.r.ready),
                     ended.eq(answered & self.r.p.last), order.r_en.eq(ended)]
        for k, part in enumerate(streams):
            mine = order.r_data == k
            m.d.comb += [part.data.eq(self.r.p.data), part.valid.eq(answered & mine), part.ended.eq(ended & mine),
                         self.left[k].eq(part.left)]
        self._ask(m, streams, order, ended)
        with m.If(answered & is_error(self.r.p.resp)):
            m.d.sync += self.error.eq(1)
        with m.If(self.load):
            m.d.sync += self.error.eq(0)
        return m

    def _ask(self, m: Module, streams: Sequence[_Stream], order: SyncFIFO, ended: Signal) -> None:
        """One burst goes to the address register and, a cycle later, to the list of those that answers are due for;
        `ended`: the first of these has its answers."""
        room, asked, free = Signal(), Signal(), Value.cast(1)
        due, spare = Signal(range(OUTSTANDING + 1)), Signal(init=1)  # whether there may be one more
        m.d.comb += [room.eq((~self.ar.valid | self.ar.ready) & spare & ~self.stop), self.busy.eq(due != 0)]
        with m.If(self.ar.ready):
            m.d.sync += self.ar.valid.eq(0)
        for k, part in enumerate(streams):
            m.d.comb += part.burst.ready.eq(room & free)
            with m.If(part.burst.valid & room & free):
                m.d.comb += asked.eq(1)
                m.d.sync += [self.ar.valid.eq(1), order.w_data.eq(k)]
            free = free & ~part.burst.valid
        for part in reversed(streams):  # taken even if the burst is not: fewer signals have a say in many bits
            with m.If((~self.ar.valid | self.ar.ready) & part.burst.valid):
                m.d.sync += address_channel(self.ar.p, part.burst.p, self._bits // 8)
        m.d.sync += order.w_en.eq(asked)
        count_bursts(m, due, spare, asked, ended)


def count_bursts(m: Module, due: Signal, spare: Signal, begun: Value, ended: Value) -> None:
    """Registers `due`, how many bursts have begun and not ended, and `spare`, whether there may be one more than that,
    up to `OUTSTANDING`; it is 1 at first."""
    with m.If(begun & ~ended):
        m.d.sync += [due.eq(due + 1), spare.eq(due != OUTSTANDING - 1)]
    with m.Elif(ended & ~begun):
        m.d.sync += [due.eq(due - 1), spare.eq(1)]


def address_channel(channel: data.View, burst: data.View, beat_bytes: int) -> list:
    """Assignments that put a `BURST` of beats of `beat_bytes` bytes on an AXI address channel."""
    values = {"id": 0, "addr": burst.address, "len": burst.beats - 1, "size": beat_bytes.bit_length() - 1,
              "burst": INCR, "cache": CACHE_NORMAL, "prot": 0}
    return [channel[name].eq(value) for name, value in values.items()]
