"""Physical unified buffer around a single-port SRAM that moves several words per access.

    data_in -> Aggregator -> SinglePortSram -> TransposeBuffer -> data_out

The aggregator makes wide words of a stream, the transpose buffer takes them apart, so one SRAM port serves two inputs
and two outputs by turns. Liu 2023, section 6.1.3 and figure 6.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory, MemoryData
from amaranth.lib.wiring import Component, In, Out

from hw.memtile.core import MemCore, Place, TileRegisters, lanes, select
from hw.memtile.spec import MemTileSpec

__all__ = ["Aggregator", "SinglePortSram", "TransposeBuffer", "WideFetchBuffer"]


class Aggregator(Component):
    """Serial to parallel: `agg_words` words in LUT RAM, written one by one and read by the block of `fetch_width`.

    Ports: `write`, `address` (word), `data`; `block` (index), `wide` (its words, first in the low bits, combinational).
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self._spec = spec
        super().__init__(
            {
                "write": In(1),
                "address": In(range(spec.agg_words)),
                "data": In(spec.word_width),
                "block": In(range(spec.agg_blocks)),
                "wide": Out(spec.word_width * spec.fetch_width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        lane_bits = spec.fetch_width.bit_length() - 1
        enables = lanes(self.address[:lane_bits], spec.fetch_width)
        words = []
        for lane in range(spec.fetch_width):
            m.submodules[f"lane{lane}"] = memory = Memory(shape=spec.word_width, depth=spec.agg_blocks, init=[])
            write, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [
                write.addr.eq(self.address[lane_bits:]),
                write.data.eq(self.data),
                write.en.eq(self.write & enables[lane]),
                read.addr.eq(self.block),
            ]
            words.append(read.data)
        m.d.comb += self.wide.eq(Cat(words))
        return m


class TransposeBuffer(Component):
    """Parallel to serial: `tb_words` words in LUT RAM, written by the block and read one by one.

    Ports: `write`, `block` (index), `wide`, `own`; `address` (word), `data` (combinational), `data_own`: the `own`
    that came with the word's block.
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self._spec = spec
        super().__init__(
            {
                "write": In(1),
                "block": In(range(spec.tb_blocks)),
                "wide": In(spec.word_width * spec.fetch_width),
                "own": In(1),
                "address": In(range(spec.tb_words)),
                "data": Out(spec.word_width),
                "data_own": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        lane_bits = spec.fetch_width.bit_length() - 1
        block = self.address[lane_bits:]
        m.submodules.memory = memory = Memory(shape=len(self.wide), depth=spec.tb_blocks, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        own = Signal(spec.tb_blocks)
        m.d.comb += [
            write.addr.eq(self.block),
            write.data.eq(self.wide),
            write.en.eq(self.write),
            read.addr.eq(block),
            self.data.eq(read.data.word_select(self.address[:lane_bits], spec.word_width)),
            self.data_own.eq(own.bit_select(block, 1)),
        ]
        with m.If(self.write):
            m.d.sync += own.bit_select(self.block, 1).eq(self.own)
        return m


class SinglePortSram(Component):
    """`depth` wide words in block RAM with one address: a cycle either writes or reads, never both.

    Ports: `address`, `write` (an enable for every `contents_pack` words), `write_data`, `read`; `read_data` is valid
    in the cycle after `read` and holds until the cycle after the next `read`.
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self._granularity = spec.word_width * spec.contents_pack
        self._data = MemoryData(shape=spec.word_width * spec.fetch_width, depth=spec.depth, init=[])
        super().__init__(
            {
                "address": In(range(spec.depth)),
                "write": In(spec.fetch_width // spec.contents_pack),
                "write_data": In(self._data.shape),
                "read": In(1),
                "read_data": Out(self._data.shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(self._data)
        write, read = memory.write_port(granularity=self._granularity), memory.read_port()
        m.d.comb += [
            write.addr.eq(self.address),
            write.data.eq(self.write_data),
            write.en.eq(self.write),
            read.addr.eq(self.address),
            # Exclusive by construction too, so that synthesis need not emulate a read beside a write.
            read.en.eq(self.read & ~self.write.any()),
            self.read_data.eq(read.data),
        ]
        return m


class WideFetchBuffer(MemCore):
    """The wide-fetch buffer. Ports: `hw.memtile.core.MemCoreSignature`; configuration: `PubConfig`.

    What a controller does when it fires in (unstalled) cycle c:

    - write i: `data_in[i]` goes to the aggregator at the end of c.
    - store i: a block of the aggregator, as after cycles up to c - 1, goes to the SRAM at the end of c.
    - fetch o: an SRAM word, as after cycles up to c - 1, goes to the transpose buffer at the end of c + 1.
    - read o: a word of the transpose buffer, as after cycles up to c - 1, is on `data_out[o]` from c + 1 until the
      cycle after the next read. A chained output takes `chain_in[o]` of cycle c if the block is not this tile's. A
      passing output takes `chain_in[o]` of every cycle c in which read o does not fire.

    ROM mode: `data_in[0]` in c is a word address, its word, as after stores up to c - 1, goes through block 0 of the
    transpose buffer and is on `data_out[0]` in c + 3. Where a store fires in c, nothing is looked up: other inputs than
    0 may fill the memory before.

    In one cycle only one of store and fetch controllers may fire; if more do, the first in the order store 0,
    store 1, fetch 0, fetch 1 does its access, the others lose theirs, and `conflict` is set until `flush`.
    """

    kind = "pub"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = self._registers(m)
        stores = self._stores(m, registers)
        fetches = self._fetches(m, registers)
        m.submodules.sram = sram = SinglePortSram(self.spec)
        rom = registers.mode.rom
        grants = self._connect_sram(m, sram, stores, fetches, rom)
        for o, (controller, fetch) in enumerate(zip(self._controllers(m, "read"), fetches, strict=True)):
            m.submodules[f"tb{o}"] = buffer = TransposeBuffer(self.spec)
            address, read, fill = controller.address0, controller.fire, grants[len(stores) + o]
            if o == 0:
                address, read, fill = Mux(rom, self._rom_lane(m), address), read | rom, fill | rom
                fetch = _Request(fetch.fire, fetch.place, Mux(rom, 0, fetch.detail))
            self._fill(m, buffer, fetch, fill, sram.read_data)
            m.d.comb += buffer.address.eq(address)
            foreign = (registers.chained[o] & ~buffer.data_own) | ~read
            with m.If(self.en & (read | registers.passing[o])):
                m.d.sync += self.data_out[o].eq(Mux(foreign, self.chain_in[o], buffer.data))
        self._flag_conflicts(m, [request.fire for request in (*stores, *fetches)])
        return m

    def _stores(self, m: Module, registers: TileRegisters) -> list[_Request]:
        """Aggregators with their controllers, and the SRAM writes that they ask for."""
        requests = []
        for i, (write, store) in enumerate(
            zip(self._controllers(m, "write"), self._controllers(m, "store"), strict=True)
        ):
            m.submodules[f"agg{i}"] = aggregator = Aggregator(self.spec)
            m.d.comb += [
                aggregator.write.eq(self.en & write.fire),
                aggregator.address.eq(write.address0),
                aggregator.data.eq(self.data_in[i]),
                aggregator.block.eq(store.address0),
            ]
            place = self._place(m, store.address1, registers.inputs[i], registers.mode)
            requests.append(_Request(store.fire, place, aggregator.wide))
        return requests

    def _fetches(self, m: Module, registers: TileRegisters) -> list[_Request]:
        """The SRAM reads that fetch controllers ask for; their `detail` is the transpose buffer's block."""
        requests = []
        for o, fetch in enumerate(self._controllers(m, "fetch")):
            place = self._place(m, fetch.address0, registers.outputs[o], registers.mode)
            requests.append(_Request(fetch.fire, place, fetch.address1))
        return requests

    def _connect_sram(
        self, m: Module, sram: SinglePortSram, stores: list[_Request], fetches: list[_Request], rom: Value
    ) -> list[Value]:
        """Share the SRAM's port. Returns the grants of `stores` and then `fetches`."""
        requests = [*stores, *fetches]
        fires = [request.fire for request in requests]
        grants, address = select(fires, [request.place.address for request in requests])
        _, wide = select(fires[: len(stores)], [store.detail for store in stores])
        store = Cat(grant & request.place.own for grant, request in zip(grants, stores, strict=False)).any()
        contents, lane_count = self._contents_write(), len(sram.write)
        lane_bits = lane_count.bit_length() - 1
        with m.If(contents.valid):
            data = self.cfg.data[: len(sram.write_data) // lane_count].replicate(lane_count)
            m.d.comb += [
                sram.address.eq(contents.index[lane_bits:]),
                sram.write.eq(lanes(contents.index[:lane_bits], lane_count)),
                sram.write_data.eq(data),
            ]
        with m.Else():
            word_address = self.data_in[0][self._lane_bits :]
            looks_up = rom & ~Cat(fires[: len(stores)]).any()
            m.d.comb += [
                sram.address.eq(Mux(looks_up, word_address, address)),
                sram.write.eq((self.en & store).replicate(lane_count)),
                sram.write_data.eq(wide),
                sram.read.eq(self.en & (rom | Cat(grants[len(stores) :]).any())),
            ]
        return grants

    def _fill(self, m: Module, buffer: TransposeBuffer, fetch: _Request, grant: Value, data: Value) -> None:
        """Write the SRAM word that was fetched in the last cycle to the transpose buffer."""
        pending = Signal()
        with m.If(self.flush):
            m.d.sync += pending.eq(0)
        with m.Elif(self.en):
            m.d.sync += pending.eq(grant)
        block, own = Signal.like(buffer.block), Signal()
        with m.If(self.en):
            m.d.sync += [block.eq(fetch.detail), own.eq(fetch.place.own)]
        m.d.comb += [
            buffer.write.eq(self.en & pending),
            buffer.block.eq(block),
            buffer.own.eq(own),
            buffer.wide.eq(data),
        ]

    @property
    def _lane_bits(self) -> int:
        return self.spec.fetch_width.bit_length() - 1

    def _rom_lane(self, m: Module) -> Signal:
        """The place in its wide word of the word that was asked for two cycles ago."""
        lanes_ = [Signal(self._lane_bits, name=f"rom_lane{age}") for age in (1, 2)]
        with m.If(self.en):
            m.d.sync += [lanes_[0].eq(self.data_in[0]), lanes_[1].eq(lanes_[0])]
        return lanes_[1]


@dataclass(frozen=True)
class _Request:
    """A controller asks for the SRAM. `detail`: the words to write, or the block of the transpose buffer to fill."""

    fire: Value
    place: Place
    detail: Value
