"""What a job checks and prepares before any simulator is involved."""

import re
from dataclasses import replace

import pytest

from hw.sim import simulate
from hw.sim.build import BuildError, BuildRequest, build, cache_folder
from hw.sim.simulate import Job, JobError, StallProfile, run_job
from hw.sim.testbench import make_testbench

JOB = Job(sources={"top.v": "module top; endmodule"}, top="top", memory_bytes=5000, seed=1)
CONTROL_PORTS = """
  input [7:0] s_axil_awaddr, input s_axil_awvalid, output s_axil_awready,
  input [31:0] s_axil_wdata, input s_axil_wvalid, output s_axil_wready, output s_axil_bvalid, input s_axil_bready,
  input [7:0] s_axil_araddr, input s_axil_arvalid, output s_axil_arready,
  output [31:0] s_axil_rdata, output s_axil_rvalid, input s_axil_rready
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wait": "done"}, "cannot wait for 'done', only for 'irq'"),
        ({"waves": True}, "waves need a folder to stay in"),
        ({"latency": -1}, "memory latency is -1 cycles, not in 0 to 65535"),
        ({"bandwidth": "half"}, "memory bandwidth is 'half', neither 'separate' nor 'shared'"),
        ({"memory_bytes": 0}, "memory size is 0 bytes"),
        ({"loads": [(8190, b"abc")]}, "load of 3 bytes at 0x1ffe is outside the memory of 8192 bytes"),
        ({"dumps": [(-8, 8)]}, "dump of 8 bytes at -0x8 is outside the memory of 8192 bytes"),
        ({"reads": [6]}, "register address 0x6 is not a multiple of 4"),
        ({"status": {"state": 2}}, "register address 0x2 is not a multiple of 4"),
        ({"stall": StallProfile(ar=1.0)}, "stall probability of channel ar is 1.0, not in [0, 1)"),
        ({"stall": StallProfile(longest=3)}, "longest stall is 3, not a power of two from 1 to 128"),
        ({"top": "missing"}, "no module 'missing' in the sources (top.v)"),
        ({}, "module 'top' has no port clk, rst, irq, s_axil_awvalid, s_axil_awaddr, s_axil_wvalid, s_axil_wdata, "
             "s_axil_bready, s_axil_arvalid, s_axil_araddr, s_axil_rready, s_axil_awready, s_axil_wready, "
             "s_axil_bvalid, s_axil_arready, s_axil_rvalid, s_axil_rdata"),
    ],
)  # fmt: skip
def test_bad_jobs(change, message):
    with pytest.raises(JobError, match=f"^{re.escape(message)}$"):
        run_job(replace(JOB, **change))


def design(extra: str) -> dict[str, str]:
    return {"top.v": f"module top(input clk, input rst, output irq, {CONTROL_PORTS} {extra}); endmodule"}


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (", output [47:0] m_axi_wdata", "port m_axi_wdata of 'top' is 48 bits wide, not a power of two in 16 to 1024"),
        (", input [7:0] m_axi_rdata", "port m_axi_rdata of 'top' is 8 bits wide, not a power of two in 16 to 1024"),
        (", output [31:0] m_axi_wdata, input [63:0] m_axi_rdata",
         "ports m_axi_wdata and m_axi_rdata of 'top' differ: 32 and 64 bits wide"),
        (", output [31:0] m_axi_wdata, output [7:0] m_axi_wstrb", "port m_axi_wstrb of 'top' is 8 bits wide, not 4"),
        (", input start", "nothing drives port start of 'top'"),
    ],
)
def test_bad_ports(extra, message):
    with pytest.raises(JobError, match=f"^{re.escape(message)}$"):
        make_testbench(design(extra), "top", 512)


def test_testbench_follows_the_ports_of_the_design():
    extra = ", output [39:0] m_axi_awaddr, output [3:0] m_axi_arid, input [2:0] s_axil_awprot, output debug"
    text = make_testbench(design(extra), "top", 512).sources["sluice_tb.v"]
    assert ".WORDS(512), .ADDRESS_BITS(40), .ID_BITS(4), .DATA_BITS(64), .CONTROL_ADDRESS_BITS(8)" in text
    assert ".m_axi_awaddr(m_awaddr)" in text
    assert ".s_axil_awprot(3'd0)" in text
    assert ".debug()" in text
    assert "assign m_wlast = 1'b1;" in text
    assert "assign m_awaddr" not in text


@pytest.mark.parametrize(("bits", "size"), [(32, 2), (64, 3), (256, 5)])
def test_memory_is_as_wide_as_the_bus_of_the_design(bits, size):
    for extra in (f", input [{bits - 1}:0] m_axi_rdata", f", output [{bits - 1}:0] m_axi_wdata"):
        text = make_testbench(design(extra), "top", 512).sources["sluice_tb.v"]
        assert f".DATA_BITS({bits})" in text
        assert f"wire [{bits // 8}-1:0] m_wstrb;" in text
        assert f"localparam [2:0] BEAT_SIZE = {size};" in text
        assert "assign m_awsize = BEAT_SIZE;" in text


def test_memory_image_merges_loads_of_any_alignment():
    image = simulate._memory_image([(3, b"\x01\x02"), (6, bytes(range(0xA0, 0xA4))), (64, b"\xff"), (4, b"\x77")])
    assert image.split() == ["@0", "a1a0007701000000", "000000000000a3a2"[:16], "@8", "00000000000000ff"]


def test_stalls_become_plusargs():
    settings = StallProfile(ar=0.5, longest=16).plusargs()
    assert settings == ["stall_aw=0", "stall_w=0", "stall_b=0", "stall_ar=128", "stall_r=0", "stall_length=15"]


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("SLUICE_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "sluice"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "sluice"


def test_builds_name_what_is_wrong_with_the_request():
    with pytest.raises(BuildError, match=r"^no module 'top' in the sources \(none\)$"):
        build(BuildRequest({}, "top"))
    with pytest.raises(BuildError, match=r"^source file name 'a/top.v' must not contain a folder$"):
        build(BuildRequest({"a/top.v": "module top; endmodule"}, "top"))
