"""The complete processor system: scalar core, vector unit, buses, peripherals and the host's registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4LiteSignature, connect_system
from hw.dma.register_file import RegisterFile
from hw.dma.watchdog import bus_moves
from hw.soc.command_gate import CommandGate
from hw.soc.control import RunControl
from hw.soc.data_bus import DataBus
from hw.soc.instruction_bus import InstructionBus
from hw.soc.join import AxiJoin
from hw.soc.line_buffer import memory_bus
from hw.soc.peripherals import Peripherals
from hw.soc.registers import host_registers
from hw.soc.vector_engine import COUNTERS
from hw.soc.vector_unit import VectorUnit
from hw.soc.vexriscv import CORE_FILE, VexRiscv, core_source
from hw.vector_lanes.core import core_sources
from hw.vector_lanes.spec import VectorSpec
from hw.verilog import convert as to_verilog

__all__ = [
    "SYSTEM_MODULE", "VectorSystem", "connect_counters", "convert", "emit_vector_system", "system_ports", "waves_move",
]  # fmt: skip

SYSTEM_MODULE = "vector_system"


def system_ports(spec: VectorSpec) -> dict[str, wiring.Member]:
    """Ports to memory (`m_axi`) and to the host (`s_axil`; `irq`: a run has ended; `uart_tx`, `uart_rx`: the
    serial line).
    """
    return {
        "m_axi": Out(memory_bus(spec.memory_bytes)),
        "s_axil": In(Axi4LiteSignature(address_width=host_registers(spec).address_width)),
        "irq": Out(1),
        "uart_tx": Out(1),
        "uart_rx": In(1),
    }


class VectorSystem(wiring.Component):
    """A scalar core with the vector processor `spec` at its port for custom functions. Ports: `system_ports`.

    After a start the core begins at the address in register PROGRAM. The run is done, with an interrupt, when the
    program writes its exit code to the peripheral FINISH, after a trap, or when memory refuses something to the core;
    and all that is under way has come to its end.

    Progress, for the watchdog, is what passes on the memory bus, a custom instruction, a wavefront: a loop of the core
    alone, in its cache, is none.

    The core has priority in main memory: it asks for little and waits for it.
    """

    def __init__(self, spec: VectorSpec, unit: Callable[[VectorSpec], Any] = VectorUnit):
        self.spec = spec
        self._registers = RegisterFile(host_registers(spec))
        self._control = RunControl()
        self._core = VexRiscv()
        self._fetch = InstructionBus(spec.memory_bytes)
        self._data = DataBus(spec.memory_bytes)
        self._peripherals = Peripherals()
        self._unit = unit(spec)
        super().__init__(system_ports(spec))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = self._registers
        m.submodules.control = self._control
        m.submodules.core = self._core
        m.submodules.fetch = self._fetch
        m.submodules.data = self._data
        m.submodules.peripherals = self._peripherals
        m.submodules.unit = ResetInserter(self._control.begin)(self._unit)
        connect(m, flipped(self.s_axil), self._registers.bus)
        self._connect_memory(m)
        self._connect_core(m)
        self._connect_unit(m)
        self._connect_control(m)
        self._connect_registers(m)
        return m

    def _connect_memory(self, m: Module) -> None:
        m.submodules.join = join = AxiJoin(self.m_axi.signature, 3)
        data, fetch, unit = (join.manager[index] for index in range(3))
        connect(m, self._data.axi, data)
        connect(m, self._fetch.ar, fetch.ar)
        connect(m, fetch.r, self._fetch.r)
        connect(m, self._unit.m_axi, unit)
        connect(m, join.memory, flipped(self.m_axi))

    def _connect_core(self, m: Module) -> None:
        core, fetch, data, peripherals = self._core, self._fetch, self._data, self._peripherals
        run = self._control.run
        connect(m, core.ibus, fetch.bus)
        connect(m, core.dbus, data.bus)
        connect(m, data.peripheral, peripherals.port)
        m.d.comb += [
            core.reset.eq(~run),
            core.reset_vector.eq(self._registers.program),
            fetch.enable.eq(run),
            data.enable.eq(run),
            fetch.stored.eq(data.stored),
            fetch.stored_line.eq(data.stored_line),
            data.peripheral_data.eq(peripherals.port_data),
            peripherals.drained.eq(data.drained),
            peripherals.divisor.eq(self._registers.uart_divisor),
            peripherals.run.eq(run),
            peripherals.clear.eq(self._control.begin),
            self.uart_tx.eq(peripherals.tx),
            peripherals.rx.eq(self.uart_rx),
        ]

    def _connect_unit(self, m: Module) -> None:
        m.submodules.gate = gate = CommandGate()
        connect(m, self._core.command, gate.core)
        connect(m, gate.unit, self._unit.command)
        connect(m, self._unit.response, self._core.response)
        m.d.comb += gate.drained.eq(self._data.drained)

    def _connect_control(self, m: Module) -> None:
        control, registers, peripherals = self._control, self._registers, self._peripherals
        command = self._core.command
        idle = Signal(2)
        settled = Cat(self._fetch.idle, self._data.idle, self._unit.vector_idle, self._unit.dma_idle).all()
        # Twice in a row: an instruction can be between the core and the queue.
        m.d.sync += idle.eq(Cat(settled, idle[0] & settled))
        m.d.comb += [
            control.start.eq(registers.control.start),
            control.clear.eq(registers.control.clear),
            control.finish.eq(peripherals.finish),
            control.failed.eq(self._core.dbus.dat_w != 0),
            control.trap.eq(peripherals.trap),
            control.unknown.eq(peripherals.unknown),
            control.fetch_error.eq(self._fetch.error),
            control.load_error.eq(self._data.load_error),
            control.store_error.eq(self._data.store_error),
            control.settled.eq(idle.all() & settled),
            control.limit.eq(registers.watchdog.cycles),
            control.progress.eq(bus_moves(self.m_axi) | (command.valid & command.ready) | waves_move(m, self._unit)),
            self.irq.eq(control.done),
        ]

    def _connect_registers(self, m: Module) -> None:
        registers, control, peripherals, unit = self._registers, self._control, self._peripherals, self._unit
        command = self._core.command
        detail = {
            "phase": control.phase, "fetch": self._fetch.waiting, "data": self._data.waiting,
            "command": command.valid & ~command.ready, "vector": ~unit.vector_idle, "dma": ~unit.dma_idle,
            "memory": ~(self._fetch.idle & self._data.idle),
        }  # fmt: skip
        m.d.comb += [
            *(registers.status[name].eq(getattr(control, name)) for name in ("busy", "done", "start_ignored", "error")),
            *(getattr(registers, name).eq(getattr(peripherals, name))
              for name in ("exit_code", "trap_cause", "trap_pc", "trap_value")),
            *_pair(registers, "cycles", peripherals.cycles),
            *_pair(registers, "kernel_cycles", peripherals.kernel_cycles),
        ]
        # A cycle late: these come at the end of long paths.
        m.d.sync += [registers.detail[name].eq(value) for name, value in detail.items()]
        connect_counters(m, registers, unit)
        with m.If(self._fetch.waiting):
            m.d.sync += registers.fetch.eq(self._fetch.fetched << 5)


def connect_counters(m: Module, registers: RegisterFile, unit: Any) -> None:
    """Status and counters of a vector unit, in the host's registers."""
    m.d.comb += registers.vector_status.as_value().eq(unit.status)
    m.d.comb += [getattr(registers, name).eq(getattr(unit.counters, counter)) for counter, name in COUNTERS.items()]


