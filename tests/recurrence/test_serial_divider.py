"""The serial divider against the table of operations: all operands of a small width, corners of a large one."""

from __future__ import annotations

from itertools import product

import pytest
from amaranth.sim import Simulator

from hw.ops import operation
from hw.systolic.recurrence.divider import SerialDivider, divider_latency


def divided(width: int, is_signed: bool, bits: int, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Quotients and remainders, one division right after the other."""
    unit = SerialDivider(width, is_signed, bits)
    found: list[tuple[int, int]] = []

    async def bench(ctx) -> None:
        for a, b in pairs:
            ctx.set(unit.a, a % 2**width)
            ctx.set(unit.b, b % 2**width)
            ctx.set(unit.start, 1)
            await ctx.tick()
            ctx.set(unit.start, 0)
            ctx.set(unit.a, 0)
            await ctx.tick().repeat(divider_latency(width, bits) - 1)
            found.append((ctx.get(unit.quotient), ctx.get(unit.remainder)))

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize(("width", "bits"), [(4, 1), (4, 3), (32, 4)])
@pytest.mark.parametrize("is_signed", [False, True])
def test_results_are_those_of_the_table(width: int, bits: int, is_signed: bool) -> None:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    values = range(low, high + 1) if width < 8 else [low, low + 1, -7, -1, 0, 1, 2, 10, 12345, high - 1, high]
    pairs = [(a, b) for a, b in product(values, repeat=2) if low <= a <= high and low <= b <= high]
    found = divided(width, is_signed, bits, pairs)
    for (a, b), results in zip(pairs, found, strict=True):
        expected = tuple(int(operation(op).evaluate(width, a, b)) % 2**width for op in ("div", "rem"))
        assert results == expected, (a, b)
