"""Physical unified buffer around an SRAM with a read port and a write port, one word wide: the simplest one.

Liu 2023, section 6.1.1 and figure 6.1.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory, MemoryData
from amaranth.lib.wiring import Component, In, Out

from hw.memtile.controller import AffineController
from hw.memtile.core import MemCore, Place, TileRegisters, select
from hw.memtile.spec import MemTileSpec

__all__ = ["DualPortBuffer", "DualPortSram"]


class DualPortSram(Component):
    """`capacity_words` words in block RAM.

    Ports: `write_address`, `write`, `write_data`; `read_address`, `read`; `read_data` is valid in the cycle after
    `read`. If the same address is written in the cycle of the read, `collision` (combinational) is 1, nothing is read
    and `read_data` is of no use: the word is then `write_data`.
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self._data = MemoryData(shape=spec.word_width, depth=spec.capacity_words, init=[])
        super().__init__(
            {
                "write_address": In(spec.sram_bits),
                "write": In(1),
                "write_data": In(spec.word_width),
                "read_address": In(spec.sram_bits),
                "read": In(1),
                "read_data": Out(spec.word_width),
                "collision": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(self._data)
        write = memory.write_port()
        read = memory.read_port()
        m.d.comb += [
            self.collision.eq(self.write & (self.write_address == self.read_address)),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write),
            read.addr.eq(self.read_address),
            # Excluding collisions here spares synthesis from emulating what block RAM does not define.
            read.en.eq(self.read & ~self.collision),
            self.read_data.eq(read.data),
        ]
        return m


class DualPortBuffer(MemCore):
    """The dual-port buffer. Ports: `hw.memtile.core.MemCoreSignature`; configuration: `DualPortConfig`.

    What a controller does when it fires in (unstalled) cycle c:

    - write i: `data_in[i]` goes to the SRAM at the end of c.
    - read o: an SRAM word, as after cycles up to c - 1, is on `data_out[o]` from c + 1 until the cycle after the next
      read. A chained output takes `chain_in[o]` of cycle c if the address is not this tile's. A passing output takes
      `chain_in[o]` of every cycle c in which read o does not fire.

    The SRAM access of a read is in c - 1 and sees the write of that cycle, so that the SRAM's output does not drive
    the routing network: read controllers run one cycle ahead of their configuration (`MemTileSpec.read_ahead`).

    ROM mode: `data_in[0]` in c is a word address, its word, as after writes up to c, is on `data_out[0]` in c + 3.
    Other inputs than 0 may fill the memory before.

    In one cycle only one write and one read controller may fire; if more do, the lowest-numbered does its access,
    the others lose theirs, and `conflict` is set until `flush`.
    """

    kind = "dual-port"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = self._registers(m)
        m.submodules.sram = sram = DualPortSram(self.spec)
        writes, reads = self._controllers(m, "write"), self._controllers(m, "read")
        rom = registers.mode.rom
        self._connect_write(m, sram, writes, registers)
        places = [self._place(m, c.address0, registers.outputs[o], registers.mode) for o, c in enumerate(reads)]
        grants = self._connect_read(m, sram, reads, places, rom)
        passed = Signal(self.spec.word_width)
        with m.If(self.en):
            m.d.sync += passed.eq(sram.write_data)
        for o, (grant, place) in enumerate(zip(grants, places, strict=True)):
            pending = grant | rom if o == 0 else grant
            foreign = registers.chained[o] & ~place.own
            self._drive_output(m, o, pending, foreign, registers.passing[o], sram.collision, sram.read_data, passed)
        self._flag_conflicts(m, [c.fire for c in writes], [c.fire for c in reads])
        return m

    def _connect_write(
        self, m: Module, sram: DualPortSram, writes: list[AffineController], registers: TileRegisters
    ) -> None:
        places = [self._place(m, c.address0, registers.inputs[i], registers.mode) for i, c in enumerate(writes)]
        fires = [c.fire for c in writes]
        grants, address = select(fires, [place.address for place in places])
        _, data = select(fires, list(self.data_in))
        write = Cat(grant & place.own for grant, place in zip(grants, places, strict=True)).any()
        contents = self._contents_write()
        m.d.comb += [
            sram.write_address.eq(Mux(contents.valid, contents.index, address)),
            sram.write_data.eq(Mux(contents.valid, self.cfg.data, data)),
            sram.write.eq(contents.valid | (self.en & write)),
        ]

    def _connect_read(
        self, m: Module, sram: DualPortSram, reads: list[AffineController], places: list[Place], rom: Value
    ) -> list[Value]:
        grants, address = select([c.fire for c in reads], [place.address for place in places])
        rom_address = Signal.like(sram.read_address)
        with m.If(self.en):
            m.d.sync += rom_address.eq(self.data_in[0])
        m.d.comb += [
            sram.read_address.eq(Mux(rom, rom_address, address)),
            sram.read.eq(self.en & (rom | Cat(grants).any())),
        ]
        return grants

    def _drive_output(
        self, m: Module, number: int, grant: Value, foreign: Value, passing: Value, collision: Value, data: Value,
        passed: Value,
    ) -> None:
        """Take the word that was read in the last cycle (`data`), or written (`passed`) to the address that was read,
        or the chain's. One LUT after the SRAM."""
        foreign = foreign | ~grant
        pending, from_chain, instead = Signal(), Signal(), Signal()
        with m.If(self.flush):
            m.d.sync += [pending.eq(0), from_chain.eq(1), instead.eq(1)]
        with m.Elif(self.en):
            m.d.sync += [pending.eq(grant), from_chain.eq(foreign), instead.eq(foreign | collision)]
        other = Mux(from_chain, self.chain_in[number], passed)
        with m.If(self.en & (pending | passing)):
            m.d.sync += self.data_out[number].eq(Mux(instead, other, data))
