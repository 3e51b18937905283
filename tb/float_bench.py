"""Waits until a batch of operands has gone through: operators read them from a file and leave their results in one."""

from __future__ import annotations

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer


@cocotb.test()
async def all_operands_go_through(dut) -> None:
    cocotb.start_soon(Clock(dut.clk, 2, unit="ns").start())
    await RisingEdge(dut.done)
    await Timer(4, unit="ns")
