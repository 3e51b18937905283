"""The scratchpad DMA engine in Verilog against a model that does one job after the other, byte by byte."""

from __future__ import annotations

import functools
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value

import hw.sim
from hw.dma.axi import connect_flat
from hw.dma.scratchpad import ScratchpadDma, ScratchpadDmaSpec
from hw.sim.bench import run_bench
from hw.verilog import convert

HERE = Path(__file__).parent
BENCH = HERE / "scratchpad_dma_bench.py"
CAPACITY = 1 << 13
MEMORY = 1 << 18
WIDTHS = (4, 16, 32)
SETTINGS = {
    "seed": 1, "latency": 0, "stall": 0, "stall_length": 3, "scratchpad_stall": 0, "job_stall": 0, "shared": 0,
    "error_enable": 0, "error_first": 0, "error_last": 0,
}
SLOW = {"latency": 30, "stall": 60, "scratchpad_stall": 90, "job_stall": 120, "shared": 1}


@dataclass(frozen=True)
class Transfer:
    """A job. Addresses and distances in bytes."""

    to_host: bool
    sp: int
    memory: int
    bytes: int
    rows: int = 1
    sp_inc: int = 0
    memory_inc: int = 0

    def encode(self) -> int:
        value = 0
        fields = [(self.sp, 32), (self.memory, 32), (self.bytes, 32), (self.rows, 16), (self.sp_inc, 32),
                  (self.memory_inc, 32), (self.to_host, 1)]
        for field, width in reversed(fields):
            value = value << width | field % (1 << width)
        return value

    def apply(self, scratchpad: bytearray, memory: bytearray) -> None:
        for row in range(self.rows):
            sp, address = self.sp + row * self.sp_inc, (self.memory + row * self.memory_inc) % (1 << 32)
            if self.to_host:
                memory[address : address + self.bytes] = scratchpad[sp : sp + self.bytes]
            else:
                scratchpad[sp : sp + self.bytes] = memory[address : address + self.bytes]

    def beats(self, unit: int) -> int:
        """Beats of memory of `unit` bytes that the rows touch."""
        starts = [self.memory + row * self.memory_inc for row in range(self.rows)]
        return sum((start + self.bytes - 1) // unit - start // unit + 1 for start in starts)


def engine(spec: ScratchpadDmaSpec) -> str:
    """Verilog of the engine as the module `scratchpad_dma` with flat port names."""
    m = Module()
    m.submodules.dma = dma = ScratchpadDma(spec)
    ports = connect_flat(m, dma.m_axi, "m_axi", manager=True)

    def port(name: str, value: Value, output: bool) -> None:
        ports.append(signal := Signal(len(value), name=name))
        m.d.comb += signal.eq(value) if output else value.eq(signal)

    for name, driven in (("job", False), ("dma_read", True), ("dma_data", False)):
        channel = getattr(dma, name)
        port(f"{name}_payload", Value.cast(channel.payload), driven)
    for name, driven in (("job", False), ("dma_write", True), ("dma_read", True), ("dma_data", False)):
        port(f"{name}_valid", getattr(dma, name).valid, driven)
        port(f"{name}_ready", getattr(dma, name).ready, not driven)
    for name in ("chunk", "data", "strobe"):
        port(f"dma_write_{name}", Value.cast(dma.dma_write.p[name]), True)
    for name in ("done", "idle", "error"):
        port(name, getattr(dma, name), True)
    return convert(m, "scratchpad_dma", ports=ports)


@functools.cache
def sources(spec: ScratchpadDmaSpec) -> dict[str, str]:
    return {
        "scratchpad_dma.v": engine(spec),
        "scratchpad_dma_harness.v": (HERE / "scratchpad_dma_harness.v").read_text(),
        "memory.v": (Path(hw.sim.__file__).parent / "memory.v").read_text(),
    }


@dataclass(frozen=True)
class Run:
    """What a simulation left: both memories, the counters of the harness, and the cycle of each `done`."""

    scratchpad: bytes
    memory: bytes
    counters: dict[str, int]
    done: list[int]


def _lines(content: bytes, size: int) -> str:
    """Words of `size` bytes, lowest byte last, for ``$readmemh``."""
    digits = content[::-1].hex()
    return "\n".join(digits[at : at + 2 * size] for at in range(len(digits) - 2 * size, -1, -2 * size)) + "\n"


def _content(text: str) -> bytes:
    """What `_lines` gave, or Verilog wrote in the same way."""
    return bytes.fromhex("".join(text.split()[::-1]))[::-1]


def play(simulator: str, folder: Path, unit: int | ScratchpadDmaSpec, jobs: list[Transfer], scratchpad: bytes,
         memory: bytes, limit: int = 100_000, **settings: int) -> Run:
    spec = ScratchpadDmaSpec(unit, CAPACITY) if isinstance(unit, int) else unit
    (folder / "memory.hex").write_text(_lines(memory, 8))
    (folder / "scratchpad.hex").write_text(_lines(scratchpad, 1))
    (folder / "jobs.hex").write_text(_lines(b"".join(job.encode().to_bytes(32, "little") for job in jobs), 32))
    (folder / "dump.txt").write_text(f"0 {MEMORY // 8}\n")
    parameters = {"DATA_BITS": spec.data_width, "CAPACITY_BITS": CAPACITY.bit_length() - 1, "WORDS": MEMORY // 8}
    data = {"settings": SETTINGS | settings | {"count": len(jobs)}, "limit": limit}
    run_bench(sources(spec), "scratchpad_dma_harness", BENCH, simulator=simulator, parameters=parameters, data=data,
              folder=folder)
    counters = json.loads((folder / "counters.json").read_text())
    run = Run(
        _content((folder / "scratchpad.out").read_text()),
        _content((folder / "dump.hex").read_text()),
        counters,
        [int(line) for line in (folder / "done.txt").read_text().split()],
    )
    assert counters["done_count"] == len(jobs) == len(run.done)
    assert (counters["violation"], counters["unstable"], counters["idle"]) == (0, 0, 1)
    return run


def contents(seed: int) -> tuple[bytes, bytes]:
    choice = random.Random(seed)
    return choice.randbytes(CAPACITY), choice.randbytes(MEMORY)


def compare(run: Run, jobs: list[Transfer], scratchpad: bytes, memory: bytes) -> None:
    """Nothing but what the jobs say is in the scratchpad and in memory."""
    wanted_scratchpad, wanted_memory = bytearray(scratchpad), bytearray(memory)
    for job in jobs:
        job.apply(wanted_scratchpad, wanted_memory)
    places = {"scratchpad": (run.scratchpad, wanted_scratchpad), "memory": (run.memory, wanted_memory)}
    for name, (found, wanted) in places.items():
        if found != wanted:
            wrong = [at for at in range(len(wanted)) if found[at] != wanted[at]]
            raise AssertionError(f"{len(wrong)} bytes of {name} are wrong, the first one at {wrong[0]:#x}")


def check(simulator: str, folder: Path, unit: int | ScratchpadDmaSpec, jobs: list[Transfer], **settings: int) -> Run:
    scratchpad, memory = contents(len(jobs))
    run = play(simulator, folder, unit, jobs, scratchpad, memory, **settings)
    compare(run, jobs, scratchpad, memory)
    assert (run.counters["read_errors"], run.counters["write_errors"]) == (0, 0)
    size = unit if isinstance(unit, int) else unit.memory_bytes
    for name, to_host in (("read_beats", False), ("write_beats", True)):
        assert run.counters[name] == sum(job.beats(size) for job in jobs if job.to_host == to_host)
    return run


def sweep(unit: int, cases: int) -> list[Transfer]:
    """Every pair of alignments, lengths up to some beats: into the scratchpad, and its surroundings to fresh memory.

    Then from the scratchpad to fresh memory with these alignments. The way back is aligned alike on both sides.
    """
    choice = random.Random(unit)
    jobs: list[Transfer] = []
    pairs = [(a, b) for a in range(unit) for b in range(unit)]
    pairs = choice.sample(pairs * (cases // len(pairs) + 1), cases)
    fresh, room = MEMORY // 2, 6 * unit
    for number, (sp_lane, memory_lane) in enumerate(pairs):
        length = choice.randint(1, 4 * unit) if number % 4 else choice.randint(1, unit)
        base = choice.randrange(CAPACITY // room) * room
        source = choice.randrange(MEMORY // 4 // unit) * unit + memory_lane
        jobs.append(Transfer(False, base + unit + sp_lane, source, length))
        jobs.append(Transfer(True, base, fresh, room))
        jobs.append(Transfer(True, base + unit + sp_lane, fresh + room + memory_lane, length))
        fresh += 2 * room
    assert fresh <= MEMORY
    return jobs


@pytest.mark.parametrize("unit", WIDTHS)
def test_every_alignment(simulator, unit, tmp_path):
    cases = {4: 400, 16: 500, 32: 330}[unit]
    check(simulator, tmp_path, unit, sweep(unit, cases if simulator == "verilator" else cases // 2))


def plane(choice: random.Random, size: int, length: int, rows: int, least: int) -> tuple[int, int]:
    """First address and distance of rows that stay within `size` bytes; `inc` at least `least`."""
    inc = choice.randint(least, max(least, min((size - length) // max(rows - 1, 1), 3 * length + 40)))
    span = (rows - 1) * inc + length
    first = choice.randrange(size - span + 1)
    return (first + (rows - 1) * inc, -inc) if choice.random() < 0.5 else (first, inc)


def random_job(choice: random.Random, area: int) -> Transfer:
    """A job anywhere in the scratchpad and in the first `area` bytes of memory."""
    length = choice.choice([choice.randint(1, 8), choice.randint(1, 100), choice.randint(100, 3000)])
    rows = choice.randint(1, max(1, min(40, 2500 // length))) if choice.random() < 0.5 else 1
    to_host = choice.random() < 0.5
    sp, sp_inc = plane(choice, CAPACITY, length, rows, 0)
    memory, memory_inc = plane(choice, area, length, rows, 0)
    return Transfer(to_host, sp, memory, length, rows, sp_inc if rows > 1 else 0, memory_inc if rows > 1 else 0)


@pytest.mark.parametrize("settings", [{"latency": 9}, SLOW], ids=["fast", "slow"])
@pytest.mark.parametrize("unit", WIDTHS)
def test_random_jobs(simulator, unit, settings, tmp_path):
    choice = random.Random(unit)
    area = MEMORY if settings is SLOW else CAPACITY
    count = 150 if simulator == "verilator" else 60
    check(simulator, tmp_path, unit, [random_job(choice, area) for _ in range(count)], **settings)


def test_the_smallest_engine(simulator, tmp_path):
    choice = random.Random(8)
    spec = ScratchpadDmaSpec(4, CAPACITY, max_beats=2, outstanding=1, ahead=1, jobs=2)
    jobs = [random_job(choice, CAPACITY) for _ in range(25)]
    check(simulator, tmp_path, spec, jobs, latency=3, scratchpad_stall=30)


def test_jobs_in_each_others_way(simulator, tmp_path):
    """Copies back and forth over the same few bytes: every job needs what those before it did."""
    choice = random.Random(4)
    jobs = []
    for _ in range(150):
        length = choice.randint(1, 60)
        jobs.append(Transfer(choice.random() < 0.5, choice.randrange(100), choice.randrange(100), length))
    check(simulator, tmp_path, 16, jobs, latency=12, scratchpad_stall=40)


def test_more_jobs_than_the_engine_can_remember(simulator, tmp_path):
    """A job whose data take long, then many small ones the other way, then one that needs the data of the first."""
    jobs = []
    for group in range(6):
        jobs.append(Transfer(False, 5, 0x1000 + 200 * group, 100))
        jobs += [Transfer(True, 0x1000 + 8 * n, 0x4000 + 64 * n, 4) for n in range(11)]
        jobs.append(Transfer(True, 5, 0x8000 + 200 * group, 100))
    run = check(simulator, tmp_path, 16, jobs, latency=200)
    assert run.done == sorted(set(run.done))


def test_errors_end_up_in_the_error_outputs_and_nowhere_else(simulator, tmp_path):
    area = range(0x8000, 0x8040)
    good = [Transfer(False, 0x40, 0x1003, 500), Transfer(True, 0x41, 0x9001, 400)]
    jobs = [Transfer(False, 0x1000, 0x7FF0, 200), Transfer(True, 0x1800, 0x7F01, 0x300), *good,
            Transfer(False, 0x1400, MEMORY + 5, 100), Transfer(True, 0x1400, MEMORY - 9, 300)]
    scratchpad, memory = contents(1)
    run = play(simulator, tmp_path, 16, jobs, scratchpad, memory, latency=20, stall=40, error_enable=1,
               error_first=area[0], error_last=area[-1])
    wanted = bytearray(memory)
    for job in (jobs[1], good[1], jobs[5]):
        wanted_scratchpad = bytearray(scratchpad)
        good[0].apply(wanted_scratchpad, bytearray(memory))
        job.apply(wanted_scratchpad, wanted)
    wanted[area[0] : area[-1] + 1] = memory[area[0] : area[-1] + 1]
    # The last job reads what the one before it, without luck, wrote.
    assert run.memory[: MEMORY - 16] == wanted[: MEMORY - 16]
    assert run.scratchpad[0x40:][:500] == memory[0x1003:][:500]
    assert run.scratchpad[:0x40] + run.scratchpad[0x234:0x1000] == scratchpad[:0x40] + scratchpad[0x234:0x1000]
    assert run.scratchpad[0x1000:0x1010] == memory[0x7FF0:0x8000]
    assert run.scratchpad[0x1050:0x10C8] == memory[0x8040:0x80B8]
    assert run.counters["read_errors"] == 4 + 7
    assert run.counters["write_errors"] == 1 + 1


def rate(run: Run) -> float:
    """Share of the cycles from the first to the last beat in which one passed."""
    cycles = run.counters["last_beat"] - run.counters["first_beat"] + 1
    return (run.counters["read_beats"] + run.counters["write_beats"]) / cycles


def alternating(count: int, size: int, skew: int) -> list[Transfer]:
    """In and out in turn, of places of their own."""
    return [Transfer(bool(n % 2), n % 4 * 2048 + n % 2 * skew, 4096 + (n + 1) * (size + 64) + n % 3 * skew, size)
            for n in range(count)]


@pytest.mark.parametrize(("size", "skew", "least"), [(1984, 0, 0.97), (1984, 5, 0.97), (512, 0, 0.97), (512, 5, 0.9)])
def test_shared_bandwidth_is_used_up(simulator, size, skew, least, tmp_path):
    run = check(simulator, tmp_path, 32, alternating(32, size, skew), latency=20, shared=1)
    assert rate(run) >= least


@pytest.mark.parametrize("to_host", [False, True])
@pytest.mark.parametrize("unit", WIDTHS)
def test_one_direction_at_full_rate(simulator, unit, to_host, tmp_path):
    jobs = [Transfer(to_host, n % 4 * 2048, 4096 + n * 2048, 2048) for n in range(16)]
    run = check(simulator, tmp_path, unit, jobs, latency=20)
    assert rate(run) >= 0.985
    first = {4: 512, 16: 128, 32: 64}[unit]
    assert run.done[0] <= first + 40


@pytest.mark.parametrize("to_host", [False, True])
def test_short_rows_stream(simulator, to_host, tmp_path):
    """A row costs no more cycles than it has beats (or chunks): length, lane in both places, beats."""
    shapes = [(4, 0, 1), (16, 0, 1), (16, 3, 2), (3, 7, 1), (40, 0, 3)]
    jobs = [Transfer(to_host, lane, 4096 + lane, length, 100, 64, 128) for length, lane, _ in shapes for _ in range(2)]
    run = check(simulator, tmp_path, 16, jobs, latency=10)
    for number, (_, _, beats) in enumerate(shapes):
        assert run.done[2 * number + 1] - run.done[2 * number] <= 100 * beats + 2


def test_both_directions_at_once(simulator, tmp_path):
    """Where memory can do both at the same time, so does the engine."""
    jobs = alternating(24, 1984, 0)
    run = check(simulator, tmp_path, 32, jobs, latency=20)
    assert rate(run) > 1.7


def test_small_jobs_in_a_row(simulator, tmp_path):
    """Jobs of one direction cost as many cycles as they have beats, or one."""
    jobs = [Transfer(to_host, n % 8 * 64, 0x1000 + n * 64, 64) for to_host in (False, True) for n in range(40)]
    run = check(simulator, tmp_path, 32, jobs, latency=2, shared=1)
    for first, last in ((8, 39), (48, 79)):
        assert run.done[last] - run.done[first] <= 2 * (last - first) + 2


def test_done_tells_the_truth(simulator, tmp_path):
    run = check(simulator, tmp_path, 16, [Transfer(False, 3, 0x1005, 300)], latency=7, scratchpad_stall=100)
    assert run.done[0] > run.counters["last_write"]
    run = check(simulator, tmp_path, 16, [Transfer(True, 3, 0x1005, 300)], latency=50)
    assert run.done[0] >= run.counters["last_beat"] + 50


def test_long_rows_are_cut_into_bursts_of_4_kib(simulator, tmp_path):
    choice: Any = random.Random(2)
    jobs = [Transfer(bool(n % 2), 1, choice.randrange(3 << 12), 8000) for n in range(4)]
    check(simulator, tmp_path, 32, jobs, latency=20, shared=1)
