"""A design as a module of LiteX: manager of main memory and AXI4-Lite registers on the bus of a system with a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hw.drivers.ipxact import Port

__all__ = ["litex_documents"]

_ADDRESS_BITS = 32

_TEXT = '''"""@MODULE@ for LiteX 2024.12 or later. In a target's file, with this folder in Python's path:

    from @FILE@ import add_accelerator
    add_accelerator(soc, name="accelerator", origin=0x90000000)

`origin`: of the registers, in a region without cache. The drivers in host/ take it, and any memory on the bus.
"""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal, Signal

SOURCES = @SOURCES@
REGISTER_BYTES = @BYTES@


class Accelerator(LiteXModule):
    """`memory`: AXI4 manager, `control`: AXI4-Lite subordinate, `ev.run`: a run has ended (a level)."""

    def __init__(self, platform):
        self.memory = memory = axi.AXIInterface(data_width=@DATA@, address_width=32, id_width=@ID@)
        self.control = control = axi.AXILiteInterface(data_width=32, address_width=32)
        self.ev = EventManager()
        self.ev.run = EventSourceLevel(description="a run has ended")
        self.ev.finalize()
        irq = Signal()
        self.comb += self.ev.run.trigger.eq(irq)
        for source in SOURCES:
            platform.add_source(str(Path(__file__).parent / "rtl" / source))
        self.specials += Instance(
            "@MODULE@",
            i_clk=ClockSignal("sys"),
            @RESET@
            o_irq=irq,
@PINS@
        )


def add_accelerator(soc, name="accelerator", origin=None):
    """Put the design into `soc`: registers at `origin`, memory as a manager of the bus, an interrupt if the CPU has
    any. Returns the module."""
    module = Accelerator(soc.platform)
    soc.add_module(name=name, module=module)
    soc.bus.add_slave(name=name, slave=module.control,
                      region=SoCRegion(origin=origin, size=REGISTER_BYTES, cached=False))
    soc.bus.add_master(name=f"{name}_memory", master=module.memory)
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    return module
'''


def litex_documents(module: str, sources: Mapping[str, str], ports: Sequence[Port]) -> dict[str, str]:
    """``MODULE_litex.py`` of `module`, whose AXI `ports` are ``m_axi_*`` and ``s_axil_*``; the files of `sources` are
    in folder rtl beside it. Nothing for a module with other ports, or with more address bits than LiteX's bus has."""
    widths = {port.name: port.width for port in ports}
    if "s_axil_wdata" not in widths or widths.get("m_axi_araddr") != _ADDRESS_BITS:
        return {}
    pins = [pin for port in ports if (pin := _pin(port))]
    reset = 'i_rst_n=~ResetSignal("sys"),' if "rst_n" in widths else 'i_rst=ResetSignal("sys"),'
    values = {"MODULE": module, "FILE": f"{module}_litex", "SOURCES": repr(sorted(sources)),
              "DATA": widths["m_axi_wdata"], "ID": widths["m_axi_arid"], "RESET": reset,
              "BYTES": hex(max(0x1000, 1 << widths["s_axil_awaddr"])), "PINS": "\n".join(pins)}
    text = _TEXT
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return {f"{module}_litex.py": text}


def _pin(port: Port) -> str:
    """The line that connects a port of AXI; others have lines of their own, or none."""
    direction = port.direction[0]
    for prefix, interface in (("m_axi_", "memory"), ("s_axil_", "control")):
        if port.name.startswith(prefix):
            short = port.name.removeprefix(prefix)
            channel = next(c for c in ("aw", "ar", "w", "r", "b") if short.startswith(c))
            field = short.removeprefix(channel)
            part = f"{interface}.{channel}.{field}"
            if interface == "control" and channel in ("aw", "ar") and field == "addr":
                part += f"[:{port.width}]"
            return f"            {direction}_{port.name}={part},"
    return {"uart_rx": "            i_uart_rx=1,"}.get(port.name, "")
