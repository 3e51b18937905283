"""cocotb bench of a processing element; started by `test_pe`, which says what to apply and what must come."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from hw.sim.bench import bench_data


async def write(dut, words: list[list[int]]) -> None:
    """Clear, then write configuration words, with the processing element stopped."""
    dut.en.value = 0
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    dut.clear.value = 0
    dut.cfg__valid.value = 1
    for feature, register, data in words:
        dut.cfg__feature.value, dut.cfg__register.value, dut.cfg__data.value = feature, register, data
        await FallingEdge(dut.clk)
    dut.cfg__valid.value = 0
    dut.en.value = 1


async def stall(dut) -> None:
    """A few cycles in which nothing steps, whatever the operands are."""
    dut.en.value = 0
    while random.random() < 0.5:
        dut.i_word0.value, dut.i_word1.value, dut.i_word2.value = (random.randrange(1 << 16) for _ in range(3))
        await FallingEdge(dut.clk)
    dut.en.value = 1


@cocotb.test()
async def operations(dut) -> None:
    """Every case: configure, then a row of operands per cycle, a result per cycle, `latency` cycles later."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    dut.cfg__valid.value = dut.clear.value = dut.en.value = 0
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for case in bench_data():
        await write(dut, case["words"])
        rows, late = case["rows"], case["latency"] - 1
        for cycle in range(len(rows) + late):
            if case.get("stalls") and random.random() < 0.2:
                await stall(dut)
            words, bits, _ = rows[min(cycle, len(rows) - 1)]
            dut.i_word0.value, dut.i_word1.value, dut.i_word2.value = words
            dut.i_bit0.value, dut.i_bit1.value, dut.i_bit2.value = bits
            await FallingEdge(dut.clk)
            if cycle >= late:
                words, bits, result = rows[cycle - late]
                got = [int(dut.o_word.value), int(dut.o_bit.value)]
                assert got == result, f"{case['name']} {words} {bits}: {got}, not {result}"
