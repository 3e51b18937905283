"""The Python side of a job: runs inside the simulator, in the job's folder, as `job.json` there says.

It writes `report.json`: ``problem`` is None, ``"access"`` (a register access failed), ``"violation"`` (AXI protocol)
or ``"timeout"``; the other entries are described in `hw.sim.simulate` and `hw.sim.diagnosis`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from hw.sim.driver import Signal, start

__all__ = ["run"]

_STATUS = ("served", "refused", "hung")


class _AccessFailed(Exception):
    def __init__(self, address: int, write: bool, status: int) -> None:
        super().__init__(address)
        self.report = {"address": address, "write": write, "status": _STATUS[status]}


class _Registers:
    """The design's control registers, through the harness's AXI4-Lite manager: one trigger per access."""

    def __init__(self, harness: Signal) -> None:
        self._harness = harness
        self._toggle = 0

    async def write(self, address: int, value: int) -> None:
        await self._access(address, value, write=True)

    async def read(self, address: int) -> int:
        await self._access(address, 0, write=False)
        return self._harness.answer_data.number

    async def _access(self, address: int, value: int, *, write: bool) -> None:
        harness = self._harness
        # The harness samples on the rising edge, so changes go in while the clock is low.
        await harness.clk.falls
        await harness.writable
        self._toggle ^= 1
        harness.access_address.set(address)
        harness.access_data.set(value)
        harness.is_write.set(int(write))
        harness.request.set(self._toggle)
        await harness.served.changes
        await harness.clk.falls
        if status := harness.answer_status.number:
            raise _AccessFailed(address, write, status)


def run() -> None:
    """Run the job of the current folder and leave its report there."""
    start(_drive)


async def _drive(tb: Signal) -> None:
    order = json.loads(Path("job.json").read_text())
    began = time.perf_counter()
    report = await _run(tb.harness, order)
    report["wall_seconds"] = time.perf_counter() - began
    temporary = Path("report.json.part")
    temporary.write_text(json.dumps(report))
    temporary.replace("report.json")


async def _run(harness: Signal, order: dict[str, Any]) -> dict[str, Any]:
    registers = _Registers(harness)
    await harness.rst.falls
    try:
        for address, value in order["writes"]:
            await registers.write(address, value)
        seconds = await _wait(harness)
        report = _counters(harness) | {"run_seconds": seconds}
        if harness.violation.number:
            return report | {"problem": "violation"}
        if harness.expired.number:
            return report | {"problem": "timeout", "status": await _status(registers, order["status"])}
        report["registers"] = [await registers.read(address) for address in order["reads"]]
    except _AccessFailed as failure:
        return _counters(harness) | {"problem": "access", "access": failure.report}
    if order["dump"]:
        await harness.writable
        harness.dump.set(1)
        await harness.dumped.rises
    return report | {"problem": None}


async def _wait(harness: Signal) -> float:
    """Until the interrupt, the cycle limit or a protocol violation; returns the seconds that it took."""
    began = time.perf_counter()
    await harness.writable
    harness.watching.set(1)
    await harness.finished.rises
    await harness.clk.falls
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


def _counters(harness: Signal) -> dict[str, Any]:
    return {
        "cycles": harness.ended.number - harness.written.number,
        "total_cycles": harness.cycle.number,
        "violation": harness.violation.number,
        "struck": harness.struck.number,
        "channels": harness.channels.number,
        "outstanding": harness.outstanding.number,
        "read_beats": harness.read_beats.number,
        "write_beats": harness.write_beats.number,
    }
