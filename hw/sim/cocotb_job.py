"""The cocotb side of a job: runs inside the simulator, in the job's folder, as `job.json` there says.

It writes `report.json`: ``problem`` is None, ``"access"`` (a register access failed), ``"violation"`` (AXI protocol)
or ``"timeout"``; the other entries are described in `hw.sim.simulate` and `hw.sim.diagnosis`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

__all__ = ["job"]

_STATUS = ("served", "refused", "hung")


class _AccessFailed(Exception):
    def __init__(self, address: int, write: bool, status: int) -> None:
        super().__init__(address)
        self.report = {"address": address, "write": write, "status": _STATUS[status]}


class _Registers:
    """The design's control registers, through the harness's AXI4-Lite manager: one trigger per access."""

    def __init__(self, harness: Any) -> None:
        self._harness = harness
        self._toggle = 0

    async def write(self, address: int, value: int) -> None:
        await self._access(address, value, write=True)

    async def read(self, address: int) -> int:
        await self._access(address, 0, write=False)
        return _number(self._harness.answer_data)

    async def _access(self, address: int, value: int, *, write: bool) -> None:
        harness = self._harness
        # The harness samples on the rising edge, so changes go in while the clock is low.
        await FallingEdge(harness.clk)
        self._toggle ^= 1
        harness.access_address.value = address
        harness.access_data.value = value
        harness.is_write.value = int(write)
        harness.request.value = self._toggle
        await harness.served.value_change
        await FallingEdge(harness.clk)
        if status := _number(harness.answer_status):
            raise _AccessFailed(address, write, status)


@cocotb.test()
async def job(tb: Any) -> None:
    """Run the job of the current folder and leave its report there."""
    order = json.loads(Path("job.json").read_text())
    began = time.perf_counter()
    report = await _run(tb.harness, order)
    report["wall_seconds"] = time.perf_counter() - began
    temporary = Path("report.json.part")
    temporary.write_text(json.dumps(report))
    temporary.replace("report.json")


async def _run(harness: Any, order: dict[str, Any]) -> dict[str, Any]:
    registers = _Registers(harness)
    await FallingEdge(harness.rst)
    try:
        for address, value in order["writes"]:
            await registers.write(address, value)
        seconds = await _wait(harness)
        report = _counters(harness) | {"run_seconds": seconds}
        if _number(harness.violation):
            return report | {"problem": "violation"}
        if _number(harness.expired):
            return report | {"problem": "timeout", "status": await _status(registers, order["status"])}
        report["registers"] = [await registers.read(address) for address in order["reads"]]
    except _AccessFailed as failure:
        return _counters(harness) | {"problem": "access", "access": failure.report}
    if order["dump"]:
        harness.dump.value = 1
        await RisingEdge(harness.dumped)
    return report | {"problem": None}


async def _wait(harness: Any) -> float:
    """Until the interrupt, the cycle limit or a protocol violation; returns the seconds that it took."""
    began = time.perf_counter()
    harness.watching.value = 1
    await RisingEdge(harness.finished)
    await FallingEdge(harness.clk)
    return time.perf_counter() - began


async def _status(registers: _Registers, names: dict[str, int]) -> dict[str, int]:
    """The status registers of a hung design, as far as it still answers."""
    values: dict[str, int] = {}
    try:
        for name, address in names.items():
            values[name] = await registers.read(address)
    except _AccessFailed:
        pass
    return values


def _counters(harness: Any) -> dict[str, Any]:
    return {
        "cycles": _number(harness.ended) - _number(harness.written),
        "total_cycles": _number(harness.cycle),
        "violation": _number(harness.violation),
        "struck": _number(harness.struck),
        "channels": _number(harness.channels),
        "outstanding": _number(harness.outstanding),
        "read_beats": _number(harness.read_beats),
        "write_beats": _number(harness.write_beats),
    }


def _number(signal: Any) -> int:
    """The signal's value; undefined bits count as zero, so that a report can always be written."""
    bits = str(signal.value)
    return int("".join(bit if bit in "01" else "0" for bit in bits), 2)
