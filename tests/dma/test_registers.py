"""The register map as text and as numbers, and the register file that is built from it."""

import subprocess
from enum import IntEnum

import pytest
from amaranth.sim import Simulator

from hw.dma.register_file import RegisterFile
from hw.dma.registers import Field, Register, RegisterError, RegisterMap, Window


class Colour(IntEnum):
    RED = 0
    GREEN = 2


MAP = RegisterMap(
    "paint",
    (
        Register("ID", 0x0, "constant", "identification", reset=0x1234),
        Register("STATE", 0x4, "read", "state", (Field("wet", 0, 1, "not dry"),
                                                 Field("colour", 4, 3, "colour", Colour))),
        Register("GO", 0x8, "pulse", "commands", (Field("paint", 0, 1, "start"), Field("dry", 9, 1, "wait"))),
        Register("LAYERS", 0xC, "write", "layers", reset=3),
    ),
    (Window("POT", 0x40, 0x10, 3, "one per pot", (Register("VOLUME", 0, "write", "litres"),
                                                  Register("PRICE", 8, "write", "cents"))),),
)


def test_addresses_and_fields():
    assert MAP.address("LAYERS") == 0xC
    assert MAP.address("POT[2].PRICE") == 0x68
    assert MAP.address_width == 7
    assert MAP.encode("GO", paint=1, dry=1) == 0x201
    assert MAP.decode("STATE", 0x21) == {"wet": 1, "colour": Colour.GREEN}
    assert MAP.decode("STATE", 0x30) == {"wet": 0, "colour": 3}
    assert MAP.decode("LAYERS", 77) == {"value": 77}


@pytest.mark.parametrize("act, message", [
    (lambda: MAP.address("NAME"), "there is no register 'NAME' in paint"),
    (lambda: MAP.register("NAME"), "there is no register 'NAME' in paint"),
    (lambda: MAP.window("CAN"), "there is no window 'CAN' in paint"),
    (lambda: MAP.encode("GO", stop=1), "register GO has no field 'stop'"),
    (lambda: MAP.encode("STATE", colour=8), "STATE.colour is 8, but has 3 bits"),
    (lambda: RegisterMap("m", (Register("A", 2, "read", ""),)), "register A is at 0x2, not a multiple of 4"),
    (lambda: RegisterMap("m", (Register("A", 4, "read", ""), Register("B", 4, "read", ""))),
     "registers A and B are both at 0x4"),
    (lambda: RegisterMap("m", (Register("A", 0, "read", "", (Field("x", 0, 4, ""), Field("y", 3, 1, ""))),)),
     "field A.y overlaps another"),
    (lambda: RegisterMap("m", (Register("A", 0, "read", "", (Field("x", 30, 4, ""),)),)),
     "field A.x does not fit into 32 bits"),
    (lambda: RegisterMap("m", (), (Window("W", 8, 16, 1, "", ()),)),
     "window W must start at a multiple of its stride, a power of two"),
    (lambda: RegisterMap("m", (), (Window("W", 0, 16, 1, "", (Register("A", 16, "write", ""),)),)),
     "register A is outside window W"),
])
def test_mistakes(act, message):
    with pytest.raises(RegisterError) as caught:
        act()
    assert str(caught.value) == message


PROGRAM = """
#include <assert.h>
#include "paint.h"
int main(void) {
  assert(PAINT_ID == 0 && PAINT_ID_CONSTANT == 0x1234);
  assert(PAINT_LAYERS == 0xC && PAINT_POT_PRICE(2) == 0x68 && PAINT_POT_COUNT == 3);
  assert(PAINT_STATE_COLOUR_SHIFT == 4 && PAINT_STATE_COLOUR_MASK == 0x70 && PAINT_STATE_COLOUR_GREEN == 2);
  return 0;
}
"""


def test_c_header_compiles_and_agrees(tmp_path):
    (tmp_path / "paint.h").write_text(MAP.c_header())
    (tmp_path / "main.c").write_text(PROGRAM)
    subprocess.run(["cc", "-Wall", "-Werror", "-o", "main", "main.c"], cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)


