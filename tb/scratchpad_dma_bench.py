"""cocotb side of test_scratchpad_dma.py: starts the harness, waits for the last job, leaves the counters in a file."""

from __future__ import annotations

import json
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge

from hw.sim.bench import bench_data

COUNTERS = ("cycle", "first_beat", "last_beat", "last_write", "read_beats", "write_beats", "done_count", "read_errors",
            "write_errors", "violation", "unstable", "idle")


@cocotb.test()
async def plays(dut) -> None:
    """All jobs are done within the limit of cycles, and nothing goes on afterwards."""
    Clock(dut.clk, 10, "ns", impl="gpi").start()
    data = bench_data()
    dut.save.value = 0
    for name, value in data["settings"].items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await First(RisingEdge(dut.finished), ClockCycles(dut.clk, data["limit"]))
    await ClockCycles(dut.clk, 50)
    counters = {name: int(getattr(dut, name).value) for name in COUNTERS}
    dut.save.value = 1
    await RisingEdge(dut.saved)
    Path("counters.json").write_text(json.dumps(counters))
