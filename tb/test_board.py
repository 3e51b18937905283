"""The whole top level of a board as Verilog, on both simulators: it boots, runs a design and checks the result."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout

import compiler
from compiler.frontend import loop_nest
from hw.boards.project import TOP, make_project
from hw.boards.registry import find_board
from hw.designs.directory import write_design
from hw.designs.loopback import loopback_image
from hw.designs.registry import load_design
from hw.fabric.spec import FabricSpec, GlobalBufferSpec
from hw.sim.bench import run_bench
from hw.sim.toolchain import find_simulator

MODELS = {"altera_models.v": (Path(__file__).parent / "altera_models.v").read_text()}
_SLICE = 50


def _de3_sources(design) -> dict[str, str]:
    project = make_project(find_board("de3"), design)
    return MODELS | {name: text for name, text in project.files.items() if name.endswith(".v")}


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict[str, str]:
    """Verilog of a small array on the DE3, by way of a design directory, as the compiler's designs come."""
    directory = tmp_path_factory.mktemp("design")
    write_design(directory, loopback_image(FabricSpec(1, 4, glb=GlobalBufferSpec(half_words=64))))
    return _de3_sources(load_design(str(directory), None, None))


def test_runs_by_itself(simulator, sources):
    run_bench(sources, TOP, __file__, simulator=simulator, tests="runs_and_runs_again")


def test_compiled_application_runs_by_itself(simulator, tmp_path):
    """The compiler's directory, its input in main memory, and the reference's checksum of the output."""
    program = loop_nest.load("brighten_blur", tiles=1, size=8)
    design = compiler.compile(program, "cgra", array="2x4")
    pixels = np.random.default_rng(1).integers(0, 60, program.inputs[0].shape)
    image = design.design_image({program.inputs[0].name: pixels})
    assert [region.crc32 is None for region in image.outputs] == [False]
    write_design(tmp_path, image)
    sources = _de3_sources(load_design(str(tmp_path), None, None))
    run_bench(sources, TOP, __file__, simulator=simulator, tests="runs_and_runs_again")


def test_top_lints(simulator, tmp_path):
    sources = _de3_sources(load_design("cgra", "2x4", 64))
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    toolchain = find_simulator(simulator)
    options = {
        "verilator": ["--lint-only", "-Wno-CASEINCOMPLETE", "-Wno-WIDTH", "-Wno-CMPCONST", "--top-module", TOP],
        "icarus": ["-g2005", "-t", "null", "-Wall", "-Wno-timescale", "-s", TOP],
    }
    result = subprocess.run(
        [*toolchain.compile, *options[simulator], *sorted(sources)],
        cwd=tmp_path, env={**os.environ, **toolchain.environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "rror" not in result.stderr


async def _lights_at_the_end(dut) -> tuple[int, int, int]:
    """done, error and passed once the board is done."""
    while not dut.done_0__io.value:
        await ClockCycles(dut.clk50_0__io, _SLICE)
    return int(dut.done_0__io.value), int(dut.error_0__io.value), int(dut.passed_0__io.value)


@cocotb.test()
async def runs_and_runs_again(dut):
    """After power-on, and once more after the button."""
    expected = (1, 0, 1)
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
