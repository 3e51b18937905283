"""Physical unified buffer around an SRAM with several read and several write ports, one word wide.

With two of each it is the quad-port memory that Liu 2023, section 7.3.2, compares with, "that can provide optimal
performance regardless of energy efficiency". It is here for that comparison: memory compilers and FPGAs have no such
RAM, and synthesis for an FPGA makes registers of it.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory, MemoryData
from amaranth.lib.wiring import Component, In, Out

from hw.memtile.core import TileRegisters
from hw.memtile.dual_port import DualPortBuffer
from hw.memtile.spec import MemTileSpec

__all__ = ["MultiPortBuffer", "MultiPortSram"]


class MultiPortSram(Component):
    """`capacity_words` words with `sram_ports` write ports and as many read ports.

    Ports, of each of which there are `sram_ports`: `write_address`, `write`, `write_data`; `read_address`, `read`;
    `read_data` is valid in the cycle after `read`. If the same address is written in the cycle of the read, `collision`
    (combinational) is 1, and the word is `written` (combinational) instead. Of two writes to one address that of the
    higher-numbered port counts.
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self._ports = spec.sram_ports
        self._data = MemoryData(shape=spec.word_width, depth=spec.capacity_words, init=[])
        ports = {
            "write_address": In(spec.sram_bits),
            "write": In(1),
            "write_data": In(spec.word_width),
            "read_address": In(spec.sram_bits),
            "read": In(1),
            "read_data": Out(spec.word_width),
            "collision": Out(1),
            "written": Out(spec.word_width),
        }
        super().__init__({name: member.array(spec.sram_ports) for name, member in ports.items()})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(self._data)
        for port in range(self._ports):
            write, read = memory.write_port(), memory.read_port()
            again = Cat(
                self.write[other] & (self.write_address[other] == self.write_address[port])
                for other in range(port + 1, self._ports)
            )
            m.d.comb += [
                write.addr.eq(self.write_address[port]),
                write.data.eq(self.write_data[port]),
                write.en.eq(self.write[port] & ~again.any()),
                read.addr.eq(self.read_address[port]),
                read.en.eq(self.read[port]),
                self.read_data[port].eq(read.data),
            ]
            for other in range(self._ports):
                with m.If(self.write[other] & (self.write_address[other] == self.read_address[port])):
                    m.d.comb += [self.collision[port].eq(1), self.written[port].eq(self.write_data[other])]
        return m


class MultiPortBuffer(DualPortBuffer):
    """The dual-port buffer with a write port for every input and a read port for every output: controllers do the same
    in the same cycles, but never wait for each other, and `conflict` stays 0.

    ROM mode is that of output 0.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = self._registers(m)
        m.submodules.sram = sram = MultiPortSram(self.spec)
        self._connect_writes(m, sram, registers)
        rom = registers.mode.rom
        for o, controller in enumerate(self._controllers(m, "read")):
            place = self._place(m, controller.address0, registers.outputs[o], registers.mode)
            fire, address = controller.fire, place.address
            if o == 0:
                rom_address = Signal.like(address)
                with m.If(self.en):
                    m.d.sync += rom_address.eq(self.data_in[0])
                fire, address = fire | rom, Mux(rom, rom_address, address)
            m.d.comb += [sram.read_address[o].eq(address), sram.read[o].eq(self.en & fire)]
            passed = Signal(self.spec.word_width, name=f"passed{o}")
            with m.If(self.en):
                m.d.sync += passed.eq(sram.written[o])
            foreign = registers.chained[o] & ~place.own
            self._drive_output(m, o, fire, foreign, registers.passing[o], sram.collision[o], sram.read_data[o], passed)
        return m

    def _connect_writes(self, m: Module, sram: MultiPortSram, registers: TileRegisters) -> None:
        """Every input's words, and through the first port the contents that configuration writes."""
        contents = self._contents_write()
        for i, controller in enumerate(self._controllers(m, "write")):
            place = self._place(m, controller.address0, registers.inputs[i], registers.mode)
            address, data, write = place.address, self.data_in[i], self.en & controller.fire & place.own
            if i == 0:
                address, data = Mux(contents.valid, contents.index, address), Mux(contents.valid, self.cfg.data, data)
                write = write | contents.valid
            m.d.comb += [sram.write_address[i].eq(address), sram.write_data[i].eq(data), sram.write[i].eq(write)]
