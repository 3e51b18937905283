"""The simulation layer itself: jobs, memory model, benches and build cache, on both simulators."""

from __future__ import annotations

import os
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hw.sim.bench import BenchFailure, run_bench
from hw.sim.build import BuildError, BuildRequest, build
from hw.sim.faults import Fault, JobError, parse_fault
from hw.sim.process import SimulationError, last_line, run_driver
from hw.sim.simulate import NO_STALLS, Job, SimulationTimeout, StallProfile, prepare, run_job
from hw.sim.toolchain import SIMULATORS, waveform_kind

HERE = Path(__file__).parent
BENCH = HERE / "sim_bench.py"
COPIER = {"sim_copier.v": (HERE / "sim_copier.v").read_text()}
CONTROL, STATUS, SOURCE, DESTINATION, WORDS, INCREMENT, FAULT, DETAIL = range(0, 32, 4)
CONTENT = random.Random(5).randbytes(4096)
HEAVY = StallProfile.uniform(0.6, 32)


def copy(simulator: str, fault: int = 0, words: int = 512, **changes) -> Job:
    """Copy CONTENT from 0x1000 to 0x4000 and add 3 to each 64-bit word."""
    writes = [(SOURCE, 0x1000), (DESTINATION, 0x4000), (WORDS, words), (INCREMENT, 3), (FAULT, fault), (CONTROL, 1)]
    settings = {
        "sources": COPIER, "top": "sim_copier", "memory_bytes": 1 << 16, "loads": [(0x1000, CONTENT)],
        "writes": writes, "reads": [STATUS, DETAIL], "dumps": [(0x4000, len(CONTENT))], "seed": 3,
        "status": {"status": STATUS, "words": DETAIL}, "cycle_limit": 5000, "simulator": simulator,
    }  # fmt: skip
    return Job(**(settings | changes))


EXPECTED = (np.frombuffer(CONTENT, "<u8") + np.uint64(3)).tobytes()


@pytest.mark.parametrize(("stall", "latency"), [(NO_STALLS, 2), (StallProfile.uniform(0.25), 20), (HEAVY, 200)])
def test_simulators_agree_to_the_cycle(stall, latency):
    runs = [run_job(copy(name, stall=stall, latency=latency, cycle_limit=50_000)) for name in SIMULATORS]
    for run in runs:
        assert run.registers == {STATUS: 1, DETAIL: 512}
        assert run.dumps == (EXPECTED,)
        assert (run.read_beats, run.write_beats) == (512, 512)
    assert runs[0].cycles == runs[1].cycles
    assert runs[0].total_cycles == runs[1].total_cycles


def test_seed_alone_decides_the_stalls(simulator):
    first, again, other = (run_job(copy(simulator, stall=HEAVY, cycle_limit=50_000, seed=seed)) for seed in (1, 1, 2))
    assert first.cycles == again.cycles != other.cycles
    assert again.cached and other.cached
    assert other.build_seconds == 0.0
    assert (first.seed, other.seed) == (1, 2)


def test_one_stalled_channel_slows_the_run_down(simulator):
    free = run_job(copy(simulator)).cycles
    assert free < 1.5 * 512  # reads and writes overlap
    for channel in ("aw", "w", "b", "ar", "r"):
        assert run_job(copy(simulator, stall=StallProfile(**{channel: 0.7}))).cycles > free


def test_dumps_of_any_alignment(simulator):
    run = run_job(copy(simulator, dumps=[(0x4003, 21), (0x1001, 1), (0x4000, 0)]))
    assert run.dumps == (EXPECTED[3:24], CONTENT[1:2], b"")


