"""The system without its tiles: the array is a few registers from a column's input to a column's output."""

from itertools import pairwise

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunPlan
from hw.fabric.host import ArraySignature, CgraHost
from hw.fabric.image import configuration_image, image_length
from hw.fabric.spec import EN_LATENCY, FabricSpec, GlobalBufferSpec
from hw.memtile import Affine, AffineNest

HOPS = 3
"""Registers between the edge stages of the model, in each direction of travel."""

PATH_LATENCY = 2 + HOPS + 1
"""Cycles from the read of a word in an input bank until it is at an output bank."""

CONFIG = 0x8000
CYCLE_LIMIT = 30_000

SPEC = FabricSpec(2, 2, glb=GlobalBufferSpec(half_words=64))


class LoopBack(wiring.Component):
    """Sends the stream of column c to column ``(c + 1) % columns``, one more register than an array of no tiles.

    `conflict` and what goes out can be forced by the bench.
    """

    def __init__(self, spec):
        self.spec = spec
        self.conflict_forced = Signal()
        self.configuration = []
        super().__init__(dict(ArraySignature(spec).flip().members.items()))

    def elaborate(self, platform):
        m = Module()
        stages = Signal(EN_LATENCY)
        m.d.sync += stages.eq(self.en | stages << 1)
        for column in range(self.spec.columns):
            path = [Signal(self.spec.width, name=f"path{column}_{k}") for k in range(HOPS + 2)]
            with m.If(stages[-1]):
                m.d.sync += path[0].eq(self.i_stream[column])
                m.d.sync += [following.eq(before) for before, following in pairwise(path)]
            m.d.comb += self.o_stream[(column + 1) % self.spec.columns].eq(path[-1])
        m.d.comb += self.conflict.eq(Mux(self.conflict_forced, 1, Const(0)))
        return m


def linear(count, *, time=1, first=0, address=0):
    return AffineNest((count,), (time,), first, (Affine((1,), address),))


def through(words, *, output_words=None, time=1, first=0):
    """Banks that send `words` words per tile from column 0 to column 1."""
    output_words = output_words or words
    start = first + PATH_LATENCY
    return ArrayConfig(banks={
        0: BankConfig("input", linear(words, time=time, first=first), words, first),
        1: BankConfig("output", linear(output_words, time=time, first=start), output_words, start),
    })


class HostBench:
    """A `CgraHost` with memory and a host processor, for one scenario."""

    def __init__(self, memory, spec=SPEC):
        self.spec = spec
        self.memory = memory
        self.host = CgraHost(spec)
        self.array = LoopBack(spec)
        self.registers = control_registers(spec)

    def load(self, config, address=CONFIG):
        """Put a configuration into memory; the result is the length of its image in words."""
        pairs = config.words(self.spec)
        self.memory.load(address, configuration_image(pairs))
        return image_length(len(pairs))

    def plan(self, words, banks, *, period, tiles, cycles):
        return RunPlan(CONFIG, words, period, tiles, cycles, banks)

    async def write(self, ctx, name, value):
        """Write a register; the result is the response."""
        address = self.registers.address(name) if isinstance(name, str) else name
        bus = self.host.s_axil
        ctx.set(bus.aw.payload, {"addr": address, "prot": 0})
        ctx.set(bus.w.payload, {"data": value, "strb": 0xF})
        ctx.set(bus.aw.valid, 1)
        ctx.set(bus.w.valid, 1)
        ctx.set(bus.b.ready, 1)
        await ctx.tick().until(bus.aw.ready & bus.w.ready)
        ctx.set(bus.aw.valid, 0)
        ctx.set(bus.w.valid, 0)
        (response,) = await ctx.tick().sample(bus.b.payload.resp).until(bus.b.valid)
        return response

    async def read(self, ctx, name):
        address = self.registers.address(name) if isinstance(name, str) else name
        bus = self.host.s_axil
        ctx.set(bus.ar.payload, {"addr": address, "prot": 0})
        ctx.set(bus.ar.valid, 1)
        ctx.set(bus.r.ready, 1)
        await ctx.tick().until(bus.ar.ready)
        ctx.set(bus.ar.valid, 0)
        data, response = await ctx.tick().sample(bus.r.payload.data, bus.r.payload.resp).until(bus.r.valid)
        assert response == 0, f"reading {name} gives response {response}"
        return data

    async def fields(self, ctx, name):
        return self.registers.decode(name, await self.read(ctx, name))

    async def start(self, ctx, plan):
        for address, value in plan.writes(self.registers):
            assert await self.write(ctx, address, value) == 0

    async def finish(self, ctx):
        """Wait for the interrupt; the result is (STATUS, DETAIL) as fields."""
        for _ in range(CYCLE_LIMIT):
            if ctx.get(self.host.irq):
                return await self.fields(ctx, "STATUS"), await self.fields(ctx, "DETAIL")
            await ctx.tick()
        raise AssertionError(f"hangs: {await self.fields(ctx, 'DETAIL')}")

    def run(self, scenario):
        m = Module()
        m.submodules.host = self.host
        m.submodules.array = self.array
        connect(m, self.host.array, self.array)
        simulator = Simulator(m)
        simulator.add_clock(1e-6)

        async def reads(ctx):
            await self.memory.serve_reads(ctx, self.host.m_axi)

        async def writes(ctx):
            await self.memory.serve_writes(ctx, self.host.m_axi)

        simulator.add_testbench(reads, background=True)
        simulator.add_testbench(writes, background=True)
        simulator.add_testbench(scenario)
        simulator.run()
