"""The front end, command by command, in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext

from hw.vector_lanes.front_end import CommandDecoder
from hw.vector_lanes.isa import (
    Control,
    Entry,
    Mode,
    Op,
    Parameter,
    control_function,
    execute_function,
    operands_function,
)
from hw.vector_lanes.spec import VectorSpec

SPEC = VectorSpec(lanes=2)
MODE = Mode(Op.VMULHI, False, 1, 2, enumerated=True, masked=True, dimensions=2, absolute=True).encode()


def simulate(body: Callable[[SimulatorContext, CommandDecoder], Any]) -> None:
    dut = CommandDecoder(SPEC)

    async def bench(ctx: SimulatorContext) -> None:
        ctx.set(dut.entry.ready, 1)
        ctx.set(dut.response.ready, 1)
        ctx.set(dut.vector_idle, 1)
        ctx.set(dut.dma_idle, 1)
        await body(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


async def send(ctx: SimulatorContext, dut: CommandDecoder, function: int, a: int = 0, b: int = 0) -> Entry | None:
    """Give one command, which must be taken at once: the entry it makes."""
    ctx.set(dut.command.valid, 1)
    ctx.set(dut.command.payload, {"function": function, "a": a, "b": b})
    assert ctx.get(dut.command.ready)
    entry = Entry.from_bits(ctx.get(dut.entry.payload.as_value())) if ctx.get(dut.entry.valid) else None
    await ctx.tick()
    ctx.set(dut.command.valid, 0)
    assert ctx.get(dut.response.valid)
    return entry


def test_instruction_of_two_halves() -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        assert await send(ctx, dut, operands_function(MODE), 0x1234, 0xFFFF_FFFE) is None
        entry = await send(ctx, dut, execute_function(MODE), 0x89AB_CDEF, 7)
        assert entry == Entry(False, MODE, 0x1234, 0xFFFF_FFFE, 0x89AB_CDEF)

    simulate(body)


@pytest.mark.parametrize("control", [c for c in Control if c < Control.DMA_TO_VECTOR])
def test_settings_go_into_the_queue(control: Control) -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        entry = await send(ctx, dut, control_function(control), 5, 6)
        assert entry is not None
        assert (entry.control, entry.code, entry.a, entry.b) == (True, control, 5, 6)

    simulate(body)


def test_transfer() -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        assert await send(ctx, dut, control_function(Control.OPERANDS), 0x40, 0x8000_0000) is None
        entry = await send(ctx, dut, control_function(Control.DMA_TO_HOST), 100, 3)
        assert entry == Entry.of(Control.DMA_TO_HOST, 0x40, 0x8000_0000, 100, 3)

    simulate(body)


@pytest.mark.parametrize("function", [0b111, 13 << 3 | 6, 127 << 3 | 6])
def test_commands_without_meaning_become_illegal_entries(function: int) -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        entry = await send(ctx, dut, function, 1, 2)
        assert entry is not None
        assert entry.control and entry.code > Control.DMA_TO_HOST

    simulate(body)


@pytest.mark.parametrize(
    ("control", "vector", "transfers"),
    [(Control.SYNC_INSTR, 1, 0), (Control.SYNC_DMA, 0, 1), (Control.SYNC, 1, 1)],
)
def test_sync_waits_for_what_it_names(control: Control, vector: int, transfers: int) -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        ctx.set(dut.command.valid, 1)
        ctx.set(dut.command.payload, {"function": control_function(control), "a": 0, "b": 0})
        for vector_idle in range(2):
            for dma_idle in range(2):
                ctx.set(dut.vector_idle, vector_idle)
                ctx.set(dut.dma_idle, dma_idle)
                expected = (vector_idle or not vector) and (dma_idle or not transfers)
                assert ctx.get(dut.command.ready) == bool(expected)
                assert not ctx.get(dut.entry.valid)

    simulate(body)


def test_parameters() -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        ctx.set(dut.status, 0b1010)
        ctx.set(dut.mask_waves, 17)
        counters = {Parameter.CYCLES: "cycles", Parameter.BUSY: "busy", Parameter.INSTRUCTIONS: "instructions",
                    Parameter.HAZARDS: "bubbles", Parameter.DMA_CYCLES: "dma_cycles"}
        expected = {Parameter.LANES: 2, Parameter.SCRATCHPAD: SPEC.capacity, Parameter.STATUS: 0b1010,
                    Parameter.MASK_WAVES: 17}
        for parameter, name in counters.items():
            ctx.set(getattr(dut.counters, name), 1000 + parameter)
            expected[parameter] = 1000 + parameter
        for parameter, value in {**expected, 99: 0}.items():
            assert await send(ctx, dut, control_function(Control.GET), parameter) is None
            assert ctx.get(dut.response.payload) == value

    simulate(body)


def test_reading_the_status_clears_it() -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        for parameter in Parameter:
            ctx.set(dut.command.valid, 1)
            ctx.set(dut.command.payload, {"function": control_function(Control.GET), "a": parameter, "b": 0})
            assert ctx.get(dut.clear_status) == (parameter is Parameter.STATUS)

    simulate(body)


def test_waits_for_the_queue_and_for_its_answer_to_be_taken() -> None:
    async def body(ctx: SimulatorContext, dut: CommandDecoder) -> None:
        await send(ctx, dut, operands_function(MODE), 1, 2)
        ctx.set(dut.response.ready, 0)
        ctx.set(dut.command.valid, 1)
        ctx.set(dut.command.payload, {"function": operands_function(MODE), "a": 1, "b": 2})
        assert ctx.get(dut.command.ready)  # there is room for a second answer
        await ctx.tick()
        ctx.set(dut.command.payload, {"function": execute_function(MODE), "a": 3, "b": 0})
        assert not ctx.get(dut.command.ready) and not ctx.get(dut.entry.valid)
        ctx.set(dut.response.ready, 1)
        await ctx.tick()
        ctx.set(dut.entry.ready, 0)
        assert not ctx.get(dut.command.ready) and ctx.get(dut.entry.valid)
        ctx.set(dut.entry.ready, 1)
        assert ctx.get(dut.command.ready) and ctx.get(dut.entry.valid)

    simulate(body)
