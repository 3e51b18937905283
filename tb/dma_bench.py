"""cocotb bench of the burst engines as a copier, with a third party's AXI memory; started by `test_dma`."""

from __future__ import annotations

import logging
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp

from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.sim.bench import bench_data

MEMORY_BYTES = 1 << 16


def descriptor(entry: dict) -> DmaDescriptor:
    return DmaDescriptor(entry["base"], entry["row_bytes"], DmaLevel(*entry["rows"]), DmaLevel(*entry["planes"]))


def pauses(probability: float, seed: int):
    """Random pauses of one channel."""
    rng = random.Random(seed)
    while True:
        yield rng.random() < probability


async def reset(dut) -> None:
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    for side in ("read", "write"):
        getattr(dut, f"{side}_valid").value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


def offer(dut, side: str, tile: DmaDescriptor) -> None:
    values = {
        "address": tile.base, "row_bytes": tile.row_bytes, "rows": tile.rows.count, "row_stride": tile.rows.stride,
        "planes": tile.planes.count, "plane_stride": tile.planes.stride,
    }
    for name, value in values.items():
        getattr(dut, f"{side}_{name}").value = value % (1 << 32) if "stride" in name else value
    getattr(dut, f"{side}_valid").value = 1


async def copy(dut, source: DmaDescriptor, target: DmaDescriptor) -> None:
    await FallingEdge(dut.clk)
    offer(dut, "read", source)
    offer(dut, "write", target)
    await FallingEdge(dut.clk)
    dut.read_valid.value = dut.write_valid.value = 0
    while int(dut.read_busy.value) or int(dut.write_busy.value):
        await FallingEdge(dut.clk)


def packed(ram: AxiRam, tile: DmaDescriptor) -> bytes:
    return b"".join(ram.read(row, tile.row_bytes) for row in tile.row_addresses(0))


@cocotb.test()
async def copies(dut) -> None:
    """Every case of the bench's data: bytes arrive, and no others change."""
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=MEMORY_BYTES)
    channels = {
        "aw": ram.write_if.aw_channel, "w": ram.write_if.w_channel, "b": ram.write_if.b_channel,
        "ar": ram.read_if.ar_channel, "r": ram.read_if.r_channel,
    }
    await reset(dut)
    for number, case in enumerate(bench_data()):
        source, target = descriptor(case["source"]), descriptor(case["target"])
        for offset, channel in enumerate(channels.values()):
            channel.set_pause_generator(pauses(case["stall"], 10 * number + offset))
        before = random.Random(number).randbytes(MEMORY_BYTES)
        ram.write(0, before)
        wanted, stream = bytearray(before), packed(ram, source)
        for index, row in enumerate(target.row_addresses(0)):
            wanted[row : row + target.row_bytes] = stream[index * target.row_bytes :][: target.row_bytes]
        await with_timeout(copy(dut, source, target), 500, "us")
        assert bytes(ram.read(0, MEMORY_BYTES)) == bytes(wanted), f"case {number}: {case}"
        assert not int(dut.read_error.value) and not int(dut.write_error.value)


@cocotb.test()
async def registers(dut) -> None:
    """A third party's AXI4-Lite manager writes and reads what the register map describes."""
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    await reset(dut)
    for address, value in ((0x04, 0x1234_5678), (0x1000, 0xCAFE_F00D), (0x103C, 7)):
        await master.write_dword(address, value)
    assert await master.read_dword(0x00) == 0x5107_0001
    assert await master.read_dword(0x04) == 0x1234_5678
    assert await master.read_dword(0x1000) == 0xCAFE_F00D
    await master.write(0x05, b"\xAB")
    assert await master.read_dword(0x04) == 0x1234_AB78
    assert (await master.read(0x103C, 4)).data == b"\x07\0\0\0"
    assert (await master.read(0x0C, 4)).resp == AxiResp.SLVERR
    assert (await master.write(0x00, b"\0\0\0\0")).resp == AxiResp.SLVERR
