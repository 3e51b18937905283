"""Products of more bits than a multiplier has, in two steps."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const, Module, Shape, Signal, signed, unsigned
from amaranth.sim import Simulator

from hw.lib.product import is_wide, product_in_steps
from hw.lib.taps import Taps


@pytest.mark.parametrize("width", [20, 32, 40, 64])
@pytest.mark.parametrize("second", [signed(32), unsigned(32), signed(18), unsigned(18), signed(5), unsigned(1)])
@pytest.mark.parametrize("first", [signed(19), signed(32), unsigned(32), signed(64), unsigned(35)])
def test_the_product_of_the_cycle_before(first: Shape, second: Shape, width: int) -> None:
    a, b, m, result = Signal(first), Signal(second), Module(), Signal(width)
    taps = Taps(m, Const(1))
    m.d.comb += result.eq(product_in_steps(a, b, width, partial(taps.delayed, ticks=1)))
    draws = np.random.default_rng(width)
    pairs = [*product(_extremes(first), _extremes(second)),
             *((_drawn(draws, first), _drawn(draws, second)) for _ in range(20))]

    async def bench(context: Any) -> None:
        for values in pairs:
            context.set(a, values[0])
            context.set(b, values[1])
            await context.tick()
            assert context.get(result) == values[0] * values[1] % (1 << width), values

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def _extremes(shape: Shape) -> list[int]:
    low = -(1 << shape.width - 1) if shape.signed else 0
    return [low, low + (1 << shape.width) - 1, 0, -1 if shape.signed else 1]


def _drawn(draws: np.random.Generator, shape: Shape) -> int:
    bits = int.from_bytes(draws.bytes(8), "little") % (1 << shape.width)
    return bits + _extremes(shape)[0]


def test_what_is_wide() -> None:
    """A signed operand of 18 bits, or 17 without a sign, is that of one multiplier; constants are for synthesis."""
    assert is_wide(Signal(signed(19)), Signal(3)) and is_wide(Signal(3), Signal(18))
    assert not is_wide(Signal(signed(18)), Signal(17))
    assert not is_wide(Signal(40), Const(12345))
