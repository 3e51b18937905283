"""The vector datapath on both simulators, against plain arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from hw.sim.bench import run_bench
from hw.vector_lanes.datapath import VectorDatapath, datapath_sources
from hw.vector_lanes.spec import VectorSpec
from hw.verilog import convert

BENCH = Path(__file__).with_name("vector_datapath_bench.py")
TOP = "vector_datapath"


def run(lanes: int, simulator: str, tests: str, count: int = 0, **parameters: object) -> None:
    settings = {"lanes": lanes, **parameters}
    spec = VectorSpec(**settings)
    sources = {**datapath_sources(spec), f"{TOP}.v": convert(VectorDatapath(spec), TOP)}
    data = {"spec": settings, "seed": 7, "count": count}
    run_bench(sources, TOP, BENCH, simulator=simulator, data=data, tests=tests)


@pytest.mark.parametrize("lanes", [1, 4])
def test_random(lanes: int, simulator: str) -> None:
    run(lanes, simulator, "modes|rows", count=4)


def test_all_pairs_of_bytes() -> None:
    run(16, "verilator", "pairs")
