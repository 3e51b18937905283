"""Synthesis, placement and routing for Lattice ECP5 with yosys and nextpnr."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hw.boards.capacity import device_capacity, shortages
from hw.cache import use_tool_cache
from hw.ecp5.block_ram_registers import absorb_block_ram_registers
from hw.ecp5.multiplier_registers import absorb_registers
from hw.ecp5.multiplier_sites import place_multipliers
from hw.errors import SluiceError

__all__ = [
    "ECP5_85",
    "ECP5_85_DEVICE",
    "KEEP_REGISTERS",
    "PLACERS",
    "Figures",
    "PnrError",
    "cell_counts",
    "check_fits",
    "find_tool",
    "finish_netlist",
    "place_and_route",
    "read_report",
    "run_tool",
    "synthesize",
    "tool_version",
]

ECP5_85 = ("--85k", "--package", "CABGA381", "--speed", "6")
"""nextpnr's options for the LFE5U-85F of the usual development boards, slowest speed grade."""
ECP5_85_DEVICE = "LFE5U-85F"

PLACERS = ("heap", "static", "sa")
"""Those of nextpnr."""

_LOW_PRIORITY = 10

KEEP_REGISTERS = "proc; setattr -set keep 1 w:* a:keep=1 %i %ci1 t:$dff %i"
"""Registers of signals with the attribute ``keep`` stay apart even if they do the same: without this yosys makes one of
them, whose output has to reach what all of them were next to."""


class PnrError(SluiceError):
    """A tool of the flow is missing or failed. The message ends with the tool's own first complaint."""


@dataclass(frozen=True)
class Figures:
    """What a design takes and how fast it runs, from nextpnr's report.

    `lut`: 4-input LUTs, those used as carry chains and small memories included. `ff`: flip-flops. `block_ram`: 18 Kbit
    blocks. `multipliers`: 18x18. `lut_ram`: 16x4 memories. `mhz`: of the slowest clock after routing, None without a
    path from register to register. `target_mhz`: what was asked of it. `available`: units of the device by the same
    names. `critical`: the cells at both ends of the slowest path, as nextpnr calls them.
    """

    lut: int
    ff: int
    block_ram: int
    multipliers: int
    lut_ram: int
    mhz: float | None
    target_mhz: float | None
    available: Mapping[str, int]
    critical: str = ""

    @property
    def met(self) -> bool:
        """Whether every clock reaches its target."""
        return self.mhz is None or self.target_mhz is None or self.mhz >= self.target_mhz

    def as_json(self) -> dict[str, Any]:
        """Plain data; MHz rounded to two digits."""
        data = asdict(self)
        for name in ("mhz", "target_mhz"):
            data[name] = None if data[name] is None else round(data[name], 2)
        return data


_CELLS = {
    "lut": "TRELLIS_COMB",
    "ff": "TRELLIS_FF",
    "block_ram": "DP16KD",
    "multipliers": "MULT18X18D",
    "lut_ram": "TRELLIS_RAMW",
}


def read_report(path: Path, cells: Mapping[str, str] = _CELLS) -> Figures:
    """Figures from the file that nextpnr's ``--report`` writes, with its names of `cells`. Raises `PnrError`."""
    try:
        report = json.loads(path.read_text())
        used = {name: report["utilization"].get(cell, {}).get("used", 0) for name, cell in cells.items()}
        available = {name: report["utilization"].get(cell, {}).get("available", 0) for name, cell in cells.items()}
        clocks = [(clock["achieved"], clock["constraint"]) for clock in report["fmax"].values()]
        critical = _slowest_path(report)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PnrError(f"nextpnr wrote no usable report: {error}") from error
    mhz, target = min(clocks, key=lambda clock: clock[0] / clock[1], default=(None, None))
    return Figures(**used, mhz=mhz, target_mhz=target, available=available, critical=critical)


