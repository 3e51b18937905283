"""On-chip memory: every kind of burst against a byte array."""

import gc
import random
import warnings

import pytest
from amaranth.hdl import UnusedElaboratable
from amaranth.sim import Simulator
from board_axi_driver import read, write

from hw.boards.memory import OnChipMemory, OnChipMemoryError
from hw.dma.axi import Response

SIZE = 100  # not a multiple of 8: thirteen words
CONTENTS = bytes((7 * index + 3) & 0xFF for index in range(SIZE))


def run(bench, *, size=SIZE, contents=CONTENTS):
    memory = OnChipMemory(size, contents, id_width=2)
    simulator = Simulator(memory)
    simulator.add_clock(1e-6)

    async def process(ctx):
        await bench(ctx, memory)

    simulator.add_testbench(process)
    simulator.run()


def word(image, address):
    return int.from_bytes(image[address & ~7 : (address & ~7) + 8], "little")


def test_contents_read_back_in_one_burst():
    async def bench(ctx, memory):
        beats = await read(ctx, memory.bus, 0, 13, ident=2)
        assert beats == [(word(CONTENTS, 8 * k), Response.OKAY, k == 12, 2) for k in range(13)]

    run(bench)


def test_one_beat_per_cycle():
    async def bench(ctx, memory):
        bus = memory.bus
        ctx.set(bus.r.ready, 1)
        ctx.set(bus.ar.p.len, 11)
        ctx.set(bus.ar.p.size, 3)
        ctx.set(bus.ar.p.burst, 1)
        ctx.set(bus.ar.valid, 1)
        valid = []
        for _ in range(27):
            await ctx.tick()
            valid.append(ctx.get(bus.r.valid))
        assert valid == [0] + [1] * 26  # two bursts and more without a gap

    run(bench)


def test_random_traffic_equals_a_byte_array():
    generator = random.Random(20240)
    image = bytearray(CONTENTS.ljust(104, b"\0"))

    async def one_write(ctx, bus):
        size, beats = generator.randrange(4), generator.randrange(1, 8)
        address = generator.randrange(0, 96)
        data = [(generator.getrandbits(64), generator.getrandbits(8)) for _ in range(beats)]
        response, _ = await write(ctx, bus, address, data, size=size)
        worst = Response.OKAY
        for value, strobe in data:
            if address < 104:
                for lane in range(8):
                    if strobe >> lane & 1:
                        image[(address & ~7) + lane] = value >> 8 * lane & 0xFF
            else:
                worst = Response.DECERR
            address = (address & -(1 << size)) + (1 << size)
        assert response == worst

    async def one_read(ctx, bus):
        size, beats = generator.randrange(4), generator.randrange(1, 20)
        address = generator.randrange(0, 96)
        pauses = [generator.choice((0, 0, 1, 3)) for _ in range(beats)]
        for data, response, last, _ in await read(ctx, bus, address, beats, size=size, pauses=pauses):
            beats -= 1
            assert last == (beats == 0)
            inside = address < 104
            assert response == (Response.OKAY if inside else Response.DECERR)
            assert data == (word(image, address) if inside else 0)
            address = (address & -(1 << size)) + (1 << size)

    async def bench(ctx, memory):
        for _ in range(150):
            await generator.choice((one_write, one_read))(ctx, memory.bus)

    run(bench)


@pytest.mark.parametrize(("burst", "size"), [(0, 3), (2, 3), (1, 4)])
def test_other_bursts_are_refused(burst, size):
    async def bench(ctx, memory):
        assert await write(ctx, memory.bus, 0, [(0, 255)] * 2, burst=burst, size=size) == (Response.SLVERR, 0)
        beats = await read(ctx, memory.bus, 0, 2, burst=burst, size=size, ident=1)
        assert beats == [(0, Response.SLVERR, 0, 1), (0, Response.SLVERR, 1, 1)]
        assert (await read(ctx, memory.bus, 0, 1))[0][0] == word(CONTENTS, 0)

    run(bench)


def test_side_port_reads_and_clears_bytes():
    async def bench(ctx, memory):
        ctx.set(memory.side_request, 1)
        for address in (0, 13, 50, 99):
            ctx.set(memory.side_address, address)
            await ctx.tick()
            assert ctx.get(memory.side_data) == word(CONTENTS.ljust(104, b"\0"), address)
        ctx.set(memory.side_clear, 1)
        ctx.set(memory.side_address, 13)
        await ctx.tick()
        ctx.set(memory.side_request, 0)
        ctx.set(memory.side_clear, 0)
        cleared = CONTENTS[:13] + b"\0" + CONTENTS[14:]
        assert (await read(ctx, memory.bus, 8, 1))[0][0] == word(cleared, 8)

    run(bench)


@pytest.mark.parametrize(
    ("size", "contents", "message"),
    [
        (0, b"", "an on-chip memory of 0 bytes cannot be built"),
        (4, b"12345", "5 bytes do not fit into an on-chip memory of 4 bytes"),
    ],
)
def test_impossible_memories(size, contents, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        with pytest.raises(OnChipMemoryError, match=f"^{message}$"):
            OnChipMemory(size, contents)
        gc.collect()
