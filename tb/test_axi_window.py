"""The window in front of a memory, with pauses at all its channels: what is inside passes, what is not is refused."""

from __future__ import annotations

import logging
import random
from typing import Any

import cocotb
from amaranth.hdl import Module, Signal
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiMaster, AxiRam
from cocotbext.axi.constants import AxiBurstType, AxiResp

from hw.dma.axi import Axi4Signature, connect_flat
from hw.sim.bench import run_bench
from hw.soc.axi_window import AxiWindow
from hw.verilog import convert

SIZE, BEYOND = 1000, 4096
"""Bytes of the window, no multiple of a beat's, and of the memory behind it."""


def emitted() -> str:
    m = Module()
    m.submodules.window = window = AxiWindow(Axi4Signature(address_width=32, data_width=64, id_width=1), SIZE)
    ports = connect_flat(m, window.bus, "s_axi", manager=False) + connect_flat(m, window.memory, "m_axi", manager=True)
    ports.append(level := Signal(name="level"))
    m.d.comb += window.open.eq(level)
    return convert(m, "axi_window", ports=ports)


def test_what_leads_out_is_refused(simulator: str) -> None:
    run_bench({"axi_window.v": emitted()}, "axi_window", __file__, simulator=simulator)


@cocotb.test()
async def refuses_what_is_outside(dut) -> None:
    Clock(dut.clk, 10, "ns", impl="gpi").start()
    dut.rst.value, dut.level.value = 1, 0
    await ClockCycles(dut.clk, 2)
    master: Any = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    ram: Any = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=BEYOND)
    drawn = random.Random(4)
    for half in (master.read_if, master.write_if, ram.read_if, ram.write_if):
        half.log.setLevel(logging.WARNING)
        for name in ("ar_channel", "r_channel", "aw_channel", "w_channel", "b_channel"):
            if hasattr(half, name):
                getattr(half, name).set_pause_generator(drawn.random() < 0.4 for _ in iter(int, 1))
    await ClockCycles(dut.clk, 5)
    dut.rst.value = 0
    held = bytearray(drawn.randbytes(BEYOND))
    ram.write(0, bytes(held))

    assert (await master.read(0, 40)).resp == AxiResp.SLVERR
    assert (await master.write(0, bytes(40))).resp == AxiResp.SLVERR
    dut.level.value = 1
    wrapped = await master.read(0, 32, burst=AxiBurstType.WRAP)
    assert wrapped.resp == AxiResp.SLVERR
    for _ in range(50):
        requests = [(drawn.choice([drawn.randrange(SIZE), drawn.randrange(900, 2000)]), drawn.choice([1, 8, 30, 90]))
                    for _ in range(4)]
        tasks = [cocotb.start_soon(master.read(address, length)) for address, length in requests]
        for (address, length), task in zip(requests, tasks, strict=True):
            answer = await task
            inside = -(-(address + length) // 8) * 8 <= SIZE
            assert answer.resp == (AxiResp.OKAY if inside else AxiResp.DECERR), (address, length)
            assert answer.data == (held[address:address + length] if inside else bytes(length))
        address, length = requests[0]
        content = drawn.randbytes(length)
        inside = -(-(address + length) // 8) * 8 <= SIZE
        writes = [cocotb.start_soon(master.write(address, content)), cocotb.start_soon(master.write(1024, bytes(20)))]
        assert [(await task).resp for task in writes] == [AxiResp.OKAY if inside else AxiResp.DECERR, AxiResp.DECERR]
        held[address:address + length] = content if inside else held[address:address + length]
    assert ram.read(0, BEYOND) == held
