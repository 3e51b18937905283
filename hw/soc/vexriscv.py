"""The scalar core: VexRiscv (RV32IM, 4 KiB + 4 KiB caches) with its port for custom functions.

The Verilog comes from the Python package ``pythondata-cpu-vexriscv`` (MIT licence) when a design is emitted.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockSignal, Const, Instance, Module, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.lint_waivers import OTHERS, waive
from hw.sim.ports import module_ports
from hw.soc.errors import CoreMissing
from hw.soc.wishbone import WishboneSignature
from hw.vector_lanes.core_ports import COMMAND

__all__ = ["CORE_FILE", "LINE_BYTES", "VexRiscv", "core_source"]

CORE_FILE = "VexRiscv_FullCfu.v"
LINE_BYTES = 32
"""Bytes of a line of either cache."""

_PACKAGE = "pythondata_cpu_vexriscv"
_REQUIREMENT = "pythondata-cpu-vexriscv"
_MODULE = "VexRiscv"
_WAIVED = ("DECLFILENAME", "UNDRIVEN", "UNUSEDSIGNAL", "WIDTHTRUNC")
_BUS = {"cyc": "CYC", "stb": "STB", "we": "WE", "adr": "ADR", "sel": "SEL", "cti": "CTI", "dat_w": "DAT_MOSI"}


@cache
def core_source() -> str:
    """The core's Verilog as it is, between comments for lint. Raises `CoreMissing` if the package is not there or holds
    something else."""
    try:
        package = importlib.import_module(_PACKAGE)
        text = (Path(package.data_location) / CORE_FILE).read_text()
    except (ImportError, OSError) as error:
        raise CoreMissing(
            f"the scalar core is missing ({CORE_FILE}): type `pip install {_REQUIREMENT}`"
        ) from error
    check_core(text)
    return waive(text, dict.fromkeys(_WAIVED, OTHERS))


def check_core(text: str) -> None:
    """Raise `CoreMissing` unless `text` has the module and the ports that `VexRiscv` connects."""
    ports = module_ports([text], _MODULE)
    found = {port.name for port in ports or ()}
    needed = {
        "clk", "reset", "externalResetVector", "CfuPlugin_bus_cmd_valid", "CfuPlugin_bus_rsp_valid",
        *(f"{bus}BusWishbone_{name}" for bus in "id" for name in (*_BUS.values(), "ACK", "DAT_MISO", "ERR")),
    }  # fmt: skip
    if missing := sorted(needed - found):
        raise CoreMissing(f"{CORE_FILE} of {_REQUIREMENT} is of an unknown kind: no port {missing[0]} in {_MODULE}")


class VexRiscv(wiring.Component):
    """The core. `reset` holds it in reset; after that it begins at `reset_vector` (a byte address).

    ibus, dbus: Wishbone managers. Both read whole lines of 32 bytes as bursts that begin with a line's first word;
    `dbus` reads and writes single words where bit 31 of the address is set, and always writes single words.
    command: custom functions in program order. response: their results, one for each command, in the cycle of the
    command at the earliest; the core stands still until it has it.
    """

    def __init__(self) -> None:
        super().__init__({
            "reset": In(1),
            "reset_vector": In(32),
            "ibus": Out(WishboneSignature()),
            "dbus": Out(WishboneSignature()),
            "command": Out(stream.Signature(COMMAND)),
            "response": In(stream.Signature(32)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports: dict[str, Any] = {
            "i_clk": ClockSignal(),
            "i_reset": ResetSignal() | self.reset,
            "i_externalResetVector": self.reset_vector,
            "i_timerInterrupt": Const(0),
            "i_softwareInterrupt": Const(0),
            "i_externalInterruptArray": Const(0, 32),
            **self._function_ports(),
        }
        for name, bus in (("iBus", self.ibus), ("dBus", self.dbus)):
            ports |= {f"o_{name}Wishbone_{port}": getattr(bus, signal) for signal, port in _BUS.items()}
            ports |= {
                f"i_{name}Wishbone_ACK": bus.ack,
                f"i_{name}Wishbone_DAT_MISO": bus.dat_r,
                f"i_{name}Wishbone_ERR": Const(0),
                f"o_{name}Wishbone_BTE": Signal(2, name=f"{name}_burst_type"),  # linear, always
            }
        m.submodules.core = Instance(_MODULE, **ports)
        return m

    def _function_ports(self) -> dict[str, Any]:
        command, response = self.command, self.response
        return {
            "o_CfuPlugin_bus_cmd_valid": command.valid,
            "i_CfuPlugin_bus_cmd_ready": command.ready,
            "o_CfuPlugin_bus_cmd_payload_function_id": command.p.function,
            "o_CfuPlugin_bus_cmd_payload_inputs_0": command.p.a,
            "o_CfuPlugin_bus_cmd_payload_inputs_1": command.p.b,
            "i_CfuPlugin_bus_rsp_valid": response.valid,
            "o_CfuPlugin_bus_rsp_ready": response.ready,
            "i_CfuPlugin_bus_rsp_payload_outputs_0": response.payload,
        }
