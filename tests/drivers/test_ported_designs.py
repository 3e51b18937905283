"""Design directories whose systems have other ports: what tools read of them, drivers for 64-bit addresses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

import compiler
from compiler.frontend.c_scop import parse_scop
from hw.designs.registry import load_design
from hw.ports.adapt import adapt_system, adapted_registers
from hw.ports.spec import PortError, SystemPorts
from tests.drivers.test_core_descriptions import SPIRIT, read_back

PORTS = {"control": "wishbone", "memory": "wishbone", "reset": "low", "address_bits": 64}


def test_directory(tmp_path: Path) -> None:
    """Checksums hold; registers, with those of the base address, are read back; buses have their types."""
    program = parse_scop("void twice(const short x[8], short y[8]) { for (int i = 0; i < 8; i++) y[i] = 2 * x[i]; }")
    folder = compiler.compile(program, target="fpga").with_ports(**PORTS).emit(tmp_path / "design")
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
    """Any address of 64 bits that memory fits behind; the program says which registers were written."""
    program = parse_scop("void twice(const short x[8], short y[8]) { for (int i = 0; i < 8; i++) y[i] = 2 * x[i]; }")
    ported = compiler.compile(program, target="fpga").with_ports(address_bits=64)
    for name, text in ported.drivers.items():
        (tmp_path / Path(name).name).write_text(text)
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include <stdint.h>
static void put(unsigned offset, uint32_t value) { printf("%x %x\\n", offset, value); }
#define SLUICE_READ32(registers, offset) ((offset) == 0 ? SCOP_ID : 0u)
#define SLUICE_WRITE32(registers, offset, value) put(offset, value)
#include "header.h"
#include "scop.c"
int main(void) {
  static uint8_t memory[SCOP_MEMORY_BYTES];
  uint64_t places[] = {0xABCDE12345678000u, 0x1234u};
  for (int k = 0; k < 2; k++) {
    struct scop_device device = {.memory = memory, .bus_address = places[k]};
    int code = scop_load(&device);
    printf("%d\\n", code);
    if (!code) scop_start(&device);
  }
  return 0;
}
""")
    registers = adapted_registers(compiler.compile(program, target="fpga").executable.registers, SystemPorts(**PORTS))
    (tmp_path / "header.h").write_text(f"#define SCOP_ID {registers.register('ID').reset}u\n")
    subprocess.run(["gcc", "-Wall", "-Werror", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    lines = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.splitlines()
    low, high = registers.address("MEMORY_BASE_LOW"), registers.address("MEMORY_BASE_HIGH")
    assert lines[:3] == ["0", f"{low:x} 45678000", f"{high:x} abcde123"]
    assert f"{registers.address('IN0_ADDRESS'):x} 0" in lines
    assert lines[-1] == "-3"


def test_ports_that_cannot_be() -> None:
    for text, message in (("bus=1", "ports 'bus=1': write wishbone, or NAME=VALUE with a name of control, memory,"),
                          ("control=pci", "control of a system's ports is 'pci', must be one of axi, wishbone"),
                          ("address_bits=40", "address_bits of a system's ports is 40, must be one of 32, 64")):
        with pytest.raises(PortError, match=message):
            SystemPorts.parse(text)
    with pytest.raises(PortError, match="module top has no port s_axil_awaddr, so no other ports can go around it"):
        adapt_system("top", {"top.v": "module top(clk);\n  input clk;\nendmodule\n"}, SystemPorts())
