"""The ideal dispatcher: a list of instructions takes the scalar core's place.

It shows what the lanes and the DMA engine could do if the core never let them wait.
"""

from __future__ import annotations

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import is_error
from hw.dma.register_file import RegisterFile
from hw.dma.watchdog import Watchdog, bus_moves
from hw.soc.entry_loader import EntryLoader
from hw.soc.join import AxiJoin
from hw.soc.registers import host_registers
from hw.soc.status import Phase, RunError
from hw.soc.system import connect_counters, convert, system_ports, waves_move
from hw.soc.vector_engine import VectorEngine
from hw.vector_lanes.core import core_sources
from hw.vector_lanes.isa import ENTRY
from hw.vector_lanes.spec import VectorSpec

__all__ = ["DISPATCHER_ENTRIES", "DISPATCHER_MODULE", "DispatcherSystem", "EntryPlayer", "emit_dispatcher_system"]

DISPATCHER_MODULE = "vector_dispatcher"
DISPATCHER_ENTRIES = 1 << 14
"""Entries of the longest program, unless another number is asked for."""


class EntryPlayer(wiring.Component):
    """A memory of `depth` entries (a power of two), filled by `write`, `write_index`, `write_entry`, and played.

    play: level; entries 0 to `count` - 1 go to `entry`, one per cycle at best. first: the first one is being taken.
    done: all have been taken.
    """

    def __init__(self, depth: int):
        self._depth = depth
        bits = (depth - 1).bit_length()
        super().__init__({
            "write": In(1),
            "write_index": In(bits),
            "write_entry": In(ENTRY),
            "play": In(1),
            "count": In(bits + 1),
            "entry": Out(stream.Signature(ENTRY)),
            "first": Out(1),
            "done": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=ENTRY.size, depth=self._depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        fetched, taken = Signal.like(self.count), Signal.like(self.count)
        advance = Signal()
        m.d.comb += [
            write.addr.eq(self.write_index),
            write.data.eq(self.write_entry.as_value()),
            write.en.eq(self.write),
            advance.eq(~self.entry.valid | self.entry.ready),
            read.addr.eq(fetched),
            read.en.eq(advance),
            self.entry.p.as_value().eq(read.data),
            self.first.eq(self.entry.valid & self.entry.ready & (taken == 0)),
            self.done.eq(taken == self.count),
        ]
        with m.If(self.play):
            with m.If(advance):
                m.d.sync += self.entry.valid.eq(fetched != self.count)
                with m.If(fetched != self.count):
                    m.d.sync += fetched.eq(fetched + 1)
            with m.If(self.entry.valid & self.entry.ready):
                m.d.sync += taken.eq(taken + 1)
        with m.Else():
            m.d.sync += [fetched.eq(0), taken.eq(0), self.entry.valid.eq(0)]
        return m


class DispatcherSystem(wiring.Component):
    """The vector processor `spec` with an ideal dispatcher. Ports: `hw.soc.system.system_ports`.

    After a start, register ENTRIES entries are fetched from address PROGRAM (a multiple of 32); then they are
    dispatched, one per cycle unless the queue is full. CYCLES counts from the first one taken to the end of the last
    instruction and transfer. The run fails (STATUS.error) with PROGRAM if there are no entries or more than `depth`,
    with FETCH or LOAD, STORE if memory refuses the program or a transfer, with WATCHDOG if nothing moves for too long;
    it stays busy then. Serial output is idle.
    """

    def __init__(self, spec: VectorSpec, depth: int = DISPATCHER_ENTRIES):
        self._registers = RegisterFile(host_registers(spec))
        bits = (depth - 1).bit_length()
        self._loader = EntryLoader(spec.memory_bytes, bits)
        self._player = EntryPlayer(depth)
        self._engine = VectorEngine(spec)
        self._depth = depth
        super().__init__(system_ports(spec))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begin = Signal()
        m.submodules.registers = self._registers
        m.submodules.loader = loader = self._loader
        m.submodules.player = player = self._player
        m.submodules.engine = ResetInserter(begin)(self._engine)
        m.submodules.join = join = AxiJoin(self.m_axi.signature, 2)
        connect(m, flipped(self.s_axil), self._registers.bus)
        connect(m, loader.ar, join.manager[0].ar)
        connect(m, join.manager[0].r, loader.r)
        connect(m, self._engine.m_axi, join.manager[1])
        connect(m, join.memory, flipped(self.m_axi))
        connect(m, player.entry, self._engine.entry)
        m.d.comb += [
            self.uart_tx.eq(1),
            loader.address.eq(self._registers.program),
            loader.count.eq(self._registers.entries),
            loader.start.eq(begin),
            player.count.eq(self._registers.entries),
            player.write.eq(loader.valid),
            player.write_index.eq(loader.index),
            player.write_entry.eq(loader.entry),
        ]
        self._control(m, begin)
        connect_counters(m, self._registers, self._engine)
        return m

    def _control(self, m: Module, begin: Signal) -> None:
        registers, loader, player, engine = self._registers, self._loader, self._player, self._engine
        phase, done, error, cycles = Signal(Phase), Signal(), Signal(RunError), Signal(64)
        running, idle = Signal(), Signal()
        m.d.comb += idle.eq(engine.vector_idle & engine.dma_idle & player.done)
        with m.Switch(phase):
            with m.Case(Phase.IDLE):
                with m.If(registers.control.start):
                    m.d.sync += [done.eq(0), error.eq(RunError.NONE), cycles.eq(0), running.eq(0)]
                    wrong = (registers.entries == 0) | (registers.entries > self._depth)
                    with m.If(wrong):
                        m.d.sync += [done.eq(1), error.eq(RunError.PROGRAM)]
                    with m.Else():
                        m.d.comb += begin.eq(1)
                        m.d.sync += phase.eq(Phase.LOAD)
            with m.Case(Phase.LOAD):
                with m.If(loader.done):
                    m.d.sync += phase.eq(Phase.RUN)
                    with m.If(loader.error):
                        m.d.sync += [phase.eq(Phase.IDLE), done.eq(1), error.eq(RunError.FETCH)]
            with m.Case(Phase.RUN):
                m.d.comb += player.play.eq(1)
                m.d.sync += [running.eq(running | player.first), cycles.eq(cycles + (running | player.first))]
                with m.If(running & idle):
                    m.d.sync += [phase.eq(Phase.IDLE), done.eq(1), cycles.eq(cycles)]
        with m.If(registers.control.clear & (phase == Phase.IDLE) & ~registers.control.start):
            m.d.sync += [done.eq(0), error.eq(RunError.NONE)]
        self._refusals(m, phase, error)
        m.submodules.watchdog = watchdog = Watchdog()
        m.d.comb += [watchdog.limit.eq(registers.watchdog.cycles), watchdog.running.eq(phase != Phase.IDLE),
                     watchdog.progress.eq(bus_moves(self.m_axi) | waves_move(m, engine))]
        with m.If(watchdog.expired):
            m.d.sync += [done.eq(1), error.eq(RunError.WATCHDOG)]
        self._report(m, phase, done, error, cycles)

    def _refusals(self, m: Module, phase: Signal, error: Signal) -> None:
        bus = self.m_axi
        with m.If(phase == Phase.RUN):
            with m.If(bus.r.valid & bus.r.ready & is_error(bus.r.p.resp)):
                m.d.sync += error.eq(RunError.LOAD)
            with m.If(bus.b.valid & bus.b.ready & is_error(bus.b.p.resp)):
                m.d.sync += error.eq(RunError.STORE)

    def _report(self, m: Module, phase: Signal, done: Signal, error: Signal, cycles: Signal) -> None:
        registers = self._registers
        m.d.comb += [
            registers.status.busy.eq(phase != Phase.IDLE),
            registers.status.done.eq(done),
            registers.status.error.eq(error),
            registers.detail.phase.eq(phase),
            registers.detail.vector.eq(~self._engine.vector_idle),
            registers.detail.dma.eq(~self._engine.dma_idle),
            registers.cycles.eq(cycles[:32]),
            registers.cycles_high.eq(cycles[32:]),
            self.irq.eq(done),
        ]


def emit_dispatcher_system(spec: VectorSpec, depth: int = DISPATCHER_ENTRIES) -> dict[str, str]:
    """Verilog files, by name, of a `DispatcherSystem`; the top module is `vector_dispatcher`, with the ports of
    `hw.soc.system.emit_vector_system`."""
    return {**core_sources(spec), f"{DISPATCHER_MODULE}.v": convert(DispatcherSystem(spec, depth), DISPATCHER_MODULE)}
