"""Simulation of a machine that a harness in Verilog runs by itself: what such jobs have in common.

The harness is a top module without ports, with ``clk``, ``finished``, ``expired`` and whatever it counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from hw.sim.build import Build, BuildRequest, build
from hw.sim.process import run_reported

__all__ = ["HarnessJob", "build_harness", "hexadecimal_words", "is_undefined", "run_harness"]

_DRIVER = "hw.sim.local_driver"
_SHORT = 100_000


@dataclass(frozen=True)
class HarnessJob:
    """What to simulate, and how.

    `sources`: file name -> Verilog. `stall`: the share of cycles, 0 to 1, in which what is around the machine keeps it
    waiting; `seed` of these. `cycle_limit`: after so many cycles a run counts as hung. `expected_cycles`, if known: up
    to 100000, the build takes less time instead of the run. `waves` leaves a waveform in `folder`.
    """

    sources: Mapping[str, str]
    _: KW_ONLY
    expected_cycles: int | None = None
    simulator: str = "verilator"
    stall: float = 0.0
    seed: int = 0
    cycle_limit: int = 1_000_000
    waves: bool = False
    folder: Path | None = None
    timeout_seconds: float = 3600.0


def build_harness(job: HarnessJob, top: str, text: str, parts: Sequence[str], names: Sequence[str]) -> Build:
    """The build of `job` in the harness `text`, module `top`, with the Verilog files `parts` of this package, which
    find ``stalls.v`` there. Signals `names` are those that it reports. Raises `BuildError`, `SimulatorMissing`."""
    files = {name: Path(__file__).with_name(name).read_text() for name in (*parts, "stalls.v")}
    return build(BuildRequest({**job.sources, f"{top}.v": text, **files}, top, job.simulator, waves=job.waves,
                              visible=tuple(f"{top}.{name}" for name in (*names, "clk", "finished", "expired")),
                              short=job.expected_cycles is not None and job.expected_cycles <= _SHORT))


def run_harness(job: HarnessJob, built: Build, folder: Path, names: Sequence[str], settings: Sequence[str], what: str
                ) -> dict[str, Any]:
    """Run it in `folder` with plusargs `settings` beside those of all harnesses (``limit``, ``stall``, ``seed``); what
    `names` and ``expired`` are at the end. Raises `SimulationError`, in which the machine is called `what`."""
    common = [f"limit={job.cycle_limit}", f"stall={round(255 * job.stall)}", f"seed={job.seed & 0xFFFF:x}"]
    return run_reported(built, folder, _DRIVER, list(names), f"simulation of {what} failed",
                        plusargs=[*common, *settings], seconds=job.timeout_seconds)


def hexadecimal_words(path: Path, count: int) -> list[str]:
    """The first `count` words of a file of ``$writememh``, as it spells them."""
    rows = (row.partition("//")[0] for row in path.read_text().splitlines())
    return [word for row in rows for word in row.split() if not word.startswith("@")][:count]


def is_undefined(word: str) -> bool:
    """Whether some bits of such a word are."""
    return bool(set(word.lower()) - set("0123456789abcdef"))
