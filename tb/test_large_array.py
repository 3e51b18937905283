"""Large arrays: the full 16x32 one (384 PEs, 128 memory tiles) emits in time and lints clean, and a quarter of it runs
an application (`benchmarks.applications` and `benchmarks.large_array` run them on all of it)."""

from __future__ import annotations

import os

import numpy as np
import pytest
from verilog_lint import lint

import compiler
from compiler.bind.design import Design
from compiler.cli.images import image_to_array, sample_image
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.fabric.array import ARRAY_MODULE, TILE_MODULES, emit_array
from hw.fabric.spec import FabricSpec, TileKind
from hw.lint_waivers import waive
from hw.sim.ports import module_ports

SPEC = FabricSpec.parse("16x32")
QUARTER = "16x8"


@pytest.fixture(scope="module")
def emitted() -> tuple[dict[str, str], float]:
    """The array's Verilog, and the processor time that it took (the synthesiser runs as a child process)."""
    start = sum(os.times()[:4])
    sources = emit_array(SPEC)
    return sources, sum(os.times()[:4]) - start


def test_it_has_the_published_tiles_and_emits_in_under_a_minute(emitted):
    assert (len(SPEC.tiles(TileKind.PE)), len(SPEC.tiles(TileKind.MEM))) == (384, 128)
    assert emitted[1] < 60
    for kind, module in TILE_MODULES.items():
        assert emitted[0]["cgra_array.v"].count(f" {module} ") == len(SPEC.tiles(kind))


def test_both_simulators_accept_all_of_it_without_a_warning(emitted, simulator, tmp_path):
    """The edges, the trees of registers and the connections of all 512 tiles, with every check that a small array gets.

    Tiles are shells here: `test_array_lint` elaborates the same tiles with what is in them.
    """
    sources = emitted[0] | {f"{name}.v": shell(emitted[0][f"{name}.v"], name) for name in TILE_MODULES.values()}
    assert lint(sources, ARRAY_MODULE, simulator, tmp_path) == ""
    connection = ".i_word_e0(tile_9_21_word_w0),"
    assert connection in sources["cgra_array.v"]
    damaged = sources | {"cgra_array.v": sources["cgra_array.v"].replace(connection, "", 1)}
    assert "i_word_e0" in lint(damaged, ARRAY_MODULE, simulator, tmp_path)


def shell(text: str, module: str) -> str:
    """The module with its ports and nothing in it."""
    ports = module_ports([text], module)
    assert ports
    declared = ", ".join(f"{port.direction} [{port.width}-1:0] {port.name}" for port in ports)
    driven = "\n".join(f"  assign {port.name} = 0;" for port in ports if port.direction == "output")
    return waive(f"module {module}({declared});\n{driven}\nendmodule\n")


def test_a_quarter_runs_harris():
    """72 PEs and 5 memory tiles, on random numbers of every size and on a photograph, which has real corners."""
    program = load("harris")
    design = compiler.compile(program, array=QUARTER)
    check(design, random_input(program, 3))
    photograph = image_to_array(sample_image(), program.image_input)
    corners = check(design, {program.image_input.name: photograph})
    assert 0 < np.count_nonzero(corners) < corners.size / 9


def random_input(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Numbers from the whole range of the elements of the program's only input."""
    (array,) = program.inputs
    assert isinstance(array.type, Int)
    numbers = np.random.default_rng(seed).integers(array.type.minimum, array.type.maximum + 1, array.shape)
    return {array.name: numbers}


def check(design: Design, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Run `design`; its only output, which is exact and on time."""
    run = design.simulate(inputs, "verilator")
    (output,) = interpret(design.program, inputs).items()
    np.testing.assert_array_equal(run.outputs[output[0]], output[1])
    assert run.cycles == design.predicted_cycles
    return output[1]
