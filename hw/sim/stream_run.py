"""Simulation of a design between AXI4-Streams (`hw.axi_stream`): give it arrays, keep what comes out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hw.axi_stream.spec import StreamError, StreamPort
from hw.axi_stream.system import STREAM_MODULE
from hw.sim.build import Build
from hw.sim.diagnosis import SimulationTimeout
from hw.sim.harness_run import HarnessJob, build_harness, hexadecimal_words, is_undefined, run_harness
from hw.sim.process import working_folder

__all__ = ["StreamJob", "StreamResult", "run_streams"]

_TOP = "sluice_streams"
_NAMES = ("cycles", "moves", "first", "runs", "early", "failed", "broken")


@dataclass(frozen=True)
class StreamJob(HarnessJob):
    """Runs of one design, one after the other.

    `sources` have the module `stream_system`, whose streams are `inputs` and `outputs`. `given`: for every input the
    words of all runs, as they are in TDATA; `runs`: how many. A source that stalls has nothing, a sink takes nothing.
    """

    inputs: Sequence[StreamPort]
    outputs: Sequence[StreamPort]
    given: Sequence[Sequence[int]]
    runs: int = 1


@dataclass(frozen=True)
class StreamResult:
    """What runs left: the words of every output. `cycles` from reset to the end of the last run, `first` to the end of
    the first one; `moves`: those in which the design moved. `early`: bit k if in the last run input k had TLAST before
    its end."""

    words: tuple[list[int], ...]
    cycles: int
    first: int
    moves: int
    early: int
    seconds: float
    build_seconds: float
    folder: Path


def run_streams(job: StreamJob) -> StreamResult:
    """Build (or find) the simulation of `job` and run it. TLAST, TKEEP and the protocol are checked.

    Raises `StreamError` if the design fails or breaks the protocol, `SimulationTimeout`, `SimulationError`,
    `BuildError`, `SimulatorMissing`.
    """
    if not 0.0 <= job.stall < 1.0:
        raise StreamError(f"the share of stalls is {job.stall}, not in [0, 1)")
    built = build_harness(job, _TOP, _harness(job), ["stream_ends.v"], _NAMES)
    with working_folder(job.folder, "sluice-streams-") as folder:
        for port, words in zip(job.inputs, job.given, strict=True):
            (folder / f"s_{port.name}.hex").write_text(_beats(port, words, job.runs))
        began = time.perf_counter()
        report = _run(job, built, folder)
        seconds = time.perf_counter() - began
        words = tuple(_words(folder / f"m_{port.name}.hex", port, job.runs) for port in job.outputs)
    return StreamResult(words, report["cycles"], report["first"], report["moves"], report["early"],
                        seconds, built.seconds, folder)


# Files.


def _beats(port: StreamPort, words: Sequence[int], runs: int) -> str:
    """Words as lines of ``$readmemh``: TLAST, then TDATA; what is in a last beat beside its words is anything."""
    if len(words) != port.words * runs:
        raise StreamError(f"stream {port.name} has {port.words * runs} words, and {len(words)} are given")
    size, lines = 8 * port.element_bytes, []
    for run in range(runs):
        rest = list(words[run * port.words : (run + 1) * port.words])
        for start in range(0, port.words, port.elements):
            some = rest[start : start + port.elements]
            data = sum((word & ((1 << size) - 1)) << (size * k) for k, word in enumerate(some))
            last = start + port.elements >= port.words
            lines.append(f"{data | int(last) << (8 * port.bytes):x}")
    return "\n".join(lines) + "\n"


def _words(path: Path, port: StreamPort, runs: int) -> list[int]:
    """Inverse of `_beats`, with TLAST, TKEEP and TDATA. Raises `StreamError` for those that are wrong."""
    size, found = 8 * port.element_bytes, []
    for number, line in enumerate(hexadecimal_words(path, port.beats * runs)):
        if is_undefined(line):
            raise StreamError(f"stream {port.name} has undefined bits in beat {number}: {line}")
        value, beat = int(line, 16), number % port.beats
        data, keep = value & ((1 << 8 * port.bytes) - 1), value >> 8 * port.bytes & ((1 << port.bytes) - 1)
        count = min(port.elements, port.words - beat * port.elements)
        if value >> 9 * port.bytes != (beat == port.beats - 1):
            raise StreamError(f"stream {port.name} has TLAST at the wrong beat, {number}")
        if keep != (1 << count * port.element_bytes) - 1:
            raise StreamError(f"stream {port.name} has TKEEP {keep:x} in beat {number}, with {count} elements")
        found += [data >> size * k & ((1 << size) - 1) for k in range(count)]
    return found


# The simulation.


def _run(job: StreamJob, built: Build, folder: Path) -> dict[str, int]:
    settings = [f"runs={job.runs}", *(f"s_{port.name}.hex={port.beats * job.runs}" for port in job.inputs)]
    found = run_harness(job, built, folder, _NAMES, settings, "streams")
    if found["broken"]:
        raise StreamError("a beat was withdrawn, or changed, before it was taken")
    if found["failed"]:
        raise StreamError("the run ended with error INDEX: an access was outside of its array")
    if found["expired"]:
        raise SimulationTimeout(f"the streams were not at their end after {job.cycle_limit} cycles; {found['runs']} of "
                                f"{job.runs} runs had ended")
    return found


_SOURCE = """
    wire [{high}:0] {name}_data;
    wire {name}_last, {name}_valid, {name}_ready;
    sluice_stream_source #(.WIDTH({width}), .BEATS({beats}), .NUMBER({number}), .FILE("{name}.hex")) {name} (
        .clk(clk), .rst(rst), .data({name}_data), .last({name}_last), .valid({name}_valid), .ready({name}_ready)
    );"""
_SINK = """
    wire [{high}:0] {name}_data;
    wire [{keep}:0] {name}_keep;
    wire {name}_last, {name}_valid, {name}_ready, {name}_broken;
    sluice_stream_sink #(.WIDTH({width}), .BEATS({beats}), .NUMBER({number}), .FILE("{name}.hex")) {name} (
        .clk(clk), .rst(rst), .data({name}_data), .keep({name}_keep), .last({name}_last), .valid({name}_valid),
        .ready({name}_ready), .place(), .broken({name}_broken), .save(finished)
    );"""
_TEXT = """\
module {top};
    reg clk, rst, finished, expired;
    reg [3:0] age;
    reg [31:0] cycles, moves, first, runs, limit, wanted, early;
    wire moved, ended, failed_now;
    wire [{early}:0] early_now;
    wire broken = {broken};
    reg failed;
    initial begin
        clk = 0;
        rst = 1;
        finished = 0;
        expired = 0;
        failed = 0;
        age = 0;
        {{cycles, moves, first, runs, early}} = 0;
        if (!$value$plusargs("limit=%d", limit)) limit = 1000000;
        if (!$value$plusargs("runs=%d", wanted)) wanted = 1;
        forever #5 clk = !clk;
    end
    always @(posedge clk) begin
        if (age != 15) age <= age + 1;
        rst <= age < 8;
        if (!rst && !finished) begin
            cycles <= cycles + 1;
            if (moved) moves <= moves + 1;
            if (ended) begin
                runs <= runs + 1;
                early <= early_now;
                if (runs == 0) first <= cycles + 1;
            end
            if (ended && runs + 1 == wanted || cycles >= limit || failed_now || broken) begin
                expired <= !(ended && runs + 1 == wanted);
                failed <= failed_now;
                finished <= 1;
            end
        end
    end{ends}
    {dut} dut (
        .clk(clk), .rst(rst), .moves(moved), .ends(ended), .early(early_now),{ports}
        .failed(failed_now)
    );
