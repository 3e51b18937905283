"""A pipeline with its control registers and burst engines, and its Verilog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_system
from hw.dma.chunks import BUSES
from hw.dma.register_file import RegisterFile
from hw.dma.run_control import RunControl, connect_run, wraps_around
from hw.dma.watchdog import bus_moves
from hw.pipeline.pipeline import Pipeline
from hw.pipeline.registers import RunError, pipeline_registers
from hw.pipeline.spec import PipelineError, PipelineSpec
from hw.pipeline.streams import ArrayReader, ArrayStream, ArrayWriter
from hw.verilog import convert

__all__ = ["SYSTEM_MODULE", "PipelineSystem", "SystemSpec", "emit_pipeline", "emit_system"]

SYSTEM_MODULE = "pipeline_system"
PIPELINE_MODULE = "pipeline"


@dataclass(frozen=True)
class SystemSpec:
    """A pipeline, the arrays of its input and output streams in memory, and the width of the memory bus in bits.

    Raises `PipelineError` for another bus width, for elements that are wider, or where the streams are not those of the
    pipeline.
    """

    pipeline: PipelineSpec
    inputs: tuple[ArrayStream, ...]
    outputs: tuple[ArrayStream, ...]
    bus_bits: int = 64

    def __post_init__(self) -> None:
        if self.bus_bits not in BUSES:
            raise PipelineError(f"the memory bus has {', '.join(map(str, BUSES))} bits, not {self.bus_bits}")
        for stream in (*self.inputs, *self.outputs):
            if 8 * stream.element_bytes > self.bus_bits:
                raise PipelineError(f"array {stream.name} has elements of {8 * stream.element_bytes} bits, and the "
                                    f"memory bus has {self.bus_bits}: take a wider bus (bus_bits)")
        sides = (self.inputs, self.pipeline.inputs), (self.outputs, self.pipeline.outputs)
        for streams, cells in sides:
            if [(s.name, s.word, s.row * s.rows) for s in streams] != [(c.name, c.word, c.walk.count) for c in cells]:
                raise PipelineError(f"pipeline {self.pipeline.name} has other streams than its system")


class PipelineSystem(wiring.Component):
    """Ports: `m_axi` (AXI4 manager, 32-bit addresses), `s_axil` (AXI4-Lite subordinate, registers of
    `hw.pipeline.registers`), `irq` (high while a run has ended and the host has not cleared that).

    A run fetches the input arrays from their addresses, moves the pipeline whenever every stream has a word or room for
    one, and stores the output arrays. A memory error, an access outside of an array, an array beyond the last address,
    ``clear`` or the watchdog ends it with a code in STATUS; the next start begins afresh.
    """

    def __init__(self, spec: SystemSpec):
        self.spec = spec
        names = [stream.name for stream in spec.inputs], [stream.name for stream in spec.outputs]
        self._map = pipeline_registers(*names, spec.pipeline.traps)
        super().__init__({
            "m_axi": Out(Axi4Signature(address_width=32, data_width=spec.bus_bits)),
            "s_axil": In(Axi4LiteSignature(address_width=self._map.address_width)),
            "irq": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        flush = Signal()
        self._registers, self._pipeline = RegisterFile(self._map), Pipeline(spec.pipeline, late_trap=True)
        self._writer = ArrayWriter(spec.outputs, spec.bus_bits)
        self._reader = ArrayReader(spec.inputs, spec.bus_bits) if spec.inputs else None
        m.submodules.registers = self._registers
        m.submodules.pipeline = self._pipeline
        m.submodules.writer = ResetInserter(flush)(self._writer)
        connect(m, flipped(self.s_axil), self._registers.bus)
        for channel in ("aw", "w"):
            connect(m, getattr(self._writer, channel), flipped(getattr(self.m_axi, channel)))
        connect(m, flipped(self.m_axi.b), self._writer.b)
        ready = self._writer.ok
        if self._reader is not None:
            m.submodules.reader = ResetInserter(flush)(self._reader)
            connect(m, self._reader.ar, flipped(self.m_axi.ar))
            connect(m, flipped(self.m_axi.r), self._reader.r)
            ready = ready & self._reader.ok
        go = self._streams(m)
        self._control(m, flush, ready, go)
        return m

    def _streams(self, m: Module) -> Signal:
        """Between streams and pipeline; the result is whether the pipeline moves, which is decided a cycle before: a
        register alone, which everything waits for."""
        registers, pipeline, writer = self._registers, self._pipeline, self._writer
        go = Signal()
        m.d.comb += [pipeline.en.eq(go), writer.give.eq(Mux(go, pipeline.give, 0))]
        for k in range(len(self.spec.outputs)):
            m.d.comb += [getattr(writer, f"i_{k}").eq(getattr(pipeline, f"o_{k}")),
                         writer.address[k].eq(getattr(registers, f"out{k}_address"))]
        if self._reader is not None:
            m.d.comb += self._reader.take.eq(Mux(go, pipeline.take, 0))
            for k in range(len(self.spec.inputs)):
                m.d.comb += [getattr(pipeline, f"i_{k}").eq(getattr(self._reader, f"o_{k}")),
                             self._reader.address[k].eq(getattr(registers, f"in{k}_address"))]
        return go

    def _control(self, m: Module, flush: Signal, ready: Signal, go: Signal) -> None:
        registers, pipeline, writer, reader = self._registers, self._pipeline, self._writer, self._reader
        causes, faults, busy = [RunError.WRITE], [writer.error], pipeline.left
        if reader is not None:
            causes, faults = [RunError.READ, *causes], [reader.error, *faults]
        if self.spec.pipeline.traps:
            causes, faults = [RunError.INDEX, *causes], [pipeline.trap, *faults]
            busy = busy | pipeline.looking
            m.d.comb += [registers.trap_cell.eq(pipeline.trap_cell), registers.trap_index.eq(pipeline.trap_index)]
        moved = Signal()
        m.submodules.control = control = RunControl(RunError, causes, (RunError.ADDRESS,))
        connect_run(m, control, registers, reader, writer, busy)
        m.d.comb += [
            control.refused.eq(wraps_around(self._areas())),
            moved.eq(go & pipeline.left),
            control.faults.eq(Cat(faults)), control.progress.eq(bus_moves(self.m_axi) | moved),
            flush.eq(control.flush), pipeline.start.eq(control.begin), self.irq.eq(control.done),
            registers.status.pipeline.eq(pipeline.left),
        ]
        m.d.sync += go.eq(control.running & ready)
        self._count(m, control, moved)

    def _areas(self) -> Iterator[tuple[Value, int]]:
        """(address, bytes) of every array."""
        for side, streams in (("in", self.spec.inputs), ("out", self.spec.outputs)):
            for k, stream in enumerate(streams):
                yield getattr(self._registers, f"{side}{k}_address"), stream.extent

    def _count(self, m: Module, control: RunControl, moved: Signal) -> None:
        """Cycles in which the pipeline has `moved`, in which it stands still, and all of them."""
        registers, pipeline = self._registers, self._pipeline
        counters = ((registers.cycles, moved), (registers.stalls, control.running & pipeline.left & ~moved),
                    (registers.wall_cycles, control.busy))
        for register, condition in counters:
            counter = Signal(32)
            m.d.comb += register.eq(counter)
            with m.If(control.flush):
                m.d.sync += counter.eq(0)
            with m.Elif(condition):
                m.d.sync += counter.eq(counter + 1)


def emit_system(spec: SystemSpec) -> dict[str, str]:
    """Verilog files, by name, of a system whose top module is `pipeline_system`, with the usual flat port names:
    ``clk``, ``rst`` (synchronous, active high), ``irq``, ``m_axi_awaddr`` and so on (AXI4), ``s_axil_awaddr`` and so on
    (AXI4-Lite).
    """
    m = Module()
    m.submodules.system = system = PipelineSystem(spec)
    ports = connect_system(m, system)
    return {f"{SYSTEM_MODULE}.v": convert(m, SYSTEM_MODULE, ports=ports)}


def emit_pipeline(spec: PipelineSpec) -> dict[str, str]:
    """The Verilog of the pipeline alone, module `pipeline`, with the ports of `Pipeline`: for your own system."""
    return {f"{PIPELINE_MODULE}.v": convert(Pipeline(spec), PIPELINE_MODULE)}
