"""A design as an IP-XACT component (IEEE 1685-2009, which Vivado reads): ports, buses, registers, files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

from hw.dma.registers import Field, Register, RegisterMap
from hw.errors import SluiceError

__all__ = ["Port", "ipxact_component", "module_ports", "ports_summary", "stream_component"]

_SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
_VENDOR, _LIBRARY, _VERSION = "sluice", "designs", "1.0"
_ACCESS = {"constant": "read-only", "read": "read-only", "write": "read-write", "pulse": "write-only"}
_PORT = re.compile(r"^\s*(input|output)\s+(?:wire\s+|reg\s+)?(?:\[(\d+):0\]\s*)?(\w+)\s*;", re.MULTILINE)
_BUSES = (("m_axi", "aximm", "master"), ("s_axil", "aximm", "slave"), ("m_wb", "wishbone", "master"),
          ("s_wb", "wishbone", "slave"))
_WISHBONE = {"vendor": "opencores.org", "library": "bus", "version": "B4"}
_SUMMARIES = {"m_axi": "AXI4 manager of main memory", "m_wb": "Wishbone manager of main memory",
              "s_axil": "AXI4-Lite control registers", "s_wb": "Wishbone control registers"}


@dataclass(frozen=True)
class Port:
    """A port of a module: `direction` is in or out; `width` in bits."""

    name: str
    direction: str
    width: int


def module_ports(sources: Mapping[str, str], module: str) -> list[Port]:
    """Ports of `module` in Verilog as the project writes it. Raises `SluiceError` if it is in none of `sources`."""
    for text in sources.values():
        found = re.search(rf"^module {re.escape(module)}\b.*?^endmodule", text, re.MULTILINE | re.DOTALL)
        if found:
            return [Port(name, direction.removesuffix("put"), int(high or 0) + 1)
                    for direction, high, name in _PORT.findall(found[0])]
    raise SluiceError(f"there is no module {module} in {', '.join(sorted(sources))}")


def ipxact_component(module: str, sources: Mapping[str, str], registers: RegisterMap, folder: str = "rtl") -> str:
    """``component.xml``; the files of `sources` are in `folder` beside it."""
    ports = module_ports(sources, module)
    top = _component(module)
    _buses(SubElement(top, _tag("busInterfaces")), ports)
    _spaces(SubElement(top, _tag("addressSpaces")), ports)
    control = "s_wb" if _has_bus(ports, "s_wb") else "s_axil"
    _memory_map(SubElement(top, _tag("memoryMaps")), registers, control)
    return _printed(top, module, ports, sources, folder, f"{module}: {ports_summary(ports)}")


def ports_summary(ports: Sequence[Port]) -> str:
    """What a system has, in a line."""
    return ", ".join([*(text for prefix, text in _SUMMARIES.items() if _has_bus(ports, prefix)), "interrupt"])


def _has_bus(ports: Sequence[Port], prefix: str) -> bool:
    return any(port.name.startswith(f"{prefix}_") for port in ports)


def stream_component(module: str, sources: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str],
                     folder: str = "rtl", *, about: str) -> str:
    """``component.xml`` of a module whose ports are the AXI4-Streams `inputs` and `outputs`, by their prefixes."""
    ports = module_ports(sources, module)
    top = _component(module)
    parent = SubElement(top, _tag("busInterfaces"))
    for role, names in (("slave", inputs), ("master", outputs)):
        for name in names:
            interface = _bus(parent, name, "interface", "axis")
            SubElement(interface, _tag(role))
            _map_prefix(interface, name, ports)
    _clock_and_reset(parent, (*inputs, *outputs), ports)
    return _printed(top, module, ports, sources, folder, about)


def _component(module: str) -> Element:
    register_namespace("spirit", _SPIRIT)
    top = Element(_tag("component"))
    for key, value in (("vendor", _VENDOR), ("library", _LIBRARY), ("name", module), ("version", _VERSION)):
        _text(top, key, value)
    return top


def _printed(top: Element, module: str, ports: Sequence[Port], sources: Iterable[str], folder: str, about: str) -> str:
    """With ports, files and description, as text."""
    _model(SubElement(top, _tag("model")), module, ports)
    _files(SubElement(top, _tag("fileSets")), sorted(sources), folder)
    _text(top, "description", about)
    indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(top, encoding="unicode") + "\n"


def _tag(name: str) -> str:
    return f"{{{_SPIRIT}}}{name}"


def _text(parent: Element, name: str, value: object, **attributes: str) -> None:
    SubElement(parent, _tag(name), {_tag(key): text for key, text in attributes.items()}).text = str(value)


# Buses.


def _buses(parent: Element, ports: Sequence[Port]) -> None:
    here = [bus for bus in _BUSES if _has_bus(ports, bus[0])]
    for prefix, kind, role in here:
        interface = _bus(parent, prefix, "interface", kind)
        mode = SubElement(interface, _tag(role))
        if role == "slave":
            SubElement(mode, _tag("memoryMapRef"), {_tag("memoryMapRef"): prefix})
        else:
            SubElement(mode, _tag("addressSpaceRef"), {_tag("addressSpaceRef"): prefix})
        _map_prefix(interface, prefix, ports)
    _clock_and_reset(parent, [prefix for prefix, *_ in here], ports)
    _parameters(_signal_bus(parent, "irq", "interrupt", "INTERRUPT", "master"), {"SENSITIVITY": "LEVEL_HIGH"})


def _map_prefix(interface: Element, prefix: str, ports: Sequence[Port]) -> None:
    """The ports that are called after the interface."""
    names = [port.name for port in ports]
    known = {f"{prefix}_{name}" for name in ("dat_r", "dat_w")}  # the others have no underscore in their own name
    _port_maps(interface, [(name.removeprefix(f"{prefix}_").upper(), name) for name in names
                           if name.rpartition("_")[0] == prefix or name in known])


def _clock_and_reset(parent: Element, buses: Iterable[str], ports: Sequence[Port]) -> None:
    low = any(port.name == "rst_n" for port in ports)
    reset = "rst_n" if low else "rst"
    clock = _signal_bus(parent, "clk", "clock", "CLK", "slave")
    _parameters(clock, {"ASSOCIATED_BUSIF": ":".join(buses), "ASSOCIATED_RESET": reset})
    _parameters(_signal_bus(parent, reset, "reset", "RST", "slave"), {"POLARITY": f"ACTIVE_{'LOW' if low else 'HIGH'}"})


def _bus(parent: Element, name: str, library: str, kind: str) -> Element:
    interface = SubElement(parent, _tag("busInterface"))
    _text(interface, "name", name)
    for tag, suffix in (("busType", ""), ("abstractionType", "_rtl")):
        reference = {"vendor": "xilinx.com", "library": library, "name": f"{kind}{suffix}", "version": "1.0"}
        reference |= _WISHBONE if kind == "wishbone" else {}
        SubElement(interface, _tag(tag), {_tag(key): value for key, value in reference.items()})
    return interface


def _signal_bus(parent: Element, name: str, kind: str, logical: str, role: str) -> Element:
    interface = _bus(parent, name, "signal", kind)
    SubElement(interface, _tag(role))
    _port_maps(interface, [(logical, name)])
    return interface


def _port_maps(interface: Element, pairs: Iterable[tuple[str, str]]) -> None:
    maps = SubElement(interface, _tag("portMaps"))
    for logical, physical in pairs:
        entry = SubElement(maps, _tag("portMap"))
        _text(SubElement(entry, _tag("logicalPort")), "name", logical)
        _text(SubElement(entry, _tag("physicalPort")), "name", physical)


def _parameters(interface: Element, values: Mapping[str, str]) -> None:
    group = SubElement(interface, _tag("parameters"))
    for name, value in values.items():
        parameter = SubElement(group, _tag("parameter"))
        _text(parameter, "name", name)
        _text(parameter, "value", value, id=f"{interface[0].text}.{name}".upper())


def _spaces(parent: Element, ports: Sequence[Port]) -> None:
    widths = {port.name: port.width for port in ports}
    space = SubElement(parent, _tag("addressSpace"))
    wishbone = "m_wb_adr" in widths
    data = widths["m_wb_dat_r" if wishbone else "m_axi_rdata"]
    address = widths["m_wb_adr"] + (data // 8).bit_length() - 1 if wishbone else widths["m_axi_araddr"]
    _text(space, "name", "m_wb" if wishbone else "m_axi")
    _text(space, "range", hex(1 << address))
    _text(space, "width", data)


# Registers.


def _memory_map(parent: Element, registers: RegisterMap, name: str) -> None:
    memory_map = SubElement(parent, _tag("memoryMap"))
    _text(memory_map, "name", name)
    block = SubElement(memory_map, _tag("addressBlock"))
    _text(block, "name", registers.name)
    _text(block, "baseAddress", "0x0")
    _text(block, "range", hex(1 << registers.address_width))
    _text(block, "width", 32)
    _text(block, "usage", "register")
    for register in registers.registers:
        _register(block, register)
    for window in registers.windows:
        file = SubElement(block, _tag("registerFile"))
        _text(file, "name", window.name)
        _text(file, "description", window.description)
        _text(file, "dim", window.count)
        _text(file, "addressOffset", hex(window.offset))
        _text(file, "range", hex(window.stride))
        for register in window.registers:
            _register(file, register)


def _register(parent: Element, register: Register) -> None:
    element = SubElement(parent, _tag("register"))
    _text(element, "name", register.name)
    _text(element, "description", register.description)
    _text(element, "addressOffset", hex(register.offset))
    _text(element, "size", 32)
    _text(element, "access", _ACCESS[register.access])
    _text(SubElement(element, _tag("reset")), "value", hex(register.reset))
    for field in register.parts:
        _field(element, register, field)


def _field(parent: Element, register: Register, field: Field) -> None:
    element = SubElement(parent, _tag("field"))
    _text(element, "name", field.name)
    _text(element, "description", field.description)
    _text(element, "bitOffset", field.low)
    _text(element, "bitWidth", field.width)
    _text(element, "access", _ACCESS[register.access])
    if field.values:
        group = SubElement(element, _tag("enumeratedValues"))
        for code in field.values:
            value = SubElement(group, _tag("enumeratedValue"))
            _text(value, "name", code.name)
            _text(value, "value", code.value)


# Ports and files.


def _model(parent: Element, module: str, ports: Sequence[Port]) -> None:
    views = SubElement(parent, _tag("views"))
    for name, environment in (("xilinx_anylanguagesynthesis", "synthesis"), ("xilinx_anylanguagebehavioralsimulation",
                                                                            "simulation")):
        view = SubElement(views, _tag("view"))
        _text(view, "name", name)
        _text(view, "envIdentifier", f":vivado.xilinx.com:{environment}")
        _text(view, "language", "Verilog")
        _text(view, "modelName", module)
        _text(SubElement(view, _tag("fileSetRef")), "localName", "verilog")
    group = SubElement(parent, _tag("ports"))
    for port in ports:
        element = SubElement(group, _tag("port"))
        _text(element, "name", port.name)
        wire = SubElement(element, _tag("wire"))
        _text(wire, "direction", port.direction)
        if port.width > 1:
            vector = SubElement(wire, _tag("vector"))
            _text(vector, "left", port.width - 1)
            _text(vector, "right", 0)


def _files(parent: Element, names: Sequence[str], folder: str) -> None:
    files = SubElement(parent, _tag("fileSet"))
    _text(files, "name", "verilog")
    for name in names:
        file = SubElement(files, _tag("file"))
        _text(file, "name", f"{folder}/{name}")
        _text(file, "fileType", "verilogSource")
