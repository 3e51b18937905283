"""The burst engines against what their descriptors say, byte for byte."""

import pytest
from amaranth.sim import Simulator
from dma_memory import AxiMemory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.dma.axi import Response
from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.dma.reader import BurstReader
from hw.dma.spec import DmaSpec, DmaSpecError
from hw.dma.writer import BurstWriter

CYCLE_LIMIT = 20_000
ROOM = 1 << 20

SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def descriptors(draw):
    """Unaligned tiles, some across a 4 KiB boundary, rows that do not overlap (the writer's order is not kept)."""
    row_bytes = draw(st.one_of(st.integers(1, 20), st.integers(1, 300)))
    rows = DmaLevel(draw(st.integers(1, 5)), row_bytes + draw(st.integers(0, 70)))
    planes = DmaLevel(draw(st.integers(1, 3)), rows.count * rows.stride + draw(st.integers(0, 9)))
    base = 2 * 4096 - draw(st.integers(0, 400))
    if draw(st.booleans()):
        base, rows = base + rows.count * rows.stride, DmaLevel(rows.count, -rows.stride)
    return DmaDescriptor(base, row_bytes, rows, planes)


MEMORIES = st.fixed_dictionaries({
    "seed": st.integers(0, 1 << 30),
    "stall": st.sampled_from([0.0, 0.3, 0.8]),
    "latency": st.sampled_from([0, 5, 60]),
})

SPECS = st.sampled_from([DmaSpec(), DmaSpec(max_beats=4, outstanding=2), DmaSpec(data_width=32, max_beats=8)])


def job_of(descriptor, tile=0):
    return {
        "address": descriptor.tile_base(tile),
        "row_bytes": descriptor.row_bytes,
        "rows": descriptor.rows.count,
        "row_stride": descriptor.rows.stride % (1 << 32),
        "planes": descriptor.planes.count,
        "plane_stride": descriptor.planes.stride % (1 << 32),
    }


def packed(memory, descriptor, tile=0):
    return b"".join(memory.read(row, descriptor.row_bytes) for row in descriptor.row_addresses(tile))


async def start(ctx, engine, descriptor):
    ctx.set(engine.job.payload, job_of(descriptor))
    ctx.set(engine.job.valid, 1)
    await ctx.tick().until(engine.job.ready)
    ctx.set(engine.job.valid, 0)


async def wait(ctx, signal):
    """Cycles until `signal`; fails instead of hanging."""
    for cycle in range(CYCLE_LIMIT):
        if ctx.get(signal):
            return cycle
        await ctx.tick()
    raise AssertionError("the engine hangs")


