"""Parts of streaming kernels against models: rows F10, F12, F17, F18 and F23 of Bok 2018."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Shape, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.sim import Simulator

from compiler.bind.dataflow.iteration_counters import tick_clock
from hw.dataflow.affine import affine_value
from hw.dataflow.channels import DelayLine, FifoChannel, ReorderChannel, ReuseMemory
from hw.dataflow.counters import CounterChain, counter_vectors
from hw.dataflow.spec import Affine, ChannelSpec, Counter, Floor, KernelError, KernelSpec, Word

INT16 = Word(16, True)


def simulate(dut: wiring.Component, process: Callable[[Any], Any]) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def chain(*times: str) -> tuple[tuple[Counter, ...], isl.Set]:
    """Counters for the times that are the ranges of maps, and these times."""
    maps = [isl.Map(text) for text in times]
    clock = tick_clock(maps)
    return clock.counters, clock.box


CHAINS = {
    "matmul": (("{ Comp[i, j, k] -> [i, j, k] : 0 <= i, j, k < 4 }",), 64),
    "triangular": (("{ S[i, j] -> [i, j] : 0 <= i < 8 and 0 <= j <= i }",), 36),
    "strided": (("{ S[i] -> [(i)/3] : 0 <= i < 10 and i mod 3 = 0 }",), 4),
    "siblings": (("{ A[i, j] -> [i, 0, j] : 0 <= i < 3 and 0 <= j < 5; A[i, j] -> [i, 1, j] : 1 > 2 }",
                  "{ B[i, j] -> [i, 1, j] : 0 <= i < 3 and i <= j < 4 }"), 15 + 9),
    "gap": (("{ A[i] -> [0, i] : 0 <= i < 3 }", "{ B[i] -> [3, i] : 2 <= i < 4 }"), 3 + 2 + 2),
}


@pytest.mark.parametrize("name", CHAINS)
def test_f10_f12_counters_walk_every_vector_once_in_order(name: str) -> None:
    texts, count = CHAINS[name]
    counters, box = chain(*texts)
    vectors = list(counter_vectors(counters))
    assert vectors == sorted(set(vectors)) and len(vectors) == count
    assert box.count_val().to_python() == count
    dut = CounterChain(counters)
    seen = []
    pause = random.Random(3)

    async def process(ctx: Any) -> None:
        ctx.set(dut.load, 1)
        await ctx.tick()
        ctx.set(dut.load, 0)
        while len(seen) < count:
            step = pause.random() < 0.7
            ctx.set(dut.en, step)
            if step:
                seen.append(tuple(ctx.get(c) for c in dut.vector))
                assert ctx.get(dut.last) == (len(seen) == count)
            await ctx.tick()

    simulate(dut, process)
    assert seen == vectors


def test_f10_an_inner_wrap_enables_the_outer_counter() -> None:
    counters, _ = chain("{ S[i, j] -> [i, j] : 0 <= i < 2 and 0 <= j < 3 }")
    dut = CounterChain(counters)
    wraps = []

    async def process(ctx: Any) -> None:
        ctx.set(dut.en, 1)
        for _ in range(6):
            wraps.append((ctx.get(dut.c0), ctx.get(dut.wrap1), ctx.get(dut.wrap0)))
            await ctx.tick()

    simulate(dut, process)
    assert wraps == [(0, 0, 0), (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 0, 0), (1, 1, 1)]


@pytest.mark.parametrize("ticks", [1, 3, 15, 16, 17, 40])
def test_delay_line(ticks: int) -> None:
    dut = DelayLine(INT16, ticks)
    history: list[int] = []
    chance = random.Random(ticks)

    async def process(ctx: Any) -> None:
        for _ in range(5 * ticks + 20):
            word, enable = chance.randrange(-1000, 1000), chance.random() < 0.6
            ctx.set(dut.i, word)
            ctx.set(dut.en, enable)
            if len(history) >= ticks:
                assert ctx.get(dut.o) == history[-ticks]
            if enable:
                history.append(word)
            await ctx.tick()

    simulate(dut, process)
    assert len(history) > ticks


@pytest.mark.parametrize("depth", [1, 2, 5, 16])
def test_queue_holds_exactly_its_depth(depth: int) -> None:
    dut = FifoChannel(INT16, depth)
    inside: list[tuple[int, int]] = []  # (enabled cycle of the writing, word)
    chance = random.Random(depth)
    peak = 0

    async def process(ctx: Any) -> None:
        nonlocal peak
        cycle = 0
        for _ in range(300):
            enable = chance.random() < 0.8
            readable = bool(inside) and cycle >= inside[0][0] + 2
            pop = readable and chance.random() < 0.5
            push = len(inside) - pop < depth and chance.random() < 0.7
            word = chance.randrange(-1000, 1000)
            for port, value in ((dut.en, enable), (dut.push, push), (dut.pop, pop), (dut.i, word)):
                ctx.set(port, value)
            if readable:
                assert ctx.get(dut.o) == inside[0][1]
            if enable:
                cycle += 1
                if pop:
                    inside.pop(0)
                if push:
                    inside.append((cycle - 1, word))
                peak = max(peak, len(inside))
            await ctx.tick()
            assert ctx.get(dut.level) == len(inside)
        assert ctx.get(dut.peak) == peak == depth

    simulate(dut, process)


def test_reordering_memory() -> None:
    dut = ReorderChannel(INT16, 11)
    model = [0] * 11
    expected: int | None = None
    chance = random.Random(1)

    async def process(ctx: Any) -> None:
        nonlocal expected
        for _ in range(200):
            enable, push = chance.random() < 0.8, chance.random() < 0.5
            write, word = chance.randrange(11), chance.randrange(-9, 9)
            read = chance.choice([a for a in range(11) if not push or a != write])
            for port, value in ((dut.en, enable), (dut.push, push), (dut.write_address, write), (dut.i, word),
                                (dut.read_address, read)):
                ctx.set(port, value)
            if expected is not None:
                assert ctx.get(dut.o) == expected
            if enable:
                expected = model[read]
                if push:
                    model[write] = word
            await ctx.tick()

    simulate(dut, process)


ADDRESSES: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "concatenated": (64, lambda c1, c0: c1 << 3 | c0),
    "linear": (25, lambda c1, c0: c1 * 5 + c0),
}


@pytest.mark.parametrize("mode", ADDRESSES)
def test_f17_f18_reuse_memory_of_the_seed(mode: str) -> None:
    """B of a 5 x 5 product: written while i = 0, when the word that is written is also the one that is used."""
    depth, address = ADDRESSES[mode]
    dut = ReuseMemory(INT16, depth)
    words = {(c1, c0): 100 * c1 + c0 - 50 for c1 in range(5) for c0 in range(5)}
    used = []

    async def process(ctx: Any) -> None:
        ctx.set(dut.en, 1)
        for i in range(3):
            for place, word in words.items():
                ctx.set(dut.address, address(*place))
                ctx.set(dut.write, i == 0)
                ctx.set(dut.i, word if i == 0 else -1)
                await ctx.tick()
                used.append(ctx.get(dut.o))

    simulate(dut, process)
    assert used == list(words.values()) * 3


def test_f17_the_largest_count_is_no_extent() -> None:
    """The seed's ``c1 * max(c0) + c0`` with max = N - 1 gives (0, N - 1) and (1, 0) one address; the extent two."""
    places = [(c1, c0) for c1 in range(5) for c0 in range(5)]
    assert len({c1 * 4 + c0 for c1, c0 in places}) < 25
    for _, address in ADDRESSES.values():
        assert len({address(*place) for place in places}) == 25


