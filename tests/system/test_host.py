"""Run control, banks, loader and burst engines together, with registers in the place of the tiles."""

from dataclasses import replace

import pytest
from dma_memory import AxiMemory
from host_bench import CONFIG, PATH_LATENCY, HostBench, linear, through

from hw.dma.axi import Response
from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig
from hw.fabric.status import Phase, RunError, Waiting

WORDS = 24
SOURCE, TARGET = 0x1003, 0x4001
IN = DmaDescriptor(SOURCE, 12, DmaLevel(4, 50), tiles=(DmaLevel(2, 12), DmaLevel(3, 400)))
OUT = DmaDescriptor(TARGET, 48, tiles=(DmaLevel(6, 61), DmaLevel()))
BANKS = {0: IN, 1: OUT}
NO_BANK = 0x3FF


def expected(memory, tile):
    return b"".join(memory.read(row, IN.row_bytes) for row in IN.row_addresses(tile))


def bench(**parameters):
    return HostBench(AxiMemory(**parameters))


def cycles_of(tiles, period):
    return (tiles - 1) * period + WORDS + PATH_LATENCY


def check_tiles(bench, tiles):
    for tile in range(tiles):
        written = bench.memory.read(OUT.tile_base(tile), OUT.row_bytes)
        assert written == expected(bench.memory, tile), f"tile {tile}"


@pytest.mark.parametrize("parameters", [{}, {"seed": 1, "stall": 0.5, "latency": 40}, {"seed": 2, "latency": 300}])
@pytest.mark.parametrize("period", [WORDS, 40])
def test_tiles_go_through_double_buffers(parameters, period):
    b = bench(**parameters)
    tiles = 6

    async def host(ctx):
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=period, tiles=tiles, cycles=cycles_of(tiles, period)))
        status, detail = await b.finish(ctx)
        assert status == {"busy": 0, "done": 1, "start_ignored": 0, "error": RunError.NONE}
        assert detail == {"phase": Phase.IDLE, "waiting": Waiting.NOTHING, "bank": NO_BANK}
        assert await b.read(ctx, "CYCLES") == cycles_of(tiles, period)
        assert await b.read(ctx, "LAST_OUTPUT") == cycles_of(tiles, period) - 1
        assert await b.read(ctx, "STALLS") > 0
        assert await b.read(ctx, "WALL_CYCLES") > cycles_of(tiles, period) + await b.read(ctx, "STALLS")
        assert await b.read(ctx, "LOAD_CYCLES") >= length // 2
        assert await b.fields(ctx, "DMA") == {"read_bank": NO_BANK, "read_busy": 0, "read_outstanding": 0,
                                              "write_bank": NO_BANK, "write_busy": 0, "write_outstanding": 0}
        check_tiles(b, tiles)

    b.run(host)


