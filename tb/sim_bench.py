"""cocotb tests of the AXI memory model (for test_sim_memory.py) and small ones of the bench runner (test_sim.py)."""

from __future__ import annotations

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiMaster
from cocotbext.axi.constants import AxiBurstType, AxiResp

from hw.sim.bench import bench_data

SIZE = 8192


async def start(dut):
    """Clock and reset; the memory's settings come from `bench_data`."""
    Clock(dut.clk, 10, "ns", impl="gpi").start()
    settings = {"seed": 1, "latency": 0, "shared": 0, "stall": 0, "stall_length": 7, "error_enable": 0}
    settings |= {"error_first": 0, "error_last": 0} | (bench_data() or {})
    for name, value in settings.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


def manager(dut) -> AxiMaster:
    """An independent AXI manager."""
    return AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)


@cocotb.test()
async def random_traffic(dut):
    """Reads and writes of any length, alignment and transfer size agree with a byte array; several are under way."""
    idle(dut)
    await start(dut)
    axi = manager(dut)
    model = bytearray(SIZE)
    choice = random.Random(7)
    for _ in range(40):
        length, size = choice.randint(1, 300), choice.randint(0, beat_bytes(dut).bit_length() - 1)
        address = choice.randrange(SIZE - length)
        content = choice.randbytes(length)
        model[address : address + length] = content
        await axi.write(address, content, size=size)
        spans = [(choice.randrange(SIZE - 200), choice.randint(1, 200)) for _ in range(4)]
        reads = [cocotb.start_soon(axi.read(first, count)) for first, count in spans]
        for (first, count), task in zip(spans, reads, strict=True):
            assert (await task).data == model[first : first + count]
    assert dut.violation.value.to_unsigned() == 0


@cocotb.test()
async def bursts(dut):
    """A wrapping burst of eight beats comes back rotated at its boundary; a fixed one repeats its address."""
    idle(dut)
    await start(dut)
    axi = manager(dut)
    unit = beat_bytes(dut)
    content = bytes(range(8 * unit))
    await axi.write(0x100, content)
    wrapped = await axi.read(0x100 + 3 * unit, 8 * unit, burst=AxiBurstType.WRAP)
    assert wrapped.data == content[3 * unit :] + content[: 3 * unit]
    fixed = await axi.read(0x100 + unit, 4 * unit, burst=AxiBurstType.FIXED)
    assert fixed.data == content[unit : 2 * unit] * 4


@cocotb.test()
async def errors(dut):
    """SLVERR inside the configured range and only there, DECERR beyond the end; such beats are not written."""
    idle(dut)
    await start(dut)
    axi = manager(dut)
    unit = beat_bytes(dut)
    beat = b"\xaa" * unit
    for address, response in ((0x400 - unit, AxiResp.OKAY), (0x400, AxiResp.SLVERR), (0x400 + unit, AxiResp.OKAY)):
        assert (await axi.write(address, beat)).resp == response
        assert (await axi.read(address, unit)).resp == response
    assert (await axi.read(SIZE - unit, unit)).resp == AxiResp.OKAY
    assert (await axi.read(SIZE, unit)).resp == AxiResp.DECERR
    dut.error_enable.value = 0
    assert (await axi.read(0x400 - unit, 3 * unit)).data == beat + bytes(unit) + beat


def idle(dut):
    """No requests; every answer is taken."""
    for name in ("awvalid", "wvalid", "arvalid"):
        getattr(dut, f"s_axi_{name}").value = 0
    for name in ("bready", "rready"):
        getattr(dut, f"s_axi_{name}").value = 1
    for channel in ("aw", "ar"):
        size = beat_bytes(dut).bit_length() - 1
        for name, value in {"addr": 0, "len": 0, "size": size, "burst": 1, "id": 0}.items():
            getattr(dut, f"s_axi_{channel}{name}").value = value


def beat_bytes(dut) -> int:
    return len(dut.s_axi_wdata) // 8


async def until(dut, name: str) -> int:
    """Cycles until the signal is high, looking while the clock is low."""
    for count in range(200):
        await FallingEdge(dut.clk)
        if getattr(dut, f"s_axi_{name}").value == 1:
            return count + 1
    raise AssertionError(f"{name} never came")


@cocotb.test()
async def read_latency(dut):
    """The first word comes `latency` cycles after the handshake, and every further one in the next cycle."""
    idle(dut)
    await start(dut)
    await FallingEdge(dut.clk)
    dut.s_axi_arlen.value = 3
    dut.s_axi_arvalid.value = 1
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.s_axi_arvalid.value = 0
    assert 1 + await until(dut, "rvalid") == max(2, bench_data()["latency"])
    for last in (0, 0, 1):
        await FallingEdge(dut.clk)
        assert (dut.s_axi_rvalid.value, dut.s_axi_rlast.value) == (1, last)


