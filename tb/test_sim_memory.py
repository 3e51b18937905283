"""The main-memory model of the simulation layer: buses of every width, shared bandwidth, on both simulators."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import hw.sim
from hw.sim.bench import run_bench
from hw.sim.simulate import Job, StallProfile, run_job
from hw.sim.toolchain import SIMULATORS

HERE = Path(__file__).parent
BENCH = HERE / "sim_bench.py"
WIDTHS = (32, 64, 256)
ADDRESS = ["valid", "addr 32", "len 8", "size 3", "burst 2", "id 2"]


def ports(bits: int) -> dict[str, dict[str, list[str]]]:
    """Signals (name and width) of each channel that the manager drives, and that the memory drives."""
    write, read = ["valid", f"data {bits}", f"strb {bits // 8}", "last"], ["valid", f"data {bits}", "resp 2", "last"]
    return {
        "input": {"aw": ADDRESS, "w": write, "ar": ADDRESS, "b": ["ready"], "r": ["ready"]},
        "output": {"aw": ["ready"], "w": ["ready"], "ar": ["ready"], "b": ["valid", "resp 2", "id 2"],
                   "r": [*read, "id 2"]},
    }  # fmt: skip


def memory_wrapper(bits: int) -> dict[str, str]:
    """The memory model behind the port names that the third-party AXI manager looks for."""
    declared, connections = [], []
    for direction, table in ports(bits).items():
        for channel, fields in table.items():
            for name, _, width in (field.partition(" ") for field in fields):
                declared.append(f"{direction} [{width or 1}-1:0] s_axi_{channel}{name}")
                connections.append(f".{channel}{name}(s_axi_{channel}{name})")
    settings = {"clk": 1, "rst": 1, "seed": 32, "latency": 16, "stall_length": 8, "shared": 1, "error_enable": 1}
    settings |= {"error_first": 32, "error_last": 32}
    declared += [f"input [{width}-1:0] {name}" for name, width in settings.items()]
    connections += [f".{name}({name})" for name in settings]
    connections += [f".stall_{channel}(stall)" for channel in ("aw", "w", "b", "ar", "r")]
    faults = {"error_reads": "1'b1", "error_writes": "1'b1", "error_number": "0", "stuck": "5'd0", "stuck_after": "0",
              "bursts": "5'd16"}
    connections += [f".{name}({value})" for name, value in faults.items()]  # errors at all beats, no channel stops
    parameters = f".WORDS(1024), .ID_BITS(2), .DATA_BITS({bits})"
    text = (
        f"module wrapper({', '.join(declared)}, input [7:0] stall, output [3:0] violation);\n"
        f"sluice_axi_memory #({parameters}) memory({', '.join(connections)}, .violation(violation));\n"
        "endmodule\n"
    )
    model = (Path(hw.sim.__file__).parent / "memory.v").read_text()
    return {"wrapper.v": text, "memory.v": model}


def memory_bench(simulator: str, tests: str, tmp_path: Path, bits: int = 64, **settings: int) -> None:
    (tmp_path / "memory.hex").write_text("@0\n0\n")
    result = run_bench(
        memory_wrapper(bits), "wrapper", BENCH, simulator=simulator, data=settings, tests=tests, folder=tmp_path
    )
    assert len(result.passed) == len(tests.split("|"))


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("settings", [{}, {"stall": 100, "latency": 30, "seed": 9, "shared": 1}])
def test_memory_agrees_with_an_independent_manager(simulator, bits, settings, tmp_path):
    memory_bench(simulator, "random_traffic|bursts", tmp_path, bits, **settings)


@pytest.mark.parametrize("bits", WIDTHS)
def test_memory_errors(simulator, bits, tmp_path):
    memory_bench(simulator, "errors", tmp_path, bits, error_enable=1, error_first=0x400, error_last=0x401)


@pytest.mark.parametrize("latency", [0, 2, 3, 40])
def test_memory_latency(simulator, latency, tmp_path):
    memory_bench(simulator, "read_latency", tmp_path, latency=latency)


@pytest.mark.parametrize("bits", WIDTHS)
def test_memory_watches_the_protocol(simulator, bits, tmp_path):
    memory_bench(simulator, "breaches", tmp_path, bits)


@pytest.mark.parametrize("settings", [{"shared": 0}, {"shared": 1}, {"shared": 1, "stall": 80, "latency": 9}])
def test_two_beats_in_a_cycle_only_where_bandwidth_is_not_shared(simulator, settings, tmp_path):
    memory_bench(simulator, "contention", tmp_path, **settings)


def test_shared_bandwidth_is_dealt_out_in_turns_and_all_of_it(simulator, tmp_path):
    memory_bench(simulator, "turns", tmp_path, shared=1)


CONTROL, STATUS, SOURCE, DESTINATION, WORDS, INCREMENT = range(0, 24, 4)
BEATS = 256


def copier(bits: int) -> str:
    """The copier of 64-bit words (sim_copier.v), made for another width."""
    text = (HERE / "sim_copier.v").read_text()
    size, strobes = (bits // 8).bit_length() - 1, bits // 8
    for old, new in {
        "[63:0]": f"[{bits - 1}:0]", "[7:0] m_axi_wstrb": f"[{strobes - 1}:0] m_axi_wstrb",
        "m_axi_wstrb = 8'hFF": "m_axi_wstrb = ~0", "size = 3;": f"size = {size};",
        "+ 8 * BEATS": f"+ {strobes} * BEATS",
    }.items():  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    return text


def copy(bits: int, **changes) -> Job:
    """Copy BEATS beats from 0x1000 to 0x8000 and add 3 to each."""
    content = random.Random(bits).randbytes(BEATS * bits // 8)
    settings = {
        "sources": {"sim_copier.v": copier(bits)}, "top": "sim_copier", "memory_bytes": 1 << 16,
        "loads": [(0x1000, content)], "dumps": [(0x8000, len(content))], "reads": [STATUS], "seed": 3,
        "writes": [(SOURCE, 0x1000), (DESTINATION, 0x8000), (WORDS, BEATS), (INCREMENT, 3), (CONTROL, 1)],
        "cycle_limit": 20_000,
    }  # fmt: skip
    return Job(**(settings | changes))


def copied(job: Job, bits: int) -> bytes:
    (_, content), = job.loads
    size = bits // 8
    beats = (int.from_bytes(content[at : at + size], "little") + 3 for at in range(0, len(content), size))
    return b"".join((beat % (1 << bits)).to_bytes(size, "little") for beat in beats)


@pytest.mark.parametrize("bits", WIDTHS)
def test_jobs_of_any_width(bits):
    cycles = []
    for bandwidth, stall in (("separate", 0.0), ("shared", 0.0), ("shared", 0.4)):
        settings = {"bandwidth": bandwidth, "stall": StallProfile.uniform(stall), "latency": 12}
        jobs = [copy(bits, simulator=name, **settings) for name in SIMULATORS]
        runs = [run_job(job) for job in jobs]
        assert [run.dumps[0] for run in runs] == [copied(job, bits) for job in jobs]
        assert all((run.read_beats, run.write_beats) == (BEATS, BEATS) for run in runs)
        assert runs[0].cycles == runs[1].cycles
        cycles.append(runs[0].cycles)
    assert cycles[0] < 1.5 * BEATS
    assert 2 * BEATS <= cycles[1] < 2 * BEATS + 100
    assert cycles[2] > cycles[1]