def test_error_responses_reach_the_design(simulator):
    read = run_job(copy(simulator, errors=(0x1200, 0x1207)))
    assert read.registers[STATUS] == 1 | 2 << 1
    write = run_job(copy(simulator, errors=(0x4208, 0x4208)))
    assert write.registers[STATUS] == 1 | 2 << 1
    assert write.dumps[0] == EXPECTED[:0x208] + bytes(8) + EXPECTED[0x210:]
    beyond = run_job(copy(simulator, memory_bytes=0x4800))  # rounded up to 0x8000; a copy of 0x4000 bytes passes it
    assert beyond.registers[STATUS] == 1
    writes = [(SOURCE, 0x1000), (DESTINATION, 0xFFC0), (WORDS, 16), (CONTROL, 1)]
    outside = run_job(copy(simulator, writes=writes))
    assert outside.registers[STATUS] == 1 | 3 << 1


def test_memories_of_all_sizes_share_a_build(simulator):
    sizes = (1 << 15, 1 << 16, 1 << 18)
    assert len({prepare(copy(simulator, memory_bytes=size)).executable for size in sizes}) == 1
    assert prepare(copy(simulator, memory_bytes=1 << 19)).executable != prepare(copy(simulator)).executable


def with_fault(simulator: str, fault: Fault) -> Job:
    return replace(copy(simulator), fault=fault)


AREAS = {"from": (0x1000, 4096), "to": (0x4000, 4096)}


def test_one_beat_of_an_array_is_answered_with_an_error(simulator):
    """The seventh read or write, and no other; a run that never makes it says so."""
    read = run_job(with_fault(simulator, parse_fault("read from 7", AREAS)))
    assert read.registers[STATUS] == 1 | 2 << 1
    assert read.dumps == (EXPECTED[:0x30] + read.dumps[0][0x30:0x38] + EXPECTED[0x38:],)
    write = run_job(with_fault(simulator, parse_fault("write to 7", AREAS)))
    assert write.registers[STATUS] == 1 | 2 << 1
    assert write.dumps == (EXPECTED[:0x30] + bytes(8) + EXPECTED[0x38:],)
    for text in ("read from 513", "read to", "write from", "stuck b 999"):
        with pytest.raises(JobError, match="met no beat of the run, which ended without it"):
            run_job(with_fault(simulator, parse_fault(text, AREAS)))


STUCK = {
    "ar": "memory does not take the read address", "aw": "memory does not take the write address",
    "w": "memory does not take the write data", "r": "the design waits for read data from memory",
    "b": "the design waits for a write response from memory",
}


@pytest.mark.parametrize("channel", STUCK)
def test_a_channel_that_comes_to_rest_is_named(simulator, channel):
    with pytest.raises(SimulationTimeout, match=STUCK[channel]):
        run_job(with_fault(simulator, parse_fault(f"stuck {channel} {60 if channel == 'b' else 3}", AREAS)))


@pytest.mark.parametrize(("text", "message"), [
    ("", "none of 'read ARRAY [NUMBER]', 'write ARRAY [NUMBER]' or 'stuck CHANNEL [AFTER]'"),
    ("read", "none of 'read ARRAY"), ("drop to 1", "none of 'read ARRAY"), ("read from 1 2", "none of 'read ARRAY"),
    ("read from 0", "beats count from 1"), ("read x", "memory has the arrays from, to, not x"),
    ("stuck q", "AXI4 has the channels ar, aw, b, r, w, not q"), ("stuck ar -1", "-1 is no number of beats"),
])
def test_faults_that_there_are_not(text, message):
    with pytest.raises(JobError, match=re.escape(message)):
        parse_fault(text, AREAS)


HANGS = {
    1: "the design does not take the read data that memory offers (valid and ready: aw=01 w=00 b=01 ar=00 r=10; "
    "bursts outstanding: 8 read, 1 write); registers: status=0x0, words=0x0",
    2: "memory waits for write data from the design (valid and ready: aw=01 w=00 b=01 ar=00 r=01; "
    "bursts outstanding: 0 read, 1 write); registers: status=0x0, words=0x0",
    4: "the memory bus is idle, the design waits inside (valid and ready: aw=01 w=00 b=01 ar=00 r=01; "
    "bursts outstanding: 0 read, 0 write); registers: status=0x0, words=0x200",
}


