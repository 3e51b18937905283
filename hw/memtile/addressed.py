"""Dual-port SRAM without address generators: addresses and enables are words and bits that processing elements
compute and the routing network brings.

Liu 2023, section 6.1.2 ("a CGRA without dedicated controller") and table 6.1, column "DP-SRAMs + PEs".
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, Signature

from hw.lib.configuration import ConfigurationStore, passed_on
from hw.memtile.addressed_config import addressed_layout
from hw.memtile.core import MemCore, MemCoreSignature, Place
from hw.memtile.dual_port import DualPortSram
from hw.memtile.spec import MemTileSpec

__all__ = ["AddressedBuffer"]


class AddressedBuffer(MemCore):
    """Ports: `hw.memtile.core.MemCoreSignature` with one input and one output, and

    - `write_address`, `read_address` (a word each), `write_enable` (1);
    - `started` (1): 0 in the first `MemTileSpec.START_CYCLES` unstalled cycles after `flush`, then 1. What processing
      elements without a counter clear their feedback loops with.

    In an unstalled cycle c:

    - `data_in[0]` goes to `write_address` at the end of c, if the port is in use, and `write_enable` is 1 where it is
      gated;
    - the word at `read_address`, as after cycle c itself, is on `data_out[0]` from c + 2 on. A chained output takes
      `chain_in[0]` of cycle c + 1 if the address is not this tile's.

    Addresses pass through the circular region of their port, ``base | (address & mask)``. ROM mode: `data_in[0]` in c
    is a word address, its word is on `data_out[0]` in c + 3. `conflict` is always 0. Configuration: `AddressedConfig`.
    """

    kind = "dual-port-pe"

    @staticmethod
    def signature_of(spec: MemTileSpec) -> Signature:
        return Signature({
            **MemCoreSignature(spec).members,
            "write_address": In(spec.word_width), "read_address": In(spec.word_width), "write_enable": In(1),
            "started": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = self.store = store = ConfigurationStore(addressed_layout(self.spec))
        m.d.comb += passed_on(self.cfg, store.cfg)
        m.submodules.sram = sram = DualPortSram(self.spec)
        self._connect_write(m, sram)
        own, asked = self._connect_read(m, sram)
        self._drive_output(m, sram, own, asked)
        self._count_start(m)
        return m

    def _port_place(self, m: Module, address: Value, port: str) -> Place:
        """Where a word address of a port lies."""
        value = self.store.value
        region = value(f"{port} base"), value(f"{port} mask")
        return self._locate(m, address, region, value("chaining"), value("chain_id"))

    def _connect_write(self, m: Module, sram: DualPortSram) -> None:
        place, contents = self._port_place(m, self.write_address, "input"), self._contents_write()
        wanted = self.store.value("write") & (self.write_enable | ~self.store.value("gated"))
        m.d.comb += [
            sram.write_address.eq(Mux(contents.valid, contents.index, place.address)),
            sram.write_data.eq(Mux(contents.valid, self.cfg.data, self.data_in[0])),
            sram.write.eq(contents.valid | (self.en & wanted & place.own)),
        ]

    def _connect_read(self, m: Module, sram: DualPortSram) -> tuple[Value, Value]:
        """Whether the address is this tile's, and whether the output follows it at all."""
        place = self._port_place(m, self.read_address, "output")
        rom, rom_address = self.store.value("rom"), Signal.like(sram.read_address)
        with m.If(self.en):
            m.d.sync += rom_address.eq(self.data_in[0])
        asked = rom | self.store.value("read")
        m.d.comb += [sram.read_address.eq(Mux(rom, rom_address, place.address)), sram.read.eq(self.en & asked)]
        return rom | place.own, asked

    def _drive_output(self, m: Module, sram: DualPortSram, own: Value, asked: Value) -> None:
        """The word that was read in the last cycle, or written to the address that was read, or the chain's."""
        passed, instead, foreign = Signal(self.spec.word_width), Signal(), Signal()
        with m.If(self.en):
            m.d.sync += [
                passed.eq(sram.write_data), instead.eq(sram.collision), foreign.eq(self.store.value("chained") & ~own)]
        word = Mux(foreign, self.chain_in[0], Mux(instead, passed, sram.read_data))
        with m.If(self.en & asked):
            m.d.sync += self.data_out[0].eq(word)

    def _count_start(self, m: Module) -> None:
        waited = Signal(range(MemTileSpec.START_CYCLES))
        with m.If(self.flush):
            m.d.sync += [waited.eq(0), self.started.eq(0)]
        with m.Elif(self.en):
            m.d.sync += [waited.eq(waited + 1), self.started.eq(self.started | waited.all())]