def waves_move(m: Module, unit: Any) -> Value:
    """Whether a vector unit has issued a wavefront: its counter of them has another lowest bit than a cycle ago."""
    before = Signal()
    m.d.sync += before.eq(unit.counters.busy[0])
    return before ^ unit.counters.busy[0]


def _pair(registers: RegisterFile, name: str, value: Signal) -> list[Any]:
    """A register and the one for the high word."""
    return [getattr(registers, name).eq(value[:32]), getattr(registers, f"{name}_high").eq(value[32:])]


def emit_vector_system(spec: VectorSpec) -> dict[str, str]:
    """Verilog files, by name, of a system whose top module is `vector_system`.

    Its ports have the usual flat names: ``clk``, ``rst`` (synchronous, active high), ``irq``, ``uart_tx``, ``uart_rx``,
    ``m_axi_awaddr`` and so on (AXI4, beats of ``spec.memory_bytes`` bytes), ``s_axil_awaddr`` and so on (AXI4-Lite,
    registers of `hw.soc.registers.host_registers`). Raises `CoreMissing`.
    """
    system = convert(VectorSystem(spec), SYSTEM_MODULE)
    return {CORE_FILE: core_source(), **core_sources(spec), f"{SYSTEM_MODULE}.v": system}


def convert(system: Any, name: str) -> str:
    """The Verilog of a component with `system_ports` as the top module `name`."""
    m = Module()
    m.submodules.system = system
    ports = [*connect_system(m, system), system.uart_tx, system.uart_rx]
    return to_verilog(m, name, ports=ports)
