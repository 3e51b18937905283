"""The harness of the area benchmark: nothing of the module is lost in it, and errors are one line."""

import pytest

import benchmarks.area
from benchmarks.area import SUBJECTS, Harness, Port, Subject, main
from benchmarks.intel_area import intel_counts
from hw.boards.capacity import Capacity, shortages
from hw.ecp5.pnr import PnrError
from hw.fabric.spec import FabricSpec
from hw.verilog import convert

TEXT = """\
module adder(clk, a, b, sum, carry);
  input clk;
  wire clk;
  input [3:0] a;
  input [3:0] b;
  output [3:0] sum;
  reg [3:0] sum;
  output carry;
endmodule
module other(x);
  input x;
endmodule
"""


def test_ports_of_the_right_module():
    subject = Subject("adder", {"adder.v": TEXT})
    assert subject.ports == [
        Port("clk", 1, True),
        Port("a", 4, True),
        Port("b", 4, True),
        Port("sum", 4, False),
        Port("carry", 1, False),
    ]


def test_harness_connects_every_port():
    text = convert(Harness(Subject("adder", {"adder.v": TEXT})), "harness")
    assert all(f".{name}(" in text for name in ("clk", "a", "b", "sum", "carry"))
    assert "reg [7:0] source" in text
    assert "reg [4:0] captured" in text


@pytest.mark.parametrize("name", ["pe_tile", "pe_tile_bfloat16", "mem_tile_pub", "mem_tile_dual_port"])
def test_subjects_have_ports(name):
    subject = SUBJECTS[name](FabricSpec(1, 4))
    assert subject.module in name
    assert {"i_word_n0", "o_word_s4", "i_cfg__data"} <= {port.name for port in subject.ports}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"],
         "error: there is no 'nothing'; there are pe_tile, pe_tile_bfloat16, mem_tile_pub, mem_tile_dual_port, "
         "mem_tile_buffet, pe_tile_ready_valid, array, vector_1, vector_2, vector_4\n"),
        (["--intel", "vector_1"], "error: there is no 'vector_1'; there are vector_4, vector_16\n"),
        (["--array", "x"], "error: 'x' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32\n"),
    ],
)
def test_errors(capsys, arguments, message):
    assert main(arguments) == 1
    assert capsys.readouterr().err == message


def test_intel_cells():
    cells = {"MISTRAL_ALUT2": 1, "MISTRAL_ALUT6": 20, "MISTRAL_ALUT_ARITH": 300, "MISTRAL_NOT": 5, "MISTRAL_FF": 7,
             "MISTRAL_M10K": 2, "MISTRAL_MLAB": 9, "MISTRAL_MUL18X18": 4}
    assert intel_counts(cells) == {"aluts": 321, "ff": 7, "m10k": 2, "mlab_bits": 9, "multipliers_27x27": 0,
                                   "multipliers_18x18": 4, "multipliers_9x9": 0}


def test_shortages():
    cells = {"LUT4": 90, "CCU2C": 6, "TRELLIS_FF": 101, "DP16KD": 3, "MULT18X18D": 2, "PFUMX": 1000}
    assert shortages(cells, Capacity(101, 3, 1)) == ["102 LUTs of 101", "2 multipliers of 1"]
    assert shortages(cells, Capacity(102, 3, 2)) == []


def test_what_cannot_fit_is_not_placed(monkeypatch):
    """Rather than after an hour of placing."""
    counter = """\
module counter(clk, step, q);
  input clk;
  input [3:0] step;
  output [7:0] q;
  reg [7:0] q;
  always @(posedge clk) q <= q + step;
endmodule
"""
    monkeypatch.setattr("hw.ecp5.pnr.device_capacity", lambda device: Capacity(7, 1, 1))
    with pytest.raises(PnrError, match=r"^does not fit the LFE5U-85F: needs \d+ LUTs of 7, \d+ flip-flops of 7$"):
        benchmarks.area.measure(Subject("counter", {"counter.v": counter}))
