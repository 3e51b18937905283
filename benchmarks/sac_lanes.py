"""SA-C's window loops on fpga beside the machine of Hammes 2000, whose programs are stripmined: neither is here.

    python -m benchmarks.sac_lanes [NAME ...] [--area] [-o benchmarks/results/sac_lanes.json]

Programs are compiled whole for 198 x 300 pixels and a memory bus of 32 bits, with as many elements of a row at a time
as that takes. Cycles are of RTL (Icarus), from start to done; results are compared with the interpreter's. The least
cycles are those of the words that a program reads or writes, rows filled up to whole words: of the busier direction,
as bytes to memory have a channel of their own, and of both together, as if there was one access per cycle. Main memory
answers after 2 cycles, the least that it can, as that of the thesis answers at once. With
``--area``, LUT and MHz on an ECP5-85 of the pipeline, routed, with one element at a time and with all lanes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from benchmarks.area import Subject, yosys_area
from benchmarks.area import measure as place_and_route_subject
from benchmarks.checks import FigureError
from benchmarks.command import Measurement, reports_errors
from benchmarks.sac_loops import SHAPE, fused_pair, strip
from benchmarks.window_machine import combined_pair
from compiler.bind.applications import HARDWARE_PASSES, Placed, place_application
from compiler.bind.fpga.design import FpgaDesign
from compiler.frontend.sac import parse_sac
from hw.pipeline.system import emit_pipeline

__all__ = ["PROGRAMS", "main", "measure"]

_BUS = 32
_LATENCY = 2
"""Cycles of main memory."""

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "max filter 1x3": (strip(8, 1, 1), "7.3"),
    "max filter 1x3, 2 bits": (strip(2, 1, 1), "7.2"),
    "max filter 1x3, 32 bits": (strip(32, 1, 1), "7.4"),
    "max filter 2x3": (strip(8, 2, 2), "7.5"),
    "fused pair": (fused_pair(), "7.6"),
    "combined pair": (combined_pair(), "7.7"),
}
"""SA-C of each program without pragmas, and the table of it after the thesis' passes."""


def _placed(name: str, lanes: int) -> Placed:
    program = parse_sac(PROGRAMS[name][0]).with_extents({"A": SHAPE})
    (port,) = program.inputs.values()
    image = np.random.default_rng(7).integers(0, 1 << port.types[0].scalar.width, SHAPE)
    optimised, _ = program.optimised(list(HARDWARE_PASSES))
    return place_application(optimised, optimised.held({"A": image}), "fpga", lanes=lanes, bus_bits=_BUS,
                             memory_latency=_LATENCY)


def _design(placed: Placed) -> FpgaDesign:
    [group] = placed.groups
    assert isinstance(group.design, FpgaDesign)
    return group.design


def measure(name: str) -> dict[str, Any]:
    """Cycles of a program. Raises `FigureError` if results are wrong, or cycles not the predicted ones."""
    placed = _placed(name, 0)
    design = _design(placed)
    found = placed.simulate("icarus")
    [run] = placed.runs.values()
    if not all(map(np.array_equal, found, placed.expected)):
        raise FigureError(f"{name}: results differ from the interpreter's")
    if run.cycles != design.predicted_cycles:
        raise FigureError(f"{name}: {run.cycles} cycles instead of {design.predicted_cycles}")
    arrays = design.parts.program
    reads, writes = (sum(prod(array.shape) for array in side) for side in (arrays.inputs, arrays.outputs))
    return {"table": PROGRAMS[name][1], "lanes": design.lanes, "cycles": run.wall_cycles,
            "predicted": design.predicted_start_to_done, "words read": reads, "words written": writes,
            "beats": [run.counters["memory read beats"], run.counters["memory write beats"]]}


def measure_area(name: str) -> dict[str, Any]:
    """LUT, FF and MHz with one element at a time and with all."""
    found = {}
    for design in (_design(_placed(name, lanes)) for lanes in (1, 0)):
        if str(design.lanes) in found:
            continue
        subject = Subject("pipeline", emit_pipeline(design.system.pipeline), alone=False, target_mhz=150.0)
        found[str(design.lanes)] = yosys_area(subject) | {"mhz": place_and_route_subject(subject)["mhz"]}
    return found


@reports_errors
def main() -> None:
    """Measure what is asked for and write the results."""
    Measurement("sac_lanes", "programs", "program", PROGRAMS).run_with_area(__doc__, measure, measure_area)


if __name__ == "__main__":
    sys.exit(main())
