"""Main memory in SDRAM as a Verilog module of its own."""

from __future__ import annotations

from amaranth.hdl import Module, Signal

from hw.dma.axi import connect_flat
from hw.sdram.memory import SdramMemory
from hw.verilog import convert

__all__ = ["emit_sdram"]


def emit_sdram(memory: SdramMemory, name: str) -> str:
    """Verilog of `memory` with the registers of its pads, which delay each direction by a cycle: ports ``clk``,
    ``rst``, ``s_axi_*`` of the AXI4 subordinate and the chip's, called as in `hw.sdram.pins.SdramPins`."""
    m = Module()
    m.submodules.memory = memory
    ports = connect_flat(m, memory.bus, "s_axi", manager=False)
    for pin, member in memory.pins.signature.members.items():
        ports.append(pad := Signal(member.shape, name=pin))
        wire = getattr(memory.pins, pin)
        m.d.sync += wire.eq(pad) if pin == "dq_i" else pad.eq(wire)
    return convert(m, name, ports=ports)
