"""Netlists, and a netlist that has been packed, simulated beside the source that it was made from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from hw.ecp5.pnr import run_tool

__all__ = ["module_of", "simulate_mapped", "synthesized"]


def synthesized(folder: Path, top: str, source: str) -> Path:
    """The netlist of module `top` of a Verilog text for ECP5 as yosys makes it, ``{top}.json`` in `folder`."""
    (folder / f"{top}.v").write_text(source)
    run_tool("yosys", ["-q", "-p", f"read_verilog {top}.v; synth_ecp5 -top {top} -json {top}.json"], folder)
    return folder / f"{top}.json"


def module_of(netlist: Path) -> dict[str, Any]:
    """The module that a netlist is named after."""
    return json.loads(netlist.read_text())["modules"][netlist.stem]


def simulate_mapped(folder: Path, top: str, source: str, primitive: str, bench: str) -> tuple[int, int]:
    """The two numbers that `bench` prints. In `folder` is the netlist, ``{top}.json``; the bench has instances of `top`
    and of ``reference``, the module in `source` by that name. `primitive` is the Verilog of what cells have been packed
    into."""
    for name, text in (("model.v", source.replace(f"module {top}", "module reference")), ("primitive.v", primitive),
                       ("bench.v", bench)):
        (folder / name).write_text(text)
    read = "read_verilog -D NO_INCLUDES cells.v +/lattice/cells_sim_ecp5.v; read_verilog -overwrite primitive.v"
    flat = f"{read}; hierarchy -top {top}; proc; flatten; opt_clean"
    run_tool("yosys", ["-q", "-p", f"read_json {top}.json; write_verilog -noattr cells.v"], folder)
    run_tool("yosys", ["-q", "-p", f"{flat}; write_verilog -noattr mapped.v"], folder)
    sources = ["mapped.v", "model.v", "bench.v"]
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", *sources], cwd=folder, check=True)
    said = subprocess.run(["vvp", "-n", "bench.vvp"], cwd=folder, check=True, capture_output=True, text=True).stdout
    differ, alive = map(int, said.split())
    return differ, alive
