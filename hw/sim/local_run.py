"""Simulation of a machine with memories of its own beside it, such as `hw.window.WindowMachine`: fill them, start,
wait, read them back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hw.sim.build import Build, BuildRequest, build
from hw.sim.diagnosis import SimulationTimeout
from hw.sim.process import SimulationError, last_line, run_driver

__all__ = ["LocalJob", "LocalResult", "run_local"]

_TOP = "sluice_local"
_DRIVER = "hw.sim.local_driver"
_SHORT = 100_000


@dataclass(frozen=True)
class LocalJob:
    """One run of one machine.

    `sources`: file name -> Verilog; `top`: a module with ``clk``, ``rst``, ``start``, ``done``, ``fire`` and, for each
    memory, the ports of `hw.window.ports.MemoryPort` behind ``memoryN__``. `memories`: the words in each, from address
    0. `stall`: the share of cycles, 0 to 1, in which a memory takes no access; `seed` of these. `cycle_limit`: after so
    many cycles a run counts as hung. `expected_cycles`, if known: up to 100000, the build takes less time instead of
    the run. `waves` leaves a waveform in `folder`.
    """

    sources: Mapping[str, str]
    top: str
    memories: Sequence[Sequence[int]]
    address_bits: int = 18
    expected_cycles: int | None = None
    simulator: str = "verilator"
    stall: float = 0.0
    seed: int = 0
    cycle_limit: int = 1_000_000
    waves: bool = False
    folder: Path | None = None
    timeout_seconds: float = 3600.0


@dataclass(frozen=True)
class LocalResult:
    """What a run left: the memories; `cycles` from the one that takes `start` to the last one before `done`;
    iterations; words read from each memory and written to it."""

    memories: tuple[list[int], ...]
    cycles: int
    iterations: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    build_seconds: float


def run_local(job: LocalJob) -> LocalResult:
    """Build (or find) the simulation of `job` and run it. Raises `SimulationTimeout`, `SimulationError`, `BuildError`,
    `SimulatorMissing`."""
    built = _build(job)
    with tempfile.TemporaryDirectory(prefix="sluice-local-") as temporary:
        folder = (job.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for number, words in enumerate(job.memories):
            (folder / f"memory{number}.hex").write_text("\n".join(f"{word:08x}" for word in words) + "\n")
        report = _run(job, built, folder)
        kept = tuple(_words(folder / f"memory{number}.hex.out", len(words))
                     for number, words in enumerate(job.memories))
    count = len(job.memories)
    return LocalResult(kept, report["cycles"], report["iterations"], tuple(report[f"reads{n}"] for n in range(count)),
                       tuple(report[f"writes{n}"] for n in range(count)), built.seconds)


def _build(job: LocalJob) -> Build:
    harness = {f"{_TOP}.v": _harness(job), "local_memory.v": Path(__file__).with_name("local_memory.v").read_text()}
    return build(BuildRequest({**job.sources, **harness}, _TOP, job.simulator, waves=job.waves, visible=_visible(job),
                              short=job.expected_cycles is not None and job.expected_cycles <= _SHORT))


def _names(job: LocalJob) -> list[str]:
    return ["cycles", "iterations", *(f"{what}{n}" for n in range(len(job.memories)) for what in ("reads", "writes"))]


def _visible(job: LocalJob) -> tuple[str, ...]:
    return tuple(f"{_TOP}.{name}" for name in [*_names(job), "clk", "finished", "expired"])


def _run(job: LocalJob, built: Build, folder: Path) -> dict[str, int]:
    (folder / "job.json").write_text(json.dumps(_names(job)))
    longest = max(map(len, job.memories))
    settings = [f"limit={job.cycle_limit}", f"stall={round(255 * job.stall)}", f"memory_seed={job.seed & 0xFFFF:x}",
                f"memory_last={longest - 1}"]
    log = run_driver(built, folder, _DRIVER, plusargs=settings, seconds=job.timeout_seconds)
    report = folder / "report.json"
    if not report.is_file():
        raise SimulationError(f"simulation of '{job.top}' failed: {last_line(log)}")
    found = json.loads(report.read_text())
    if found["expired"]:
        raise SimulationTimeout(f"machine '{job.top}' was not done after {job.cycle_limit} cycles, "
                                f"{found['iterations']} iterations")
    return found


def _words(path: Path, count: int) -> list[int]:
    """Words of a file of ``$writememh``. Raises `SimulationError` for undefined bits."""
    rows = (row.partition("//")[0] for row in path.read_text().splitlines())
    lines = [word for row in rows for word in row.split() if not word.startswith("@")][:count]
    try:
        return np.array([int(line, 16) for line in lines], dtype=np.int64).tolist()
    except ValueError:
        place = next(n for n, line in enumerate(lines) if set(line.lower()) - set("0123456789abcdef"))
        raise SimulationError(f"the machine wrote undefined bits (x) to word {place} of {path.name[:-8]}") from None


_MEMORY = """
    wire valid{n}, ready{n}, write{n};
    wire [{last}:0] address{n};
    wire [31:0] out{n}, in{n};
    wire [31:0] reads{n}, writes{n};
    sluice_local_memory #(.ADDRESS_BITS({bits}), .FILE("memory{n}.hex"), .SAVED("memory{n}.hex.out")) memory{n} (
        .clk(clk), .rst(rst), .valid(valid{n}), .ready(ready{n}), .write(write{n}), .address(address{n}),
        .data_out(out{n}), .data_in(in{n}), .reads(reads{n}), .writes(writes{n}), .save(finished)
    );"""
_PORTS = """
        .memory{n}__valid(valid{n}), .memory{n}__ready(ready{n}), .memory{n}__write(write{n}),
        .memory{n}__address(address{n}), .memory{n}__data_out(out{n}), .memory{n}__data_in(in{n}),"""
_TEXT = """\
module {top};
    reg clk, rst, start, running, finished, expired;
    reg [3:0] age;
    reg [31:0] cycles, iterations, limit;
    wire done, fire;
    initial begin
        clk = 0;
        rst = 1;
        start = 0;
        running = 0;
        finished = 0;
        expired = 0;
        age = 0;
        cycles = 0;
        iterations = 0;
        if (!$value$plusargs("limit=%d", limit)) limit = 1000000;
        forever #5 clk = !clk;
    end
    always @(posedge clk) begin
        if (age != 15) age <= age + 1;
        rst <= age < 8;
        start <= age == 12;
        if (start) running <= 1;
        if (start || running && !done) cycles <= cycles + 1;
        if (fire) iterations <= iterations + 1;
        if (running && (done || cycles >= limit)) begin
            expired <= !done && !finished;
            running <= 0;
            finished <= 1;
        end
    end{memories}
    {dut} dut (
        .clk(clk), .rst(rst), .start(start), .done(done),{ports}
        .fire(fire)
    );
endmodule
"""


def _harness(job: LocalJob) -> str:
    """Clock, reset, start, counters and memories around the machine."""
    numbers = range(len(job.memories))
    return _TEXT.format(
        top=_TOP, dut=job.top, ports="".join(_PORTS.format(n=n) for n in numbers),
        memories="".join(_MEMORY.format(n=n, bits=job.address_bits, last=job.address_bits - 1) for n in numbers))