def _slowest_path(report: Mapping[str, Any]) -> str:
    """The ends of the path with the greatest delay among a report's critical ones; empty if none is within a clock."""
    found: list[tuple[float, str]] = []
    for critical in report.get("critical_paths", ()):
        steps = critical.get("path", ())
        if steps and critical.get("from") == critical.get("to"):
            ends = f"{steps[0]['from']['cell']} to {steps[-1]['to']['cell']}"
            found.append((sum(step["delay"] for step in steps), ends))
    return max(found, default=(0.0, ""))[1]


_EXTRAS = {"nextpnr-ice40": "pnr-ice40", "icepack": "pnr-ice40", "nextpnr-himbaechel-gowin": "pnr-gowin",
           "gowin_pack": "pnr-gowin"}
"""The extra that a tool comes with, where it is not ``pnr``."""


def find_tool(name: str) -> list[str]:
    """The command for ``yosys``, ``nextpnr-ecp5`` or ``ecppack``.

    The environment variable of that name in capitals (``NEXTPNR_ECP5``) comes first, then the YoWASP package in this
    Python's environment or on the path, then a native tool. Raises `PnrError` with what to type.
    """
    variable = os.environ.get(name.upper().replace("-", "_"))
    if variable:
        return [variable]
    beside = Path(sys.executable).parent / f"yowasp-{name}"
    for candidate in (str(beside), f"yowasp-{name}", name):
        if found := shutil.which(candidate):
            return [found]
    raise PnrError(f"{name} is not installed: type  pip install 'sluice[{_EXTRAS.get(name, 'pnr')}]'")


def tool_version(name: str) -> str:
    """The version number that a tool gives for itself, such as ``0.70``."""
    option = "-V" if name == "yosys" else "--version"
    result = subprocess.run([*find_tool(name), option], capture_output=True, text=True, check=False)
    match = re.search(r"\d+(\.\d+)+", result.stdout + result.stderr)
    return match[0] if match else "unknown"


def run_tool(name: str, arguments: Sequence[str], directory: Path) -> str:
    """Run a tool in `directory` at low priority and return what it printed. Raises `PnrError` if it fails."""
    command = [*find_tool(name), *arguments]
    try:
        with use_tool_cache():
            result = subprocess.run(
                command, cwd=directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                preexec_fn=_lower_priority,
            )  # fmt: skip
    except OSError as error:
        raise PnrError(f"{command[0]}: {error.strerror}") from error
    if result.returncode != 0:
        raise PnrError(f"{name} failed: {_complaint(result.stdout)}")
    return result.stdout


def _lower_priority() -> None:
    os.nice(_LOW_PRIORITY)


def _complaint(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if line.startswith("ERROR")]
    return (wrong or lines[-1:] or ["it printed nothing"])[0]


def synthesize(sources: Mapping[str, str], top: str, directory: Path, *, memories_only: bool = False) -> Path:
    """Synthesize module `top` of `sources` (Verilog by file name) for ECP5 and return the netlist (JSON).

    `directory` is for working files; `cell_counts` reads yosys' statistics from it afterwards. `memories_only` stops
    once memories are mapped, which takes a fraction of the time; else `finish_netlist` follows. Raises `PnrError`.
    """
    for name, text in sources.items():
        (directory / name).write_text(text)
    synth, output = f"synth_ecp5 -top {top}", f"-json {top}.json"
    if memories_only:
        _run_yosys(sources, top, directory, f"{synth} -run begin:map_gates")
        return directory / f"{top}.json"
    try:
        _run_yosys(sources, top, directory, f"{synth} {output}")
    except PnrError:
        # With very many names its mapper ends without a word now and then. Few of them are needed.
        steps = f"{synth} -run begin:map_luts; opt_clean -purge; {synth} -run map_luts: {output}"
        _run_yosys(sources, top, directory, steps)
    netlist = directory / f"{top}.json"
    finish_netlist(netlist, top, sites=True)
    return netlist


