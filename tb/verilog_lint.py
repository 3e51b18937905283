"""What the simulators' compilers say about emitted Verilog, with every warning on that its own comments do not switch
off (`hw.lint_waivers`)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hw.sim.toolchain import find_simulator

__all__ = ["lint"]

FASTER = ("-fno-dfg", "-fno-life", "-fno-subst", "-fno-combine", "-fno-localize")
"""Optimisations that only matter for generated C++ and find nothing."""

COMMANDS = {
    "verilator": ["--lint-only", "-Wall", *FASTER, "--quiet", "--top-module"],
    "icarus": ["-g2005", "-Wall", "-Wno-timescale", "-t", "null", "-s"],
}  # fmt: skip


def lint(sources: Mapping[str, str], top: str, simulator: str, folder: Path) -> str:
    """Everything that `simulator` prints about module `top` and all below it, elaborated in full; "" if it is clean.

    `folder` is where the files go. Combinational loops are among what Verilator warns of (UNOPTFLAT).
    """
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
    if result.returncode and not result.stdout:
        return f"exit status {result.returncode}"
    return result.stdout
