"""The cocotb side of `hw.sim.local_run`: waits until the machine is done, and leaves ``report.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

__all__ = ["job"]


@cocotb.test()
async def job(tb: Any) -> None:
    """One run."""
    names = json.loads(Path("job.json").read_text())
    await RisingEdge(tb.finished)
    await FallingEdge(tb.clk)
    report = {name: int(getattr(tb, name).value) for name in [*names, "expired"]}
    temporary = Path("report.json.part")
    temporary.write_text(json.dumps(report))
    temporary.replace("report.json")
