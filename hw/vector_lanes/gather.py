"""Gather and scatter: indexed access, one element per cycle.

An element takes two accesses, which different wavefronts share: port B reads its index, and some cycles later port A
reads, and the write port writes, the element itself. Between the two a queue keeps what belongs to it. Liu 2012,
chapter 6, lists indexed access as missing.

A scatter that accumulates reads the element that it writes, too: a scalar A is added as the number of an element is,
so that port A is free for the old value; a vector A takes port A, the old value port B, and indices every other cycle.
An old value that is still being computed is waited for, as any other operand is.
"""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.core_layouts import instruction_layout, wave_layout
from hw.vector_lanes.isa import Op
from hw.vector_lanes.ranges import overlap, range_layout
from hw.vector_lanes.spec import VectorSpec

__all__ = ["GatherUnit", "IndexReader"]

_DEPTH = 8
"""Elements between the two accesses; about six are on their way when one passes every cycle."""


class IndexReader(wiring.Component):
    """Takes four bytes (`index`, flags left out) out of a raw row `row` of port B (9 bits per bank), from the bank
    `address` mod W on. A register: `done` and `index` come a cycle after `read`."""

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        super().__init__({
            "row": In(9 * spec.row_bytes), "address": In(spec.address_bits), "read": In(1),
            "index": Out(32), "done": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.spec.row_bytes
        offset = self.address[: (width - 1).bit_length()]
        taken = Signal(32)
        with m.Switch(offset):
            for bank in range(width):
                with m.Case(bank):
                    m.d.comb += taken.eq(Cat(self.row.word_select((bank + i) % width, 9)[:8] for i in range(4)))
        m.d.sync += [self.index.eq(taken), self.done.eq(self.read)]
        return m


def _own_layout(spec: VectorSpec) -> data.StructLayout:
    """What the unit keeps of the instruction it works on."""
    mode = instruction_layout(spec)["mode"].shape
    return data.StructLayout({"mode": mode, "scalar": 32, "range_b": range_layout(spec)})


class GatherUnit(wiring.Component):
    """Stands between the sequencer and the interlock.

    Ordinary wavefronts from `request` pass to `wave` in the same cycle. Those of gathers and scatters come one per
    element (`base`: 32-bit address of D); each leaves as a read of its index (`fetch`), and after `index`, which comes
    back with `index_done`, as a move, together with the read of a later index.

    Indices are read ahead only while nothing can change them: a gather whose destination overlaps its indices, and a
    scatter from the first element on that falls among its indices, goes on element by element, six cycles each.
    `current`: the instruction of `request`; `overlaps`: its D and B have a byte in common. `outside` pulses for an
    element that is skipped because it is not in the scratchpad.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        wave = wave_layout(spec)
        super().__init__({
            "request": In(stream.Signature(wave)), "base": In(32), "current": In(instruction_layout(spec)),
            "overlaps": In(1), "wave": Out(stream.Signature(wave)), "index": In(32), "index_done": In(1),
            "outside": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.spec.address_bits
        queued = data.StructLayout({"a": bits, "b": bits, "d": 32, "end": 1})
        m.submodules.queue = queue = fifo.SyncFIFO(width=queued.size, depth=_DEPTH)
        m.submodules.indices = indices = fifo.SyncFIFO(width=32, depth=_DEPTH)
        self._own, self._head = Signal(_own_layout(self.spec)), queued(queue.r_data)
        self._move, self._move_valid = Signal(wave_layout(self.spec)), Signal()
        self._hit, self._skip = Signal(), Signal()
        self._slow, self._fetched = Signal(), Signal()
        fetch, slow_fetch, in_flight = Signal(), Signal(), Signal(range(_DEPTH + 1))
        self._port_b = Signal()
        m.d.comb += self._port_b.eq(self._move_valid & self._move.b_used)
        passed, fetched_now = self._accept(m, queue, fetch)
        m.d.comb += [
            slow_fetch.eq(self._slow & queue.r_rdy & ~self._fetched & ~self._move_valid & (in_flight == 0)
                          & ~indices.r_rdy),
            fetched_now.eq(self.wave.ready & (fetch | slow_fetch)),
            indices.w_data.eq(self.index), indices.w_en.eq(self.index_done),
            self.wave.valid.eq(passed | self._move_valid | fetch | slow_fetch),
        ]
        m.d.sync += in_flight.eq(in_flight + fetched_now - self.index_done)
        with m.If(passed):
            m.d.comb += self.wave.payload.eq(self.request.payload)
        with m.Else():
            self._merge(m, fetch, slow_fetch)
        self._load_move(m, queue, indices, slow_fetch)
        return m

    def _accept(self, m: Module, queue: fifo.SyncFIFO, fetch: Signal) -> tuple[Signal, Signal]:
        """Take requests: pass ordinary ones, queue the elements of one instruction at a time."""
        request, own = self.request.payload, self._own
        indexed, gather = Signal(), Signal()
        empty, fresh, slow, room, passed = Signal(), Signal(init=1), Signal(), Signal(), Signal()
        m.d.comb += [
            indexed.eq(request.mode.op[1:] == Op.VGATHER >> 1), gather.eq(request.mode.op == Op.VGATHER),
            empty.eq(~queue.r_rdy & ~self._move_valid),
            room.eq(queue.w_rdy & (~fresh | empty) & ~self._port_b),
            slow.eq(Mux(fresh, gather & self.overlaps, self._slow)),
            passed.eq(self.request.valid & ~indexed & empty), fetch.eq(self.request.valid & indexed & ~slow & room),
            self.request.ready.eq(Mux(indexed & slow, empty, self.wave.ready & Mux(indexed, room, empty))),
            queue.w_en.eq(self.request.valid & self.request.ready & indexed),
            queue.w_data.eq(Cat(request.a_address, request.b_address, self.base, request.end)),
        ]
        with m.If(queue.w_en):
            m.d.sync += [
                own.mode.eq(request.mode), own.scalar.eq(request.scalar), own.range_b.eq(self.current.range_b),
                fresh.eq(request.end), self._slow.eq(slow),
            ]
        return passed, Signal(name="fetched_now")

    def _merge(self, m: Module, fetch: Value, slow_fetch: Value) -> None:
        """A move if there is one, and the read of an index if there is one."""
        wave, request = self.wave.payload, self.request.payload
        in_size = Mux(fetch, request.mode.in_size, self._own.mode.in_size)
        m.d.comb += [
            wave.eq(Mux(self._move_valid, self._move.as_value(), 0)), wave.fetch.eq(fetch | slow_fetch),
        ]
        with m.If(~self._port_b):
            m.d.comb += [
                wave.b_used.eq(fetch | slow_fetch), wave.b_address.eq(Mux(fetch, request.b_address, self._head.b)),
                wave.b_bytes.eq(1 << in_size),
            ]

    def _element(self, m: Module, index: Value) -> tuple[Signal, Signal]:
        """Address of the element at the head of the queue, and whether it is not in the scratchpad."""
        own, mode = self._own, self._own.mode
        extended, address = Signal(32), Signal(32)
        sign = mode.signed
        with m.Switch(mode.in_size):
            for size in range(2):
                with m.Case(size):
                    part = index[: 8 << size]
                    m.d.comb += extended.eq(Cat(part, (part[-1] & sign).replicate(32 - len(part))))
            with m.Default():
                m.d.comb += extended.eq(index)
        outside = Signal()
        m.d.comb += [
            address.eq(Mux(mode.op == Op.VGATHER, own.scalar, self._head.d) + (extended << mode.out_size)),
            outside.eq(address + (1 << mode.out_size) > self.spec.capacity),
        ]
        return address, outside

    def _load_move(self, m: Module, queue: fifo.SyncFIFO, indices: fifo.SyncFIFO, slow_fetch: Value) -> None:
        own, move, head = self._own, self._move, self._head
        address, outside = self._element(m, indices.r_data)
        gather, count = own.mode.op == Op.VGATHER, Signal(3)
        leaves, load, hit, adds = Signal(), Signal(), Signal(), Signal()
        element = Signal(range_layout(self.spec))
        m.d.comb += [
            adds.eq(own.mode.accumulate), count.eq(1 << own.mode.out_size),
            element.lo.eq(address), element.hi.eq(address + count),
            hit.eq(~gather & ~self._slow & ~outside & overlap(element, own.range_b)),
            leaves.eq(self._move_valid & self.wave.ready),
            load.eq(queue.r_rdy & indices.r_rdy & (~self._move_valid | (leaves & ~self._hit & ~self._port_b))
                    & (~self._slow | self._fetched)),
            queue.r_en.eq(load), indices.r_en.eq(load | (self._slow & ~self._fetched)),
            self.outside.eq(leaves & self._skip),
        ]
        with m.If(load):
            m.d.sync += [
                self._move_valid.eq(1), self._hit.eq(hit), self._skip.eq(outside), self._fetched.eq(0),
                move.eq(0), move.scalar.eq(own.scalar), move.count.eq(~outside), move.end.eq(head.end),
                move.mode.op.eq(Op.VMOV), move.mode.in_size.eq(own.mode.out_size),
                move.mode.out_size.eq(own.mode.out_size), move.mode.scalar.eq(own.mode.scalar & ~gather & ~adds),
                move.a_used.eq(~outside & (gather | adds | ~own.mode.scalar)),
                move.a_address.eq(Mux(gather | (adds & own.mode.scalar), address, head.a)),
                move.a_bytes.eq(count), move.d_used.eq(~outside),
                move.d_address.eq(Mux(gather, head.d, address)), move.d_bytes.eq(count),
            ]
            with m.If(adds):
                m.d.sync += [
                    move.mode.op.eq(Op.VADD), move.mode.enumerated.eq(own.mode.scalar), move.index.eq(own.scalar),
                    move.b_used.eq(~outside & ~own.mode.scalar), move.b_address.eq(address), move.b_bytes.eq(count),
                ]
        with m.Elif(leaves):
            m.d.sync += self._move_valid.eq(0)
        with m.If(leaves & self._hit):
            m.d.sync += self._slow.eq(1)
        with m.If(slow_fetch & self.wave.ready):
            m.d.sync += self._fetched.eq(1)
