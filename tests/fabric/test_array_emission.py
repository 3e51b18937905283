"""The array's Verilog: its modules, and that tiles come once (how quickly: `tb/test_large_array.py`)."""

from __future__ import annotations

import re

import pytest

from hw.fabric.array import emit_array, emit_tiles
from hw.fabric.spec import FabricSpec
from hw.memtile import MemTileSpec


def test_tiles_are_emitted_once_and_instantiated_by_name() -> None:
    files = emit_array(FabricSpec.parse("2x4"))
    assert sorted(files) == ["cgra_array.v", "edge_stage.v", "mem_tile.v", "pe_tile.v"]
    for kind, count in (("pe", 6), ("mem", 2)):
        assert len(re.findall(rf"^\s+{kind}_tile ", files["cgra_array.v"], re.M)) == count
        assert len(re.findall(rf"^module {kind}_tile\(", files[f"{kind}_tile.v"], re.M)) == 1


def test_an_array_without_memories_has_no_memory_tile() -> None:
    assert "mem_tile.v" not in emit_tiles(FabricSpec.parse("2x3"))


@pytest.mark.parametrize("kind", ["pub", "dual-port"])
def test_both_memories_fit_the_tile(kind: str) -> None:
    assert "module mem_tile(" in emit_tiles(FabricSpec(1, 4, mem=MemTileSpec(kind=kind)))["mem_tile.v"]


def test_ready_valid_tracks_are_a_parameter() -> None:
    """The same modules with the same tracks, and valid and ready of all of them."""
    files = emit_array(FabricSpec(1, 4, mem=MemTileSpec(kind="buffet"), protocol="ready-valid"))
    static = emit_array(FabricSpec(1, 4))
    assert files.keys() == static.keys()
    for name in ("pe_tile.v", "mem_tile.v"):
        more = _ports(files[name], name[:-2]) - _ports(static[name], name[:-2])
        assert more == {f"{way}_{flag}_{side}" for way in "io" for flag in ("valid", "ready") for side in "nesw"}


def _ports(text: str, module: str) -> set[str]:
    """Names of the ports of a module."""
    (header,) = re.findall(rf"^module {module}\(([^)]*)\)", text, re.M)
    return set(header.replace(",", " ").split())


def test_emission_is_deterministic() -> None:
    spec = FabricSpec(1, 4)
    first = emit_array(spec)
    emit_tiles.cache_clear()
    again = emit_array(spec)
    assert first == again and first["pe_tile.v"] is not again["pe_tile.v"]
