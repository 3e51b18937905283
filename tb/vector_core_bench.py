"""cocotb bench of the vector core with a player and a DMA engine in Verilog; started by `test_vector_core`."""

from __future__ import annotations

from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout

from hw.sim.bench import bench_data


async def reset(dut) -> None:
    cocotb.start_soon(Clock(dut.clk, 10, "ns", impl="gpi").start())
    for port in (dut.load, dut.save, dut.start, dut.clear_status, dut.count, dut.gap, dut.stall, dut.seed):
        port.value = 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


async def pulse(dut, port) -> None:
    port.value = 1
    await FallingEdge(dut.clk)
    port.value = 0
    await FallingEdge(dut.clk)


async def play(dut, case: dict, number: int) -> dict[str, int]:
    """Play one case: the counters it took, from its start to its end."""
    Path("entries.hex").write_text("".join(f"{entry}\n" for entry in case["entries"]))
    Path("memory.hex").write_text("\n".join(case["memory"]) + "\n")
    dut.count.value, dut.gap.value, dut.stall.value = len(case["entries"]), case["gap"], case["stall"]
    dut.seed.value = 0x1234_5678 + number
    await pulse(dut, dut.clear_status)
    await pulse(dut, dut.load)
    names = ("cycles", "busy", "instructions", "bubbles", "dma_cycles", "chunks")
    before = {name: int(getattr(dut, name).value) for name in names}
    await pulse(dut, dut.start)
    await with_timeout(RisingEdge(dut.finished), case["cycles"] * 10, "ns")
    await FallingEdge(dut.clk)
    await pulse(dut, dut.save)
    return {name: int(getattr(dut, name).value) - before[name] for name in names}


def words(path: str) -> np.ndarray:
    text = "".join(line for line in Path(path).read_text().splitlines() if not line.startswith("//"))
    return np.frombuffer(bytes.fromhex(text.replace(" ", "")), np.uint8)


@cocotb.test()
async def plays(dut) -> None:
    """Every case of the bench's data leaves the memory, the status and the mask that the model leaves."""
    await reset(dut)
    for number, case in enumerate(bench_data()):
        took = await play(dut, case, number)
        memory, wanted = words("memory_out.hex"), np.frombuffer(bytes.fromhex(case["wanted"]), np.uint8)
        wrong = np.flatnonzero(memory[: len(wanted)] != wanted)
        assert not len(wrong), f"case {number}: {len(wrong)} bytes differ, first {wrong[:8].tolist()}"
        assert int(dut.status.value) == case["status"], f"case {number}: status"
        assert int(dut.mask_waves.value) == case["mask_waves"], f"case {number}: mask"
        for name, limits in case.get("limits", {}).items():
            low, high = limits
            assert low <= took[name] <= high, f"case {number}: {name} {took[name]} not in {low}..{high}"
        dut._log.info("case %d took %s", number, took)
