"""Both simulators accept the array without a warning; in particular it has no combinational loop."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hw.fabric.array import emit_array
from hw.fabric.spec import FabricSpec
from hw.memtile import MemTileSpec
from hw.sim.toolchain import find_simulator

STYLE = ("CASEINCOMPLETE", "WIDTH", "UNUSEDSIGNAL", "DECLFILENAME", "PROCASSINIT")
"""What generated Verilog does on purpose."""

COMMANDS = {
    "verilator": ["--lint-only", "-Wall", *(f"-Wno-{name}" for name in STYLE), "--quiet", "--top-module"],
    "icarus": ["-g2005", "-Wall", "-Wno-timescale", "-o", os.devnull, "-s"],
}


def lint(sources: dict[str, str], top: str, simulator: str, folder: Path) -> str:
    """Everything that the simulator's compiler prints."""
    for name, text in sources.items():
        (folder / name).write_text(text)
    toolchain = find_simulator(simulator)
    result = subprocess.run(
        [*toolchain.compile, *COMMANDS[simulator], top, *sources],
        cwd=folder,
        env=os.environ | dict(toolchain.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.mark.parametrize("kind", ["pub", "dual-port"])
def test_the_array_is_clean(kind: str, simulator: str, tmp_path: Path) -> None:
    spec = FabricSpec(3, 4, mem=MemTileSpec(kind=kind))
    assert lint(emit_array(spec), "cgra_array", simulator, tmp_path) == ""


def test_an_array_without_memories_is_clean(simulator: str, tmp_path: Path) -> None:
    assert lint(emit_array(FabricSpec.parse("2x3")), "cgra_array", simulator, tmp_path) == ""


def test_a_loop_would_be_found(tmp_path: Path) -> None:
    loop = "module loop(input a, output b);\n  wire c = b ^ a;\n  assign b = c ^ a;\nendmodule\n"
    sources = {"loop.v": loop}
    toolchain = find_simulator("verilator")
    (tmp_path / "loop.v").write_text(loop)
    command = [*toolchain.compile, *COMMANDS["verilator"], "loop", *sources]
    result = subprocess.run(command, cwd=tmp_path, env=os.environ | dict(toolchain.environment),
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert "UNOPTFLAT" in result.stderr
