"""Several dataflow systems behind one memory and one register bus, so that a simulator is built once for all of them.

System number k has its registers at ``k * SPAN``. The system whose registers are accessed last owns the memory bus, so
one of them runs at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.design import Run
from hw.dataflow.spec import KernelSpec
from hw.dataflow.system import DataflowSystem
from hw.dma.axi import Axi4LiteSignature, Axi4Signature, connect_flat
from hw.sim.simulate import StallProfile, run_job
from hw.verilog import convert

_SPAN_BITS = 12
SPAN = 1 << _SPAN_BITS
_TOP = "dataflow_group"
_EXPECTED = 10_000
"""Cycles of a run, at most: one build serves all."""


class SystemGroup(wiring.Component):
    """The systems of `specs`, with the ports of one."""

    def __init__(self, specs: Sequence[KernelSpec]):
        self.specs = specs
        width = _SPAN_BITS + max(1, (len(specs) - 1).bit_length())
        super().__init__({"m_axi": Out(Axi4Signature(address_width=32, data_width=64)),
                          "s_axil": In(Axi4LiteSignature(address_width=width)), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.s_axil
        held, chosen, pending = (Signal(range(len(self.specs)), name="held"), Signal(range(len(self.specs))), Signal())
        m.d.comb += chosen.eq(Mux(bus.aw.valid, bus.aw.p.addr >> _SPAN_BITS,
                                  Mux(bus.ar.valid, bus.ar.p.addr >> _SPAN_BITS, held)))
        m.d.sync += held.eq(chosen)
        with m.If(bus.aw.valid & bus.aw.ready):
            m.d.sync += pending.eq(1)
        with m.Elif(bus.w.valid & bus.w.ready):
            m.d.sync += pending.eq(0)
        systems = [DataflowSystem(spec) for spec in self.specs]
        interrupts: list[Value] = []
        for number, system in enumerate(systems):
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
        m = Module()
        m.submodules.group = group = SystemGroup([d.plan.kernel for d in self.designs.values()])
        ports = [*connect_flat(m, group.m_axi, "m_axi", manager=True),
                 *connect_flat(m, group.s_axil, "s_axil", manager=False), group.irq]
        return {f"{_TOP}.v": convert(m, _TOP, ports=ports)}

    def run(self, name: str, inputs: dict[str, np.ndarray], simulator: str, stall: StallProfile | None, seed: int = 1,
            at: DataflowDesign | None = None) -> Run:
        """One run of a design; `at`: the same hardware for other sizes."""
        design = at or self.designs[name]
        base = SPAN * list(self.designs).index(name)
        job = design.executable.job(inputs, simulator, seed=seed, stall=stall)
        moved = replace(job, sources=self.sources, top=_TOP, expected_cycles=_EXPECTED,
                        reads=[base + r for r in job.reads],
                        writes=[(base + r, value) for r, value in job.writes],
                        status={key: base + r for key, r in job.status.items()})
        return design.executable.result(run_job(moved), simulator)
