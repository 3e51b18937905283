"""A kernel with its manager: control registers, burst engines, run control; and its Verilog.

Bok 2018 generated kernels only (section 5.1); this is what it left to hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from amaranth.hdl import Cat, Const, Module, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.kernel import Kernel
from hw.dataflow.registers import RunError, dataflow_registers, element_bytes
from hw.dataflow.spec import KernelSpec, StreamPorts, StreamSpec
from hw.dataflow.transfers import StreamReader, StreamWriter
from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_system
from hw.dma.register_file import RegisterFile
from hw.dma.run_control import RunControl, connect_run, wraps_around
from hw.dma.watchdog import bus_moves
from hw.verilog import convert

__all__ = ["SYSTEM_MODULE", "DataflowSystem", "emit_system", "top_module"]

SYSTEM_MODULE = "dataflow_system"


class DataflowSystem(wiring.Component):
    """Ports: `m_axi` (AXI4 manager, `bus_bits` of data, 32-bit addresses), `s_axil` (AXI4-Lite subordinate, registers
    of `hw.dataflow.registers`), `irq` (high while a run has ended and the host has not cleared that).

    A run fetches every input stream from its address, runs the kernel and stores every output stream. A memory error, a
    size that the kernel is not made for, a stream beyond the last address, an access outside of an array, ``clear`` or
    the watchdog ends it with a code in STATUS; the next start begins from a clean state. `core`: what runs between the
    streams of `spec` instead of a `Kernel` with `late_trap`, with the same ports.
    """

    def __init__(self, spec: StreamPorts, core: wiring.Component | None = None, bus_bits: int = 64):
        self.spec, self.bus_bits = spec, bus_bits
        self._core = core
        self._map = dataflow_registers(spec.ports)
        super().__init__({
            "m_axi": Out(Axi4Signature(address_width=32, data_width=bus_bits)),
            "s_axil": In(Axi4LiteSignature(address_width=self._map.address_width)),
            "irq": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        flush = Signal()
        self._registers = RegisterFile(self._map)
        self._kernel: Any = self._core
        if self._core is None:
            assert isinstance(spec, KernelSpec)
            self._kernel = Kernel(spec, late_trap=True)
        self._writer = StreamWriter(spec.outputs, self.bus_bits)
        self._reader = StreamReader(spec.inputs, self.bus_bits) if spec.inputs else None
        m.submodules.registers = self._registers
        m.submodules.kernel = ResetInserter(flush)(self._kernel)
        m.submodules.writer = ResetInserter(flush)(self._writer)
        connect(m, flipped(self.s_axil), self._registers.bus)
        for channel in ("aw", "w"):
            connect(m, getattr(self._writer, channel), flipped(getattr(self.m_axi, channel)))
        connect(m, flipped(self.m_axi.b), self._writer.b)
        if self._reader is not None:
            m.submodules.reader = ResetInserter(flush)(self._reader)
            connect(m, self._reader.ar, flipped(self.m_axi.ar))
            connect(m, flipped(self.m_axi.r), self._reader.r)
        self._streams(m)
        self._control(m, flush, self._sizes(m))
        return m

    def _streams(self, m: Module) -> None:
        """Between the kernel's streams and those of the engines, which carry plain bits."""
        for k, spec in enumerate(self.spec.inputs):
            assert self._reader is not None
            source, sink = getattr(self._reader, f"o_{k}"), getattr(self._kernel, f"i_{spec.name}")
            m.d.comb += [sink.payload.eq(source.payload), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
            m.d.comb += [self._reader.address[k].eq(getattr(self._registers, f"in{k}_address")),
                         getattr(self._reader, f"words_{k}").eq(self._length(f"in{k}", spec))]
        for k, spec in enumerate(self.spec.outputs):
            source, sink = getattr(self._kernel, f"o_{spec.name}"), getattr(self._writer, f"i_{k}")
            m.d.comb += [sink.payload.eq(source.payload), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
            m.d.comb += [self._writer.address[k].eq(getattr(self._registers, f"out{k}_address")),
                         getattr(self._writer, f"words_{k}").eq(self._length(f"out{k}", spec))]

    def _length(self, name: str, spec: StreamSpec) -> ValueLike:
        """Words of a stream in this run."""
        return getattr(self._registers, f"{name}_words") if self.spec.sizes else spec.words

    def _sizes(self, m: Module) -> Value:
        """Give the kernel its run-time sizes and lengths of streams; whether all of them are ones that there can be."""
        good: list[Value] = [Const(1, 1)]
        if not self.spec.sizes:
            return good[0]
        for k, size in enumerate(self.spec.sizes):
            value = getattr(self._registers, f"size{k}")
            m.d.comb += getattr(self._kernel, f"size{k}").eq(value)
            good += [value >= size.minimum, value <= size.maximum]
        streams = [*((f"in{k}", s) for k, s in enumerate(self.spec.inputs)),
                   *((f"out{k}", s) for k, s in enumerate(self.spec.outputs))]
        good += [getattr(self._registers, f"{name}_words") <= s.words for name, s in streams]
        return Cat(good).all()

    def _areas(self) -> Iterator[tuple[Value, int]]:
        """(address, bytes) of every stream; with run-time sizes the most bytes that there can be."""
        for side, streams in (("in", self.spec.inputs), ("out", self.spec.outputs)):
            for k, stream in enumerate(streams):
                yield getattr(self._registers, f"{side}{k}_address"), stream.words * element_bytes(stream.word.width)

    def _control(self, m: Module, flush: Signal, good: Value) -> None:
        registers, kernel, writer, reader = self._registers, self._kernel, self._writer, self._reader
        causes, faults, busy = [RunError.WRITE], [writer.error], kernel.busy
        if reader is not None:
            causes, faults = [*causes, RunError.READ], [*faults, reader.error]
        if self.spec.ports.traps:
            causes, faults = [RunError.INDEX, *causes], [kernel.trap, *faults]
            busy = busy | kernel.looking
            m.d.comb += [registers.trap_access.eq(kernel.trap_access), registers.trap_index.eq(kernel.trap_index)]
        m.submodules.control = control = RunControl(RunError, causes, (RunError.SIZE, RunError.ADDRESS))
        connect_run(m, control, registers, reader, writer, busy)
        wall = Signal(32)
        m.d.comb += [
            control.faults.eq(Cat(faults)), control.refused.eq(Cat(~good, wraps_around(self._areas()))),
            control.progress.eq(bus_moves(self.m_axi) | kernel.moved),
            flush.eq(control.flush), kernel.start.eq(control.begin), self.irq.eq(control.done),
            registers.status.kernel.eq(kernel.busy), registers.ticks.eq(kernel.ticks),
            registers.stalls.eq(kernel.stalls), registers.wall_cycles.eq(wall),
        ]
        with m.If(control.busy):
            m.d.sync += wall.eq(wall + 1)
        with m.Elif(control.start):
            m.d.sync += wall.eq(0)


def top_module(spec: StreamPorts, core: wiring.Component | None = None,
               bus_bits: int = 64) -> tuple[Module, list[Signal]]:
    """A module with the system inside, and its ports with the usual flat names: ``irq``, ``m_axi_awaddr`` and so on
    (AXI4), ``s_axil_awaddr`` and so on (AXI4-Lite)."""
    m = Module()
    m.submodules.system = system = DataflowSystem(spec, core, bus_bits)
    ports = connect_system(m, system)
    return m, ports


@lru_cache(maxsize=8)
def emit_system(spec: StreamPorts, core: wiring.Component | None = None, bus_bits: int = 64) -> dict[str, str]:
    """Verilog files, by name, of a system whose top module is `dataflow_system`, with the ports of `top_module`,
    ``clk`` and ``rst`` (synchronous, active high). Made once per process, not to be changed."""
    m, ports = top_module(spec, core, bus_bits)
    return {f"{SYSTEM_MODULE}.v": convert(m, SYSTEM_MODULE, ports=ports)}
