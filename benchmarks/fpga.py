"""Pipelines on an FPGA without an array: cycles, storage, area and clock rate of the image applications.

    python -m benchmarks.fpga [NAME ...] [--only cycles,area,mhz] [-o benchmarks/results/fpga.json]

Cycle counts are measured in RTL simulation of the emitted Verilog (Icarus), whose outputs are compared with the
reference. Area is counted by yosys for an ECP5, of the pipeline alone, without DMA engines; ``NAME_system`` is with
them. MHz are nextpnr's, routed on an ECP5-85 between registers of a harness at every port (`benchmarks.area`). What is
not measured this time is kept as it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import compiler
from benchmarks.area import Subject, yosys_area
from benchmarks.area import measure as measure_area
from benchmarks.checks import check_run
from benchmarks.command import reports_errors
from benchmarks.results import RESULTS, kept_results, write_results
from compiler.frontend.apps import load
from hw.ecp5.pnr import tool_version
from hw.errors import SluiceError
from hw.pipeline.system import SYSTEM_MODULE, emit_pipeline

__all__ = ["SUBJECTS", "Entry", "area", "main", "measure"]


@dataclass(frozen=True)
class Entry:
    """An application with its parameters (none: its published size) and options of the target."""

    app: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    system: bool = False


SUBJECTS: Mapping[str, Entry] = {
    **{app: Entry(app) for app in ("gaussian", "conv_3_3", "cascade", "upsample", "brighten_blur", "gaussian_pyramid",
                                   "laplacian_pyramid", "fir", "sobel", "harris", "unsharp", "gemm", "resnet_layer",
                                   "mobilenet_layer")},
    "gaussian_4_lanes": Entry("gaussian", {"lanes": 4, "height": 66}, {"bus_bits": 128}),
    "gaussian_system": Entry("gaussian", system=True),
    "harris_system": Entry("harris", system=True),
}


def measure(entry: Entry) -> dict[str, Any]:
    """Cycles and storage. Raises `FigureError` if a result is wrong or, of cycles, not the predicted one."""
    program = load(entry.app, **entry.parameters)
    design: Any = compiler.compile(program, target="fpga", **entry.options)
    generator = np.random.default_rng(0)
    inputs = {a.name: generator.integers(0, 256, a.shape) for a in program.inputs}
    run = design.simulate(inputs, "icarus")
    check_run(entry.app, design, run, program, inputs)
    ratios = [s.allocated_words / s.live_words for s in design.storage]
    return {
        "cycles simulated": run.cycles, "cycles predicted": design.predicted_cycles, "lower bound": design.lower_bound,
        "ratio": round(run.cycles / design.lower_bound, 4), "stall cycles": run.stall_cycles,
        "words out per cycle": round(design.pixels_per_cycle, 3),
        "words live": sum(s.live_words for s in design.storage),
        "words allocated": sum(s.allocated_words for s in design.storage),
        "largest ratio of a buffer": round(max(ratios, default=1.0), 2),
        "resources": design.resources, "compile seconds": round(design.compile_seconds, 2),
    }


def _subject(entry: Entry) -> Subject:
    """The Verilog whose area and clock rate are wanted; both of one run of the tools."""
    design: Any = compiler.compile(load(entry.app, **entry.parameters), target="fpga", **entry.options)
    if entry.system:
        return Subject(SYSTEM_MODULE, design.executable.sources, alone=False)
    return Subject("pipeline", emit_pipeline(design.system.pipeline), alone=False)


def area(entry: Entry) -> dict[str, int]:
    """Cells of the pipeline or system by `yosys_area`."""
    return yosys_area(_subject(entry))


_PARTS: Mapping[str, Callable[[Entry], Any]] = {
    "cycles": measure, "area": area, "mhz": lambda entry: measure_area(_subject(entry))["mhz"],
}
"""What can be measured of an entry."""


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fpga", description="Pipelines on an ECP5-85.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(SUBJECTS)}")
    parser.add_argument("--only", default=",".join(_PARTS), metavar="PARTS", help=f"some of {', '.join(_PARTS)}")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "fpga.json", metavar="FILE")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(SUBJECTS)
    if unknown:
        raise SluiceError(f"there is no '{min(unknown)}'; there are: {', '.join(SUBJECTS)}")
    parts = options.only.split(",")
    if set(parts) - set(_PARTS):
        raise SluiceError(f"--only {options.only}: write some of {', '.join(_PARTS)}")
    _measure_all(options.names or list(SUBJECTS), options.output, parts)


def _measure_all(names: Sequence[str], output: Path, parts: Sequence[str]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    known = kept_results(output, "applications")
    for name in names:
        entry, figures = SUBJECTS[name], known.setdefault(name, {})
        for part in parts:
            with console.status(f"{name}: {part}"):
                figures[part] = _PARTS[part](entry)
            console.print(f"{name}: {figures[part]}")
            ordered = {key: known[key] for key in SUBJECTS if key in known}
            tools = {tool: tool_version(tool) for tool in ("yosys", "nextpnr-ecp5")}
            write_results(output, {"device": "LFE5U-85F, speed grade 6", "tools": tools, "applications": ordered})


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
