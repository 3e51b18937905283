"""The buffet on both simulators: random fills, reads, updates and shrinks with random stalls against what they mean."""

from __future__ import annotations

import random
from pathlib import Path

from buffet_patterns import accumulation, delay, early, lookup, table, windows

from hw.memtile import MemTileSpec
from hw.memtile.buffet import Buffet
from hw.sim.bench import run_bench
from hw.verilog import convert

SPEC = MemTileSpec(kind="buffet", depth=16)


def test_buffet(simulator: str) -> None:
    rng = random.Random(4)
    makers = [windows] * 12 + [accumulation] * 8 + [delay] * 2 + [early] * 3 + [table] * 2 + [lookup]
    runs = [make(rng, SPEC) | {"patience": rng.choice([0.0, 0.2, 0.6])} for make in makers]
    prompt = [delay(rng, SPEC) | {"patience": 0.0} for _ in range(2)]
    starved = delay(rng, SPEC) | {"patience": 0.1}
    starved["fill"] = starved["fill"][:20]
    text = convert(Buffet(SPEC), "buffet")
    data = {"random": runs, "prompt": prompt, "starved": starved}
    bench = Path(__file__).with_name("buffet_bench.py")
    result = run_bench({"buffet.v": text}, "buffet", bench, simulator=simulator, data=data, seed=5)
    assert len(result.passed) == 3
