"""The complete system: array, global buffer, burst engines and control registers, and its Verilog."""

from __future__ import annotations

from functools import lru_cache

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from hw.dma.axi import connect_system
from hw.dma.spec import DmaSpec
from hw.fabric.array import ARRAY_MODULE, CgraArray, emit_tiles
from hw.fabric.bank import BankSignature, check_global_buffer
from hw.fabric.elastic_bank import build_bank
from hw.fabric.emitted import Emitted
from hw.fabric.host import ArraySignature, CgraHost, host_ports
from hw.fabric.spec import FabricSpec
from hw.verilog import convert_files

__all__ = ["SYSTEM_MODULE", "CgraSystem", "emit_system"]

SYSTEM_MODULE = "cgra_system"
BANK_MODULE = "cgra_bank"


class CgraSystem(wiring.Component):
    """An array with everything it needs; its bank and the array are modules of their own (`emit_system`).

    Ports: `m_axi` (AXI4 manager, 64-bit data, 32-bit addresses), `s_axil` (AXI4-Lite subordinate, registers of
    `hw.fabric.control_registers`), `irq` (high while a run has ended and the host has not cleared that).
    """

    def __init__(self, spec: FabricSpec, dma: DmaSpec | None = None):
        self.spec = spec
        self.dma = dma
        super().__init__(host_ports(spec))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.host = host = CgraHost(self.spec, self.dma, _emitted_bank)
        m.submodules.array = array = Emitted(ARRAY_MODULE, ArraySignature(self.spec).flip())
        connect(m, flipped(self.s_axil), host.s_axil)
        connect(m, host.m_axi, flipped(self.m_axi))
        m.d.comb += self.irq.eq(host.irq)
        connect(m, host.array, array)
        return m


def _emitted_bank(spec: FabricSpec) -> Emitted:
    return Emitted(BANK_MODULE, BankSignature(spec))


@lru_cache(maxsize=8)
def emit_system(spec: FabricSpec, dma: DmaSpec | None = None) -> dict[str, str]:
    """Verilog files, by name, of a system whose top module is `cgra_system`; made once per process, not to be changed.

    Its ports have the usual flat names: ``clk``, ``rst`` (synchronous, active high), ``irq``, ``m_axi_awaddr`` and so
    on (AXI4), ``s_axil_awaddr`` and so on (AXI4-Lite). Raises `FabricError` (see `check_global_buffer`).
    """
    check_global_buffer(spec)
    m = Module()
    m.submodules.system = system = CgraSystem(spec, dma)
    ports = {SYSTEM_MODULE: connect_system(m, system)}
    modules = {SYSTEM_MODULE: m, BANK_MODULE: build_bank(spec), ARRAY_MODULE: CgraArray(spec)}
    return {**convert_files(modules, ports), **emit_tiles(spec)}
