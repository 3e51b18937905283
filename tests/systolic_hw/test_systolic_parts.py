"""Parts of systolic arrays in Amaranth's simulator: sequencer, tile addresses, chains, width converters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext
from systolic_arrays import matmul

from hw.systolic.bundles import Bundles
from hw.systolic.convert import Narrow, Widen
from hw.systolic.drain import Exit, Merge
from hw.systolic.feeder import Feeder
from hw.systolic.loader import BURST_BEATS, Bursts, StreamPlan
from hw.systolic.sequencer import Sequencer
from hw.systolic.spec import Address, ArraySpec, GuardSpec, TimeLoop
from hw.systolic.tiles import TileAddresses

LIMIT = 3000


def simulate(part: Elaboratable, *benches: Any) -> None:
    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


async def collect(ctx: SimulatorContext, port: wiring.PureInterface, count: int, seed: int) -> list[Any]:
    """`count` payloads, taken with random pauses."""
    rng, found = random.Random(seed), []
    for _ in range(LIMIT):
        ready = rng.random() < 0.7
        ctx.set(port.ready, ready)
        _, _, valid, payload = await ctx.tick().sample(port.valid, port.payload)
        if ready and valid:
            found.append(payload)
        if len(found) == count:
            ctx.set(port.ready, 0)
            return found
    raise AssertionError(f"only {len(found)} of {count} came")


async def offer(ctx: SimulatorContext, port: wiring.PureInterface, payloads: Sequence[Any], seed: int,
                extra: Sequence[tuple[Value, Sequence[int]]] = ()) -> None:
    """The payloads with random pauses; `extra`: signals with a value for each payload."""
    rng = random.Random(seed)
    for number, payload in enumerate(payloads):
        while rng.random() < 0.3:
            await ctx.tick()
        ctx.set(port.payload, payload)
        for signal, values in extra:
            ctx.set(signal, values[number])
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)


def steps_of(spec: ArraySpec, extents: tuple[int, ...], bound: int) -> list[dict[str, int]]:
    """The fields of every west token, from the loops as they are."""
    reduced = [k for k, loop in enumerate(spec.time_loops) if loop.reduction]
    guard, last_times = spec.guards[0], tuple(loop.extent - 1 for loop in spec.time_loops)
    tokens = []
    for tiles in product(*map(range, extents)):
        for times in product(*(range(loop.extent) for loop in spec.time_loops)):
            index = tiles[2] * guard.tile + sum(c * t for c, t in zip(guard.coefficients, times, strict=True))
            ends = times == last_times
            tokens.append({
                "first": int(tiles[2] == 0 and all(times[k] == 0 for k in reduced)),
                "last": int(tiles[2] == extents[2] - 1 and all(times[k] == last_times[k] for k in reduced)),
                "entry": spec.result.address.at(times),
                "left_0": max(0, min(guard.tile - index + tiles[2] * guard.tile, bound - index)),
                "address_0": spec.operands[0].address.at(times), "release_0": int(ends),
            })
    return tokens


@pytest.mark.parametrize(("extents", "loops"), [
    ((2, 1, 3), (TimeLoop("k", 3, True), TimeLoop("i", 2), TimeLoop("j", 2))),
    ((1, 2, 2), (TimeLoop("i", 2), TimeLoop("k", 1, True), TimeLoop("j", 4))),
    ((1, 1, 1), (TimeLoop("i", 1), TimeLoop("k", 1, True), TimeLoop("j", 1))),
])
def test_the_sequencer_goes_through_all_loops(extents: tuple[int, ...], loops: tuple[TimeLoop, ...]) -> None:
    """Addresses may go backwards; the guard's distance is that to the bound."""
    base = matmul(1, 1, steps=3, block=(2, 2))
    order = [next(k for k, loop in enumerate(base.time_loops) if loop.name == own.name) for own in loops]
    coefficients = tuple((2, -1, 0)[k] for k in order)
    start = -sum(min(0, c) * (loop.extent - 1) for c, loop in zip(coefficients, loops, strict=True))
    words = 1 + start + sum(max(0, c) * (loop.extent - 1) for c, loop in zip(coefficients, loops, strict=True))
    high = {loop.name: loop.extent for loop in loops}
    entry = tuple({"i": high["j"], "j": 1, "k": 0}[loop.name] for loop in loops)
    spec = replace(
        base, time_loops=loops, operands=(replace(base.operands[0], words=words, address=Address(coefficients, start)),
                                          replace(base.operands[1], words=1, address=Address((0, 0, 0)))),
        result=replace(base.result, words=high["i"] * high["j"], address=Address(entry)),
        guards=(GuardSpec("k", 2, high["k"] + 1, tuple(int(loop.name == "k") for loop in loops)),))
    bound = (extents[2] - 1) * (high["k"] + 1) + 1
    expected = steps_of(spec, extents, bound)
    part = Sequencer(spec)

    async def bench(ctx: SimulatorContext) -> None:
        for port, value in zip([*part.extents, *part.bounds], [*extents, bound], strict=True):
            ctx.set(port, value)
        ctx.set(part.north.ready, 1)
        ctx.set(part.load, 1)
        await ctx.tick()
        ctx.set(part.load, 0)
        found = await collect(ctx, part.west, len(expected), 1)
        fields = Bundles(spec).west_token.members
        for token, wanted in zip(found, expected, strict=True):
            assert {name: token[name] for name in fields} == {name: wanted[name] for name in fields}
        for _ in range(10):
            await ctx.tick()
            assert not ctx.get(part.west.valid)

    simulate(part, bench)


