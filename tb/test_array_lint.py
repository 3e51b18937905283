"""Both simulators accept the array without a warning; in particular it has no combinational loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from verilog_lint import lint

from hw.fabric.array import ARRAY_MODULE, emit_array
from hw.fabric.spec import FabricSpec
from hw.memtile import MemTileSpec

CELL = "module cell_(input a, input b, output y);\n  assign y = a ^ b;\nendmodule\n"
RING = """module ring(input a, output y);
  wire w;
  cell_ first(.a(a), .b(y), .y(w));
  cell_ second(.a(a), .b(w), .y(y));
endmodule
"""


@pytest.mark.parametrize(("kind", "protocol"), [("pub", "static"), ("dual-port", "static"), ("buffet", "ready-valid")])
def test_the_array_is_clean(kind: str, protocol: str, simulator: str, tmp_path: Path) -> None:
    spec = FabricSpec(3, 4, mem=MemTileSpec(kind=kind), protocol=protocol)
    assert lint(emit_array(spec), ARRAY_MODULE, simulator, tmp_path) == ""


def test_an_array_without_memories_is_clean(simulator: str, tmp_path: Path) -> None:
    assert lint(emit_array(FabricSpec.parse("2x3")), ARRAY_MODULE, simulator, tmp_path) == ""


def test_a_loop_through_several_modules_would_be_found(tmp_path: Path) -> None:
    assert "UNOPTFLAT" in lint({"ring.v": RING, "cell_.v": CELL}, "ring", "verilator", tmp_path)


def test_a_missing_connection_would_be_found(simulator: str, tmp_path: Path) -> None:
    sources = emit_array(FabricSpec.parse("2x3"))
    connection = ".i_word_e0(tile_0_1_word_w0),"
    assert connection in sources["cgra_array.v"]
    damaged = sources | {"cgra_array.v": sources["cgra_array.v"].replace(connection, "", 1)}
    assert "i_word_e0" in lint(damaged, ARRAY_MODULE, simulator, tmp_path)
