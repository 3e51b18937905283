"""cocotb bench of the array; started by `test_array`, which says what to write, apply and expect.

The data are runs: configuration words, one row of stream words per unstalled cycle, one row of expected stream words
(null: not checked), and the probability of a stall.
"""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from hw.fabric.spec import EN_LATENCY
from hw.sim.bench import bench_data

SETTLE = 40
"""Cycles after configuration; more than any array's configuration latency here."""


async def configure(dut, words: list[list[int]]) -> None:
    """Write the words with idle cycles in between, then wait until the last one has arrived."""
    for address, data in words:
        dut.cfg__valid.value, dut.cfg__address.value, dut.cfg__data.value = 1, address, data
        await FallingEdge(dut.clk)
        dut.cfg__valid.value, dut.cfg__address.value, dut.cfg__data.value = 0, 0, 0xFFFFFFFF
        if data % 3 == 0:
            await FallingEdge(dut.clk)
    for _ in range(SETTLE):
        await FallingEdge(dut.clk)


def schedule(cycles: int, stalls: float, rng: random.Random) -> list[int]:
    """Values of `en` that make `cycles` cycles happen, and then let them all reach the tiles."""
    flags: list[int] = []
    while sum(flags) < cycles:
        flags.append(int(rng.random() >= stalls))
    return flags + [0] * EN_LATENCY


async def run(dut, run: dict, rng: random.Random) -> None:
    """Apply a run; `en` takes EN_LATENCY cycles to the tiles, streams are aligned with the tiles."""
    columns = len(run["streams"][0])
    flags = schedule(len(run["streams"]), run["stalls"], rng)
    dut.flush.value = 1
    await FallingEdge(dut.clk)
    dut.flush.value = 0
    cycle = 0
    for en, active in zip(flags, [0] * EN_LATENCY + flags, strict=False):
        dut.en.value = en
        for column in range(columns):
            word = run["streams"][cycle][column] if active else rng.getrandbits(16)
            getattr(dut, f"i_stream__{column}").value = word
        if active:
            got = [int(getattr(dut, f"o_stream__{column}").value) for column in range(columns)]
            for column, (word, wanted) in enumerate(zip(got, run["expected"][cycle], strict=True)):
                if wanted is not None:
                    assert word == wanted, f"{run['name']}: column {column}, cycle {cycle}: {word}, not {wanted}"
            cycle += 1
        await FallingEdge(dut.clk)


@cocotb.test()
async def runs(dut) -> None:
    """All runs one after the other, without a reset in between."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.cfg__valid.value, dut.en.value, dut.flush.value, dut.rst.value = 0, 0, 0, 1
    # The clock's first edge must find all of this.
    await Timer(5, "ns")
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for data in bench_data():
        await configure(dut, data["words"])
        await run(dut, data, rng)
    assert int(dut.conflict.value) == 0
