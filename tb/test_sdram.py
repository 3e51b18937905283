"""Main memory in SDRAM as Verilog on both simulators, before a chip that checks every time of its data sheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from hw.sdram.chip import CHIPS, SdramChip, SdramCycles
from hw.sdram.controller import refresh_interval
from hw.sdram.emitted import emit_sdram
from hw.sdram.memory import SdramMemory
from hw.sim.bench import run_bench

HERE = Path(__file__).parent
CLOCK = 60e6
TIMES = {"startup": 2000.0, "mrd": 100.0, "wr": 100.0, "ras": 150.0, "rc": 210.0}
"""In ns: so long that each of them matters, which a short clock period or short beats would do as well."""
SMALL = SdramChip("small", 4, 4, 16, replace(CHIPS["IS42S16160G"].times, **TIMES))
"""Few rows and columns, so that rows and banks change all the time."""
MODEL = {f"T_{name.upper()}": int(1000 * time) for name, time in TIMES.items()}
LONG_RRD = 120_000
"""In ps, of a chip that asks for more than reading a beat takes; else tRRD never counts."""


@cache
def sources(width: int = 64, **changes: Any) -> Mapping[str, str]:
    """Verilog of the memory with the registers of its pads; `changes` are cycles in place of the right ones."""
    memory = SdramMemory(SMALL, replace(SMALL.cycles(CLOCK), **changes), data_width=width)
    texts = {name: (HERE / name).read_text() for name in ("sdram_harness.v", "sdr_sdram.v")}
    return texts | {"sdram_system.v": emit_sdram(memory, "sdram_system")}


def data(**settings: Any) -> dict[str, Any]:
    return {"period_ps": 2 * ceil(5e11 / CLOCK), "size": SMALL.size, **settings}


@pytest.mark.parametrize(("simulator", "width", "rounds"), [
    ("verilator", 64, 40), ("icarus", 64, 20), ("icarus", 16, 12), ("icarus", 128, 12)])
def test_random_traffic(simulator: str, width: int, rounds: int) -> None:
    run_bench(sources(width), "sdram_harness", HERE / "sdram_bench.py", simulator=simulator,
              parameters={"WIDTH": width} | MODEL, data=data(rounds=rounds, cycles_per_word=2.0),
              tests="random_traffic")


CYCLES: SdramCycles = SMALL.cycles(CLOCK)


@pytest.mark.parametrize(("time", "rule"), [
    ("rcd", "tRCD"), ("rp", "tRP"), ("ras", "tRAS"), ("rc", "tRC"), ("wr", "tWR"), ("rfc", "tRFC"), ("rrd", "tRRD"),
    ("mrd", "tMRD"), ("startup", "start-up"), ("refresh", "tREFI"), ("latency", None)])
def test_a_controller_that_is_too_quick(time: str, rule: str | None) -> None:
    """A cycle less; more where something else takes time, too, and between refreshes the cycles kept in reserve."""
    change = {"refresh": CYCLES.refresh // 4, "mrd": -3, "startup": -9}.get(time, -1)
    right = int(LONG_RRD * CLOCK / 1e12) + 1 if time == "rrd" else getattr(CYCLES, time)
    parameters = MODEL | ({"T_RRD": LONG_RRD} if time == "rrd" else {})
    wrong = {time: right + change}
    run_bench(sources(**wrong), "sdram_harness", HERE / "sdram_bench.py", simulator="icarus", tests="breaks_a_rule",
              parameters=parameters, data=data(rules=[rule] if rule else [], reads_right=rule is not None))


def test_refresh_interval() -> None:
    assert 0.8 * CYCLES.refresh < refresh_interval(CYCLES, 4) < CYCLES.refresh
