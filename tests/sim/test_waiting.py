"""Register WAITING in a hang: memory that takes no address, and memory that takes no data."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import compiler
from compiler.frontend.c_scop import parse_scop

SOURCE = """void scale(const int16_t a[4][4], int16_t y[4][4]) {
#pragma scop
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) y[i][j] = a[i][j] * 3 + 1;
#pragma endscop
}"""

# Four beats answer the one read of 32 bytes.
BENCH = """
module bench;
  reg clk = 0, rst = 1, start = 0, ask = 0;
  reg [2:0] beats = 0;
  integer cycle;
  wire arvalid, rready, rvalid, seen;
  assign rvalid = beats != 0;
  wire [31:0] rdata;
  {module} dut (.clk(clk), .rst(rst), .m_axi_arvalid(arvalid), .m_axi_arready({ar}), .m_axi_rvalid(rvalid),
    .m_axi_rready(rready), .m_axi_rlast(beats == 1), .m_axi_rresp(2'd0), .m_axi_rdata(64'd0), .m_axi_awready(1'b1),
    .m_axi_wready(1'b0), .m_axi_bvalid(1'b0), .m_axi_bresp(2'd0), .s_axil_arvalid(ask), .s_axil_araddr({waiting}),
    .s_axil_rready(1'b0), .s_axil_rvalid(seen), .s_axil_rdata(rdata), .s_axil_bready(1'b1),
    .s_axil_awaddr({control}), .s_axil_awvalid(start), .s_axil_wdata(32'd1), .s_axil_wstrb(4'hf),
    .s_axil_wvalid(start));
  always @(posedge clk) if (arvalid && {ar}) beats <= 4; else if (rvalid && rready) beats <= beats - 1;
  always #5 clk = ~clk;
  initial begin
    for (cycle = 0; cycle < 600; cycle = cycle + 1) begin
      @(negedge clk);
      rst = cycle < 5;
      start = cycle >= 10 && cycle < 14;
      ask = cycle >= 500 && cycle < 504;
    end
    $display("%b %h", seen, rdata);
    $finish;
  end
endmodule
"""


@pytest.mark.parametrize(("address_taken", "expected"), [("1'b0", 0x10001), ("1'b1", 0x10000)])
@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_waiting_shows_the_transfer_that_hangs(
    target: str, address_taken: str, expected: int, tmp_path: Path
) -> None:
    executable = compiler.compile(parse_scop(SOURCE), target=target).executable
    registers = executable.registers
    for name, text in executable.sources.items():
        (tmp_path / name).write_text(text)
    module = {"fpga": "pipeline_system", "dataflow": "dataflow_system"}[target]
    (tmp_path / "bench.v").write_text(BENCH.format(
        module=module, ar=address_taken, waiting=registers.address("WAITING"), control=registers.address("CONTROL")))
    command = ["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.v", *sorted(executable.sources)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    found = subprocess.run(["vvp", "bench.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert found.stdout.splitlines()[0] == f"1 {expected:08x}"
