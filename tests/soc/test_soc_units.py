"""Parts of the processor system by themselves: serial line, joining of managers, run control."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from amaranth.sim import Simulator

from hw.dma.axi import Axi4Signature
from hw.soc.control import CAUSES, RunControl
from hw.soc.errors import SocError
from hw.soc.join import AxiJoin
from hw.soc.line_buffer import memory_bus
from hw.soc.registers import PERIPHERALS, host_registers
from hw.soc.status import Phase, RunError
from hw.soc.uart import UartReceiver, UartTransmitter
from hw.vector_lanes.spec import VectorSpec


def simulate(unit, *benches):
    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run_until(1e-2) if len(benches) > 1 else simulator.run()


@pytest.mark.parametrize("divisor", [1, 2, 7])
def test_serial_line(divisor):
    unit, text, line = UartTransmitter(), b"\x00\xffU\x81", []

    async def bench(ctx):
        ctx.set(unit.divisor, divisor)
        for byte in text:
            ctx.set(unit.data.payload, byte)
            ctx.set(unit.data.valid, 1)
            assert ctx.get(unit.data.ready)
            await ctx.tick()
        ctx.set(unit.data.valid, 0)

    async def watch(ctx):
        for _ in range(60 * divisor):
            line.append(ctx.get(unit.tx))
            await ctx.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_testbench(watch)
    simulator.run()
    received, place = [], 0
    while 0 in line[place:]:
        place = line.index(0, place)
        bits = [line[place + divisor * bit + divisor // 2] for bit in range(10)]
        assert all(len(set(line[place + divisor * bit : place + divisor * (bit + 1)])) == 1 for bit in range(10))
        assert (bits[0], bits[9]) == (0, 1)
        received.append(sum(bit << index for index, bit in enumerate(bits[1:9])))
        place += 10 * divisor
    assert bytes(received) == text


@pytest.mark.parametrize(("divisor", "stop", "heard"), [(4, 1, [0x5A, 0x81]), (9, 1, [0x5A, 0x81]), (9, 0, [])])
def test_serial_input(divisor, stop, heard):
    """Two bytes, the line 3 % slow; without a stop bit nothing is heard."""
    unit, received = UartReceiver(), []

    async def bench(ctx):
        ctx.set(unit.divisor, divisor)
        ctx.set(unit.rx, 1)
        await ctx.tick().repeat(9)
        for byte in (0x5A, 0x81):
            for count, bit in enumerate([0, *(byte >> index & 1 for index in range(8)), stop]):
                ctx.set(unit.rx, bit)
                await ctx.tick().repeat(divisor + (count == 4) * (divisor > 4))
            ctx.set(unit.rx, 1)
            await ctx.tick().repeat(11 * divisor * (stop == 0) + 1)
        await ctx.tick().repeat(2 * divisor)
        while ctx.get(unit.data.valid):
            received.append(ctx.get(unit.data.payload))
            ctx.set(unit.data.ready, 1)
            await ctx.tick()

    simulate(unit, bench)
    assert received == heard


def test_serial_line_that_is_off_takes_everything():
    unit = UartTransmitter(depth=2)

    async def bench(ctx):
        ctx.set(unit.data.valid, 1)
        for _ in range(20):
            assert ctx.get(unit.data.ready) and ctx.get(unit.tx) and not ctx.get(unit.busy)
            await ctx.tick()
        ctx.set(unit.divisor, 50)
        for cycle in range(20):
            assert ctx.get(unit.data.ready) == (cycle < 3)
            await ctx.tick()

    simulate(unit, bench)


def test_offered_address_stays_until_it_is_taken():
    unit = AxiJoin(Axi4Signature(data_width=32), 2)

    async def bench(ctx):
        first, second = (unit.manager[index].ar for index in range(2))
        ctx.set(second.p.addr, 0x20)
        ctx.set(second.valid, 1)
        await ctx.tick()
        ctx.set(first.p.addr, 0x10)
        ctx.set(first.valid, 1)
        for _ in range(3):
            assert ctx.get(unit.memory.ar.p.addr) == 0x20
            await ctx.tick()
        ctx.set(unit.memory.ar.ready, 1)
        assert ctx.get(second.ready) and not ctx.get(first.ready)
        await ctx.tick()
        assert ctx.get(unit.memory.ar.p.addr) == 0x10 and ctx.get(first.ready)

    simulate(unit, bench)


def test_data_find_their_manager():
    """Random reads of two managers; the memory answers each address with itself, one beat per burst."""
    unit, generator = AxiJoin(Axi4Signature(data_width=32), 2, outstanding=4), random.Random(5)
    wanted, got, waiting = [list(range(40)), list(range(100, 140))], [[], []], []

    async def bench(ctx):
        memory = unit.memory
        left = [list(part) for part in wanted]
        for _ in range(400):
            for index in range(2):
                port = unit.manager[index]
                ctx.set(port.ar.valid, bool(left[index]))
                ctx.set(port.ar.p.addr, left[index][0] if left[index] else 0)
                ctx.set(port.r.ready, generator.random() < 0.7)
            ctx.set(memory.ar.ready, generator.random() < 0.6)
            if not ctx.get(memory.r.valid) or ctx.get(memory.r.ready):
                pass
            ctx.set(memory.r.valid, bool(waiting))
            ctx.set(memory.r.p.data, waiting[0] if waiting else 0)
            ctx.set(memory.r.p.last, 1)
            assert len(waiting) <= 4
            if waiting and ctx.get(memory.r.ready):
                for index in range(2):
                    port = unit.manager[index]
                    if ctx.get(port.r.valid) and ctx.get(port.r.ready):
                        got[index].append(ctx.get(port.r.p.data))
                waiting.pop(0)
            if ctx.get(memory.ar.valid) and ctx.get(memory.ar.ready):
                waiting.append(ctx.get(memory.ar.p.addr))
                taken = [index for index in range(2) if ctx.get(unit.manager[index].ar.ready)]
                assert len(taken) == 1
                left[taken[0]].pop(0)
            await ctx.tick()

    simulate(unit, bench)
    assert got == wanted


def run_control(steps):
    """Applies {input: value} cycle by cycle; returns the error and the phase at the end, and whether it is done."""
    unit, result = RunControl(), {}

    async def bench(ctx):
        for step in steps:
            for name, value in step.items():
                ctx.set(getattr(unit, name), value)
            await ctx.tick()
            for name in step:
                if name != "settled":
                    ctx.set(getattr(unit, name), 0)
        result.update(done=ctx.get(unit.done), error=RunError(ctx.get(unit.error)), phase=Phase(ctx.get(unit.phase)),
                      start_ignored=ctx.get(unit.start_ignored))

    simulate(unit, bench)
    return result


@pytest.mark.parametrize("name", CAUSES)
def test_run_ends_early(name):
    result = run_control([{"start": 1}, {}, {name: 1}, {}, {"settled": 1}, {}])
    assert (result["done"], result["error"], result["phase"]) == (1, CAUSES[name], Phase.IDLE)


def test_run_waits_until_all_has_settled():
    assert run_control([{"start": 1}, {"finish": 1}, {}, {}])["phase"] is Phase.STOP
    result = run_control([{"start": 1}, {"finish": 1}, {"store_error": 1}, {"settled": 1}, {}])
    assert (result["done"], result["error"]) == (1, RunError.STORE)


def test_clear_aborts_a_run_and_then_clears():
    result = run_control([{"start": 1}, {"start": 1}, {"settled": 1}, {"clear": 1}, {}, {}])
    assert (result["done"], result["error"]) == (1, RunError.ABORTED)
    result = run_control([{"start": 1}, {"start": 1}, {"settled": 1}, {"clear": 1}, {}, {"clear": 1}, {}])
    assert (result["done"], result["error"], result["start_ignored"]) == (0, RunError.NONE, 0)


def test_wrong_memory_width():
    with pytest.raises(SocError, match=r"^main memory of the processor system has beats of 4, 8, 16 or 32 bytes, not "):
        memory_bus(64)


def test_register_maps_print():
    registers = host_registers(VectorSpec(lanes=8))
    assert "#define VECTOR_STATUS_ERROR_TRAP 2" in registers.c_header()
    assert "0x0024 | FINISH" in PERIPHERALS.markdown()
    assert registers.decode("GEOMETRY", registers.register("GEOMETRY").reset) == {"lanes": 8, "beat_bytes": 32}


def test_document_has_the_registers():
    text = (Path(__file__).parents[2] / "docs" / "vector_system.md").read_text()
    assert PERIPHERALS.markdown().strip() in text
    assert host_registers(VectorSpec()).markdown().strip() in text
