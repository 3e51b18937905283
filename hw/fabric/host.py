"""Everything of the system but the array: registers, run control, loader, burst engines, global buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4LiteSignature, Axi4Signature
from hw.dma.register_file import RegisterFile
from hw.dma.spec import DmaSpec
from hw.dma.watchdog import bus_moves
from hw.fabric.bank import check_global_buffer
from hw.fabric.bus import CLEAR, BusSignature
from hw.fabric.control import RunControl
from hw.fabric.control_registers import control_registers
from hw.fabric.elastic_bank import build_bank
from hw.fabric.global_buffer import GlobalBuffer
from hw.fabric.handshakes import handshakes
from hw.fabric.loader import ConfigurationLoader
from hw.fabric.spec import FabricSpec
from hw.fabric.transfer_engine import TransferEngine
from hw.lib.configuration import passed_on

__all__ = ["ArraySignature", "CgraHost", "host_ports"]


class ArraySignature(wiring.Signature):
    """The host's side of the ports of `CgraArray`, with the same names."""

    def __init__(self, spec: FabricSpec):
        super().__init__({
            "cfg": Out(BusSignature()),
            "en": Out(1),
            "flush": Out(1),
            "i_stream": Out(spec.width).array(spec.columns),
            "o_stream": In(spec.width).array(spec.columns),
            "conflict": In(1),
            **handshakes(spec),
        })


def host_ports(spec: FabricSpec) -> dict[str, wiring.Member]:
    """Ports to memory (`m_axi`) and to the host processor (`s_axil`; `irq`: high while a run has ended)."""
    address_width = control_registers(spec).address_width
    return {
        "m_axi": Out(Axi4Signature(address_width=32, data_width=spec.glb.bus_width)),
        "s_axil": In(Axi4LiteSignature(address_width=address_width)),
        "irq": Out(1),
    }


class CgraHost(wiring.Component):
    """Ports: `m_axi`, `s_axil`, `irq` (see `host_ports`) and `array` (see `ArraySignature`).

    `dma`: sizes of the burst engines. `bank` builds one bank. Raises `FabricError` (see
    `check_global_buffer`).
    """

    def __init__(self, spec: FabricSpec, dma: DmaSpec | None = None,
                 bank: Callable[[FabricSpec], Any] = build_bank):
        check_global_buffer(spec)
        self.spec = spec
        self._registers = RegisterFile(control_registers(spec))
        self._control = RunControl(spec)
        self._loader = ConfigurationLoader()
        self._engine = TransferEngine(spec, dma or DmaSpec(data_width=spec.glb.bus_width))
        self._buffer = GlobalBuffer(spec, bank)
        super().__init__({**host_ports(spec), "array": Out(ArraySignature(spec))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = self._registers
        m.submodules.control = self._control
        m.submodules.loader = self._loader
        m.submodules.engine = self._engine
        m.submodules.buffer = self._buffer
        connect(m, flipped(self.s_axil), self._registers.bus)
        connect(m, self._engine.m_axi, flipped(self.m_axi))
        self._connect_commands(m)
        self._connect_status(m)
        self._connect_loader(m)
        self._connect_run(m)
        self._connect_buffer(m)
        return m

    def _connect_commands(self, m: Module) -> None:
        registers, control = self._registers, self._control
        m.d.comb += [
            control.start.eq(registers.control.start),
            control.clear.eq(registers.control.clear),
            *(getattr(control, name).eq(getattr(registers, name))
              for name in ("config_words", "period", "tiles", "run_cycles")),
            registers.bank_index.eq(self._engine.index),
            self._engine.word.eq(registers.bank_data),
            self.irq.eq(control.done),
            control.limit.eq(registers.watchdog.cycles),
            control.progress.eq(bus_moves(self.m_axi)),
        ]

    def _connect_status(self, m: Module) -> None:
        registers, control, engine = self._registers, self._control, self._engine
        for register, source in (("status", control), ("detail", control), ("dma", engine)):
            view = getattr(registers, register)
            m.d.comb += [view[name].eq(getattr(source, str(name))) for name in view.shape().fields]
        for name in ("cycles", "stalls", "wall_cycles", "load_cycles"):
            m.d.comb += getattr(registers, name).eq(getattr(control, name))
        m.d.comb += registers.last_output.eq(self._buffer.last_output)

    def _connect_loader(self, m: Module) -> None:
        loader, control, engine = self._loader, self._control, self._engine
        connect(m, loader.job, engine.load_job)
        connect(m, engine.load_word, loader.word)
        m.d.comb += [
            loader.start.eq(control.load),
            loader.address.eq(self._registers.config_address),
            loader.words.eq(self._registers.config_words),
            control.load_busy.eq(loader.busy),
            control.load_done.eq(loader.done),
            control.load_error.eq(loader.error),
            engine.load_busy.eq(loader.busy),
            engine.load_stop.eq(loader.stop),
            loader.read_done.eq(engine.load_done),
        ]
        bus = BusSignature().create(path=("cfg",))
        for name, value in CLEAR.items():
            m.d.sync += getattr(bus, name).eq(Mux(control.array_clear, value, getattr(loader.cfg, name)))
        m.d.comb += [*passed_on(bus, self.array.cfg), *passed_on(bus, self._buffer.cfg)]

    def _connect_run(self, m: Module) -> None:
        control, engine = self._control, self._engine
        pulses = ("read_error", "write_error", "read_overflow", "write_overflow", "bad_descriptor", "read_bank",
                  "write_bank", "descriptor_bank")
        m.d.comb += [
            *(getattr(control, name).eq(getattr(engine, name)) for name in pulses),
            control.engines_busy.eq(engine.busy),
            engine.enable.eq(control.transfer),
            engine.prepare.eq(control.prepare),
            engine.stop.eq(control.stop),
            self.array.en.eq(control.en),
            self.array.flush.eq(control.flush),
            control.conflict.eq(self.array.conflict),
        ]

    def _connect_buffer(self, m: Module) -> None:
        buffer, control, engine = self._buffer, self._control, self._engine
        connect(m, engine.fill, buffer.fill)
        connect(m, engine.drain, buffer.drain)
        m.d.comb += [
            buffer.en.eq(control.en),
            buffer.flush.eq(control.flush),
            buffer.tiles.eq(self._registers.tiles),
            buffer.period.eq(self._registers.period),
            *(getattr(control, name).eq(getattr(buffer, name))
              for name in ("enable", "output", "blocked", "left", "complete", "overrun")),
            *(getattr(engine, name).eq(getattr(buffer, name)) for name in ("wanted", "output")),
            buffer.claim.eq(engine.claim),
            buffer.release.eq(engine.release),
            buffer.last.eq(engine.last),
        ]
        for column in range(self.spec.columns):
            m.d.comb += self.array.i_stream[column].eq(buffer.i_stream[column])
            m.d.comb += buffer.o_stream[column].eq(self.array.o_stream[column])
        for name, port in handshakes(self.spec).items():
            target, source = (self.array, buffer) if port.flow is Out else (buffer, self.array)
            m.d.comb += getattr(target, name).eq(getattr(source, name))