async def passed(dut) -> tuple[bool, bool]:
    """Whether a read beat, and a write beat, pass in the cycle that ends with the next rising edge."""
    await FallingEdge(dut.clk)
    return tuple(
        getattr(dut, f"s_axi_{channel}valid").value == 1 and getattr(dut, f"s_axi_{channel}ready").value == 1
        for channel in "rw"
    )


@cocotb.test()
async def contention(dut):
    """Random traffic both ways at once: right data, and with shared bandwidth never two beats in a cycle."""
    idle(dut)
    await start(dut)
    axi = manager(dut)
    choice = random.Random(11)
    content = choice.randbytes(4096)
    await axi.write(0, content)
    done = False

    async def watch() -> int:
        both = 0
        while not done:
            both += all(await passed(dut))
        return both

    async def reads():
        for _ in range(30):
            first, count = choice.randrange(3000), choice.randint(1, 1000)
            assert (await axi.read(first, count)).data == content[first : first + count]

    async def writes():
        for number in range(30):
            await axi.write(4096 + 97 * number, content[: 97 + 500 * (number % 2)])

    watcher = cocotb.start_soon(watch())
    tasks = [cocotb.start_soon(reads()), cocotb.start_soon(writes())]
    for task in tasks:
        await task
    done = True
    assert bool(await watcher) != bool(bench_data()["shared"])
    assert (await axi.read(4096 + 97 * 28, 97)).data == content[:97]
    assert dut.violation.value.to_unsigned() == 0


@cocotb.test()
async def turns(dut):
    """Both directions always ready to go: each gets runs of 32 beats and no cycle is lost; each alone gets it all."""
    idle(dut)
    await start(dut)
    await FallingEdge(dut.clk)
    dut.s_axi_wlast.value = 1
    dut.s_axi_arlen.value = 15
    for reads, writes in ((1, 1), (1, 0), (0, 1)):
        for channel, active in (("ar", reads), ("aw", writes), ("w", writes)):
            getattr(dut, f"s_axi_{channel}valid").value = active
        for _ in range(700):  # what was asked for before is answered
            await FallingEdge(dut.clk)
        log = [await passed(dut) for _ in range(640)]
        assert all(read != write for read, write in log)
        runs = [sum(1 for _ in group) for _, group in itertools.groupby(log)]
        assert set(runs[1:-1]) == ({32} if reads and writes else set())
        assert sum(read for read, _ in log) == 320 * reads * (2 - writes)


@cocotb.test()
async def breaches(dut):
    """Each rule of the protocol that the memory watches is reported by its own code."""
    idle(dut)
    await start(dut)
    unit = beat_bytes(dut)
    requests = {4: {"addr": 0x1000 - unit, "len": 1}, 5: {"size": unit.bit_length()}, 6: {"burst": 3}}
    for code, fields in requests.items():
        await reset(dut)
        for name, value in fields.items():
            getattr(dut, f"s_axi_ar{name}").value = value
        dut.s_axi_arvalid.value = 1
        assert await settled(dut) == code
    for code, (length, last) in {7: (1, 1), 8: (0, 0)}.items():
        await reset(dut)
        dut.s_axi_awlen.value = length
        dut.s_axi_wlast.value = last
        dut.s_axi_awvalid.value = 1
        dut.s_axi_wvalid.value = 1
        assert await settled(dut) == code


async def reset(dut):
    await FallingEdge(dut.clk)
    idle(dut)
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0


async def settled(dut) -> int:
    for _ in range(4):
        await FallingEdge(dut.clk)
    return dut.violation.value.to_unsigned()


@cocotb.test()
async def adds(dut):
    """For the module `adder` of test_sim.py: `bench_data` lists addends and the sum that is expected."""
    Clock(dut.clk, 10, "ns", impl="gpi").start()
    for addend, total in bench_data():
        await FallingEdge(dut.clk)
        dut.a.value = addend
        await FallingEdge(dut.clk)
        assert dut.y.value.to_unsigned() == total, f"{addend} gave {dut.y.value.to_unsigned()}"
        assert dut.seen.value.to_unsigned() == addend


@cocotb.test()
async def chains(dut):
    """For the module `chain` of test_sim.py: 64 stages, of which stage n adds n in one cycle."""
    Clock(dut.clk, 10, "ns", impl="gpi").start()
    total = sum(range(64))
    for cycle in range(100):
        await FallingEdge(dut.clk)
        if cycle >= 64:
            assert dut.y.value.to_unsigned() == (cycle - 64 + total) % 256
        dut.a.value = cycle


@cocotb.test()
async def hangs(dut):
    while True:
        await Timer(1, "us")
