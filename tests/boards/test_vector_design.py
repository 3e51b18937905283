"""The design "vector": its program's expected results, its options, and its project."""

import zlib

import numpy as np
import pytest

from hw.boards import build
from hw.boards.project import make_project
from hw.boards.registry import find_board
from hw.designs.directory import read_design, write_design
from hw.designs.registry import load_design
from hw.designs.vector import demo_results, vector_image
from hw.vector_lanes.spec import VectorSpec


def test_expected_results():
    """Against a plain loop over the same random numbers."""
    state, left, right = 1, [], []
    for _ in range(48):
        for numbers in (left, right):
            state = (state * 1103515245 + 12345) % (1 << 32)
            numbers.append((state if state < 1 << 31 else state - (1 << 32)) >> 18)
    pairs = list(zip(left, right, strict=True))
    rows = [sum(a * b for a, b in pairs[12 * row : 12 * row + 12]) for row in range(4)]
    expected = [a + b for a, b in pairs] + [a * b for a, b in pairs] + [abs(a - b) for a, b in pairs] + rows
    np.testing.assert_array_equal(demo_results(), expected)


def test_image_can_be_written_and_read(tmp_path):
    image = vector_image(VectorSpec(lanes=2))
    assert image.outputs[0].crc32 == zlib.crc32(demo_results().tobytes())
    write_design(tmp_path, image)
    again = read_design(tmp_path)
    assert (again.plan, again.outputs, again.memory_image()) == (image.plan, image.outputs, image.memory_image())


def test_project():
    design = load_design("vector", None, None, lanes=1)
    project = make_project(find_board("de3"), design)
    assert {"VexRiscv_FullCfu.v", "vector_system.v", "top.v", "top.qsf"} <= set(project.files)
    assert project.checked == ("result",)
    assert design.image.array == "1x1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--design", "vector", "--array", "4x4"], "error: design vector has no --array"),
        (["--design", "vector", "--bank-words", "64"], "error: design vector has no --bank-words"),
        (["--lanes", "4"], "error: design cgra has no --lanes"),
        (["--design", "vector", "--lanes", "3"],
         "error: a vector processor has 1, 2, 4, … 64 lanes, not 3"),
    ],
)  # fmt: skip
def test_options_of_another_design(capsys, arguments, message):
    assert build.main(arguments) == 1
    assert capsys.readouterr().err == f"{message}\n"


def test_missing_compiler(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.main(["--design", "vector"]) == 1
    assert capsys.readouterr().err.startswith("error: the RISC-V compiler is missing (riscv64-unknown-elf-gcc): type ")
