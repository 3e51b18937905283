"""Designs between AXI4-Streams without a simulation: orders, refusals with rewrites, manifest, descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import compiler
from compiler.bind.stream_arrays import find_loops
from compiler.cli.main import main
from compiler.frontend.c_scop import parse_scop
from hw.axi_stream.spec import StreamError, StreamPort
from hw.axi_stream.system import StreamSystemSpec
from hw.dataflow.spec import Word
from hw.designs.directory import DesignError
from hw.designs.registry import load_design
from hw.drivers.ipxact import module_ports

SPIRIT = "{http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009}"
SUMS = """void sums(const unsigned char x[5][6], short y[3][6]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++)
            y[i][j] = x[i][j] + x[i + 1][j] + x[i + 2][j];
}
"""
TWICE = """void twice(const short x[6], short y[4][6]) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++)
            y[i][j] = x[j] * i;
}
"""


@pytest.mark.parametrize("numbers, loops", [
    ([3], ()), ([0, 1, 2, 3], ((4, 1),)), ([0, 4, 8, 1, 5, 9], ((3, 4), (2, 1))), ([5, 4, 3], ((3, -1),)),
    ([0, 1, 3], None), ([0, 1, 5, 7], None)])
def test_loops_of_an_order(numbers: list[int], loops: tuple[tuple[int, int], ...] | None) -> None:
    assert find_loops(np.array(numbers)) == loops


def test_arrays_that_come_again_are_refused() -> None:
    """And the rewrite is taken."""
    program = parse_scop(TWICE)
    with pytest.raises(StreamError) as error:
        compiler.compile(program, target="fpga").with_streams()
    assert str(error.value) == (
        "array 'x' is not read in order: element [0] goes through its stream 4 times; set the option tile_depth to 0, "
        "so that no tile is fetched anew, or take --target dataflow with --option reorder=chip")
    for options in ({"target": "fpga", "tile_depth": 0}, {"target": "dataflow", "reorder": "chip"}):
        (stream,) = compiler.compile(program, **options).with_streams().inputs
        assert stream.numbers.tolist() == list(range(6))


@pytest.mark.parametrize("target", ["cgra", "systolic", "vector"])
def test_targets_without_streams(target: str) -> None:
    design = compiler.compile(parse_scop(SUMS), target=target)
    with pytest.raises(StreamError) as error:
        design.with_streams()
    assert str(error.value) == (f"target {target} moves tiles of arrays between memory and its buffers, not words in "
                                "the order of a stream: take --target fpga or --target dataflow")


def test_streams_that_cannot_be() -> None:
    word = Word(8, False)
    with pytest.raises(StreamError, match="stream 'a b' is not a name that Verilog takes"):
        StreamPort("a b", word, 3)
    with pytest.raises(StreamError, match="stream x has no words"):
        StreamPort("x", word, 0)
    with pytest.raises(StreamError, match=r"stream x has beats of 24 bits and elements of 8: a beat is a power of two"):
        StreamPort("x", word, 3, 3)
    design = compiler.compile(parse_scop(SUMS), target="fpga")
    with pytest.raises(StreamError, match="beats of a stream have 8 to 1024 bits, a power of two, not 12"):
        assert design.with_streams(12).inputs
    x, y = StreamPort("x", word, 30), StreamPort("y", word, 18)
    with pytest.raises(StreamError, match="the core has other outputs than its system"):
        StreamSystemSpec(design.system.pipeline, (x,), (y,))
    with pytest.raises(StreamError, match="there are two streams x"):
        StreamSystemSpec(design.system.pipeline, (x,), (x,))


def test_design_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command line: manifest, words, and what Vivado takes the module by."""
    (tmp_path / "sums.c").write_text(SUMS)
    folder = tmp_path / "design"
    status = main([str(tmp_path / "sums.c"), "--target", "fpga", "--ports", "stream=32", "--simulator", "none",
                   "--random", "1", "-o", str(folder)])
    printed = " ".join(capsys.readouterr().out.split())
    assert status == 0 and "streams: s_axis_x (30 words in 8 beats), m_axis_y (18 words in 9 beats)" in printed
    x, y = json.loads((folder / "manifest.json").read_text())["metadata"]["streams"]
    assert (x["port"], x["words"], x["element_bits"], x["tdata_bits"], x["tkeep"]) == ("s_axis_x", 30, 8, 32, True)
    assert (y["port"], y["words"], y["element_bits"], y["tdata_bits"], y["tkeep"]) == ("m_axis_y", 18, 16, 32, False)
    assert x["order"] == {"first": 0, "loops": [{"count": 30, "stride": 1}]}
    assert len((folder / "streams" / "x.hex").read_text().split()) == 30
    assert "module pipeline" in (folder / "rtl" / "pipeline.v").read_text()
    source = {"stream_system.v": (folder / "rtl" / "stream_system.v").read_text()}
    names = {port.name: port.width for port in module_ports(source, "stream_system")}
    assert (names["s_axis_x_tdata"], names["s_axis_x_tkeep"], names["m_axis_y_tlast"]) == (32, 4, 1)
    component = ElementTree.fromstring((folder / "component.xml").read_text())
    maps = component.findall(f"{SPIRIT}busInterfaces/{SPIRIT}busInterface/{SPIRIT}portMaps/{SPIRIT}portMap")
    streams = {(name.rpartition("_")[2].upper(), name) for name in names if "_axis_" in name}
    assert {(m[0][0].text, m[1][0].text) for m in maps} == streams | {("CLK", "clk"), ("RST", "rst")}
    with pytest.raises(DesignError, match="design sums has AXI4-Streams and no memory to run from: emit it without"):
        load_design(str(folder), None, None)


@pytest.mark.parametrize("arguments, message", [
    (["--ports", "streams"], "--ports streams: write stream, or stream=BITS for beats of so many"),
    (["--ports", "serial"], "ports 'serial': write wishbone, or NAME=VALUE with a name of control, memory, reset, "
                            "address_bits"),
    (["--ports", "reset=up"], "reset of a system's ports is 'up', must be one of high, low"),
    (["--ports", "stream", "--port", "x"],
     "--ports changes what a board is made of, and --port runs one as it is: leave out one of them")])
def test_command_lines_that_are_wrong(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sobel", "--target", "fpga", "--simulator", "none", *arguments]) == 1
    assert message in " ".join(capsys.readouterr().err.split())
