"""Measurements beside other generators: what is said of a row, arrays in a peer's memory, a peer that is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peer_tables, peers
from benchmarks.peer_cores import PEER_MODULE, PeerError, Tensor, nngen_product, wrapper
from benchmarks.peer_tables import score, verdict
from benchmarks.peers import PROGRAMS, main
from benchmarks.veriloggen_cores import veriloggen_product
from hw.ecp5.pnr import PnrError
from hw.sim.testbench import make_testbench


def test_a_row_in_which_a_peer_leads_is_lost() -> None:
    rows = {"a": {"ours": True, "cycles": 300, "lut": 10}, "b": {"ours": True, "cycles": 200, "lut": 40},
            "peer": {"ours": False, "cycles": 400, "lut": 5}}
    for row in rows.values():
        row |= score({**row, "mhz": 100})
    assert [rows["a"][name] for name in ("us", "cycles x lut")] == [3.0, 3000]
    assert verdict(rows, "cycles") == "ahead, 2.00 times"
    assert verdict(rows, "cycles x lut") == "LOST, 1.50 times"
    assert verdict(rows, "mhz") == "-"


def test_a_circuit_that_is_not_placed_keeps_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(_: object) -> None:
        raise PnrError("harness: 107000 of 83640 LUTs")

    monkeypatch.setattr(peers, "plain_area", fails)
    file, (name, case) = tmp_path / "peers.json", next(iter(PROGRAMS.items()))
    assert main([name, "--row", next(iter(case.ours)), "-o", str(file)]) == 0
    row, = json.loads(file.read_text())["programs"][name].values()
    assert row["unplaced"] == "harness: 107000 of 83640 LUTs" and "lut" not in row
    monkeypatch.setattr(peer_tables, "read_results", lambda _: json.loads(file.read_text()))
    text, = peer_tables.peer_tables()
    assert "| not placed |" in text and "harness: 107000 of 83640 LUTs" in text


def test_padded_arrays() -> None:
    tensor = Tensor("x", 0, (2, 3), (2, 4), "int16")
    values = np.array([[1, -2, 3], [4, 5, -6]])
    assert tensor.bytes == 16 and np.frombuffer(tensor.pack(values), np.int16).tolist() == [1, -2, 3, 0, 4, 5, -6, 0]
    content = tensor.pack(values)
    assert tensor.rows == [(0, 6), (8, 6)]
    assert (tensor.unpack([content[start:start + size] for start, size in tensor.rows]) == values).all()


@pytest.mark.parametrize("bus_bits", [32, 128])
def test_the_wrapper_has_the_ports_of_the_testbench(bus_bits: int) -> None:
    assert make_testbench({"peer.v": wrapper(bus_bits)}, PEER_MODULE, 16).sources


def test_peers_that_are_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "nngen", None)
    with pytest.raises(PeerError, match=r"^nngen is missing \(.*\); install the extra: pip install '\.\[peers\]'$"):
        nngen_product(4, (1, 1, 1), transposed=True, bus_bits=64)
    monkeypatch.setitem(sys.modules, "veriloggen", None)
    with pytest.raises(PeerError, match=r"^veriloggen is missing \(.*\); install the extra: pip install '\.\[peers\]'$"
                       ):
        veriloggen_product(4, 1)
    assert main(["sorting"]) == 1
    assert capsys.readouterr().err.startswith("error: there is no program 'sorting'; there are: int8 matrix product")
