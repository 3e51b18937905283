"""Reading port lists."""

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal

from hw.sim.ports import Port, module_ports

ANSI = """
// module shadow(input wrong);
module first #(parameter WIDTH = 8, parameter [1:0] MODE = 2'd1) (
    input  wire clk, rst,
    input  wire [7:0] a /* a comment, with a comma */, input signed [WIDTH-1:0] b,
    (* keep *) output reg [15:0] sum = 16'd0, inout pad
);
endmodule
module second; endmodule
"""
OLD = r"""
module top(clk, data, \odd$name , q, r);
  input clk; wire clk;
  input [63:0] data;
  wire [63:0] data;
  input \odd$name ;
  output reg [3:0] q, r;
endmodule
"""


def test_ansi_style():
    assert module_ports([ANSI], "first") == (
        Port("clk", "input", 1),
        Port("rst", "input", 1),
        Port("a", "input", 8),
        Port("b", "input", None),
        Port("sum", "output", 16),
        Port("pad", "inout", 1),
    )


def test_old_style():
    assert module_ports([ANSI, OLD], "top") == (
        Port("clk", "input", 1),
        Port("data", "input", 64),
        Port("odd$name", "input", 1),
        Port("q", "output", 4),
        Port("r", "output", 4),
    )


@pytest.mark.parametrize(("name", "found"), [("second", ()), ("shadow", None), ("firs", None)])
def test_module_names_match_whole(name, found):
    assert module_ports([ANSI], name) == found


def test_what_amaranth_emits():
    m = Module()
    a, b, y = Signal(8, name="a"), Signal(name="b"), Signal(9, name="y")
    m.d.sync += y.eq(a + b)
    ports = module_ports([verilog.convert(m, "adder", ports=[a, b, y])], "adder")
    assert ports is not None
    assert set(ports) == {
        Port("clk", "input", 1),
        Port("rst", "input", 1),
        Port("a", "input", 8),
        Port("b", "input", 1),
        Port("y", "output", 9),
    }
