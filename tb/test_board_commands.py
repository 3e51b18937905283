"""The three commands of docs/boards.md, as a newcomer types them: the board, the tools that place and the one that
loads are stand-ins, everything else is real."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
from board_link_bench import simulated_board

import compiler
from compiler.frontend.apps import load
from hw.designs.registry import load_design

ROOT = Path(__file__).parents[1]
NETLIST = {"modules": {"top": {"cells": {}, "netnames": {}, "ports": {}}}}
REPORT = {"utilization": {}, "fmax": {}, "critical_paths": []}


def documented() -> list[list[str]]:
    """The commands, in words."""
    block = re.search(r"## Three commands.*?```text\n(.*?)```", (ROOT / "docs" / "boards.md").read_text(), re.DOTALL)
    assert block is not None
    return [shlex.split(line) for line in block[1].splitlines()]


def stand_ins(folder: Path) -> dict[str, str]:
    """Tools by environment variable: each writes what comes after it; the loader keeps what it is given."""
    content = {"YOSYS": ("top.json", json.dumps(NETLIST)), "NEXTPNR_ECP5": ("top.report.json", json.dumps(REPORT)),
               "ECPPACK": ("top.bit", "bits")}
    scripts = {name: f"printf '%s' '{text}' >{file}" for name, (file, text) in content.items()}
    scripts["OPENFPGALOADER"] = f'echo "$@" >{folder}/loaded; cat "$4" >>{folder}/loaded'
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return {name: str(folder / name) for name in scripts}


def run(words: list[str], folder: Path, **environment: str) -> str:
    """What a command prints; `sluice` is this checkout's."""
    assert words[0] == "sluice"
    result = subprocess.run([sys.executable, "-m", "sluice", *words[1:]], cwd=folder, text=True, capture_output=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_three_commands(tmp_path: Path) -> None:
    install, program, run_it = documented()
    extras = re.fullmatch(r"sluice\[(.*)\]", install[2])
    assert install[:2] == ["pip", "install"] and extras is not None
    assert all(f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text() for extra in extras[1].split(","))

    said = run(program, tmp_path, **stand_ins(tmp_path))
    assert "into ulx3s-85f" in said
    loaded = (tmp_path / "loaded").read_text().splitlines()
    assert loaded[0].startswith("-b ulx3s -m ") and loaded[1] == "bits"
    built = json.loads((tmp_path / "rtl_out" / "ulx3s-85f" / "fir" / "manifest.json").read_text())

    design = compiler.compile(load("fir"), target="fpga")
    numbers = {array.name: np.zeros(array.shape, int) for array in design.program.inputs}
    design.emit(tmp_path / "design", numbers)
    system = load_design(str(tmp_path / "design"), None, None)
    assert built["link"]["design"] == system.fingerprint.hex()
    with simulated_board(system, "verilator", tmp_path) as port:
        words = [port if word == "/dev/ttyUSB0" else word for word in run_it]
        said = run([*words, "--random", "1", "--answer-seconds", "30"], tmp_path)
    assert re.search(r"equal to the reference.*yes", said) and "(board)" in said
