"""Builds in the cache that are not as they were made are made again."""

from __future__ import annotations

import pytest

from hw.cache import cache_folder
from hw.sim.build import BuildRequest, build

SOURCE = "module counter(input clk, output reg [7:0] y);\n  always @(posedge clk) y <= y + 1;\nendmodule\n"


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_damaged_builds_are_made_again(simulator, tmp_path, monkeypatch):
    common = cache_folder() / "runtimes"  # what all builds have in common, of which this is no test
    common.mkdir(parents=True, exist_ok=True)
    (tmp_path / "runtimes").symlink_to(common)
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    request = BuildRequest({"counter.v": SOURCE}, "counter", simulator, short=True)
    first = build(request)
    assert not first.cached and build(request).cached
    whole = first.executable.read_bytes()
    first.executable.write_bytes(whole[: len(whole) // 2])
    assert not build(request).cached, "a truncated product"
    assert build(request).cached
    if simulator == "icarus":
        for damage in ("", "[]", '{"sha256": 3}'):
            (first.executable.parent / "build.json").write_text(damage)
            assert not build(request).cached, f"a description {damage!r}"
        first.executable.unlink()
        assert not build(request).cached, "a product that is gone"
        assert first.executable.stat().st_size == len(whole)
