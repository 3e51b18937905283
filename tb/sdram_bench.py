"""cocotb tests of main memory in SDRAM (for test_sdram.py)."""

from __future__ import annotations

import logging
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiMaster
from cocotbext.axi.constants import AxiResp

from hw.sim.bench import bench_data

RULES = ("tRCD", "tRP", "tRAS", "tRC", "tRRD", "tWR", "tRFC", "tREFI", "tMRD", "tCK", "start-up", "closed row",
         "open row", "outside", "contention", "mode")


async def started(dut) -> Any:
    Clock(dut.clk, bench_data()["period_ps"], "ps", impl="gpi").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    axi: Any = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    for half in (axi.read_if, axi.write_if):
        half.log.setLevel(logging.WARNING)
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    return axi


def broken_rules(dut) -> set[str]:
    value = dut.violations.value.to_unsigned()
    return {rule for bit, rule in enumerate(RULES) if value >> bit & 1}


async def traffic(axi: Any, size: int, rounds: int, choice: random.Random) -> bool:
    """Whether everything that is read is what was written; reads are under way together, with pauses of both ends."""
    model, right = bytearray(choice.randbytes(size)), True
    await axi.write(0, bytes(model))
    pauses = [lambda: (choice.random() < 0.3 for _ in iter(int, 1)), lambda: iter([False])]
    for _ in range(rounds):
        for channel in (axi.read_if.r_channel, axi.write_if.w_channel, axi.write_if.b_channel):
            channel.set_pause_generator(choice.choice(pauses)())
        length = choice.choice((1, 5, 64, 300))
        address, content = choice.randrange(size - length), choice.randbytes(length)
        model[address : address + length] = content
        beat = choice.randint(0, (len(axi.write_if.w_channel.bus.wdata) // 8).bit_length() - 1)
        await axi.write(address, content, size=beat)
        spans = [(choice.randrange(size - 200), choice.randint(1, 200)) for _ in range(3)]
        reads = [cocotb.start_soon(axi.read(*span)) for span in spans]
        for (first, count), task in zip(spans, reads, strict=True):
            right &= bytes((await task).data) == bytes(model[first : first + count])
    return right


@cocotb.test()
async def random_traffic(dut):
    """Equals a byte array; a beat beyond the end is refused and changes nothing; no rule is broken."""
    axi, size = await started(dut), bench_data()["size"]
    assert await with_timeout(traffic(axi, size, bench_data()["rounds"], random.Random(3)), 4, "ms")
    before = bytes((await axi.read(0, 64)).data)
    assert (await axi.write(size, bytes(64))).resp == AxiResp.DECERR
    assert (await axi.read(size, 8)).resp == AxiResp.DECERR
    assert bytes((await axi.read(0, 64)).data) == before
    await measure(axi, size)
    assert broken_rules(dut) == set()


async def measure(axi: Any, size: int) -> None:
    """A word of the chip in nearly every cycle, in either direction and, with few turns, in both."""
    for channel in (axi.read_if.r_channel, axi.write_if.w_channel, axi.write_if.b_channel):
        channel.clear_pause_generator()
        channel.pause = False
    await axi.write(0, bytes(size))
    words = size // 2
    for both in (False, True):
        since = cocotb.utils.get_sim_time("ps")
        tasks = [cocotb.start_soon(axi.read(0, size))]
        tasks += [cocotb.start_soon(axi.write(0, bytes(size)))] if both else []
        for task in tasks:
            await task
        cycles = (cocotb.utils.get_sim_time("ps") - since) / bench_data()["period_ps"]
        print(f"{'both' if both else 'read'}: {cycles / words / (1 + both):.2f} cycles per word")
        assert cycles < words * (1 + both) * bench_data()["cycles_per_word"]


@cocotb.test()
async def breaks_a_rule(dut):
    """What is wrong with this controller shows, and nothing else; the latency of reads shows in what is read."""
    axi = await started(dut)
    right = await with_timeout(traffic(axi, bench_data()["size"], 12, random.Random(5)), 4, "ms")
    await ClockCycles(dut.clk, 1000)
    await RisingEdge(dut.clk)
    assert broken_rules(dut) == set(bench_data()["rules"])
    assert right or not bench_data()["reads_right"]