@pytest.mark.parametrize("divisor", [3, 6, 10, 129, 1000])
@pytest.mark.parametrize("counter", [unsigned(4), signed(4), signed(6), unsigned(7), signed(7), unsigned(9), signed(9)])
def test_floors_of_quotients_by_tables_and_reciprocals(counter: Shape, divisor: int) -> None:
    """All values of a counter, those of six bits and fewer by a table; no divider is built."""
    value = Signal(counter)
    floor = Floor(1, Affine((1,), 0), divisor)
    quotient = affine_value(Affine((0,), 0, (floor,)), [value])
    m, result = Module(), Signal(quotient.shape())
    m.d.comb += result.eq(quotient)
    low = -(1 << counter.width - 1) if counter.signed else 0
    found: dict[int, int] = {}

    async def bench(context: Any) -> None:
        for number in range(low, low + (1 << counter.width)):
            context.set(value, number)
            found[number] = context.get(result)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == {number: number // divisor for number in found} and len(found) == 1 << counter.width
    assert "$div" not in rtlil.convert(m, ports=[value, result])


def test_parts_that_cannot_be() -> None:
    with pytest.raises(KernelError, match=r"channel late \(delay\) of depth -1 would deliver words before"):
        ChannelSpec("late", "delay", INT16, 0, None, -1, 1, 1)
    with pytest.raises(KernelError, match=r"channel none \(fifo\) of depth 0 holds nothing"):
        ChannelSpec("none", "fifo", INT16, 0, None, 0, 1, 1)
    with pytest.raises(KernelError, match="kernel empty needs at least one counter and one output"):
        KernelSpec("empty", (), 1, (), (), (), ())
