"""The Python side of `hw.sim.harness_run`: waits until the machine is done, and leaves ``report.json``."""

from __future__ import annotations

import json
from pathlib import Path

from hw.sim.driver import Signal, start

__all__ = ["run"]


def run() -> None:
    """One run."""
    start(_drive)


async def _drive(tb: Signal) -> None:
    names = json.loads(Path("job.json").read_text())
    await tb.finished.rises
    await tb.clk.falls
    report = {name: getattr(tb, name).number for name in [*names, "expired"]}
    temporary = Path("report.json.part")
    temporary.write_text(json.dumps(report))
    temporary.replace("report.json")