def _run_yosys(sources: Iterable[str], top: str, directory: Path, steps: str) -> None:
    """Read Verilog files, carry `steps` out, and write the statistics that `cell_counts` reads."""
    read = "".join(f"read_verilog {name}; " for name in sorted(sources))
    script = f"{read}hierarchy -top {top}; {KEEP_REGISTERS}; {steps}; tee -q -o cells.json stat -json"
    run_tool("yosys", ["-q", "-p", script], directory)


def finish_netlist(netlist: Path, top: str, *, sites: bool) -> None:
    """What yosys leaves undone in module `top` of a netlist: registers move into multipliers and block RAM
    (`absorb_registers`, `absorb_block_ram_registers`); with `sites`, for an LFE5U-85, the multipliers of systolic
    arrays get theirs (`place_multipliers`). Raises `PnrError`."""
    with _usable_netlist():
        document = json.loads(netlist.read_text())
        module = document["modules"][top]
        absorb_registers(module)
        absorb_block_ram_registers(module)
        if sites:
            place_multipliers(module)
    netlist.write_text(json.dumps(document))


@contextmanager
def _usable_netlist() -> Iterator[None]:
    """What goes wrong while a netlist is read becomes a `PnrError`."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PnrError(f"yosys wrote no usable netlist: {error!r}") from error


def count_cells(netlist: Path, top: str) -> Counter[str]:
    """Cells of module `top` of a netlist by type. Raises `PnrError`."""
    with _usable_netlist():
        return Counter(cell["type"] for cell in json.loads(netlist.read_text())["modules"][top]["cells"].values())


def cell_counts(directory: Path) -> dict[str, int]:
    """Cells by type of the design that was synthesized in `directory`. Raises `PnrError`."""
    try:
        text = (directory / "cells.json").read_text()
        return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]
    except (OSError, ValueError, KeyError) as error:
        raise PnrError(f"yosys wrote no usable statistics: {error}") from error


def check_fits(netlist: Path, top: str, device: str) -> None:
    """Compare the cells of module `top` of a netlist with what `device`, an ECP5, holds: nextpnr may place for hours
    before it says that they are too many. Raises `PnrError` naming what there is too little of, `CapacityUnknown`."""
    if short := shortages(count_cells(netlist, top), device_capacity(device)):
        raise PnrError(f"does not fit the {device}: needs {', '.join(short)}")


def place_and_route(netlist: Path, *, out_of_context: bool = False, target_mhz: float = 100.0,
                    route: bool = True, seed: int | None = None, placer: str | None = None) -> Figures:
    """Place and route a netlist on an ECP5-85, pins wherever they fit, and return its figures.

    `out_of_context`: the ports are not pins, so a module with more ports than the package has pins can be measured.
    Its MHz then says nothing about paths from and to ports. Without `route` the design is only placed, and the MHz are
    nextpnr's estimate at that point. Another `seed` gives another placement, and other MHz. `placer`: nextpnr's
    ``heap``, ``static`` (slower; far shorter wires in large arrays) or ``sa``, None: its default. Raises `PnrError`.
    """
    context = ["--out-of-context"] if out_of_context else ["--lpf-allow-unconstrained"]
    report = netlist.with_suffix(".report.json")
    arguments = [*ECP5_85, *context, "--freq", str(target_mhz), "--timing-allow-fail"]
    arguments += ["--quiet"] if route else ["--no-route"]
    arguments += [] if seed is None else ["--seed", str(seed)]
    arguments += [] if placer is None else ["--placer", placer]
    output = run_tool("nextpnr-ecp5", [*arguments, "--json", netlist.name, "--report", report.name], netlist.parent)
    figures = read_report(report)
    return figures if route else replace(figures, mhz=_estimated_mhz(output), target_mhz=target_mhz)


def _estimated_mhz(output: str) -> float | None:
    """The slowest clock of those that nextpnr's log names last."""
    found = dict(re.findall(r"Max frequency for clock\s+'([^']+)': ([\d.]+) MHz", output))
    return min(map(float, found.values()), default=None)
