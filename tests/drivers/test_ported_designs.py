"""Design directories whose systems have other ports: what tools read of them, drivers for 64-bit addresses."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from driver_bench import DriverBench

import compiler
from compiler.frontend.c_scop import parse_scop
from hw.designs.registry import load_design
from hw.ports.adapt import adapt_system, adapted_registers
from hw.ports.spec import PortError, SystemPorts
from tests.drivers.test_core_descriptions import SPIRIT, read_back
from tests.fuzz.driver_arguments import with_64_bits

PORTS = {"control": "wishbone", "memory": "wishbone", "reset": "low", "address_bits": 64}
PROGRAM = parse_scop("void twice(const short x[8], short y[8]) { for (int i = 0; i < 8; i++) y[i] = 2 * x[i]; }")


def test_directory(tmp_path: Path) -> None:
    """Checksums hold; registers, with those of the base address, are read back; buses have their types."""
    folder = compiler.compile(PROGRAM, target="fpga").with_ports(**PORTS).emit(tmp_path / "design")
    design = load_design(str(folder), None, None)
    registers = adapted_registers(design.registers, SystemPorts(**PORTS))
    read_back(folder / "component.xml", registers)
    read_back(folder / "rtl" / "registers.rdl", registers)
    component = ElementTree.fromstring((folder / "component.xml").read_text())
    buses = component.findall(f"{SPIRIT}busInterfaces/{SPIRIT}busInterface")
    assert [bus[0].text for bus in buses] == ["m_wb", "s_wb", "clk", "rst_n", "irq"]
    assert buses[0][1].attrib[f"{SPIRIT}name"] == "wishbone"
    maps = {(m[0][0].text, m[1][0].text) for m in component.findall(f".//{SPIRIT}portMap")}
    assert {("DAT_R", "m_wb_dat_r"), ("ADR", "s_wb_adr"), ("STALL", "s_wb_stall"), ("RST", "rst_n")} <= maps
    assert "ACTIVE_LOW" in (folder / "component.xml").read_text()
    assert json.loads((folder / "manifest.json").read_text())["metadata"]["ports"] == {
        "module": "pipeline_system_ports", "control": "wishbone", "memory": "wishbone", "reset": "rst_n",
        "address_bits": 64}
    assert "rtl/pipeline_system_ports.v" in (folder / "pipeline_system_ports.core").read_text()
    assert not (folder / "pipeline_system.core").exists() and not list(folder.glob("*_litex.py"))


def test_driver_writes_the_base_address(tmp_path: Path) -> None:
    """Any address of 64 bits that memory fits behind, before it starts a run."""
    bench = DriverBench(with_64_bits(compiler.compile(PROGRAM, target="fpga")), tmp_path, dead=True)
    registers, start = bench.interface.registers, bench.function("start")
    bench.device.bus_address = 0xABCDE12345678000
    assert bench.load() == 0 and not bench.writes
    start(ctypes.byref(bench.device))
    assert bench.writes[:2] == [(registers.address("MEMORY_BASE_LOW"), 0x45678000),
                                (registers.address("MEMORY_BASE_HIGH"), 0xABCDE123)]
    assert (registers.address("IN0_ADDRESS"), 0) in bench.writes
    bench.device.bus_address = 0x1234
    assert bench.load() == -3


def test_ports_that_cannot_be() -> None:
    for text, message in (("bus=1", "ports 'bus=1': write wishbone, or NAME=VALUE with a name of control, memory,"),
                          ("control=pci", "control of a system's ports is 'pci', must be one of axi, wishbone"),
                          ("address_bits=40", "address_bits of a system's ports is 40, must be one of 32, 64")):
        with pytest.raises(PortError, match=message):
            SystemPorts.parse(text)
    with pytest.raises(PortError, match="module top has no port s_axil_awaddr, so no other ports can go around it"):
        adapt_system("top", {"top.v": "module top(clk);\n  input clk;\nendmodule\n"}, SystemPorts())
