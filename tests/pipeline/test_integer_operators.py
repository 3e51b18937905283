"""Quotients, remainders and roots with registers between their steps, against the table of operations."""

from __future__ import annotations

from itertools import product

import pytest
from amaranth.hdl import Shape, signed
from amaranth.sim import Simulator

from hw.delays import operator_delays
from hw.integer import IntegerOperator, integer_delays, integer_latency
from hw.lib.placement import place_registers
from hw.ops import operation

WIDTH = 8
SHAPES = [*product((1, 4), (False, True), (3, 5), (False, True))]


def values(shape: Shape) -> range:
    return range(-(1 << shape.width - 1), 1 << shape.width - 1) if shape.signed else range(1 << shape.width)


def results(op: str, shapes: list[Shape], latency: int, rows: list[tuple[int, ...]]) -> list[int]:
    """A row of operands in each cycle."""
    operator = IntegerOperator(op, shapes, signed(WIDTH), latency)
    simulator = Simulator(operator)
    found: list[int] = []

    async def bench(ctx) -> None:
        ctx.set(operator.en, 1)
        for cycle in range(len(rows) + latency):
            for name, value in zip("ab", rows[min(cycle, len(rows) - 1)], strict=False):
                ctx.set(getattr(operator, name), value)
            await ctx.delay(1e-9)
            if cycle >= latency:
                found.append(ctx.get(operator.o))
            if latency:
                await ctx.tick()

    if latency:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def meant(op: str, row: tuple[int, ...]) -> int:
    half = 1 << WIDTH - 1
    return (int(operation(op).evaluate(WIDTH, *row)) + half) % (2 * half) - half


@pytest.mark.parametrize("op", ["div", "rem"])
@pytest.mark.parametrize("latency", [0, 1, 4, 9])
def test_divisions_of_all_operands(op: str, latency: int) -> None:
    for wide, has_sign, narrow, has_other in SHAPES:
        shapes = [Shape(wide, has_sign), Shape(narrow, has_other)]
        rows = list(product(*map(values, shapes)))
        assert results(op, shapes, latency, rows) == [meant(op, row) for row in rows]


@pytest.mark.parametrize("shape", [Shape(width, sign) for width in (1, 2, 7) for sign in (False, True)])
def test_roots_of_all_operands(shape: Shape) -> None:
    rows = [(value,) for value in values(shape)]
    for latency in (0, 1, 3):
        assert results("sqrt", [shape], latency, rows) == [meant("sqrt", row) for row in rows]


@pytest.mark.parametrize("clock_mhz", [60, 120, 200])
def test_steps_fit_into_a_period_where_each_does(clock_mhz: int) -> None:
    room = operator_delays().room(clock_mhz)
    for op, operands in (("div", 2), ("rem", 2), ("sqrt", 1)):
        shapes = (Shape(32, True),) * operands
        delays = integer_delays(op, shapes)
        counts = place_registers(delays, integer_latency(op, shapes, clock_mhz))
        path = longest = 0.0
        for delay, count in zip(delays, counts, strict=True):
            longest = max(longest, path := path + delay)
            path = 0.0 if count else path
        assert longest <= max(room, *delays) + 1e-6
