"""Simulation of a machine with memories of its own beside it, such as `hw.window.WindowMachine`: fill them, start,
wait, read them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hw.sim.diagnosis import SimulationTimeout
from hw.sim.harness_run import HarnessJob, build_harness, hexadecimal_words, is_undefined, run_harness
from hw.sim.process import SimulationError, working_folder

__all__ = ["LocalJob", "LocalResult", "run_local"]

_TOP = "sluice_local"


@dataclass(frozen=True)
class LocalJob(HarnessJob):
    """One run of one machine.

    `top`: a module with ``clk``, ``rst``, ``start``, ``done``, ``fire`` and, for each memory, the ports of
    `hw.window.ports.MemoryPort` behind ``memoryN__``. `memories`: the words in each, from address 0. A memory that
    stalls takes no access.
    """

    top: str
    memories: Sequence[Sequence[int]]
    address_bits: int = 18


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
    count = len(job.memories)
    names = ["cycles", "iterations", *(f"{what}{n}" for n in range(count) for what in ("reads", "writes"))]
    built = build_harness(job, _TOP, _harness(job), ["local_memory.v"], names)
    with working_folder(job.folder, "sluice-local-") as folder:
        for number, words in enumerate(job.memories):
            (folder / f"memory{number}.hex").write_text("\n".join(f"{word:08x}" for word in words) + "\n")
        settings = [f"memory_last={max(map(len, job.memories)) - 1}"]
        report = run_harness(job, built, folder, names, settings, f"'{job.top}'")
        if report["expired"]:
            raise SimulationTimeout(f"machine '{job.top}' was not done after {job.cycle_limit} cycles, "
                                    f"{report['iterations']} iterations")
        kept = tuple(_words(folder / f"memory{number}.hex.out", len(words))
                     for number, words in enumerate(job.memories))
    return LocalResult(kept, report["cycles"], report["iterations"], tuple(report[f"reads{n}"] for n in range(count)),
                       tuple(report[f"writes{n}"] for n in range(count)), built.seconds)


def _words(path: Path, count: int) -> list[int]:
    """Words of a memory. Raises `SimulationError` for undefined bits."""
    lines = hexadecimal_words(path, count)
    try:
        return np.array([int(line, 16) for line in lines], dtype=np.int64).tolist()
    except ValueError:
        place = next(n for n, line in enumerate(lines) if is_undefined(line))
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
