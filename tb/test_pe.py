"""The processing element on both simulators: every operation of the table, exhaustively at 3 bits, random at 16."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from pe_reference import (
    Operands,
    all_operands,
    configurations,
    expected,
    feedback_configurations,
    feedback_results,
    random_operands,
)

from hw.pe import PE_LATENCY, Pe, PeConfig, PeSpec
from hw.sim.bench import run_bench
from hw.verilog import convert


def narrow(config: PeConfig) -> list[Operands]:
    return all_operands(config, 3)


def wide(config: PeConfig) -> list[Operands]:
    rng = random.Random(f"{config}")
    return [random_operands(rng, 16) for _ in range(60)]


def feedback_case(config: PeConfig, width: int) -> dict[str, object]:
    """Rows of which the first restarts, so that nothing depends on the case before."""
    rng = random.Random(f"{config}")
    rows = [random_operands(rng, width) for _ in range(40)]
    rows[0] = replace(rows[0], bits=(*rows[0].bits[:2], 1))
    shown = feedback_results(config, rows, width, 0)
    return {"name": str(config), "latency": PE_LATENCY,
            "words": [[*key, data] for key, data in config.words(PeSpec(width)).items()],
            "rows": [[*astuple(row), result] for row, result in zip(rows, shown, strict=True)]}


@pytest.mark.parametrize(("width", "operands"), [(3, narrow), (16, wide)])
def test_operations(width: int, operands: Callable[[PeConfig], list[Operands]], simulator: str) -> None:
    spec = PeSpec(width)
    cases = [
        {
            "name": str(config),
            "latency": PE_LATENCY,
            "words": [[*key, data] for key, data in config.words(spec).items()],
            "rows": [[*astuple(row), expected(config, row, width)] for row in operands(config)],
        }
        for config in configurations()
    ]
    cases += [feedback_case(config, width) for config in feedback_configurations() if config.restart]
    sources = {"pe.v": convert(Pe(spec), "pe")}
    run_bench(sources, "pe", Path(__file__).with_name("pe_bench.py"), simulator=simulator, data=cases)
