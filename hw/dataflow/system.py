"""A kernel with its manager: control registers, burst engines, run control; and its Verilog.

Seed 003 generated kernels only (section 5.1); this is what it left to hand.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any

from amaranth.hdl import Cat, Const, Module, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.kernel import Kernel
from hw.dataflow.registers import RunError, dataflow_registers
from hw.dataflow.spec import KernelSpec, StreamPorts, StreamSpec
from hw.dataflow.transfers import StreamReader, StreamWriter
from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_system
from hw.dma.register_file import RegisterFile
from hw.verilog import convert

__all__ = ["SYSTEM_MODULE", "DataflowSystem", "emit_system", "top_module"]

SYSTEM_MODULE = "dataflow_system"


class _State(Enum):
    IDLE = 0
    FLUSH = 1
    BEGIN = 2
    RUN = 3
    STOP = 4


class DataflowSystem(wiring.Component):
    """Ports: `m_axi` (AXI4 manager, 64-bit data, 32-bit addresses), `s_axil` (AXI4-Lite subordinate, registers of
    `hw.dataflow.registers`), `irq` (high while a run has ended and the host has not cleared that).

    A run fetches every input stream from its address, runs the kernel and stores every output stream. A memory error,
    or a size that the kernel is not made for, ends it with a code in STATUS; the next start begins from a clean state.
    `core`: what runs between the streams of `spec` instead of a `Kernel`, with the same ports.
    """

    def __init__(self, spec: StreamPorts, core: wiring.Component | None = None):
        self.spec = spec
        self._core = core
        self._map = dataflow_registers(spec.ports)
        super().__init__({
            "m_axi": Out(Axi4Signature(address_width=32, data_width=64)),
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
            self._kernel = Kernel(spec)
        self._writer = StreamWriter(spec.outputs)
        self._reader = StreamReader(spec.inputs) if spec.inputs else None
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

    def _control(self, m: Module, flush: Signal, good: Value) -> None:
        registers, kernel, writer = self._registers, self._kernel, self._writer
        state, done, error, wall = Signal(_State), Signal(), Signal(RunError), Signal(32)
        read_error, read_busy, read_left, load, stop = Signal(), Signal(), Signal(16), Signal(), Signal()
        if self._reader is not None:
            m.d.comb += [read_error.eq(self._reader.error), read_busy.eq(self._reader.busy),
                         read_left.eq(self._reader.left), self._reader.load.eq(load), self._reader.stop.eq(stop)]
        m.d.comb += [
            flush.eq(state == _State.FLUSH), load.eq(state == _State.BEGIN),
            kernel.start.eq(load), writer.load.eq(load), writer.stop.eq(stop), self.irq.eq(done),
            registers.status.busy.eq(state != _State.IDLE), registers.status.done.eq(done),
            registers.status.kernel.eq(kernel.busy), registers.status.error.eq(error),
            registers.waiting.inputs.eq(read_left), registers.waiting.outputs.eq(writer.left),
            registers.ticks.eq(kernel.ticks), registers.stalls.eq(kernel.stalls), registers.wall_cycles.eq(wall),
        ]
        with m.If(registers.control.clear):
            m.d.sync += done.eq(0)
        with m.If(state != _State.IDLE):
            m.d.sync += wall.eq(wall + 1)
        with m.Switch(state):
            with m.Case(_State.IDLE), m.If(registers.control.start):
                m.d.sync += [state.eq(_State.FLUSH), done.eq(0), error.eq(RunError.NONE), wall.eq(0)]
            with m.Case(_State.FLUSH):
                with m.If(good):
                    m.d.sync += state.eq(_State.BEGIN)
                with m.Else():
                    m.d.sync += [state.eq(_State.IDLE), done.eq(1), error.eq(RunError.SIZE)]
            with m.Case(_State.BEGIN):
                m.d.sync += state.eq(_State.RUN)
            with m.Case(_State.RUN):
                with m.If(read_error | writer.error):
                    m.d.sync += [state.eq(_State.STOP), stop.eq(1)]
                    m.d.sync += error.eq(Cat(~writer.error, writer.error))
                with m.Elif((writer.left == 0) & ~writer.busy & ~kernel.busy):
                    m.d.sync += [state.eq(_State.IDLE), done.eq(1)]
            with m.Case(_State.STOP), m.If(~read_busy & ~writer.busy):
                m.d.sync += [state.eq(_State.IDLE), done.eq(1), stop.eq(0)]


def top_module(spec: StreamPorts, core: wiring.Component | None = None) -> tuple[Module, list[Signal]]:
    """A module with the system inside, and its ports with the usual flat names: ``irq``, ``m_axi_awaddr`` and so on
    (AXI4), ``s_axil_awaddr`` and so on (AXI4-Lite)."""
    m = Module()
    m.submodules.system = system = DataflowSystem(spec, core)
    ports = connect_system(m, system)
    return m, ports


@lru_cache(maxsize=8)
def emit_system(spec: StreamPorts, core: wiring.Component | None = None) -> dict[str, str]:
    """Verilog files, by name, of a system whose top module is `dataflow_system`, with the ports of `top_module`,
    ``clk`` and ``rst`` (synchronous, active high). Made once per process, not to be changed."""
    m, ports = top_module(spec, core)
    return {f"{SYSTEM_MODULE}.v": convert(m, SYSTEM_MODULE, ports=ports)}