endmodule
"""


def _harness(job: StreamJob) -> str:
    """Clock, reset, counters, and what is at the ends of the streams."""
    ends, ports, broken = [], [], ["1'b0"]
    for letter, side, text in (("s", job.inputs, _SOURCE), ("m", job.outputs, _SINK)):
        for number, port in enumerate(side):
            name, width = f"{letter}_{port.name}", 8 * port.bytes
            beats = 1 << (port.beats * job.runs - 1).bit_length()
            ends.append(text.format(name=name, width=width, high=width - 1, keep=port.bytes - 1, beats=beats,
                                    number=number + 1))
            ports.append(_ports(port, letter, name))
            if letter == "m":
                broken.append(f"{name}_broken")
                ends += [] if port.has_keep else [f"\n    assign {name}_keep = {{{port.bytes}{{1'b1}}}};"]
    return _TEXT.format(top=_TOP, dut=STREAM_MODULE, ends="".join(ends), ports="".join(ports),
                        broken=" || ".join(broken), early=max(1, len(job.inputs)) - 1)


def _ports(port: StreamPort, letter: str, name: str) -> str:
    """The connections of a stream."""
    pins = [(pin, f"{name}_{pin}") for pin in ("data", "last", "valid", "ready")]
    if port.has_keep:
        kept = f"{{{port.bytes}{{1'b1}}}}" if letter == "s" else f"{name}_keep"
        pins.append(("keep", kept))
    return "".join(f"\n        .{letter}_axis_{port.name}_t{pin}({wire})," for pin, wire in pins)