def banded(words, band, *, lag=1, room=8, time=1):
    """Banks of `through`, in bands of so many words."""
    bands = -(-words // band)
    return ArrayConfig(banks={number: replace(bank, bands=bands, band_cycles=time * band, lag=lag, room=room)
                              for number, bank in through(words, time=time).banks.items()})


@pytest.mark.parametrize("parameters", [{"latency": 20}, {"seed": 1, "stall": 0.5, "latency": 40}])
@pytest.mark.parametrize("shape", [
    ((48, DmaLevel(), DmaLevel()), 16), ((4, DmaLevel(12, 20), DmaLevel()), 4),
    ((2, DmaLevel(6, 10), DmaLevel(4, 70)), 2),
])
def test_tiles_are_transferred_in_bands(parameters, shape):
    """Bytes of a row, rows and planes; the last band of a tile may be shorter."""
    b, (levels, steps), tiles = bench(**parameters), shape, 3
    source = DmaDescriptor(SOURCE, *levels, tiles=(DmaLevel(tiles, 500), DmaLevel()), band=steps)
    target = DmaDescriptor(TARGET, 48, tiles=(DmaLevel(tiles, 61), DmaLevel()), band=source.band_bytes)

    async def host(ctx):
        band = source.band_bytes // 2
        length = b.load(banded(WORDS, band, room=2 * source.bands))
        banks = {0: source, 1: target}
        await b.start(ctx, b.plan(length, banks, period=WORDS, tiles=tiles, cycles=cycles_of(tiles, WORDS)))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        for tile in range(tiles):
            wanted = b"".join(b.memory.read(row, source.row_bytes) for row in source.row_addresses(tile))
            assert b.memory.read(target.tile_base(tile), 48) == wanted, f"tile {tile}"

    b.run(host)


@pytest.mark.parametrize("parameters", [{"latency": 20}, {"seed": 1, "stall": 0.5, "latency": 40}, {"latency": 300}])
@pytest.mark.parametrize("time, lag, room", [(1, 1, 8), (1, 3, 5), (2, 2, 3)])
def test_a_tile_larger_than_a_bank_goes_through_it_as_a_ring(parameters, time, lag, room):
    """400 words through banks of 128: compute begins with the first band, and memory overtakes nothing in use."""
    b, words = bench(**parameters), 400

    async def host(ctx):
        length = b.load(banded(words, 16, lag=lag, room=room, time=time))
        banks = {0: DmaDescriptor(SOURCE, 2 * words, band=32), 1: DmaDescriptor(TARGET, 2 * words, band=32)}
        cycles = (words - 1) * time + 1 + PATH_LATENCY
        await b.start(ctx, b.plan(length, banks, period=cycles, tiles=1, cycles=cycles))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        assert b.memory.read(TARGET, 2 * words) == b.memory.read(SOURCE, 2 * words)

    b.run(host)


def test_memory_is_hidden_behind_a_long_period():
    """Once the first tile is there, transfers happen while the array works on the tile before."""
    b = bench(latency=10)
    tiles, period = 6, 300

    async def host(ctx):
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=period, tiles=1, cycles=cycles_of(1, period)))
        await b.finish(ctx)
        first = await b.read(ctx, "STALLS")
        await b.start(ctx, b.plan(0, BANKS, period=period, tiles=tiles, cycles=cycles_of(tiles, period)))
        await b.finish(ctx)
        assert await b.read(ctx, "STALLS") <= first + 15
        check_tiles(b, tiles)

    b.run(host)


def test_runs_follow_each_other_with_and_without_a_new_configuration():
    b = bench(stall=0.2)

    async def host(ctx):
        length = b.load(through(WORDS, first=3, time=2))
        cycles = 3 + PATH_LATENCY + 2 * WORDS
        await b.start(ctx, b.plan(length, BANKS, period=60, tiles=2, cycles=60 + cycles))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        check_tiles(b, 2)
        b.memory.load(SOURCE, bytes(range(200)))
        await b.start(ctx, b.plan(0, BANKS, period=60, tiles=3, cycles=120 + cycles))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        assert await b.read(ctx, "LOAD_CYCLES") == 0
        check_tiles(b, 3)
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=6, cycles=cycles_of(6, WORDS)))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        check_tiles(b, 6)

    b.run(host)


def test_other_configuration_switches_units_off_that_it_does_not_name():
    b = bench()

    async def host(ctx):
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=1, cycles=cycles_of(1, WORDS)))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        b.memory.load(TARGET, bytes(48))
        length = b.load(ArrayConfig(banks={0: BankConfig("input", linear(WORDS), WORDS, 0)}))
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=1, cycles=WORDS))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        assert b.memory.read(TARGET, 48) == bytes(48)

    b.run(host)


def damaged(kind, image):
    if kind == "magic":
        image[0] ^= 1
    elif kind == "count":
        image[4] += 1
    elif kind == "data":
        image[21] ^= 0x40
    elif kind == "checksum":
        image[-1] ^= 0x80
    return image


