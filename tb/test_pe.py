"""The processing element on both simulators: every operation of the table, exhaustively at 3 bits, random at 16."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import pytest
from pe_reference import Operands, all_operands, configurations, expected, random_operands

from hw.pe import Pe, PeConfig, PeSpec
from hw.sim.bench import run_bench
from hw.verilog import convert


def narrow(config: PeConfig) -> list[Operands]:
    return all_operands(config, 3)


def wide(config: PeConfig) -> list[Operands]:
    rng = random.Random(f"{config}")
    return [random_operands(rng, 16) for _ in range(60)]


@pytest.mark.parametrize(("width", "operands"), [(3, narrow), (16, wide)])
def test_operations(width: int, operands: Callable[[PeConfig], list[Operands]], simulator: str) -> None:
    spec = PeSpec(width)
    cases = [
        {
            "name": str(config),
            "words": [[*key, data] for key, data in config.words(spec).items()],
            "rows": [[*astuple(row), expected(config, row, width)] for row in operands(config)],
        }
        for config in configurations()
    ]
    sources = {"pe.v": convert(Pe(spec), "pe")}
    run_bench(sources, "pe", Path(__file__).with_name("pe_bench.py"), simulator=simulator, data=cases)
