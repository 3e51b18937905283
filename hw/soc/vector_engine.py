"""The vector core with its DMA engine."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.scratchpad import ScratchpadDma, ScratchpadDmaSpec
from hw.soc.line_buffer import memory_bus
from hw.vector_lanes.core import VectorCore
from hw.vector_lanes.core_ports import core_counters
from hw.vector_lanes.isa import ENTRY
from hw.vector_lanes.spec import VectorSpec

__all__ = ["COUNTERS", "STATUS_PORTS", "VectorEngine", "engine_ports"]

COUNTERS = {
    "instructions": "vector_instructions",
    "busy": "vector_busy",
    "bubbles": "vector_bubbles",
    "dma_cycles": "dma_cycles",
}
"""Counters of the core, and the host's registers for them."""

STATUS_PORTS = ("status", "vector_idle", "dma_idle", "mask_waves", "counters")
"""Outputs of `VectorCore` that tell about its state."""

_BURST_BEATS = 16
"""Longest burst: what the scalar core asks for has to wait for one."""


def engine_ports(spec: VectorSpec) -> dict[str, wiring.Member]:
    """`m_axi`, main memory; the rest are ports of `VectorCore`."""
    return {
        "m_axi": Out(memory_bus(spec.memory_bytes)),
        "status": Out(4),
        "vector_idle": Out(1),
        "dma_idle": Out(1),
        "mask_waves": Out(range(spec.mask_waves + 1)),
        "counters": Out(core_counters()),
    }


class VectorEngine(wiring.Component):
    """Takes queue entries (`entry`) and executes them on its scratchpad and main memory (`m_axi`).

    clear_status: see `VectorCore`; the others are `engine_ports`.
    """

    def __init__(self, spec: VectorSpec):
        self._core = VectorCore(spec)
        longest = min(_BURST_BEATS, 4096 // spec.memory_bytes)
        self._dma = ScratchpadDma(ScratchpadDmaSpec.of(spec, max_beats=longest))
        super().__init__({
            "entry": In(stream.Signature(ENTRY)),
            "clear_status": In(1),
            **engine_ports(spec),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        m.submodules.dma = dma = self._dma
        connect(m, flipped(self.entry), core.entry)
        connect(m, core.job, dma.job)
        connect(m, dma.dma_write, core.dma_write)
        connect(m, dma.dma_read, core.dma_read)
        connect(m, core.dma_data, dma.dma_data)
        connect(m, dma.m_axi, flipped(self.m_axi))
        connect(m, core.counters, flipped(self.counters))
        m.d.comb += [
            core.job_done.eq(dma.done),
            core.dma_error.eq(dma.error),
            core.clear_status.eq(self.clear_status),
            *(getattr(self, name).eq(getattr(core, name)) for name in STATUS_PORTS if name != "counters"),
        ]
        return m
