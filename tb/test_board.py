"""The whole top level of a board as Verilog, on both simulators: it boots, runs a design and checks the result."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cocotb
import pytest
from board_designs import pass_through
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout

from hw.boards.project import TOP, make_project
from hw.boards.registry import find_board
from hw.designs.cgra import cgra_design, idle_image
from hw.designs.directory import read_design, write_design
from hw.designs.registry import load_design
from hw.fabric.spec import FabricSpec
from hw.sim.bench import bench_data, run_bench
from hw.sim.toolchain import find_simulator

MODELS = {"altera_models.v": (Path(__file__).parent / "altera_models.v").read_text()}
_SLICE = 50


def _de3_sources(design) -> dict[str, str]:
    project = make_project(find_board("de3"), design)
    return MODELS | {name: text for name, text in project.files.items() if name.endswith(".v")}


def test_pass_through_runs_by_itself(simulator, tmp_path):
    """By way of a design directory, as the compiler's designs come."""
    write_design(tmp_path, pass_through())
    assert read_design(tmp_path) == pass_through()
    sources = _de3_sources(load_design(str(tmp_path), None, None))
    run_bench(sources, TOP, __file__, simulator=simulator, tests="runs_and_runs_again", data={"passes": 1})


def test_idle_array_runs(simulator):
    sources = _de3_sources(cgra_design(idle_image(FabricSpec(1, 2))))
    run_bench(sources, TOP, __file__, simulator=simulator, tests="runs_and_runs_again", data={"passes": 0})


@pytest.mark.parametrize("array", ["4x4"])
def test_top_lints(simulator, array, tmp_path):
    sources = _de3_sources(load_design("cgra", array, None))
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    toolchain = find_simulator(simulator)
    options = {
        "verilator": ["--lint-only", "-Wno-CASEINCOMPLETE", "-Wno-WIDTH", "--top-module", TOP],
        "icarus": ["-g2012", "-t", "null", "-Wall", "-Wno-timescale", "-s", TOP],
    }
    result = subprocess.run(
        [*toolchain.compile, *options[simulator], *sorted(sources)],
        cwd=tmp_path, env=None if not toolchain.environment else {**_environment(), **toolchain.environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "rror" not in result.stderr


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


async def _lights_at_the_end(dut) -> tuple[int, int, int]:
    """done, error and passed once the board is done."""
    while not dut.done_0__io.value:
        await ClockCycles(dut.clk50_0__io, _SLICE)
    return int(dut.done_0__io.value), int(dut.error_0__io.value), int(dut.passed_0__io.value)


@cocotb.test()
async def runs_and_runs_again(dut):
    """After power-on, and once more after the button."""
    expected = (1, 0, bench_data()["passes"])
    dut.reset_0__io.value = 0
    Clock(dut.clk50_0__io, 20, "ns", impl="gpi").start()
    await ClockCycles(dut.clk50_0__io, _SLICE)
    assert dut.busy_0__io.value == 1
    assert await with_timeout(_lights_at_the_end(dut), 1, "ms") == expected
    assert dut.busy_0__io.value == 0
    dut.reset_0__io.value = 1
    await ClockCycles(dut.clk50_0__io, _SLICE)
    assert dut.done_0__io.value == 0
    dut.reset_0__io.value = 0
    assert await with_timeout(_lights_at_the_end(dut), 1, "ms") == expected