@pytest.mark.parametrize("fault", HANGS)
def test_hangs_name_who_waits(simulator, fault):
    stall = StallProfile(ar=0.3, r=0.3)
    message = f"simulation of 'sim_copier' (seed 0x3) did not finish in 5000 cycles: {HANGS[fault]}"
    with pytest.raises(SimulationTimeout) as raised:
        run_job(copy(simulator, fault, stall=stall))
    assert re.sub(r"ar=\d\d", "ar=00", re.sub(r"aw=\d\d w=\d\d", "aw=01 w=00", str(raised.value))) == message


def test_a_design_explains_its_own_hang(simulator):
    explain = lambda status: f"copied {status['words']} words, then slept"  # noqa: E731
    with pytest.raises(SimulationTimeout, match=r"in 5000 cycles: copied 512 words, then slept; the memory bus is"):
        run_job(copy(simulator, 4, explain=explain))


@pytest.mark.parametrize(
    ("fault", "rule"),
    [(3, "a read address changed or went away before it was taken"), (5, "a burst crosses a 4 KiB boundary")],
)
def test_protocol_violations(simulator, fault, rule):
    pattern = rf"^simulation of 'sim_copier' \(seed 0x3\) broke the AXI protocol in cycle \d+: {rule}$"
    with pytest.raises(SimulationError, match=pattern):
        run_job(copy(simulator, fault, stall=HEAVY))


@pytest.mark.parametrize(
    ("register", "message"),
    [(0x20, "write at 0x20 was refused with an error response"), (0x24, "write at 0x24 was not answered")],
)
def test_register_accesses_that_fail(simulator, register, message):
    pattern = rf"^simulation of 'sim_copier' \(seed 0x3\): register {message}$"
    with pytest.raises(SimulationError, match=pattern):
        run_job(copy(simulator, writes=[(register, 0)]))


def test_waves(simulator, tmp_path):
    run = run_job(copy(simulator, words=8, waves=True, folder=tmp_path))
    assert run.waves == tmp_path / f"dump.{waveform_kind(simulator)}"
    assert run.waves.stat().st_size > 1000
    assert (tmp_path / "simulation.log").is_file()


@pytest.mark.parametrize("fast", [False, True])
def test_speed_is_measured(record_property, fast):
    with pytest.raises(SimulationTimeout):  # never ends: the first run is only there to have the build made
        run_job(copy("verilator", 4, fast=fast, cycle_limit=10))
    run = run_job(copy("verilator", words=6144, latency=500, fast=fast, stall=HEAVY, cycle_limit=10**7))
    record_property("cycles_per_second", run.cycles_per_second)
    assert run.cycles_per_second > 0
    assert run.cached


ADDER = """\
module adder #(parameter ADDEND = 1) (input clk, input [7:0] a, output reg [7:0] y);
  reg [7:0] seen;
  always @(posedge clk) begin
    y <= a + ADDEND;
    seen <= a;
  end
endmodule
"""


def adder(simulator: str, data, **options):
    options = {"tests": "adds", "public": ("adder.seen",)} | options
    return run_bench({"adder.v": ADDER}, "adder", BENCH, simulator=simulator, data=data, **options)


def test_bench_parameters_and_data(simulator):
    assert adder(simulator, [[1, 2], [254, 255]]).passed == ("adds",)
    result = adder(simulator, [[1, 6], [255, 4]], parameters={"ADDEND": 5})
    assert result.passed == ("adds",)
    assert adder(simulator, [[0, 5]], parameters={"ADDEND": 5}).cached


def test_bench_failures_are_named(simulator):
    with pytest.raises(BenchFailure) as raised:
        adder(simulator, [[1, 3]])
    assert str(raised.value).startswith(f"1 of 1 tests failed on {simulator}: adds: 1 gave 2")
    with pytest.raises(BenchFailure, match=rf"^no test ran on {simulator}"):
        adder(simulator, [], tests="no_such_test")