@pytest.mark.parametrize("kind, error", [
    ("magic", RunError.CONFIGURATION_MAGIC),
    ("count", RunError.CONFIGURATION_COUNT),
    ("data", RunError.CONFIGURATION_CHECKSUM),
    ("checksum", RunError.CONFIGURATION_CHECKSUM),
    ("length", RunError.CONFIGURATION_COUNT),
    ("short", RunError.CONFIGURATION_COUNT),
])
def test_damaged_configurations_end_with_their_error_and_switch_everything_off(kind, error):
    b = bench(stall=0.3, latency=20)

    async def host(ctx):
        length = b.load(through(WORDS))
        image = damaged(kind, bytearray(b.memory.read(CONFIG, 4 * length)))
        b.memory.load(CONFIG, image)
        given = {"length": length + 4, "short": 2}.get(kind, length)
        plan = b.plan(given, BANKS, period=WORDS, tiles=1, cycles=cycles_of(1, WORDS))
        await b.start(ctx, plan)
        status, detail = await b.finish(ctx)
        assert status["error"] == error
        assert detail == {"phase": Phase.LOAD, "waiting": Waiting.NOTHING, "bank": NO_BANK}
        await b.start(ctx, b.plan(0, BANKS, period=WORDS, tiles=1, cycles=cycles_of(1, WORDS)))
        assert (await b.finish(ctx))[0]["error"] == RunError.NOT_CONFIGURED
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=1, cycles=cycles_of(1, WORDS)))
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        check_tiles(b, 1)

    b.run(host)


@pytest.mark.parametrize("fault, error, phase, column", [
    (CONFIG + 40, RunError.READ_RESPONSE, Phase.LOAD, NO_BANK),
    (SOURCE + 50, RunError.READ_RESPONSE, Phase.RUN, 0),
    (TARGET + 61, RunError.WRITE_RESPONSE, None, 1),
])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_errors_of_memory_end_the_run_and_the_next_one_works(fault, error, phase, column, stall):
    b = bench(stall=stall, latency=10, faults={range(fault, fault + 1): Response.SLVERR})

    async def host(ctx):
        length = b.load(through(WORDS))
        plan = b.plan(length, BANKS, period=WORDS, tiles=3, cycles=cycles_of(3, WORDS))
        await b.start(ctx, plan)
        status, detail = await b.finish(ctx)
        assert (status["error"], detail["bank"]) == (error, column)
        assert phase is None or detail["phase"] == phase
        b.memory.faults.clear()
        await b.start(ctx, plan)
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        check_tiles(b, 3)

    b.run(host)


LONG_IN = DmaDescriptor(SOURCE, 129)
LONG_OUT = DmaDescriptor(TARGET, 129)


@pytest.mark.parametrize("banks, error, column", [
    ({0: LONG_IN, 1: OUT}, RunError.BANK_OVERFLOW, 0),
    ({0: IN, 1: LONG_OUT}, RunError.BANK_OVERFLOW, 1),
    ({1: OUT}, RunError.DESCRIPTOR, 0),
    ({0: IN}, RunError.DESCRIPTOR, 1),
])
def test_bad_descriptors(banks, error, column):
    b = bench()

    async def host(ctx):
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, banks, period=WORDS, tiles=2, cycles=cycles_of(2, WORDS)))
        status, detail = await b.finish(ctx)
        assert (status["error"], detail["bank"]) == (error, column)

    b.run(host)


@pytest.mark.parametrize("config, cycles, error, column", [
    (through(WORDS), cycles_of(2, WORDS) - 1, RunError.RUN_TOO_SHORT, 1),
    (through(WORDS), 10, RunError.RUN_TOO_SHORT, 0),
    (through(WORDS, output_words=WORDS + 3), cycles_of(2, WORDS) + 99, RunError.BANK_OVERRUN, 1),
    (ArrayConfig(), 100, RunError.NOT_CONFIGURED, NO_BANK),
])
def test_schedules_that_do_not_fit(config, cycles, error, column):
    b = bench()

    async def host(ctx):
        length = b.load(config)
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=2, cycles=cycles))
        status, detail = await b.finish(ctx)
        assert (status["error"], detail["bank"]) == (error, column)

    b.run(host)


@pytest.mark.parametrize("register, value", [
    ("PERIOD", 0), ("PERIOD", 1 << 24), ("TILES", 0), ("TILES", 1 << 16), ("RUN_CYCLES", 0),
])
def test_parameters_out_of_range(register, value):
    b = bench()

    async def host(ctx):
        for name in ("PERIOD", "TILES", "RUN_CYCLES"):
            await b.write(ctx, name, 1)
        await b.write(ctx, register, value)
        await b.write(ctx, "CONTROL", 1)
        assert (await b.finish(ctx))[0]["error"] == RunError.PARAMETER

    b.run(host)


