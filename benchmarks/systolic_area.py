"""LUT, FF, block RAM, multipliers and MHz on an ECP5-85 of systolic arrays with their network to main memory.

    python -m benchmarks.systolic_area [--place-only] [--seeds N] [-o benchmarks/results/systolic_area.json] [NAME ...]

The arrays come from ``apps/systolic/mm.c``, whole systems with registers and the AXI4 port, in the harness of
`benchmarks.area`: all their inputs and outputs are registers. Figures are nextpnr's, the harness included (`harness_ff`
flip-flops). All are placed by nextpnr's static placer, with which a large array runs faster than with the default one,
and with their multipliers at fixed sites in the order of the PEs (`hw.ecp5.multiplier_sites`), as in builds for boards.
An 8x8 array takes a quarter of an hour; results of arrays that are not measured are kept. The clock rate is measured
for several sizes, because it must not depend on the size.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import compiler
from benchmarks.area import GENERATED_MHZ, Subject
from benchmarks.area import measure as measure_area
from benchmarks.area_tables import printed_area_table
from benchmarks.command import reports_errors
from benchmarks.results import RESULTS, write_results
from compiler.bind.systolic.design import SystolicDesign
from compiler.frontend.c_scop import load_c
from hw.errors import SluiceError
from hw.systolic.spec import ArraySpec
from hw.systolic.system import SYSTEM_MODULE, emit_system

__all__ = ["ARRAYS", "PLACER", "array_spec", "main", "measure"]

_RESULT = RESULTS / "systolic_area.json"
_MM = Path(__file__).parents[1] / "apps" / "systolic" / "mm.c"

PLACER = "static"
"""nextpnr's placer for systolic arrays."""

ARRAYS: Mapping[str, tuple[int, str]] = {
    "2x2 int8": (8, "2x2"), "4x4 int8": (8, "4x4"), "8x8 int8": (8, "8x8"), "4x4 int16": (16, "4x4"),
}
"""Bits of the elements, and the shape."""


def array_spec(name: str) -> ArraySpec:
    """An array for the matrix product, 16 results of 32 bits per PE, tiles of 64 products each, without SIMD."""
    bits, shape = ARRAYS[name]
    program = load_c(_MM, I=64, J=64, K=128, DATA_BITS=bits)
    design = compiler.compile(program, target="systolic", space="i,j", array=shape, time="k:64,i:4,j:4", simd="off")
    assert isinstance(design, SystolicDesign)
    return design.plan.spec


def measure(name: str, route: bool = True, seeds: int = 1) -> dict[str, Any]:
    """Figures of one array; without `route`, MHz as estimated after placement; of the fastest of so many placements.
    Raises `PnrError`."""
    subject = Subject(SYSTEM_MODULE, emit_system(array_spec(name)), alone=False, target_mhz=GENERATED_MHZ)
    return measure_area(subject, route, seeds, placer=PLACER)


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systolic_area", description="Area of systolic arrays.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(ARRAYS)}")
    parser.add_argument("--place-only", action="store_true", help="do not route; MHz are an estimate then")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="placements tried of each (default 1)")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT, metavar="FILE")
    options = parser.parse_args(arguments)
    console = Console(highlight=False)
    unknown = set(options.names) - set(ARRAYS)
    if unknown:
        raise SluiceError(f"there is no '{min(unknown)}'; there are {', '.join(ARRAYS)}")
    results = _previous(options.output)
    for name in options.names or ARRAYS:
        with console.status(f"{name} …"):
            results[name] = measure(name, not options.place_only, options.seeds)
        write_results(options.output, results)
    console.print(printed_area_table("array", results))


def _previous(path: Path) -> dict[str, Any]:
    """What an earlier call measured."""
    if not path.is_file():
        return {}
    try:
        return {name: figures for name, figures in json.loads(path.read_text()).items() if name in ARRAYS}
    except (OSError, ValueError, AttributeError) as error:
        raise SluiceError(f"{path} does not hold results: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
