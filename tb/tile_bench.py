"""cocotb bench of one tile; started by `test_tile`, which says what to write, apply and expect.

The data are runs: configuration words, and per unstalled cycle the values of all incoming tracks and what all
outgoing tracks must show in that cycle.
"""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from hw.sim.bench import bench_data

TILE = 0x0705
STALLS = 0.3


async def configure(dut, words: list[list[int]]) -> None:
    """Clear, then write; words for another tile, which come between them, must not matter."""
    for unit, feature, register, data in [[0xFFFF, 0, 0, 0], *words]:
        for target, value in ((TILE ^ 0x0100, ~data & 0xFFFFFFFF), (unit or TILE, data)):
            dut.i_cfg__valid.value = 1
            dut.i_cfg__address.value = target << 16 | feature << 8 | register
            dut.i_cfg__data.value = value
            await FallingEdge(dut.clk)
    dut.i_cfg__valid.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk)


async def run(dut, name: str, cycles: list, rng: random.Random) -> None:
    """The tile obeys `en` one cycle late."""
    flags: list[int] = []
    while sum(flags) < len(cycles):
        flags.append(int(rng.random() >= STALLS))
    number = 0
    for en, active in zip([*flags, 0], [0, *flags], strict=True):
        dut.en.value = en
        incoming, wanted = cycles[min(number, len(cycles) - 1)]
        for port, value in incoming.items():
            getattr(dut, f"i_{port}").value = value if active else rng.getrandbits(5)
        if active:
            got = {port: int(getattr(dut, f"o_{port}").value) for port in wanted}
            wrong = {port: (got[port], value) for port, value in wanted.items() if got[port] != value}
            assert not wrong, f"{name}, cycle {number}: {wrong}"
            number += 1
        await FallingEdge(dut.clk)


@cocotb.test()
async def runs(dut) -> None:
    """All runs one after the other."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.id.value = TILE
    dut.en.value = dut.flush.value = dut.i_cfg__valid.value = 0
    if hasattr(dut, "i_conflict"):
        dut.i_conflict.value = 0
    # The clock's first edge must find all of this.
    await Timer(5, "ns")
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for data in bench_data():
        await configure(dut, data["words"])
        await run(dut, data["name"], data["cycles"], rng)
