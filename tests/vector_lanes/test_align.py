"""Alignment networks: every offset of rows of data and flags."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.sim import Simulator

from hw.lib.rotation import rotate_from, rotate_to


@pytest.mark.parametrize(("banks", "unit"), [(4, 8), (16, 8), (16, 1)])
@pytest.mark.parametrize(
    ("network", "origin"),
    [(rotate_from, lambda item, offset: item + offset), (rotate_to, lambda item, offset: item - offset)],
    ids=["from", "to"],
)
def test_every_offset(
    banks: int, unit: int, network: Callable[[Module, Value, Value, int], Value], origin: Callable[[int, int], int]
) -> None:
    row, offset, result = Signal(banks * unit), Signal(range(banks)), Signal(banks * unit)
    m = Module()
    m.d.comb += result.eq(network(m, row, offset, unit))
    rng = random.Random(banks + unit)

    async def bench(ctx) -> None:
        for distance in range(banks):
            items = [rng.getrandbits(unit) for _ in range(banks)]
            ctx.set(row, sum(item << unit * index for index, item in enumerate(items)))
            ctx.set(offset, distance)
            value = ctx.get(result)
            got = [value >> unit * index & (1 << unit) - 1 for index in range(banks)]
            assert got == [items[origin(index, distance) % banks] for index in range(banks)]

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