def test_shared_code_of_many_instances(simulator):
    """64 instances of a large module, which Verilator compiles once for all of them (`hw.sim.compile`)."""
    stage = "module stage(input clk, input [7:0] more, input [7:0] a, output reg [7:0] y);\n"
    stage += "  always @(posedge clk) y <= a + more;\nendmodule\n" + "// as large as a tile\n" * 1000
    wires = "".join(f"  stage s{n} (.clk(clk), .more(8'd{n}), .a(w[{n}]), .y(w[{n + 1}]));\n" for n in range(64))
    top = "module chain(input clk, input [7:0] a, output [7:0] y);\n  wire [7:0] w [0:64];\n  assign w[0] = a;\n"
    sources = {"chain.v": f"{top}  assign y = w[64];\n{wires}endmodule\n", "stage.v": stage}
    run_bench(sources, "chain", BENCH, simulator=simulator, tests="chains")


def test_bench_that_hangs(simulator):
    with pytest.raises(SimulationError, match=r"^the simulation was stopped after 1 s of wall-clock time$"):
        adder(simulator, [], tests="hangs", timeout_seconds=1)


def test_sources_that_do_not_parse(simulator):
    with pytest.raises(BuildError, match=r"rejected the sources: .*broken\.v:2.*syntax error"):
        build(BuildRequest({"broken.v": "module broken(input a);\n  wire wire;\nendmodule\n"}, "broken", simulator))


def test_missing_submodules_are_named(simulator):
    with pytest.raises(BuildError, match=r"rejected the sources: .*absent"):
        build(BuildRequest({"top.v": "module top(input a);\n  absent x(a);\nendmodule\n"}, "top", simulator))


def test_a_driver_that_fails_says_why(simulator, tmp_path):
    (tmp_path / "job.json").write_text("[]")
    log = run_driver(prepare(copy(simulator)), tmp_path, "hw.sim.local_driver", seconds=60)
    assert last_line(log) == "driver failed: AttributeError: the simulation shows no finished in sluice_tb"


def test_concurrent_builds_share_one(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    request = BuildRequest({"adder.v": ADDER}, "adder", "icarus")
    with ThreadPoolExecutor(4) as pool:
        builds = list(pool.map(lambda _: build(request), range(4)))
    assert sorted(one.cached for one in builds) == [False, True, True, True]
    assert len({one.executable for one in builds}) == 1


def test_content_decides_what_is_built_again(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    request = BuildRequest({"adder.v": ADDER}, "adder", "icarus")
    variants = [request, BuildRequest({"adder.v": ADDER + "\n"}, "adder", "icarus")]
    variants += [BuildRequest({"adder.v": ADDER}, "adder", "icarus", {"ADDEND": 2})]
    assert [build(one).cached for one in variants] == [False] * 3
    assert [build(one).cached for one in variants] == [True] * 3


def test_builds_that_nobody_used_for_a_month_go(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    variants = [BuildRequest({"adder.v": ADDER}, "adder", "icarus", {"ADDEND": n}) for n in range(3)]
    old, recent = build(variants[0]).executable, build(variants[1]).executable
    for executable, days in ((old, 31), (recent, 29)):
        past = time.time() - days * 24 * 3600
        os.utime(executable.parent, (past, past))
    build(variants[2])
    assert (old.exists(), recent.exists()) == (False, True)
    assert build(variants[1]).cached


def test_cache_that_cannot_be_used(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "file"))
    with pytest.raises(BuildError, match=rf"^cannot use the build cache {tmp_path}/file: Not a directory; "
                                         r"set SLUICE_CACHE to a folder that can be written$"):
        build(BuildRequest({"adder.v": ADDER}, "adder", "icarus"))
