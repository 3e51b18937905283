"""The scratchpad: memory banked by byte, for two unaligned reads and one unaligned write of a whole row per cycle.

Every byte of a row is a bank of its own, 9 bits wide (the ninth is the flag). A row of W bytes at byte address
``r*W + o`` lies in row r of the banks o and up, and in row r+1 of the others. Each bank is split in two halves by the
lowest bit of the row, so that of two neighbouring rows one is in each half: both halves of all banks are addressed
alike, and the half that a bank does not use is free for the DMA engine in that cycle. Two copies serve the two read
ports; the DMA engine reads from the one of port A. Liu 2012, section 2.2 (there, the memories run at twice the clock).
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.fabric.emitted import Emitted
from hw.vector_lanes.core_ports import chunk_width, dma_write_layout
from hw.vector_lanes.spec import VectorSpec
from hw.verilog import convert

__all__ = ["BYTE_BITS", "ByteBank", "HalfSelect", "Scratchpad", "bank_signature", "scratchpad_sources"]

BANK_MODULE = "vector_bank"

BYTE_BITS = 9
"""A byte and its flag."""

PATIENCE = 4
"""Cycles that an operation of the DMA engine waits before it asks for a bubble."""

_BUFFERED = 4
"""Chunks read for the DMA engine that have not been taken: enough for one per cycle."""


class HalfSelect(wiring.Component):
    """What an access of a row on the vector side uses. `address`: byte address, `enable` (W, by bank).

    `used[h]` (W): whether half h of each bank is used, `half_address[h]` where; all in the same cycle.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self._offset_bits = (spec.row_bytes - 1).bit_length()
        super().__init__({
            "address": In(spec.address_bits), "enable": In(spec.row_bytes), "used": Out(spec.row_bytes).array(2),
            "half_address": Out(spec.address_bits - self._offset_bits - 1).array(2),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offset, row = self.address[: self._offset_bits], self.address[self._offset_bits :]
        banks = len(self.enable)
        # Banks below the offset take row r+1 instead of r; those with an odd row use the odd half.
        second, odd = Signal(banks), Signal(banks)
        m.d.comb += [
            second.eq(Cat(offset > bank for bank in range(banks))), odd.eq(second ^ row[0].replicate(banks)),
            self.used[0].eq(self.enable & ~odd), self.used[1].eq(self.enable & odd),
            self.half_address[0].eq(row[1:] + row[0]), self.half_address[1].eq(row[1:]),
        ]
        return m


def bank_signature(spec: VectorSpec) -> wiring.Signature:
    """Ports of a `ByteBank`."""
    width = (spec.rows // 2 - 1).bit_length()
    return wiring.Signature({
        "a_address": In(width).array(2), "a_used": In(1).array(2), "dma_a_address": In(width), "dma_odd": In(1),
        "b_address": In(width).array(2), "b_odd": In(1),
        "write_address": In(width).array(2), "write_used": In(1).array(2), "write_strobe": In(1),
        "write_data": In(BYTE_BITS),
        "dma_write_address": In(width), "dma_write": In(1).array(2), "dma_write_data": In(8),
        "a_data": Out(BYTE_BITS), "b_data": Out(BYTE_BITS), "dma_data": Out(8),
    })


class ByteBank(wiring.Component):
    """One bank: two halves, each with two read ports (one cycle) and a write port, and who uses them.

    Vector side, by half: `a_address`, `a_used`, `b_address`, `write_address`, `write_used` (written if `write_strobe`);
    `b_odd` whether port B uses the odd half; `write_data` (9). DMA side: `dma_a_address`, `dma_odd` and
    `dma_write_address` get what is left, `dma_write` (by half; only where not `write_used`) writes `dma_write_data`
    (8). A cycle after the addresses:
    `a_data`, `b_data` (9 bits), `dma_data` (8). A read of a byte that is being written gives anything: nobody uses it.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self._depth = spec.rows // 2
        super().__init__(bank_signature(spec))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a_data, b_data = zip(*(self._half(m, half) for half in range(2)), strict=True)
        a_odd, b_odd, dma_odd = Signal(), Signal(), Signal()
        m.d.sync += [a_odd.eq(self.a_used[1]), b_odd.eq(self.b_odd), dma_odd.eq(self.dma_odd)]
        m.d.comb += [
            self.a_data.eq(Mux(a_odd, a_data[1], a_data[0])), self.b_data.eq(Mux(b_odd, b_data[1], b_data[0])),
            self.dma_data.eq(Mux(dma_odd, a_data[1], a_data[0])),
        ]
        return m

    def _half(self, m: Module, half: int) -> tuple[Value, Value]:
        """The memory of one half: what ports A and B read."""
        memory = Memory(shape=BYTE_BITS, depth=self._depth, init=[], attrs={"no_rw_check": "1"})
        m.submodules[f"half{half}"] = memory
        write, read_a, read_b = memory.write_port(), memory.read_port(), memory.read_port()
        used = self.write_used[half]
        m.d.comb += [
            write.addr.eq(Mux(used, self.write_address[half], self.dma_write_address)),
            write.data.eq(Mux(used, self.write_data, self.dma_write_data)),
            write.en.eq((used & self.write_strobe) | self.dma_write[half]),
            read_a.addr.eq(Mux(self.a_used[half], self.a_address[half], self.dma_a_address)),
            read_b.addr.eq(self.b_address[half]),
        ]
        return read_a.data, read_b.data


class _Patience(wiring.Component):
    """Asks for a bubble (a pulse of `ask`) each time an operation has waited for `PATIENCE` cycles."""

    def __init__(self) -> None:
        super().__init__({"waiting": In(1), "ask": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waited = Signal(range(PATIENCE))
        m.d.comb += self.ask.eq(self.waiting & (waited == PATIENCE - 1))
        m.d.sync += waited.eq(Mux(self.waiting & ~self.ask, waited + 1, 0))
        return m


class _Parts(wiring.Component):
    """Does one operation of the DMA engine bank by bank, each as soon as it can.

    `wanted` (M) bytes of the operation, valid as long as `valid`; `possible` (M) banks whose half is free; `granted`
    (M) are the bytes done in this cycle; `finished` when with them all are done.
    """

    def __init__(self, count: int) -> None:
        super().__init__({
            "valid": In(1), "wanted": In(count), "possible": In(count), "granted": Out(count), "finished": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        done = Signal.like(self.wanted)
        left = Signal.like(self.wanted)
        m.d.comb += [
            left.eq(Mux(self.valid, self.wanted & ~done, 0)),
            self.granted.eq(left & self.possible),
            self.finished.eq(self.valid & ~(left & ~self.possible).any()),
        ]
        m.d.sync += done.eq(Mux(self.finished, 0, done | self.granted))
        return m


class _ChunkWindow(wiring.Component):
    """Operations of the DMA engine that are being done: one, or where a row has several chunks, two of the same row.

    `operation`: stream of `layout`, with a `chunk`, and a `strobe` if not all bytes are wanted. `used`: what the vector
    side uses (by half, W banks). Of each place w: its `payload`, the bytes `granted[w]` (M) done in this cycle in the
    banks of `groups[w]`, and whether it is `finished`; `room` (by place) allows it to go on. `row`: of all of them.
    `valid`: places that are taken. `ask`: for a bubble.
    """

    def __init__(self, spec: VectorSpec, layout: data.StructLayout) -> None:
        self.spec, self._layout = spec, layout
        count, banks = spec.memory_bytes, spec.row_bytes
        self.places = min(2, banks // count)
        self._group_bits = (banks // count - 1).bit_length()
        super().__init__({
            "operation": In(stream.Signature(layout)), "used": In(banks).array(2), "room": In(self.places),
            "payload": Out(layout).array(self.places), "granted": Out(count).array(self.places),
            "groups": Out(banks // count).array(self.places), "finished": Out(self.places),
            "valid": Out(self.places), "row": Out((spec.rows - 1).bit_length()), "ask": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        following = Signal(range(max(2, self.places)))
        rows = [payload.chunk[self._group_bits :] for payload in self.payload]
        groups = [payload.chunk[: self._group_bits] for payload in self.payload]
        # The place to be filled next has the older operation, if it is still there.
        older = self.valid.bit_select(following, 1)
        together = (rows[0] == rows[-1]) & (groups[0] != groups[-1])
        m.d.comb += self.row.eq(rows[0] if self.places == 1 else Mux(following ^ older, rows[0], rows[1]))
        for place in range(self.places):
            goes_on = self.valid[place] & ((following == place) | ~older | together) & self.room[place]
            self._place(m, place, rows[place], groups[place], goes_on)
        accepted = self.operation.valid & self.operation.ready
        m.d.comb += self.operation.ready.eq(~older | self.finished.bit_select(following, 1))
        for place in range(self.places):
            with m.If(accepted & (following == place)):
                m.d.sync += [self.payload[place].eq(self.operation.payload), self.valid[place].eq(1)]
            with m.Elif(self.finished[place]):
                m.d.sync += self.valid[place].eq(0)
        if self.places > 1:
            m.d.sync += following.eq(following ^ accepted)
        m.submodules.patience = patience = _Patience()
        m.d.comb += [
            patience.waiting.eq((self.valid & self.room).any() & ~self.finished.any()), self.ask.eq(patience.ask),
        ]
        return m

    def _place(self, m: Module, place: int, row: Value, group: Value, goes_on: Value) -> None:
        """Find the free banks of one operation."""
        count, groups = self.spec.memory_bytes, self.groups[place]
        m.submodules[f"parts{place}"] = parts = _Parts(count)
        taken = Signal(self.spec.row_bytes, name=f"taken{place}")
        blocked = [taken.word_select(number, count) & groups[number].replicate(count) for number in range(len(groups))]
        wanted = self.payload[place].strobe if "strobe" in self._layout.members else ~Const(0, count)
        m.d.comb += [
            groups.eq(Cat(group == number for number in range(len(groups)))),
            taken.eq(Mux(row[0], self.used[1], self.used[0])), parts.valid.eq(goes_on), parts.wanted.eq(wanted),
            parts.possible.eq(~reduce(or_, blocked)), self.granted[place].eq(parts.granted),
            self.finished[place].eq(parts.finished),
        ]


class _DoneGate(wiring.Component):
    """Holds back `done` of a transfer until the writes that it left in the window (`valid`, `finished`) are done."""

    def __init__(self, places: int) -> None:
        super().__init__({"done": In(1), "valid": In(places), "finished": In(places), "released": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        before, left = Signal.like(self.valid), Signal.like(self.valid)
        waiting, total = Signal(4), Signal(4)
        m.d.comb += [
            left.eq((before | Mux(self.done, self.valid, 0)) & ~self.finished), total.eq(waiting + self.done),
            self.released.eq((total != 0) & ~left.any()),
        ]
        m.d.sync += [before.eq(left), waiting.eq(total - self.released)]
        return m


class Scratchpad(wiring.Component):
    """Byte banks, their vector ports and the chunk port of the DMA engine.

    Vector side (never stalls; W = row bytes): `a_address`, `a_enable`, `b_address`, `b_enable`: byte addresses; a
    cycle later `a_data`, `b_data` are the W banks (9 bits each, bank 0 lowest) of the rows from there on, not
    rotated: byte i of the access is in bank (address + i) mod W. `write_enable` takes a row
    at `write_address` for writing those of its bytes with `write_strobe` (W, by bank; `write_data`: 9*W, by bank).

    DMA side: `dma_write`, `dma_read` (chunk number) and `dma_data`, in order, four cycles or more after `dma_read`.
    Operations take the half of a bank that the vector side leaves free, bank by bank: beside sequential accesses one
    is done every cycle if these are aligned, and every two cycles otherwise. Where a row has several chunks, two
    operations on the same row are done together, so that two fit into every second cycle. `bubble` pulses when one
    has waited too long, and asks for one cycle without a vector access. Writes clear flags.

    `job_done` tells that all writes of a transfer have been accepted, `job_finished` follows once they are done.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        address, row = spec.address_bits, spec.row_bytes
        super().__init__({
            "a_address": In(address), "a_enable": In(1), "a_data": Out(BYTE_BITS * row),
            "b_address": In(address), "b_enable": In(1), "b_data": Out(BYTE_BITS * row),
            "write_address": In(address), "write_enable": In(1), "write_strobe": In(row),
            "write_data": In(BYTE_BITS * row),
            "dma_write": In(stream.Signature(dma_write_layout(spec))),
            "dma_read": In(stream.Signature(chunk_width(spec))),
            "dma_data": Out(stream.Signature(8 * spec.memory_bytes)),
            "bubble": Out(1), "job_done": In(1), "job_finished": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        signature = bank_signature(self.spec)
        banks = [Emitted(BANK_MODULE, signature) for _ in range(self.spec.row_bytes)]
        for number, bank in enumerate(banks):
            m.submodules[f"bank{number}"] = bank
        m.d.comb += [
            self.a_data.eq(Cat(bank.a_data for bank in banks)), self.b_data.eq(Cat(bank.b_data for bank in banks)),
        ]
        self._read_b(m, banks)
        asks = [self._write(m, banks), self._read_a(m, banks)]
        m.d.comb += self.bubble.eq(Cat(asks).any())
        return m

    def _select(self, m: Module, name: str, address: Value, enable: Value) -> HalfSelect:
        m.submodules[f"{name}_select"] = select = HalfSelect(self.spec)
        m.d.comb += [select.address.eq(address), select.enable.eq(enable)]
        return select

    def _read_b(self, m: Module, banks: list[Emitted]) -> None:
        select = self._select(m, "b", self.b_address, self.b_enable.replicate(len(banks)))
        for number, bank in enumerate(banks):
            m.d.comb += bank.b_odd.eq(select.used[1][number])
            m.d.comb += [bank.b_address[half].eq(select.half_address[half]) for half in range(2)]

    def _window(self, m: Module, name: str, select: HalfSelect, layout: data.StructLayout) -> _ChunkWindow:
        m.submodules[f"{name}_window"] = window = _ChunkWindow(self.spec, layout)
        m.d.comb += [window.used[half].eq(select.used[half]) for half in range(2)]
        return window

    def _write(self, m: Module, banks: list[Emitted]) -> Value:
        select = self._select(m, "write", self.write_address, self.write_enable.replicate(len(banks)))
        window = self._window(m, "write", select, dma_write_layout(self.spec))
        wiring.connect(m, wiring.flipped(self.dma_write), window.operation)
        m.submodules.done = done = _DoneGate(window.places)
        m.d.comb += [
            window.room.eq(~0), done.done.eq(self.job_done), done.valid.eq(window.valid),
            done.finished.eq(window.finished), self.job_finished.eq(done.released),
        ]
        count = self.spec.memory_bytes
        for number, bank in enumerate(banks):
            granted = [window.granted[w][number % count] & window.groups[w][number // count]
                       for w in range(window.places)]
            bytes_ = [payload.data.word_select(number % count, 8) for payload in window.payload]
            m.d.comb += [
                bank.write_strobe.eq(self.write_strobe[number]), bank.dma_write_address.eq(window.row[1:]),
                bank.write_data.eq(self.write_data.word_select(number, BYTE_BITS)),
                bank.dma_write_data.eq(Mux(granted[-1], bytes_[-1], bytes_[0])),
            ]
            for half in range(2):
                m.d.comb += [
                    bank.write_address[half].eq(select.half_address[half]),
                    bank.write_used[half].eq(select.used[half][number]),
                    bank.dma_write[half].eq(reduce(or_, granted) & (window.row[0] == half)),
                ]
        return window.ask

    def _read_a(self, m: Module, banks: list[Emitted]) -> Value:
        select = self._select(m, "a", self.a_address, self.a_enable.replicate(len(banks)))
        window = self._window(m, "read", select, data.StructLayout({"chunk": chunk_width(self.spec)}))
        m.d.comb += [
            window.operation.payload.chunk.eq(self.dma_read.payload), window.operation.valid.eq(self.dma_read.valid),
            self.dma_read.ready.eq(window.operation.ready),
        ]
        for number, bank in enumerate(banks):
            m.d.comb += [bank.dma_a_address.eq(window.row[1:]), bank.dma_odd.eq(window.row[0])]
            for half in range(2):
                m.d.comb += [
                    bank.a_address[half].eq(select.half_address[half]), bank.a_used[half].eq(select.used[half][number]),
                ]
        chunks = [self._collect(m, banks, window, place) for place in range(window.places)]
        self._deliver(m, chunks)
        return window.ask

    def _deliver(self, m: Module, chunks: list[fifo.SyncFIFO]) -> None:
        """Chunks from the places of the window in turn, which is the order in which they were asked for."""
        turn = Signal(range(max(2, len(chunks))))
        for place, chunk in enumerate(chunks):
            with m.If(turn == place):
                m.d.comb += [
                    self.dma_data.payload.eq(chunk.r_data), self.dma_data.valid.eq(chunk.r_rdy),
                    chunk.r_en.eq(self.dma_data.ready),
                ]
        if len(chunks) > 1:
            m.d.sync += turn.eq(turn ^ (self.dma_data.valid & self.dma_data.ready))

    def _collect(self, m: Module, banks: list[Emitted], window: _ChunkWindow, place: int) -> fifo.SyncFIFO:
        """Gather the bytes of a chunk as they come; returns the queue of whole ones."""
        count, groups = self.spec.memory_bytes, window.groups[place]
        granted, finished, source = Signal(count), Signal(2), Signal(len(groups))
        m.d.sync += [
            granted.eq(window.granted[place]), finished.eq(Cat(window.finished[place], finished[0])),
            source.eq(groups),
        ]
        chunk = Signal(8 * count, name=f"chunk{place}")
        for byte in range(count):
            candidates = [bank.dma_data & source[group].replicate(8) for group, bank in enumerate(banks[byte::count])]
            with m.If(granted[byte]):
                m.d.sync += chunk.word_select(byte, 8).eq(reduce(or_, candidates))
        m.submodules[f"chunks{place}"] = chunks = fifo.SyncFIFO(width=8 * count, depth=_BUFFERED)
        m.d.comb += [
            chunks.w_data.eq(chunk), chunks.w_en.eq(finished[1]),
            window.room[place].eq(chunks.w_level + finished[0] + finished[1] < _BUFFERED),
        ]
        return chunks


def scratchpad_sources(spec: VectorSpec) -> dict[str, str]:
    """Verilog files, by name, of the modules that a `Scratchpad` instantiates by name."""
    return {f"{BANK_MODULE}.v": convert(ByteBank(spec), BANK_MODULE)}
