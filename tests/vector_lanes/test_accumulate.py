"""Sums along rows, and the emission of datapaths."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from hw.vector_lanes.accumulate import SUM_BITS, RowAccumulator, fits
from hw.vector_lanes.datapath import VectorDatapath, accumulate_latency, datapath_latency, datapath_sources
from hw.vector_lanes.spec import VectorSpec
from hw.verilog import convert


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_rows_back_to_back(lanes: int) -> None:
    """Rows of random lengths, with and without gaps; every sum in its cycle."""
    dut = RowAccumulator(lanes)
    rng = random.Random(lanes)
    latency = accumulate_latency(VectorSpec(lanes=lanes)) - datapath_latency(VectorSpec(lanes=lanes)) - 1

    async def bench(ctx) -> None:
        due: dict[int, int] = {}
        total, first = 0, True
        for cycle in range(200):
            valid, last = rng.random() < 0.8, rng.random() < 0.3
            numbers = [rng.getrandbits(SUM_BITS) for _ in range(lanes)]
            ctx.set(dut.sums, sum(number << SUM_BITS * lane for lane, number in enumerate(numbers)))
            ctx.set(dut.valid, valid)
            ctx.set(dut.first, first)
            ctx.set(dut.last, last)
            if valid:
                total = ((0 if first else total) + sum(numbers)) % (1 << SUM_BITS)
                first = last
                due |= {cycle + latency: total} if last else {}
            assert ctx.get(dut.done) == (cycle in due)
            if cycle in due:
                assert ctx.get(dut.total) == due[cycle]
            await ctx.tick()
        assert len(due) > 20

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_fits_at_the_edges() -> None:
    m = Module()
    size, is_signed, total, result = Signal(2), Signal(), Signal(SUM_BITS), Signal()
    m.d.comb += result.eq(fits(m, size, is_signed, total))

    async def bench(ctx) -> None:
        for code, width in enumerate((8, 16, 32)):
            for signed, low, high in ((0, 0, 1 << width), (1, -(1 << width - 1), 1 << width - 1)):
                ctx.set(size, code)
                ctx.set(is_signed, signed)
                for number in (low - 1, low, low + 1, high - 1, high, high + 1, 1 << 38):
                    if not signed and number < 0:
                        continue  # there are no negative sums of unsigned numbers
                    ctx.set(total, number % (1 << SUM_BITS))
                    assert ctx.get(result) == (low <= number < high), (width, signed, number)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(("lanes", "cycles"), [(1, 7), (2, 8), (4, 8), (8, 9), (16, 9), (32, 10), (64, 10)])
def test_latencies(lanes: int, cycles: int) -> None:
    spec = VectorSpec(lanes=lanes)
    assert (datapath_latency(spec), accumulate_latency(spec)) == (5, cycles)


def test_lanes_are_one_module() -> None:
    """The lane is emitted once, and the rest does not grow with what is in a lane."""
    spec = VectorSpec(lanes=8)
    (file, lane), *others = datapath_sources(spec).items()
    datapath = VectorDatapath(spec)
    assert (datapath.latency, datapath.accumulate_latency) == (datapath_latency(spec), accumulate_latency(spec))
    text = convert(datapath, "vector_datapath")
    assert (file, others) == ("vector_lane.v", [])
    assert lane.count("\nmodule ") == 1
    assert text.count("vector_lane lane") == 8
    assert len(text) < len(lane)