def run(engine, memory, *testbenches, writes=False):
    simulator = Simulator(engine)
    simulator.add_clock(1e-6)
    serve = memory.serve_writes if writes else memory.serve_reads

    async def background(ctx):
        await serve(ctx, engine)

    simulator.add_testbench(background, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()


def read_tiles(spec, memory, tiles):
    """What the reader delivers for each tile, as bytes of whole words, and whether it reported an error."""
    engine = BurstReader(spec)
    results = []

    async def host(ctx):
        for descriptor in tiles:
            await start(ctx, engine, descriptor)
            received, done = bytearray(), False
            for _ in range(CYCLE_LIMIT):
                ctx.set(engine.word.ready, not memory.pauses())
                sampled = await ctx.tick().sample(engine.word.valid, engine.word.ready, engine.word.payload,
                                                  engine.done, engine.error)
                _, _, valid, ready, word, done, error = sampled
                if valid and ready:
                    received += word.data.to_bytes(spec.bytes, "little")
                    assert word.last == done
                if done:
                    break
            assert done, "the reader hangs"
            results.append((bytes(received), bool(error)))
            assert not ctx.get(engine.busy)
            assert ctx.get(engine.outstanding) == 0

    run(engine, memory, host)
    return results


def write_tiles(spec, memory, tiles, streams, late=False):
    """Writes the streams; returns whether each tile ended with an error."""
    engine = BurstWriter(spec, late=late)
    errors = []
    ended = []

    async def source(ctx):
        for number, data in enumerate(streams):
            data = data + b"\xEE" * (-len(data) % spec.bytes)
            for offset in range(0, len(data), spec.bytes):
                while memory.pauses():
                    ctx.set(engine.word.valid, 0)
                    await ctx.tick()
                ctx.set(engine.word.payload, int.from_bytes(data[offset : offset + spec.bytes], "little"))
                ctx.set(engine.word.valid, 1)
                taken = False
                while not taken and len(ended) == number:
                    _, _, taken = await ctx.tick().sample(engine.word.ready)
            ctx.set(engine.word.valid, 0)
            while len(ended) == number:
                await ctx.tick()

    async def host(ctx):
        for descriptor in tiles:
            await start(ctx, engine, descriptor)
            await wait(ctx, engine.done)
            errors.append(bool(ctx.get(engine.error)))
            await ctx.tick()
            ended.append(True)
            assert not ctx.get(engine.busy)
            assert ctx.get(engine.outstanding) == 0

    run(engine, memory, host, source, writes=True)
    return errors


def expect_read(spec, memory, descriptor):
    data = packed(memory, descriptor)
    return data + bytes(-len(data) % spec.bytes), False


@SETTINGS
@given(SPECS, MEMORIES, st.lists(descriptors(), min_size=1, max_size=3))
def test_reader_packs_rows_without_gaps(spec, parameters, tiles):
    memory = AxiMemory(**parameters)
    assert read_tiles(spec, memory, tiles) == [expect_read(spec, memory, tile) for tile in tiles]
    assert all(beats <= spec.max_beats for _, beats in memory.bursts)


@SETTINGS
@given(SPECS, MEMORIES, st.lists(descriptors(), min_size=1, max_size=3), st.randoms(use_true_random=False),
       st.booleans())
def test_writer_touches_exactly_its_bytes(spec, parameters, tiles, source, late):
    memory = AxiMemory(**parameters)
    streams = [bytes(source.randrange(256) for _ in range(tile.tile_bytes)) for tile in tiles]
    expected = {}
    for tile, stream in zip(tiles, streams, strict=True):
        position = 0
        for row in tile.row_addresses(0):
            expected |= {row + k: stream[position + k] for k in range(tile.row_bytes)}
            position += tile.row_bytes
    assert write_tiles(spec, memory, tiles, streams, late) == [False] * len(tiles)
    assert memory.bytes == expected


@pytest.mark.parametrize("length", [1, 7, 8, 9, 4097])
@pytest.mark.parametrize("base", [0x1000, 0x1FFF, 0x1FF9])
def test_single_rows(base, length):
    descriptor = DmaDescriptor(base, length)
    memory = AxiMemory()
    assert read_tiles(DmaSpec(), memory, [descriptor]) == [expect_read(DmaSpec(), memory, descriptor)]
    first, last = base // 8, (base + length - 1) // 8
    assert sum(beats for _, beats in memory.bursts) == last - first + 1


def test_bursts_are_as_long_as_they_can_be():
    memory = AxiMemory()
    read_tiles(DmaSpec(max_beats=64), memory, [DmaDescriptor(0x1F00, 1024)])
    assert memory.bursts == [(0x1F00, 32), (0x2000, 64), (0x2200, 32)]


def test_reader_hides_latency_behind_outstanding_bursts():
    memory = AxiMemory(latency=0)
    memory.due = lambda side: memory.cycles + 100
    read_tiles(DmaSpec(outstanding=8), memory, [DmaDescriptor(0, 128, DmaLevel(32, 256))])
    assert memory.most_outstanding >= 4
    assert memory.cycles < 32 * 16 + 4 * 120


def test_full_bandwidth_without_stalls():
    memory = AxiMemory()
    read_tiles(DmaSpec(), memory, [DmaDescriptor(0, 2048)])
    assert memory.cycles < 256 + 20


@pytest.mark.parametrize("late", [False, True])
def test_writer_reaches_full_bandwidth(late):
    memory = AxiMemory()
    data = bytes(range(256)) * 8
    write_tiles(DmaSpec(), memory, [DmaDescriptor(0, 2048)], [data], late)
    assert memory.read(0, 2048) == data
    assert memory.cycles < 256 + 30


@pytest.mark.parametrize("response", [Response.SLVERR, Response.DECERR])
@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("fault", [0x1000, 0x1200, 0x13F8])
def test_reader_ends_after_an_error_and_works_again(response, stall, fault):
    memory = AxiMemory(seed=fault, stall=stall, latency=20, faults={range(fault, fault + 8): response})
    good = DmaDescriptor(0x5003, 100)
    results = read_tiles(DmaSpec(), memory, [DmaDescriptor(0x1000, 1024), good])
    assert results[0][1]
    assert results[1] == expect_read(DmaSpec(), memory, good)


def test_reader_waits_for_the_last_beat_before_it_ends_with_an_error():
    good = DmaDescriptor(0x5003, 100)
    memory = AxiMemory(faults={range(0x1000, 0x1008): Response.SLVERR}, slow={0x10F8: 300})
    results = read_tiles(DmaSpec(), memory, [DmaDescriptor(0x1000, 256), good])
    assert results[0][1]
    assert results[1] == expect_read(DmaSpec(), memory, good)
    assert memory.cycles > 300


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("response", [Response.SLVERR, Response.DECERR])
@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("fault", [0x1000, 0x1200, 0x13F8])
def test_writer_ends_after_an_error_and_works_again(response, stall, fault, late):
    memory = AxiMemory(seed=fault, stall=stall, latency=20, faults={range(fault, fault + 8): response})
    data = bytes(range(256)) * 4
    errors = write_tiles(DmaSpec(), memory, [DmaDescriptor(0x1000, 1024), DmaDescriptor(0x5003, 100)],
                         [data, data[:100]], late)
    assert errors == [True, False]
    assert memory.read(0x5003, 100) == data[:100]


def test_reader_stops_when_told():
    engine, memory = BurstReader(DmaSpec()), AxiMemory(latency=10)

    async def host(ctx):
        ctx.set(engine.word.ready, 0)
        await start(ctx, engine, DmaDescriptor(0, 100_000))
        await ctx.tick().repeat(60)
        ctx.set(engine.stop, 1)
        assert await wait(ctx, engine.done) < 300
        assert not ctx.get(engine.error)
        await ctx.tick()
        assert not ctx.get(engine.busy)

    run(engine, memory, host)
    assert len(memory.bursts) < 20


def test_writer_stops_when_told_and_writes_nothing_more():
    engine, memory = BurstWriter(DmaSpec()), AxiMemory(latency=10)

    async def host(ctx):
        ctx.set(engine.word.valid, 0)
        await start(ctx, engine, DmaDescriptor(0, 100_000))
        await ctx.tick().repeat(60)
        ctx.set(engine.stop, 1)
        assert await wait(ctx, engine.done) < 300
        await ctx.tick()
        assert not ctx.get(engine.busy)

    run(engine, memory, host, writes=True)
    assert memory.bytes == {}


@pytest.mark.parametrize("parameters, message", [
    ({"data_width": 48}, "a memory bus has 16 to 1024 bits, a power of two, not 48"),
    ({"max_beats": 257}, "bursts on 64 bits have 1 to 256 beats, not 257"),
    ({"data_width": 1024, "max_beats": 33}, "bursts on 1024 bits have 1 to 32 beats, not 33"),
    ({"outstanding": 16}, "1 to 15 bursts can be outstanding, not 16"),
])
def test_impossible_engines(parameters, message):
    with pytest.raises(DmaSpecError) as caught:
        DmaSpec(**parameters)
    assert str(caught.value) == message