@pytest.mark.parametrize(("extents", "strides"), [((2, 3, 2), (0x1000, 0, -64)), ((), ()), ((4,), (8,))])
def test_addresses_of_tiles(extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Strides may be negative, and loops without a stride repeat a tile."""
    strided = [k for k, stride in enumerate(strides) if stride]
    part = TileAddresses(len(extents), strided)
    expected = [(0x8000 + sum(s * t for s, t in zip(strides, turn, strict=True))) % (1 << 32)
                for turn in product(*map(range, extents))]

    async def bench(ctx: SimulatorContext) -> None:
        for port, value in [*zip(part.extents, extents, strict=True),
                            *zip(part.strides, [strides[k] % (1 << 32) for k in strided], strict=True)]:
            ctx.set(port, value)
        ctx.set(part.base, 0x8000)
        ctx.set(part.load, 1)
        await ctx.tick()
        ctx.set(part.load, 0)
        assert await collect(ctx, part.o, len(expected), 2) == expected
        assert not ctx.get(part.busy)

    simulate(part, bench)


@pytest.mark.parametrize(("beats", "base", "longest", "tapered"), [
    (1, 0, 16, False), (16, 0, 16, False), (37, 0xFF8, 16, False), (100, 0x7C, 16, True), (21, 0, 4, True)])
def test_bursts_cover_tiles_and_stay_in_their_pages(beats: int, base: int, longest: int, tapered: bool) -> None:
    """The last ones of a tapered run are short."""
    part = Bursts(StreamPlan(beats, 1, (0,)), 32, longest=longest, tapered=tapered)
    sizes: list[int] = []

    async def bench(ctx: SimulatorContext) -> None:
        ctx.set(part.base, base)
        ctx.set(part.extents[0], 2)
        ctx.set(part.strides[0], 0x1000)
        ctx.set(part.load, 1)
        await ctx.tick()
        ctx.set(part.load, 0)
        for tile in (base, base + 0x1000):
            place = tile
            while place < tile + 4 * beats:
                (burst,) = await collect(ctx, part.o, 1, 3)
                assert burst.address == place and 1 <= burst.beats <= longest <= BURST_BEATS
                sizes.append(burst.beats)
                assert place // 4096 == (place + 4 * burst.beats - 1) // 4096
                place += 4 * burst.beats
            assert place == tile + 4 * beats
        await ctx.tick()
        assert not ctx.get(part.left)
        assert ctx.get(part.ahead)
        assert max(sizes) == min(longest, beats)
        assert not tapered or sizes[-1] <= 4

    simulate(part, bench)


@pytest.mark.parametrize("pack", [1, 2])
def test_a_feeder_keeps_its_words_and_passes_on_the_rest(pack: int) -> None:
    """Two places of a chain; words are read as they come, and every second tile while the next one comes."""
    spec = matmul(2, 1, steps=5, pack=pack)
    part = Feeder(spec, spec.operands[0])
    tiles, beats = 4, spec.feeder_beats(spec.operands[0])
    words = [[[(16 * tile + 8 * place + k) % 128 for k in range(5)] for place in (1, 0)] for tile in range(tiles)]
    fill = [{"data": sum(word << (8 * k) for k, word in enumerate(own[start : start + pack])), "along": place}
            for tile in words for start in range(0, 5, pack) for place, own in zip((1, 0), tile, strict=True)]
    order = (*range(5), 0, 2, 4, 4)
    waits: set[int] = set()

    async def source(ctx: SimulatorContext) -> None:
        await offer(ctx, part.fill, fill, 4)

    async def other(ctx: SimulatorContext) -> None:
        found = await collect(ctx, part.next, tiles * beats, 5)
        assert [(beat.data, beat.along) for beat in found] == [(b["data"], 0) for b in fill if b["along"] == 1]

    async def reader(ctx: SimulatorContext) -> None:
        for tile in words:
            for number, k in enumerate(order):
                ctx.set(part.address, k)
                ctx.set(part.claim, k % pack == 0)
                while not ctx.get(part.full):
                    waits.add(k)
                    await ctx.tick()
                ctx.set(part.read, 1)
                ctx.set(part.release, number == len(order) - 1)
                await ctx.tick()
                assert ctx.get(part.word) == tile[1][k]
                ctx.set(part.read, 0)
            assert (await ctx.tick().sample(part.word))[-1] == tile[1][4]
        assert waits > {0} and waits <= set(range(0, 5, pack))

    simulate(part, source, other, reader)


def test_results_from_upstream_go_first() -> None:
    """Rounds of three beats from upstream; one of its own ends each."""
    part = Merge(8)

    async def own(ctx: SimulatorContext) -> None:
        await offer(ctx, part.own, range(3), 6)

    async def upstream(ctx: SimulatorContext) -> None:
        await offer(ctx, part.upstream, [{"data": 100 + k, "end": k % 3 == 2} for k in range(9)], 7)

    async def sink(ctx: SimulatorContext) -> None:
        found = [(beat.data, beat.end) for beat in await collect(ctx, part.o, 12, 8)]
        assert found == [(data, int(data < 100)) for turn in range(3)
                         for data in (*range(100 + 3 * turn, 103 + 3 * turn), turn)]

    simulate(part, own, upstream, sink)


def test_exits_pack_at_the_same_time() -> None:
    """Two results to a beat of every row, rows in turns; of the five of a tile the last one comes alone."""
    spec = matmul(3, 5, steps=1, result_pack=2)
    upper, lower = Exit(spec), Exit(spec)
    chain = Module()
    chain.submodules += [upper, lower]
    wiring.connect(chain, upper.o, lower.upstream)
    chain.d.comb += upper.head.eq(1)

    def row(base: int) -> Any:
        async def source(ctx: SimulatorContext) -> None:
            await offer(ctx, (lower if base else upper).own, [{"data": base + k, "end": 1} for k in range(10)], base)
        return source

    async def sink(ctx: SimulatorContext) -> None:
        found = await collect(ctx, lower.o, 12, 9)
        assert [beat.end for beat in found] == 6 * [0, 1]
        low, high = ([beat.data >> shift & 0xFFFFFFFF for beat in found] for shift in (0, 32))
        assert low == [base + k for k in (0, 2, 4, 5, 7, 9) for base in (0, 100)]
        assert high[:4] + high[6:10] == [base + k for k in (1, 3, 6, 8) for base in (0, 100)]

    simulate(chain, row(0), row(100), sink)


def test_narrow_words_from_wide_ones_and_back() -> None:
    """What is left of a wide word is thrown away on demand, and a wide word can end early."""
    narrow, widen = Narrow(4, 4), Widen(4, 4)
    words = [0x4321, 0x8765, 0xCBA9]

    async def wide(ctx: SimulatorContext) -> None:
        await offer(ctx, narrow.i, words, 11)

    async def parts(ctx: SimulatorContext) -> None:
        found = []
        for wanted in (4, 2, 4):
            for k in range(wanted):
                ctx.set(narrow.drop, k == wanted - 1)
                found += await collect(ctx, narrow.o, 1, 12)
        assert found == [1, 2, 3, 4, 5, 6, 9, 10, 11, 12]

    simulate(narrow, wide, parts)

    async def source(ctx: SimulatorContext) -> None:
        await offer(ctx, widen.i, range(1, 11), 13, extra=[(widen.flush, [k == 6 for k in range(1, 11)])])

    async def sink(ctx: SimulatorContext) -> None:
        found = await collect(ctx, widen.o, 3, 14)
        assert [found[0], found[1] & 0xFF, found[2]] == [0x4321, 0x65, 0xA987]

    simulate(widen, source, sink)
