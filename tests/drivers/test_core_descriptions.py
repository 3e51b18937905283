"""Registers as SystemRDL and IP-XACT, and cores for FuseSoC and Vivado: other tools read back what was described."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hw.dma.registers import Field, Register, RegisterMap, Window
from hw.drivers.fusesoc import fusesoc_core
from hw.drivers.ipxact import Port, ipxact_component, module_ports
from hw.drivers.system_rdl import system_rdl
from hw.errors import SluiceError
from hw.fabric.control_registers import control_registers
from hw.fabric.spec import FabricSpec
from hw.pipeline.registers import pipeline_registers
from hw.soc.registers import host_registers
from hw.vector_lanes.spec import VectorSpec

SPIRIT = "{http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009}"
TOP = """module top(clk, rst, m_axi_araddr, m_axi_rdata, s_axil_awaddr, irq);
  input clk;
  wire clk;
  input rst;
  output [31:0] m_axi_araddr;
  input [63:0] m_axi_rdata;
  input [9:0] s_axil_awaddr;
  output irq;
endmodule
"""
MAPS = {"pipeline": pipeline_registers(["a", "b"], ["y"], traps=True), "array": control_registers(FabricSpec(2, 2)),
        "processor": host_registers(VectorSpec())}


def read_back(path: Path, registers: RegisterMap) -> None:
    """`path`, read by the compiler of SystemRDL, is `registers`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from peakrdl_ipxact.importer import IPXACTImporter
        from systemrdl import RDLCompiler
        from systemrdl.node import RegNode

        compiler = RDLCompiler()
        compiler.compile_file(str(path)) if path.suffix == ".rdl" else IPXACTImporter(compiler).import_file(str(path))
        top = compiler.elaborate().top
    nodes = {node.absolute_address: node for node in top.descendants(unroll=True) if isinstance(node, RegNode)}
    assert set(nodes) == set(registers.by_offset)
    for offset, register in registers.by_offset.items():
        fields = {(f.inst_name, f.low, f.width): f for f in nodes[offset].fields()}
        assert set(fields) == {(f.name, f.low, f.width) for f in register.parts}
        for field in register.parts:
            node = fields[field.name, field.low, field.width]
            assert (node.is_sw_readable, node.is_sw_writable) == (register.access != "pulse",
                                                                  register.access in ("write", "pulse"))
            assert (node.get_property("reset") or 0) == field.extract(register.reset)
            codes = node.get_property("encode")
            assert {c.name: c.value for c in codes or ()} == {c.name: c.value for c in field.values or ()}
        assert register.description in str(nodes[offset].get_property("desc"))


@pytest.mark.parametrize("name", MAPS)
def test_registers_are_read_back(name: str, tmp_path: Path) -> None:
    registers = MAPS[name]
    (tmp_path / "registers.rdl").write_text(system_rdl(registers))
    read_back(tmp_path / "registers.rdl", registers)
    (tmp_path / "component.xml").write_text(ipxact_component("top", {"top.v": TOP}, registers))
    read_back(tmp_path / "component.xml", registers)


def test_names_and_texts_of_all_kinds(tmp_path: Path) -> None:
    """Keywords of SystemRDL, quotes, and angle brackets."""
    registers = RegisterMap("reg", (
        Register("field", 0, "write", 'says "a<b" & \\c', (Field("name", 0, 3, "x"), Field("signal", 5, 2, "y")), 2),),
        (Window("addrmap", 0x40, 0x20, 2, "twice", (Register("alias", 4, "read", "z"),)),))
    for name, text in (("r.rdl", system_rdl(registers)), ("c.xml", ipxact_component("top", {"top.v": TOP}, registers))):
        (tmp_path / name).write_text(text)
        read_back(tmp_path / name, registers)


def test_ports_and_buses_of_a_component() -> None:
    component = ElementTree.fromstring(ipxact_component("top", {"top.v": TOP}, MAPS["pipeline"]))
    assert module_ports({"top.v": TOP}, "top") == [
        Port("clk", "in", 1), Port("rst", "in", 1), Port("m_axi_araddr", "out", 32), Port("m_axi_rdata", "in", 64),
        Port("s_axil_awaddr", "in", 10), Port("irq", "out", 1)]
    assert [name.text for name in component.findall(f"{SPIRIT}busInterfaces/{SPIRIT}busInterface/{SPIRIT}name")] == [
        "m_axi", "s_axil", "clk", "rst", "irq"]
    maps = component.findall(f"{SPIRIT}busInterfaces/{SPIRIT}busInterface/{SPIRIT}portMaps/{SPIRIT}portMap")
    assert {(m[0][0].text, m[1][0].text) for m in maps} == {
        ("ARADDR", "m_axi_araddr"), ("RDATA", "m_axi_rdata"), ("AWADDR", "s_axil_awaddr"), ("CLK", "clk"),
        ("RST", "rst"), ("INTERRUPT", "irq")}
    with pytest.raises(SluiceError, match=r"there is no module other in top\.v"):
        module_ports({"top.v": TOP}, "other")


def test_fusesoc_reads_the_core(tmp_path: Path) -> None:
    """And sets up its lint target."""
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl" / "top.v").write_text(TOP)
    (tmp_path / "top.core").write_text(fusesoc_core("top", {"top.v": TOP}, about="a design"))
    command = [sys.executable, "-W", "ignore", "-m", "fusesoc.main", "--cores-root", ".", "run", "--setup", "--target",
               "lint", "sluice:designs:top"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (listing,) = tmp_path.glob("build/*/lint*/*.vc")
    assert "top.v" in listing.read_text() and "--top-module top" in listing.read_text()
