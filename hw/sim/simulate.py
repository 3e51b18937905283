"""Co-simulation of one complete design: load memory, write registers, wait for the interrupt, read back.

`run_job` is what a compiled design's ``simulate`` and the end-to-end benches share. Arrays travel in files that the
memory model reads and writes in bulk, register accesses are one event each, and nothing in Python happens
per cycle while a design runs.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hw.main_memory import MOST_BURSTS
from hw.sim.build import Build, BuildRequest, build
from hw.sim.diagnosis import SimulationTimeout, explain_failure
from hw.sim.faults import Fault, JobError
from hw.sim.process import SimulationError, run_reported, working_folder
from hw.sim.testbench import TESTBENCH_TOP, make_testbench

__all__ = [
    "NO_STALLS",
    "Job",
    "JobError",
    "JobResult",
    "SimulationError",
    "SimulationTimeout",
    "StallProfile",
    "jobs_run_by",
    "prepare",
    "run_job",
    "simulate_job",
]

_WORD = 8
_MINIMUM_BYTES = 4096
# Memories of up to so many words (256 KiB) differ in where they end, and share a build.
_SHARED_WORDS = 1 << 15
_BANDWIDTHS = ("separate", "shared")
_DRIVER = "hw.sim.job_driver"
_SHORT = 100_000


@dataclass(frozen=True)
class StallProfile:
    """How the memory stalls: per AXI channel the probability (0 to 1) that a stall starts in a cycle in which the
    channel could go, and `longest`, the longest stall in cycles (a power of two up to 128).
    """

    aw: float = 0.0
    w: float = 0.0
    b: float = 0.0
    ar: float = 0.0
    r: float = 0.0
    longest: int = 8

    @classmethod
    def uniform(cls, probability: float, longest: int = 8) -> StallProfile:
        """The same probability on all five channels."""
        return cls(*[probability] * 5, longest=longest)

    def plusargs(self) -> list[str]:
        """The settings as the harness reads them. Raises `JobError` for values out of range."""
        channels = {"aw": self.aw, "w": self.w, "b": self.b, "ar": self.ar, "r": self.r}
        for name, probability in channels.items():
            if not 0.0 <= probability < 1.0:
                raise JobError(f"stall probability of channel {name} is {probability}, not in [0, 1)")
        if self.longest not in (1, 2, 4, 8, 16, 32, 64, 128):
            raise JobError(f"longest stall is {self.longest}, not a power of two from 1 to 128")
        settings = [f"stall_{name}={round(255 * probability)}" for name, probability in channels.items()]
        return [*settings, f"stall_length={self.longest - 1}"]


NO_STALLS = StallProfile()


@dataclass(frozen=True)
class Job:
    """One run of one design.

    * `sources`: file name -> Verilog; `top`: its top module, with the ports of `hw.sim.testbench.make_testbench`.
    * `memory_bytes`: size of main memory, which starts at address 0 (rounded up to a power of two); what `loads`
      does not fill is zero. `loads`: (byte address, bytes) at any alignment. `dumps`: (byte address, length) to
      read back after the run.
    * `writes`: (register byte address, 32-bit value), in order; the last one starts the design. `wait`: ``"irq"``.
      `reads`: registers to read after the interrupt.
    * `status`: name -> register to read when the run fails, and `explain`, which turns their values into a
      sentence that names the waiting component.
    * `seed` of the random stalls (None: a fresh one, reported in results and errors), `stall`, `latency` of memory in
      cycles (2 is the least), `bursts`: those that memory takes in each direction before it has answered the first
      (1 to 16), `errors`: (first, last) byte addresses that answer SLVERR, `fault`: what memory
      does wrong once or from some beat on (`hw.sim.faults`; not both of these). `bandwidth` of memory:
      ``"separate"``: a beat can be read and another one written in each cycle; ``"shared"``: one or the other, as with
      a DRAM, in turns of up to 32 beats when both wait.
    * `cycle_limit`: cycles from the last register write after which a run counts as hung.
    * `simulator`: ``"verilator"`` or ``"icarus"``; `fast`: for long runs, a build that takes about twice as long and
      simulates faster (Verilator). `expected_cycles`, if known: up to 100000, the build takes less time instead.
    * `waves` leaves a waveform in `folder`, which is also where the logs go; without a `folder`, a temporary one.
    """

    sources: Mapping[str, str]
    top: str
    memory_bytes: int
    loads: Sequence[tuple[int, bytes]] = ()
    writes: Sequence[tuple[int, int]] = ()
    wait: str = "irq"
    reads: Sequence[int] = ()
    dumps: Sequence[tuple[int, int]] = ()
    seed: int | None = None
    stall: StallProfile = NO_STALLS
    latency: int = 2
    bursts: int = MOST_BURSTS
    errors: tuple[int, int] | None = None
    fault: Fault | None = None
    bandwidth: str = "separate"
    cycle_limit: int = 1_000_000
    simulator: str = "verilator"
    fast: bool = False
    expected_cycles: int | None = None
    waves: bool = False
    folder: Path | None = None
    status: Mapping[str, int] = field(default_factory=dict)
    explain: Callable[[Mapping[str, int]], str] | None = None
    timeout_seconds: float = 3600.0


@dataclass(frozen=True)
class JobResult:
    """What a run left.

    `registers` by address, `dumps` in the order of the job's. `cycles`: from the cycle that takes the last register
    write to the one that sees the interrupt; `total_cycles` since reset. `read_beats` and `write_beats`: beats, as
    wide as the design's ``m_axi`` data, that crossed the memory bus. `wall_seconds` of the whole simulation,
    `cycles_per_second` while the design ran. `build_seconds` is 0.0 for a `cached` build. `waves`: the waveform file,
    if one was asked for.
    """

    registers: Mapping[int, int]
    dumps: tuple[bytes, ...]
    cycles: int
    total_cycles: int
    read_beats: int
    write_beats: int
    wall_seconds: float
    cycles_per_second: float
    build_seconds: float
    cached: bool
    seed: int
    waves: Path | None


_ELSEWHERE: ContextVar[Callable[[Job], JobResult] | None] = ContextVar("elsewhere", default=None)


@contextmanager
def jobs_run_by(machine: Callable[[Job], JobResult]) -> Iterator[None]:
    """Inside, `run_job` hands jobs to `machine`, such as a board."""
    token = _ELSEWHERE.set(machine)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def run_job(job: Job) -> JobResult:
    """Build (or find) the simulation of `job` and run it.

    Raises `JobError` (the job makes no sense, or its fault meets no beat), `SimulatorMissing`, `BuildError`,
    `SimulationTimeout` (a hang; names the waiting component and the seed) and `SimulationError` (an AXI protocol
    violation, a refused register access, undefined bits where a dump should be, a simulator that died).
    """
    return (_ELSEWHERE.get() or simulate_job)(job)


def simulate_job(job: Job) -> JobResult:
    """`run_job`, on a simulator whatever `jobs_run_by` says."""
    _check(job)
    seed = random.getrandbits(32) if job.seed is None else job.seed
    built = prepare(job)
    with working_folder(job.folder, "sluice-job-") as folder:
        report = _run(job, built, folder, seed)
        explain_failure(report, job.top, seed, job.cycle_limit, job.explain)
        if job.fault is not None and not report["struck"]:
            raise JobError(f"{job.fault} met no beat of the run, which ended without it")
        return _result(job, built, folder, seed, report)


def prepare(job: Job) -> Build:
    """Only the build of `run_job`: compiles the simulation into the cache, or finds it there.

    Builds depend on sources, simulator, waves, on whether the run is short or `fast`, and on the size of a memory of
    more than 256 KiB; not on data, seed, stalls, latency, bandwidth or limits.
    """
    bench = make_testbench(job.sources, job.top, max(_memory_words(job.memory_bytes), _SHARED_WORDS))
    clash = sorted(set(bench.sources) & set(job.sources))
    if clash:
        raise JobError(f"source file name {clash[0]} is taken by the test bench")
    sources = {**job.sources, **bench.sources}
    return build(
        BuildRequest(sources, TESTBENCH_TOP, job.simulator, waves=job.waves, public=bench.public, visible=bench.visible,
                     fast=job.fast, short=job.expected_cycles is not None and job.expected_cycles <= _SHORT)
    )


def _check(job: Job) -> None:
    if job.wait != "irq":
        raise JobError(f"cannot wait for '{job.wait}', only for 'irq'")
    if job.waves and job.folder is None:
        raise JobError("waves need a folder to stay in")
    if not 0 <= job.latency < 1 << 16:
        raise JobError(f"memory latency is {job.latency} cycles, not in 0 to 65535")
    if not 1 <= job.bursts <= MOST_BURSTS:
        raise JobError(f"memory takes {job.bursts} bursts at once, not 1 to {MOST_BURSTS}")
    if job.bandwidth not in _BANDWIDTHS:
        raise JobError(f"memory bandwidth is '{job.bandwidth}', neither 'separate' nor 'shared'")
    if job.errors is not None and job.fault is not None:
        raise JobError("memory can have 'errors' or a 'fault', not both")
    job.stall.plusargs()
    size = _memory_words(job.memory_bytes) * _WORD
    for what, address, length in _areas(job):
        if address < 0 or length < 0 or address + length > size:
            raise JobError(f"{what} of {length} bytes at {address:#x} is outside the memory of {size} bytes")
    for register in [*(register for register, _ in job.writes), *job.reads, *job.status.values()]:
        if register < 0 or register % 4:
            raise JobError(f"register address {register:#x} is not a multiple of 4")


def _areas(job: Job) -> list[tuple[str, int, int]]:
    loads = [("load", address, len(content)) for address, content in job.loads]
    return loads + [("dump", address, length) for address, length in job.dumps]


def _memory_words(memory_bytes: int) -> int:
    if memory_bytes <= 0:
        raise JobError(f"memory size is {memory_bytes} bytes")
    return 1 << math.ceil(math.log2(max(memory_bytes, _MINIMUM_BYTES) / _WORD))


def _run(job: Job, built: Build, folder: Path, seed: int) -> dict[str, Any]:
    (folder / "memory.hex").write_text(_memory_image(job.loads))
    (folder / "dump.txt").write_text("".join(f"{first} {count}\n" for first, count in map(_span, job.dumps)))
    order = {
        "writes": [list(write) for write in job.writes],
        "reads": list(job.reads),
        "status": dict(job.status),
        "dump": bool(job.dumps),
    }
    return run_reported(built, folder, _DRIVER, order, f"simulation of '{job.top}' failed (seed {seed:#x})",
                        plusargs=_plusargs(job, seed), seconds=job.timeout_seconds)


def _plusargs(job: Job, seed: int) -> list[str]:
    settings = [f"memory_seed={seed & 0xFFFFFFFF:x}", f"latency={job.latency}", f"bursts={job.bursts}",
                f"limit={job.cycle_limit}", f"shared={_BANDWIDTHS.index(job.bandwidth)}",
                f"memory_last={_memory_words(job.memory_bytes) * _WORD - 1:x}"]
    if job.errors is not None:
        settings += [f"error_first={job.errors[0]:x}", f"error_last={job.errors[1]:x}"]
    if job.fault is not None:
        settings += job.fault.plusargs()
    return settings + job.stall.plusargs()


def _memory_image(loads: Sequence[tuple[int, bytes]]) -> str:
    """The loads as one file for ``$readmemh``: 64-bit little-endian words; a later load overwrites an earlier one."""
    words: dict[int, bytearray] = {}
    for address, content in loads:
        for first in range(address // _WORD, (address + len(content) + _WORD - 1) // _WORD):
            low = max(address, first * _WORD)
            high = min(address + len(content), (first + 1) * _WORD)
            word = words.setdefault(first, bytearray(_WORD))
            word[low - first * _WORD : high - first * _WORD] = content[low - address : high - address]
    lines: list[str] = []
    previous = None
    for index in sorted(words):
        if previous is None or index != previous + 1:
            lines.append(f"@{index:x}")
        lines.append(words[index][::-1].hex())
        previous = index
    return "\n".join(lines or ["@0", "0"]) + "\n"


def _span(dump: tuple[int, int]) -> tuple[int, int]:
    """(first word, count of words) that cover a dump of (byte address, length)."""
    address, length = dump
    first = address // _WORD
    return first, (address + length + _WORD - 1) // _WORD - first


def _result(job: Job, built: Build, folder: Path, seed: int, report: dict[str, Any]) -> JobResult:
    return JobResult(
        registers=dict(zip(job.reads, report["registers"], strict=True)),
        dumps=_dumps(job, folder),
        cycles=report["cycles"],
        total_cycles=report["total_cycles"],
        read_beats=report["read_beats"],
        write_beats=report["write_beats"],
        wall_seconds=report["wall_seconds"],
        cycles_per_second=report["cycles"] / max(report["run_seconds"], 1e-9),
        build_seconds=built.seconds,
        cached=built.cached,
        seed=seed,
        waves=folder / f"dump.{built.waves}" if built.waves else None,
    )


def _dumps(job: Job, folder: Path) -> tuple[bytes, ...]:
    if not job.dumps:
        return ()
    lines = (folder / "dump.hex").read_text().split()
    dumps: list[bytes] = []
    for (address, length), (_, count) in zip(job.dumps, map(_span, job.dumps), strict=True):
        chunk, lines = lines[:count], lines[count:]
        digits = "".join(map(_byte_order, chunk))
        dumps.append(_defined(digits[2 * (address % _WORD) :][: 2 * length], address))
    return tuple(dumps)


def _byte_order(word: str) -> str:
    """The hexadecimal digits of a little-endian word, its byte at the lowest address first."""
    return "".join(word[index : index + 2] for index in range(len(word) - 2, -1, -2))


def _defined(digits: str, address: int) -> bytes:
    """The bytes that `digits` spell, the first one at `address`. Raises `SimulationError` for undefined bits."""
    undefined = re.search("[^0-9a-f]", digits)
    if undefined:
        place = address + undefined.start() // 2
        raise SimulationError(f"the design wrote undefined bits (x) to main memory at byte address {place:#x}")
    return bytes.fromhex(digits)