def test_conflict_in_the_array_is_reported():
    b = bench()

    async def host(ctx):
        ctx.set(b.array.conflict_forced, 1)
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=1, cycles=cycles_of(1, WORDS)))
        assert (await b.finish(ctx))[0]["error"] == RunError.ARRAY_CONFLICT

    b.run(host)


def test_start_while_busy_is_flagged_and_clear_resets_the_flags():
    b = bench(latency=50)

    async def host(ctx):
        length = b.load(through(WORDS))
        plan = b.plan(length, BANKS, period=WORDS, tiles=2, cycles=cycles_of(2, WORDS))
        await b.start(ctx, plan)
        await b.write(ctx, "CONTROL", 1)
        assert (await b.fields(ctx, "STATUS"))["busy"] == 1
        status, _ = await b.finish(ctx)
        assert status == {"busy": 0, "done": 1, "start_ignored": 1, "error": RunError.NONE}
        check_tiles(b, 2)
        await b.write(ctx, "CONTROL", 2)
        assert await b.read(ctx, "STATUS") == 0
        assert not ctx.get(b.host.irq)

    b.run(host)


@pytest.mark.parametrize("delay", [0, 3, 60, 200, 330])
def test_clear_aborts_a_run_in_any_phase(delay):
    b = bench(latency=60, stall=0.2)

    async def host(ctx):
        length = b.load(through(WORDS))
        plan = b.plan(length, BANKS, period=WORDS, tiles=6, cycles=cycles_of(6, WORDS))
        await b.start(ctx, plan)
        await ctx.tick().repeat(delay + 1)
        await b.write(ctx, "CONTROL", 2)
        status, _ = await b.finish(ctx)
        assert (status["busy"], status["error"]) == (0, RunError.ABORTED)
        await b.write(ctx, "CONTROL", 2)
        assert await b.read(ctx, "STATUS") == 0
        await b.start(ctx, plan)
        assert (await b.finish(ctx))[0]["error"] == RunError.NONE
        check_tiles(b, 6)

    b.run(host)


def freeze(memory, address):
    """From the burst that begins with `address` on, `memory` takes requests but never answers."""
    original = memory._burst

    def burst(payload):
        if payload.addr == address // 8 * 8:
            memory.due = lambda side: 1 << 40
        return original(payload)

    memory._burst = burst


@pytest.mark.parametrize("address, phase, waiting, bank", [
    (CONFIG, Phase.LOAD, Waiting.CONFIGURATION, NO_BANK),
    (SOURCE, Phase.RUN, Waiting.INPUT_BANK, 0),
    (TARGET, Phase.RUN, Waiting.OUTPUT_BANK, 1),
    (OUT.tile_base(3), Phase.DRAIN, Waiting.WRITE_BACK, 1),
])
def test_a_hang_has_a_name(address, phase, waiting, bank):
    b = bench()
    freeze(b.memory, address)

    async def host(ctx):
        length = b.load(through(WORDS))
        await b.start(ctx, b.plan(length, BANKS, period=WORDS, tiles=4, cycles=cycles_of(4, WORDS)))
        await ctx.tick().repeat(1000)
        assert await b.fields(ctx, "DETAIL") == {"phase": phase, "waiting": waiting, "bank": bank}

    b.run(host)


def test_registers_that_are_not_there_answer_with_an_error():
    b = bench()

    async def host(ctx):
        assert await b.write(ctx, "PERIOD", 0x123456) == Response.OKAY
        assert await b.read(ctx, "PERIOD") == 0x123456
        for address in (0x3C, 0x1034, 0x1080, b.registers.address("ID"), b.registers.address("CYCLES")):
            assert await b.write(ctx, address, 1) == Response.SLVERR
        assert await b.read(ctx, "ID") == 0x534C5543
        assert await b.read(ctx, "GEOMETRY") == 2 | 2 << 16
        assert await b.read(ctx, "HALF_WORDS") == 64

    b.run(host)