def test_markdown():
    lines = MAP.markdown().splitlines()
    assert "| 0x0004 | STATE | read | state |" in lines
    assert "| 6:4 | STATE.colour | | colour: 0 RED, 2 GREEN |" in lines
    assert "POT: one per pot. Copy *i* (0 to 2) starts at 0x0040 + 0x10·*i*." in lines
    assert "| 0x08 | PRICE | write | cents |" in lines


async def write(ctx, bus, address, value, strobes=0xF, *, data_first=False):
    """Address and data in either order; the result is the response."""
    channels = [(bus.aw, {"addr": address, "prot": 0}), (bus.w, {"data": value, "strb": strobes})]
    for channel, payload in reversed(channels) if data_first else channels:
        ctx.set(channel.payload, payload)
        ctx.set(channel.valid, 1)
        await ctx.tick().until(channel.ready)
        ctx.set(channel.valid, 0)
        await ctx.tick().repeat(2)
    ctx.set(bus.b.ready, 1)
    (response,) = await ctx.tick().sample(bus.b.payload.resp).until(bus.b.valid)
    ctx.set(bus.b.ready, 0)
    return response


async def read(ctx, bus, address):
    ctx.set(bus.ar.payload, {"addr": address, "prot": 0})
    ctx.set(bus.ar.valid, 1)
    await ctx.tick().until(bus.ar.ready)
    ctx.set(bus.ar.valid, 0)
    await ctx.tick().repeat(5)
    assert ctx.get(bus.r.valid), "the answer waits for ready"
    ctx.set(bus.r.ready, 1)
    data, response = await ctx.tick().sample(bus.r.payload.data, bus.r.payload.resp).until(bus.r.valid)
    ctx.set(bus.r.ready, 0)
    return data, response


OKAY, SLVERR = 0, 2


def test_register_file():
    file = RegisterFile(MAP)
    pulses = []

    async def watch(ctx):
        async for _, _, paint, dry in ctx.tick().sample(file.go.paint, file.go.dry):
            if paint or dry:
                pulses.append((paint, dry))

    async def host(ctx):
        bus = file.bus
        assert await read(ctx, bus, 0x0) == (0x1234, OKAY)
        ctx.set(file.state, {"wet": 1, "colour": 2})
        assert await read(ctx, bus, 0x4) == (0x21, OKAY)
        assert await read(ctx, bus, 0xC) == (3, OKAY)
        assert await write(ctx, bus, 0xC, 0x11223344) == OKAY
        assert await write(ctx, bus, 0xC, 0xAABBCCDD, 0b0101, data_first=True) == OKAY
        assert await read(ctx, bus, 0xC) == (0x11BB33DD, OKAY)
        assert ctx.get(file.layers) == 0x11BB33DD
        assert await write(ctx, bus, 0x8, 0x200) == OKAY
        assert await read(ctx, bus, 0x8) == (0, OKAY)
        for copy in range(3):
            assert await write(ctx, bus, 0x48 + 0x10 * copy, 100 + copy) == OKAY
        assert await read(ctx, bus, 0x58) == (101, OKAY)
        ctx.set(file.pot_index, 2 * 4 + 2)
        await ctx.tick()
        assert ctx.get(file.pot_data) == 102
        for address in (0x10, 0x44, 0x70):
            assert (await read(ctx, bus, address))[1] == SLVERR
        for address in (0x0, 0x4, 0x10, 0x44, 0x70):
            assert await write(ctx, bus, address, 0xFFFFFFFF) == SLVERR
        assert await read(ctx, bus, 0x58) == (101, OKAY)

    simulator = Simulator(file)
    simulator.add_clock(1e-6)
    simulator.add_testbench(watch, background=True)
    simulator.add_testbench(host)
    simulator.run()
    assert pulses == [(0, 1)]
