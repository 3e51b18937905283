"""Several dataflow systems behind one memory and one register bus, so that Verilator is built once for all of them.

System number k has its registers at ``k * SPAN``. The system whose registers are accessed last owns the memory bus, so
one of them runs at a time. The systems are those that the designs emit. Icarus, which builds in a moment and would run
the clock of them all, runs each of them alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from amaranth.hdl import Cat, ClockSignal, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.design import Run
from hw.dataflow.system import SYSTEM_MODULE
from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_system, flat_ports
from hw.sim.simulate import StallProfile, run_job
from hw.verilog import convert

_SPAN_BITS = 12
SPAN = 1 << _SPAN_BITS
_TOP = "dataflow_group"
_EXPECTED = 10_000
"""Cycles of a run, at most: one build serves all."""
# Names of modules are at the start of a line or of an instance, and those below the top begin with its name.
_MODULE = re.compile(rf"^(module |  )(\\?){SYSTEM_MODULE}\b", re.MULTILINE)


class EmittedSystem(wiring.Component):
    """A system that is in Verilog as the module `name`, with registers of `address_width` bits."""

    def __init__(self, name: str, address_width: int):
        self._name = name
        super().__init__({"m_axi": Out(Axi4Signature(address_width=32, data_width=64)),
                          "s_axil": In(Axi4LiteSignature(address_width=address_width)), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports: dict[str, Value] = {"i_clk": ClockSignal(), "i_rst": ResetSignal(), "o_irq": self.irq}
        for interface, prefix, manager in ((self.m_axi, "m_axi", True), (self.s_axil, "s_axil", False)):
            for signal, value, drives in flat_ports(interface, prefix, manager=manager):
                ports[f"{'o' if drives else 'i'}_{signal.name}"] = signal
                m.d.comb += value.eq(signal) if drives else signal.eq(value)
        m.submodules.instance = Instance(self._name, **ports)
        return m


class SystemGroup(wiring.Component):
    """Systems whose registers have `widths` bits of address, with the ports of one."""

    def __init__(self, widths: Sequence[int]):
        self.systems = [EmittedSystem(f"system{number}", width) for number, width in enumerate(widths)]
        width = _SPAN_BITS + max(1, (len(widths) - 1).bit_length())
        super().__init__({"m_axi": Out(Axi4Signature(address_width=32, data_width=64)),
                          "s_axil": In(Axi4LiteSignature(address_width=width)), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.s_axil
        held, chosen, pending = Signal(range(len(self.systems))), Signal(range(len(self.systems))), Signal()
        m.d.comb += chosen.eq(Mux(bus.aw.valid, bus.aw.p.addr >> _SPAN_BITS,
                                  Mux(bus.ar.valid, bus.ar.p.addr >> _SPAN_BITS, held)))
        m.d.sync += held.eq(chosen)
        with m.If(bus.aw.valid & bus.aw.ready):
            m.d.sync += pending.eq(1)
        with m.Elif(bus.w.valid & bus.w.ready):
            m.d.sync += pending.eq(0)
        interrupts: list[Value] = []
        for number, system in enumerate(self.systems):
            m.submodules[f"system{number}"] = system
            mine = chosen == number
            interrupts.append(system.irq & mine)
            for name in ("aw", "w", "ar"):
                source, sink = getattr(bus, name), getattr(system.s_axil, name)
                able = mine & pending if name == "w" else mine & ~pending
                m.d.comb += [sink.p.eq(source.p), sink.valid.eq(source.valid & able)]
                with m.If(able):
                    m.d.comb += source.ready.eq(sink.ready)
            for name in ("b", "r"):
                _forward(m, mine, getattr(system.s_axil, name), getattr(bus, name))
            for name in ("aw", "w", "ar"):
                _forward(m, mine, getattr(system.m_axi, name), getattr(self.m_axi, name))
            for name in ("b", "r"):
                source, sink = getattr(self.m_axi, name), getattr(system.m_axi, name)
                m.d.comb += [sink.p.eq(source.p), sink.valid.eq(source.valid & mine)]
                with m.If(mine):
                    m.d.comb += source.ready.eq(sink.ready)
        m.d.comb += self.irq.eq(Cat(interrupts).any())
        return m


def _forward(m: Module, mine: Value, source: wiring.PureInterface, sink: wiring.PureInterface) -> None:
    """`source` to `sink` while it is `mine`."""
    with m.If(mine):
        m.d.comb += [sink.p.eq(source.p), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]


class Group:
    """Designs in one simulation."""

    def __init__(self, designs: dict[str, DataflowDesign]) -> None:
        self.designs = designs

    @cached_property
    def sources(self) -> dict[str, str]:
        """The Verilog of all of them."""
        executables = [design.executable for design in self.designs.values()]
        m = Module()
        m.submodules.group = group = SystemGroup([e.registers.address_width for e in executables])
        systems = {f"system{number}.v": _renamed(executable.sources[f"{SYSTEM_MODULE}.v"], f"system{number}")
                   for number, executable in enumerate(executables)}
        return {f"{_TOP}.v": convert(m, _TOP, ports=connect_system(m, group))} | systems

    def run(self, name: str, inputs: dict[str, np.ndarray], simulator: str, stall: StallProfile | None, seed: int = 1,
            at: DataflowDesign | None = None) -> Run:
        """One run of a design; `at`: the same hardware for other sizes."""
        design = at or self.designs[name]
        job = design.executable.job(inputs, simulator, seed=seed, stall=stall)
        if simulator == "verilator":
            base = SPAN * list(self.designs).index(name)
            job = replace(job, sources=self.sources, top=_TOP, expected_cycles=_EXPECTED,
                          reads=[base + r for r in job.reads],
                          writes=[(base + r, value) for r, value in job.writes],
                          status={key: base + r for key, r in job.status.items()})
        return design.executable.result(run_job(job), simulator)


def _renamed(text: str, name: str) -> str:
    """The Verilog of a system as module `name`."""
    return _MODULE.sub(rf"\g<1>\g<2>{name}", text)
