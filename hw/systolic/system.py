"""A systolic array with everything around it: registers, sequencer, tiles from and to main memory; and its Verilog."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_system
from hw.dma.register_file import RegisterFile
from hw.dma.register_slice import Skid
from hw.dma.watchdog import Watchdog, bus_moves
from hw.systolic.array import SystolicArray
from hw.systolic.convert import FromMemory, ToMemory
from hw.systolic.elementwise import elementwise
from hw.systolic.loader import Loader, StreamPlan
from hw.systolic.registers import RunError, systolic_registers
from hw.systolic.sequencer import Sequencer
from hw.systolic.spec import ArraySpec, OperandSpec, ResultSpec
from hw.systolic.storer import Storer
from hw.systolic.tiles import loop_steps_tile
from hw.technology import GENERIC, Technology
from hw.verilog import convert_files

__all__ = ["SYSTEM_MODULE", "SystolicSystem", "emit_system"]

SYSTEM_MODULE = "systolic_system"


class _State(Enum):
    IDLE = 0
    FLUSH = 1
    SETTLE = 2
    BEGIN = 3
    RUN = 4
    STOP = 5


class SystolicSystem(wiring.Component):
    """Ports: `m_axi` (AXI4 manager, `spec.bus_bits` data bits, 32-bit addresses), `s_axil` (AXI4-Lite subordinate,
    registers of `hw.systolic.registers`), `irq` (high while a run has ended and the host has not cleared that).

    A run goes through all tiles and stores their results. A memory error, ``clear`` or the watchdog ends it with
    a code in STATUS; the next start begins from a clean state. After the watchdog the system is done at once, and stays
    busy until memory has answered.
    """

    def __init__(self, spec: ArraySpec):
        self.spec = spec
        self._map = systolic_registers(spec)
        self.array = SystolicArray(spec)
        super().__init__({
            "m_axi": Out(Axi4Signature(address_width=32, data_width=spec.bus_bits)),
            "s_axil": In(Axi4LiteSignature(address_width=self._map.address_width)),
            "irq": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        flush, load = Signal(), Signal()
        self._registers = RegisterFile(self._map)
        self._sequencer = Sequencer(spec)
        plan = StreamPlan(spec.result_bytes // spec.bus_bytes, len(spec.result_loops), tuple(range(len(
            spec.result_loops))))
        self._storer = Storer(plan, spec.bus_bits)
        m.submodules.registers = self._registers
        m.submodules.array = self.array
        m.submodules.sequencer = ResetInserter(flush)(self._sequencer)
        m.submodules.storer = ResetInserter(flush)(self._storer)
        connect(m, flipped(self.s_axil), self._registers.bus)
        m.d.comb += [self._sequencer.load.eq(load), self._storer.load.eq(load)]
        self._memory(m)
        self._load(m, flush, load)
        self._steps(m)
        self._store(m, flush)
        self._control(m, flush, load)
        return m

    def _memory(self, m: Module) -> None:
        for channel in ("aw", "w"):
            connect(m, getattr(self._storer, channel), flipped(getattr(self.m_axi, channel)))
        connect(m, flipped(self.m_axi.b), self._storer.b)

    def _load(self, m: Module, flush: Signal, load: Signal) -> None:
        """Every operand's tiles go to its daisy chain, those of extras to the function of results."""
        spec, registers = self.spec, self._registers
        self._stop, self._loading, self._read_error = Signal(), Signal(), Signal()
        self._extras: list[Any] = []
        if not spec.streams:
            return
        plans = [StreamPlan(spec.operand_bytes(operand) // spec.bus_bytes, spec.innermost(operand) + 1,
                            tuple(sorted(set(operand.tile_loops))), awaited=k < len(spec.operands))
                 for k, operand in enumerate(spec.streams)]
        m.submodules.loader = loader = ResetInserter(flush)(Loader(plans, spec.bus_bits))
        several = Signal(len(spec.tile_loops))  # of tile loops: they have more than one turn
        m.d.sync += several.eq(Cat(getattr(registers, f"extent{n}") != 1 for n in range(len(spec.tile_loops))))
        connect(m, loader.ar, flipped(self.m_axi.ar))
        connect(m, flipped(self.m_axi.r), loader.r)
        m.d.comb += [loader.load.eq(load), loader.stop.eq(self._stop), self._loading.eq(loader.busy),
                     registers.waiting.inputs.eq(loader.left),
                     self._read_error.eq(loader.error)]
        for k, (operand, plan) in enumerate(zip(spec.streams, plans, strict=True)):
            m.submodules[f"from_memory_{k}"] = part = ResetInserter(flush)(FromMemory(spec, operand))
            connect(m, getattr(loader, f"o_{k}"), part.i)
            if k < len(spec.operands):
                connect(m, self._converted(m, flush, f"start_{k}", operand, part.o), getattr(self.array, f"fill_{k}"))
            else:
                self._extras.append(part.o)
            m.d.comb += getattr(loader, f"base_{k}").eq(getattr(registers, f"operand{k}_base"))
            extents, strides = getattr(loader, f"extents_{k}"), getattr(loader, f"strides_{k}")
            m.d.comb += [extents[n].eq(Mux(loop_steps_tile(operand, n, several), getattr(registers, f"extent{n}"), 1))
                         for n in range(plan.loops)]
            m.d.comb += [strides[place].eq(getattr(registers, f"operand{k}_stride{n}"))
                         for place, n in enumerate(plan.strided)]

    def _steps(self, m: Module) -> None:
        registers, sequencer = self._registers, self._sequencer
        connect(m, sequencer.west, self.array.west)
        if hasattr(sequencer, "north"):
            connect(m, sequencer.north, self.array.north)
        m.d.comb += [sequencer.extents[n].eq(getattr(registers, f"extent{n}"))
                     for n in range(len(self.spec.tile_loops))]
        m.d.comb += [sequencer.bounds[n].eq(getattr(registers, f"bound{n}")) for n in range(len(self.spec.guards))]

    def _store(self, m: Module, flush: Signal) -> None:
        registers, storer = self._registers, self._storer
        results = self.array.results
        m.submodules.results = slice_ = ResetInserter(flush)(Skid(results.payload.shape()))  # memory's ready stops here
        connect(m, results, slice_.i)
        m.submodules.to_memory = part = ResetInserter(flush)(ToMemory(self.spec))
        connect(m, self._converted(m, flush, "finish", self.spec.result, slice_.o), part.i)
        connect(m, part.o, storer.i)
        m.d.comb += [storer.stop.eq(self._stop), storer.base.eq(registers.result_base)]
        for n in self.spec.result_loops:
            m.d.comb += [storer.extents[n].eq(getattr(registers, f"extent{n}")),
                         storer.strides[n].eq(getattr(registers, f"result_stride{n}"))]

    def _converted(self, m: Module, flush: Signal, name: str, part: OperandSpec | ResultSpec, source: Any) -> Any:
        """The stream `source` after the part's conversion, if it has one."""
        if part.conversion is None:
            return source
        m.submodules[name] = function = ResetInserter(flush)(elementwise(self.spec, part, source.p.shape()))
        connect(m, source, function.i)
        if part is self.spec.result:
            for k, extra in enumerate(self._extras):
                connect(m, extra, getattr(function, f"extra_{k}"))
        return function.o

    def _control(self, m: Module, flush: Signal, load: Signal) -> None:
        registers, storer = self._registers, self._storer
        self._state, self._done, self._error, self._running = Signal(_State), Signal(), Signal(RunError), Signal()
        self._reported = Signal()  # done, but busy
        state, busy = self._state, Value.cast(self._state) != _State.IDLE.value
        m.d.comb += [
            self._stop.eq(~self._running), self.irq.eq(self._done),
            registers.status.busy.eq(busy), registers.status.done.eq(self._done),
            registers.status.error.eq(self._error), registers.status.loading.eq(self._loading),
            registers.status.storing.eq(storer.left | storer.busy),
            registers.waiting.outputs.eq(storer.left | storer.busy),
        ]
        starting = (state == _State.IDLE) & registers.control.start & ~registers.control.clear
        # While FLUSH and SETTLE; the array follows a cycle later, so it is clean and reset for the last time in BEGIN.
        clear = Signal(init=1, attrs={"keep": 1})  # the array's own: it is far from the rest
        m.d.sync += [signal.eq(starting | (state == _State.FLUSH)) for signal in (flush, clear)]
        m.d.comb += self.array.clear.eq(clear)
        m.d.sync += load.eq(state == _State.SETTLE)  # so it is high in BEGIN, and reaches far
        self._count(m, busy, load)
        expired = self._watch(m, busy)
        with m.Switch(state):
            with m.Case(_State.IDLE), m.If(starting):
                m.d.sync += [state.eq(_State.FLUSH), self._done.eq(0), self._error.eq(RunError.NONE)]
            with m.Case(_State.FLUSH):
                m.d.sync += state.eq(_State.SETTLE)
            with m.Case(_State.SETTLE):
                m.d.sync += state.eq(_State.BEGIN)
            with m.Case(_State.BEGIN):
                m.d.sync += [state.eq(_State.RUN), self._running.eq(1)]
            with m.Case(_State.RUN):
                self._run(m, expired)
            with m.Case(_State.STOP), m.If(~self._loading & ~storer.busy):
                m.d.sync += [state.eq(_State.IDLE), self._done.eq(self._done | ~self._reported)]
        self._commands(m, busy, expired)

    def _fail(self, m: Module, error: ValueLike) -> None:
        m.d.sync += [self._state.eq(_State.STOP), self._running.eq(0), self._error.eq(error)]

    def _run(self, m: Module, expired: Value) -> None:
        storer = self._storer
        with m.If(self._read_error | storer.error):
            self._fail(m, Cat(~storer.error, storer.error))
        with m.Elif(~storer.left & ~storer.busy):
            m.d.sync += [self._state.eq(_State.IDLE), self._running.eq(0), self._done.eq(1)]
        with m.Elif(expired):
            self._fail(m, RunError.WATCHDOG)

    def _commands(self, m: Module, busy: Value, expired: Value) -> None:
        """The host's commands during a run, and what it hears of one that hangs: at once, and not again when it stops.
        """
        registers, ignored = self._registers, Signal()
        m.d.comb += registers.status.start_ignored.eq(ignored)
        with m.If(~busy):
            m.d.sync += self._reported.eq(0)
        with m.Elif(expired & (self._storer.left | self._storer.busy | ~self._running)):
            m.d.sync += [self._reported.eq(1), self._done.eq(1)]
        with m.If(registers.control.clear):
            m.d.sync += [self._done.eq(0), ignored.eq(0)]
            with m.If(~busy):
                m.d.sync += self._error.eq(RunError.NONE)
            with m.Elif(self._state != _State.STOP):
                self._fail(m, RunError.ABORTED)
        with m.Elif(registers.control.start & busy):
            m.d.sync += ignored.eq(1)

    def _watch(self, m: Module, busy: Value) -> Signal:
        """Pulse of the watchdog."""
        m.submodules.watchdog = watchdog = Watchdog()
        m.d.comb += [watchdog.limit.eq(self._registers.watchdog.cycles), watchdog.running.eq(busy),
                     watchdog.progress.eq(bus_moves(self.m_axi) | self._sequencer.step)]
        return watchdog.expired

    def _count(self, m: Module, busy: Value, load: Signal) -> None:
        registers, array = self._registers, self.array
        wall, entered, since = Signal(32), Signal(), Signal(32)
        with m.If(busy):
            m.d.sync += wall.eq(wall + 1)
        with m.If(array.entered):
            m.d.sync += entered.eq(1)
        with m.If(~entered):
            m.d.sync += registers.entry_cycle.eq(wall)
        with m.Else():
            m.d.sync += since.eq(since + 1)
        # All of this is two cycles behind the array: its far corners have time to report.
        completed, left, stepped = Signal(2), Signal(2), Signal()
        m.d.sync += [stepped.eq(self._sequencer.step), completed.eq(Cat(array.completed, completed)),
                     left.eq(Cat(array.results.valid & array.results.ready, left))]
        with m.If(completed[-1]):
            m.d.sync += registers.compute_cycles.eq(since)
        with m.If(left[-1]):
            m.d.sync += registers.array_cycles.eq(since)
        with m.If(stepped):
            m.d.sync += registers.steps.eq(registers.steps + 1)
        with m.If(load):
            m.d.sync += [since.eq(0), entered.eq(0), registers.steps.eq(0)]
        m.d.comb += registers.wall_cycles.eq(wall)
        with m.If(~busy & registers.control.start):
            m.d.sync += wall.eq(0)


@lru_cache(maxsize=8)
def emit_system(spec: ArraySpec, technology: Technology = GENERIC) -> dict[str, str]:
    """Verilog files, by name, of a system whose top module is `systolic_system`, with the usual flat port names:
    ``clk``, ``rst`` (synchronous, active high), ``irq``, ``m_axi_awaddr`` and so on (AXI4), ``s_axil_awaddr`` and so on
    (AXI4-Lite). PEs and edges are modules of their own, each once. Made once per process, not to be changed.
    For GENERIC no primitives are named, for another `technology` its own are.
    Raises `SystolicError`.
    """
    m = Module()
    m.submodules.system = system = SystolicSystem(spec)
    ports = {SYSTEM_MODULE: connect_system(m, system)}
    return convert_files({SYSTEM_MODULE: m, **system.array.parts}, ports, platform=technology)
