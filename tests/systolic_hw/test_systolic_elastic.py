"""Every link of an array stops at random: what comes out stays the same, and partial results never get lost."""

from __future__ import annotations

import random
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext
from systolic_arrays import MAC, matmul

from hw.dataflow.spec import Word
from hw.systolic.east import EdgeAccumulator
from hw.systolic.pe import ProcessingElement
from hw.systolic.spec import EAST, SOUTH, Address, ArraySpec, OperandSpec, ResultSpec, TileLoop, TimeLoop

INT8, INT16 = Word(8, True), Word(16, True)
LIMIT = 6000
Beat = dict[str, int]


class Links(Elaboratable):
    """Parts with streams between them that `open` lets through, a bit for each; the other ends are `sources` and
    `sinks`."""

    def __init__(self, parts: list[wiring.Component], links: list[tuple[Any, Any]], wires: list[tuple[Value, Any]]):
        self._parts, self._links, self._wires = parts, links, wires
        self.open = Signal(len(links), init=-1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for part in self._parts:
            m.submodules += part
        for k, (source, sink) in enumerate(self._links):
            m.d.comb += [sink.payload.eq(source.payload), sink.valid.eq(source.valid & self.open[k]),
                         source.ready.eq(sink.ready & self.open[k])]
        m.d.comb += [port.eq(value) for port, value in self._wires]
        return m


def run(design: Links, sources: list[tuple[Any, list[Beat]]], sinks: list[tuple[Any, list[Beat]]], seed: int,
        rate: float) -> int:
    """Feed the sources, compare the sinks, with every link and every end open at `rate`. Returns the cycles."""
    rng = random.Random(seed)
    cycles = 0

    async def bench(ctx: SimulatorContext) -> None:
        nonlocal cycles
        sent, got = [0] * len(sources), [0] * len(sinks)
        while any(count < len(beats) for count, (_, beats) in zip(got, sinks, strict=True)):
            ctx.set(design.open, sum((rng.random() < rate) << k for k in range(len(design.open))))
            for place, (port, beats) in enumerate(sources):
                offered = sent[place] < len(beats) and rng.random() < rate
                ctx.set(port.valid, offered)
                if offered:
                    ctx.set(port.payload, beats[sent[place]])
            for port, _ in sinks:
                ctx.set(port.ready, rng.random() < rate)
            await ctx.delay(0)
            moved = [bool(ctx.get(port.valid & port.ready)) for port, _ in (*sources, *sinks)]
            for place, (port, beats) in enumerate(sinks):
                if moved[len(sources) + place]:
                    expected = beats[got[place]]
                    assert {name: ctx.get(port.p[name]) for name in expected} == expected
                    got[place] += 1
            sent = [count + more for count, more in zip(sent, moved, strict=False)]
            await ctx.tick()
            cycles += 1
            assert cycles < LIMIT

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return cycles


def steps(k: int, entries: int, tiles: int, seed: int) -> list[tuple[int, int, int, int, int]]:
    """(first, last, entry, a, b) of every step of `tiles` tiles; the reduction of `k` steps is outermost."""
    rng = random.Random(seed)
    return [(int(t == 0), int(t == k - 1), e, rng.randrange(-128, 128), rng.randrange(-128, 128))
            for _ in range(tiles) for t, e in product(range(k), range(entries))]


@pytest.mark.parametrize("rate", [1.0, 0.6])
def test_a_row_of_pes(rate: float) -> None:
    """Three PEs with four accumulators each; their results leave along the row. Without stalls a step per cycle."""
    spec = matmul(1, 3, steps=10, block=(2, 2))
    pes = [ProcessingElement(spec) for _ in range(3)]
    links = [pair for west, east in pairwise(pes) for pair in ((west.east, east.west), (west.drain, east.upstream))]
    tiles = 4
    work = steps(10, 4, tiles, 1)
    rng = random.Random(2)
    b = [[rng.randrange(-128, 128) for _ in work] for _ in pes]
    west = [{"first": f, "last": last, "entry": e, "data_0": a & 0xFF} for f, last, e, a, _ in work]
    north = [[{"data_1": value & 0xFF} for value in column] for column in b]
    sums = np.zeros((tiles, 3, 4), np.int64)
    for number, (_, _, e, a, _) in enumerate(work):
        for column in range(3):
            sums[number // 40, column, e] += a * b[column][number]
    results = [{"data": int(value) % (1 << 32), "end": int(k % 3 == 2)} for tile in sums for k, value in
               enumerate(tile.T.ravel())]
    design = Links([*pes], links, [(pes[0].head, 1)])
    sources = [(pes[0].west, west), *((pe.north, beats) for pe, beats in zip(pes, north, strict=True))]
    ends = [(pe.south, north[k]) for k, pe in enumerate(pes)] + [(pes[-1].east, west), (pes[-1].drain, results)]
    cycles = run(design, sources, ends, 3, rate)
    if rate == 1.0:
        assert cycles <= len(work) + 25


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_sums_along_a_row(rate: float) -> None:
    """Partial results meet the right step in every PE and at the edge, however far the PEs are apart."""
    operands = tuple(OperandSpec(name, INT8, direction, 1, Address((0, 0)), (0,))
                     for name, direction in (("a", EAST), ("b", SOUTH)))
    spec = ArraySpec("sums", 1, 3, (TileLoop("i"),), (TimeLoop("k", 5, True), TimeLoop("i", 2)), operands, MAC,
                     ResultSpec(INT16, 2, Address((0, 1)), space="columns"))
    pes, edge = [ProcessingElement(spec) for _ in range(3)], EdgeAccumulator(spec, below=False)
    links = [(west.east, east.west) for west, east in pairwise(pes)] + [(pes[-1].east, edge.i)]
    wires = [(pes[0].head, 1), *((east.sum_i, west.sum_o) for west, east in pairwise(pes)), (edge.sum_i, pes[-1].sum_o)]
    work, tiles = steps(5, 2, 20, 4), 20
    rng = random.Random(5)
    b = [[rng.randrange(-128, 128) for _ in work] for _ in pes]
    sums = np.zeros((tiles, 2), np.int64)
    for number, (_, _, e, a, _) in enumerate(work):
        sums[number // 10, e] += a * sum(column[number] for column in b)
    results = [{"data": int(value) % (1 << 16), "end": 1} for tile in sums for value in tile]
    west = [{"first": f, "last": last, "entry": e, "data_0": a & 0xFF} for f, last, e, a, _ in work]
    north = [[{"data_1": value & 0xFF} for value in column] for column in b]
    sources = [(pes[0].west, west), *((pe.north, beats) for pe, beats in zip(pes, north, strict=True))]
    ends = [*((pe.south, beats) for pe, beats in zip(pes, north, strict=True)), (edge.o, results)]
    cycles = run(Links([*pes, edge], links, wires), sources, ends, 6, rate)
    if rate == 1.0:
        assert cycles <= len(work) + 15
