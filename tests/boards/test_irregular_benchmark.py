"""Area and MHz of programs whose addresses depend on data: only what has no figures is measured, and what is slow comes
with its path."""

import json
import sys

import pytest

from benchmarks import irregular
from benchmarks.irregular import CASES, GOAL_MHZ, main

CELLS = {"lut": 1, "ff": 2, "block_ram": 3, "lut_ram": 4, "multipliers": 5, "critical": "a to b"}


@pytest.mark.parametrize("mhz", [GOAL_MHZ, GOAL_MHZ - 1])
def test_missing_figures_are_measured(tmp_path, monkeypatch, mhz):
    path = tmp_path / "irregular.json"
    known = {name: "known" for name in CASES if name != "crc_table, fpga"}
    path.write_text(json.dumps({"programs": known}))
    monkeypatch.setattr(irregular, "measure_area", lambda subject, **how: {**CELLS, "mhz": mhz, **how})
    monkeypatch.setattr(sys, "argv", ["irregular", "--missing", "-o", str(path)])
    assert main() == 0
    found = json.loads(path.read_text())["programs"]
    assert list(found) == list(CASES)
    measured = found.pop("crc_table, fpga")
    assert ("critical" in measured) == (mhz < GOAL_MHZ)
    assert measured["lut"] == 1 and measured["cycles predicted"] > 0
    assert all(figures == "known" for figures in found.values())
