"""A memory that is read word by word: is each what the memory starts with?"""

from __future__ import annotations

import cocotb
from cocotb.triggers import Timer

from hw.sim.bench import bench_data


@cocotb.test()
async def words_are_the_first_ones(dut) -> None:
    """`data`: pairs of address and word."""
    for address, word in bench_data():
        dut.address.value = address
        await Timer(1, unit="ns")
        assert dut.word.value == word, f"word {address} is {dut.word.value}, not {word}"
