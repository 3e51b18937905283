"""The module for LiteX connects every port of a system, in its direction, to a signal that LiteX's interfaces have.

`tb/test_litex_system.py` runs it where LiteX is installed; here, its names are stood in for.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from emitted_systems import SYSTEMS, emitted

from hw.drivers.ipxact import module_ports
from hw.drivers.litex import litex_documents
from hw.ports.adapt import adapt_system
from hw.ports.spec import SystemPorts

LITE_ADDRESS = ("valid", "ready", "addr", "prot")
ADDRESS = (*LITE_ADDRESS, "id", "burst", "len", "size", "lock", "cache", "qos", "region")
AXI = {"aw": ADDRESS, "ar": ADDRESS, "w": ("valid", "ready", "data", "strb", "last"),
       "b": ("valid", "ready", "id", "resp"), "r": ("valid", "ready", "id", "resp", "data", "last")}
LITE = {"aw": LITE_ADDRESS, "ar": LITE_ADDRESS, "w": ("valid", "ready", "data", "strb"),
        "b": ("valid", "ready", "resp"), "r": ("valid", "ready", "resp", "data")}
"""Signals of LiteX's interfaces, by channel."""


class Signal(str):
    """A signal, by its name."""

    __slots__ = ()

    def __getitem__(self, bits: Any) -> Signal:
        return self

    def __invert__(self) -> Signal:
        return Signal(f"~{self}")

    def eq(self, source: object) -> str:
        return f"{self} = {source}"


class Gathered(list):
    """What LiteX gathers by ``+=``."""

    def __iadd__(self, one: object) -> Gathered:
        self.append(one)
        return self


class LiteXModule:
    """What modules inherit."""

    def __new__(cls, *_: object) -> LiteXModule:
        self = object.__new__(cls)
        self.__dict__.update(comb=Gathered(), specials=Gathered())
        return self


def interface(name: str, channels: dict[str, tuple[str, ...]], **widths: int) -> SimpleNamespace:
    """An interface with only the signals that there are."""
    parts = {channel: SimpleNamespace(**{field: Signal(f"{name}.{channel}.{field}") for field in fields})
             for channel, fields in channels.items()}
    return SimpleNamespace(**parts, widths=widths)


def accelerator(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[str]]:
    """The class Accelerator of the module, made, and the files it has added."""
    axi = SimpleNamespace(AXIInterface=lambda **widths: interface("axi", AXI, **widths),
                          AXILiteInterface=lambda **widths: interface("lite", LITE, **widths))
    contents: dict[str, dict[str, Any]] = {
        "litex.gen": {"LiteXModule": LiteXModule}, "litex.soc.integration.soc": {"SoCRegion": SimpleNamespace},
        "litex.soc.interconnect": {"axi": axi},
        "litex.soc.interconnect.csr_eventmanager": {
            "EventManager": lambda: SimpleNamespace(finalize=lambda: None),
            "EventSourceLevel": lambda description: SimpleNamespace(trigger=Signal("trigger"))},
        "migen": {"ClockSignal": lambda name: Signal(f"{name}.clk"), "ResetSignal": lambda name: Signal(f"{name}.rst"),
                  "Instance": lambda module, **pins: (module, pins), "Signal": lambda: Signal("irq")}}
    for name in ("litex", "litex.soc", "litex.soc.integration"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, values in contents.items():
        monkeypatch.setitem(sys.modules, name, module := ModuleType(name))
        vars(module).update(values)
    found: dict[str, Any] = {"__file__": "/designs/one/module.py", "__name__": "module"}
    exec(compile(text, "module.py", "exec"), found)
    files: list[str] = []
    return found["Accelerator"](SimpleNamespace(add_source=files.append)), files


@pytest.mark.parametrize("name", ["fpga", "dataflow", "vector", "reset low"])
def test_pins_of_systems(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    top, sources = emitted(name if name in SYSTEMS else "dataflow")
    if name not in SYSTEMS:
        system = adapt_system(top, sources, SystemPorts(reset="low"))
        top, sources = system.module, system.sources
    ports = {port.name: port for port in module_ports(sources, top)}
    (path, text), = litex_documents(top, sources, list(ports.values())).items()
    made, files = accelerator(text, monkeypatch)
    (module, pins), = made.specials
    assert (path, module) == (f"{top}_litex.py", top)
    assert files == [f"/designs/one/rtl/{source}" for source in sorted(sources)]
    assert pins.keys() >= {f"{port.direction[0]}_{name}" for name, port in ports.items() if port.direction == "in"}
    assert pins.keys() >= {f"o_{name}" for name in ports if name.startswith(("m_axi_", "s_axil_"))
                           and ports[name].direction == "out"}
    for pin, signal in pins.items():
        direction, _, port = pin.partition("_")
        assert direction == ports[port].direction[0]
        if port.startswith(("m_axi_", "s_axil_")):
            assert signal.replace(".", "") == port.replace("m_axi_", "axi").replace("s_axil_", "lite")
    assert made.memory.widths == {"data_width": ports["m_axi_wdata"].width, "address_width": 32,
                                  "id_width": ports["m_axi_arid"].width}
    assert made.comb == ["trigger = irq"] and pins["o_irq"] == "irq"
    assert pins["i_rst_n" if name == "reset low" else "i_rst"] == ("~" if name == "reset low" else "") + "sys.rst"


@pytest.mark.parametrize("changed", [{"control": "wishbone"}, {"memory": "wishbone"}, {"address_bits": 64}])
def test_systems_without_a_module(changed: dict[str, Any]) -> None:
    top, sources = emitted("dataflow")
    system = adapt_system(top, sources, SystemPorts(**changed))
    assert not litex_documents(system.module, system.sources, module_ports(system.sources, system.module))
