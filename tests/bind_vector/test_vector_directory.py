"""Design directories of the vector target: names that C programs cannot have, boards, and the program in RTL."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from c_targets import require_gcc_results, simulated

import compiler
from compiler.bind.vector.c_names import c_names
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from hw.boards import build
from hw.designs.directory import crc32
from hw.designs.registry import load_design
from hw.sim.simulate import Job, run_job
from hw.soc.results import DRAM_LATENCY

STEPS = """#include <stdint.h>
void f(const int16_t A1[200][9], const int16_t I0[200][9], int16_t SYNC[200][9]) {
#pragma scop
  for (int r = 0; r < 200; r++)
    for (int c = 0; c < 9; c++)
      SYNC[r][c] = A1[r][c] * I0[r][c] - 7;
#pragma endscop
}
"""


def steps(**names: str) -> str:
    """The program with arrays of other names."""
    text = STEPS
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def data(*names: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {name: rng.integers(-2**15, 2**15, (200, 9), np.int16) for name in names}


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_arrays_may_have_any_name(simulator: str) -> None:
    """Names of the kernel's own variables, and of what the headers define."""
    text = steps(A1="a1", I0="i0", SYNC="vector_sync")
    options = {"lanes": 2}
    design = compiler.compile(parse_scop(text, "f.c", Path(), "f"), target="vector", **options)
    assert "int i0" in design.c_code and "a1_[1800]" in design.c_code and "i0_[1800]" in design.c_code
    require_gcc_results(text, "f", data("a1", "i0", "vector_sync"), simulated("vector", simulator), options)


def test_names_stay_apart() -> None:
    wanted = {"a1": "a1__", "a1_": "a1_", "main": "main_", "f_kernel": "f_kernel_", "register": "register_", "x": "x"}
    assert c_names("f", wanted) == wanted


def directory(folder: Path, name: str = "f") -> tuple[Path, Program]:
    program = parse_scop(STEPS, f"{name}.c", Path(), name)
    design = compiler.compile(program, target="vector", lanes=2, search=False)
    return design.emit(folder / "design", data("A1", "I0")), program


def test_a_directory_builds_for_a_board(tmp_path: Path) -> None:
    folder, _ = directory(tmp_path)
    hashed = set(json.loads((folder / "manifest.json").read_text())["files"])
    assert hashed == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} - {"manifest.json"}
    assert build.main(["--board", "de3", "--design", str(folder), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "top.v").exists()


def test_sizes_belong_to_the_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = directory(tmp_path)
    assert build.main(["--design", str(folder), "--lanes", "4", "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == ("error: design f has its own processor; leave --array, --bank-words and --lanes "
                                       "out\n")


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_directory_runs(tmp_path: Path, simulator: str) -> None:
    """What the host reads from the directory is enough to run it; the checksum is that of numpy's results."""
    system = load_design(str(directory(tmp_path)[0]), None, None)
    image, registers = system.image, system.registers
    memory_bytes = image.memory_bytes if simulator == "icarus" else 1 << 21  # Verilator has a build with that much
    done = run_job(Job(
        dict(system.sources), system.module, memory_bytes, loads=list(image.memory), latency=DRAM_LATENCY,
        writes=[(registers.address(str(register)), value) for register, value in image.plan],
        dumps=[(region.address, region.length) for region in image.outputs], simulator=simulator))
    given = data("A1", "I0")
    wanted = given["A1"] * given["I0"] - np.int16(7)
    assert done.dumps == (wanted.tobytes(),) and image.outputs[0].crc32 == crc32(wanted.tobytes())


@pytest.mark.parametrize("name", ["mm-v2", "2nd", "a b", "main", "console", "vector"])
def test_files_may_have_any_name(name: str) -> None:
    program = parse_scop(STEPS.replace("void f", "void g"), f"{name}.c", Path(), name)
    design = compiler.compile(program, target="vector", lanes=2, search=False)
    found = design.simulate(data("A1", "I0")).outputs
    given = data("A1", "I0")
    np.testing.assert_array_equal(found["SYNC"], given["A1"] * given["I0"] - np.int16(7))
