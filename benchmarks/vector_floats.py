"""Floating-point lanes of the vector processor: cycles of programs beside their bounds, and what a lane and a processor
of four lanes take on an ECP5-85 with and without them.

    python -m benchmarks.vector_floats [NAME ...] [-o benchmarks/results/vector_floats.json]

Programs are those of apps/float, compiled from C and run in RTL on Verilator; every result is compared with the
interpreter's bit for bit. The bound is the larger one of the lanes' (a wavefront for each sum and each product) and the
memory's. The area of a lane is yosys', that of a processor nextpnr's (`benchmarks.area`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import compiler
from benchmarks.area import Subject, yosys_area
from benchmarks.area import measure as place_and_route_subject
from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.vector.design import VectorDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from hw.ecp5.pnr import ECP5_85_DEVICE
from hw.errors import SluiceError
from hw.soc.system import SYSTEM_MODULE, emit_vector_system
from hw.vector_lanes.datapath import datapath_sources
from hw.vector_lanes.lane import LANE_MODULE
from hw.vector_lanes.spec import VectorSpec

__all__ = ["SUBJECTS", "main", "measure", "vector_float_table"]

LANES = 4
PROGRAMS: Mapping[str, Mapping[str, int]] = {
    "saxpy": {"N": 4096}, "fir": {"N": 1039, "TAPS": 16}, "fir2d": {"N": 32, "TAPS": 4}, "matmul": {"N": 32},
}


SPECS: Mapping[str, VectorSpec] = {
    "": VectorSpec(LANES), " float32": VectorSpec(LANES, float32=True), " bfloat16": VectorSpec(LANES, bfloat16=True),
    " float32 and bfloat16": VectorSpec(LANES, float32=True, bfloat16=True),
    " float32 and fma": VectorSpec(LANES, float32=True, fma=True),
    " bfloat16 and fma": VectorSpec(LANES, bfloat16=True, fma=True),
}


def _program(name: str, half: bool) -> dict[str, Any]:
    program = load_c(f"apps/float/{name}.c", **PROGRAMS[name], **({"BFLOAT16": 1} if half else {}))
    design = compiler.compile(program, target="vector", lanes=LANES, float32=not half, bfloat16=half)
    assert isinstance(design, VectorDesign)
    inputs = random_inputs(program, 1)
    run = design.simulate(inputs)
    for output, wanted in interpret(program, inputs).items():
        if not np.array_equal(run.outputs[output].view(np.uint32), wanted.view(np.uint32)):
            raise SluiceError(f"{name}: {output} is not the interpreter's")
    figures, counters = design.figures, run.counters or {}
    memory = -(-figures.memory_bytes // design.spec.memory_bytes)
    return {"sizes": dict(PROGRAMS[name]), "lanes": LANES, "cycles": run.cycles, "predicted": design.predicted_cycles,
            "bound": max(round(figures.compute), memory), "wavefronts": figures.wavefronts, "beats": memory,
            "bubbles": counters.get("bubbles")}


def _lane(spec: VectorSpec) -> dict[str, Any]:
    return yosys_area(Subject(LANE_MODULE, datapath_sources(spec)))


def _processor(spec: VectorSpec) -> dict[str, Any]:
    sources = emit_vector_system(spec)
    return place_and_route_subject(Subject(SYSTEM_MODULE, sources, alone=False, target_mhz=75.0))


SUBJECTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    **{name: partial(_program, name, False) for name in PROGRAMS},
    **{f"{name} bfloat16": partial(_program, name, True) for name in PROGRAMS},
    **{f"lane{name}": partial(_lane, spec) for name, spec in SPECS.items()},
    **{f"V{LANES}{name}": partial(_processor, spec) for name, spec in SPECS.items()},
}
"""What is measured."""


def measure(name: str) -> dict[str, Any]:
    """The figures of a subject. Raises `SluiceError` for a result that is not the interpreter's, and `PnrError`."""
    return SUBJECTS[name]()


def vector_float_table() -> str:
    """The committed results as Markdown."""
    found = read_results("vector_floats")["figures"]
    rows = [[name, ", ".join(f"{k}={v}" for k, v in f["sizes"].items()), f["cycles"], f["bound"],
             f"{f['cycles'] / f['bound']:.3f}", f["bubbles"]]
            for name, f in found.items() if "cycles" in f]
    areas = [[name, f["lut"], f["ff"], f["multipliers"], f["block_ram"], f.get("mhz", "-")]
             for name, f in found.items() if "lut" in f]
    programs = (f"Programs in `float` on {LANES} lanes with the option float32, in `__bf16` with bfloat16, "
                "compiled from C, sums in the order of the program (`python -m benchmarks.vector_floats`): clock "
                "cycles in RTL beside the bound, a wavefront for each sum and each product, or beats of memory.\n\n"
                + table(["program", "sizes", "cycles", "bound", "ratio", "bubbles"], rows))
    return (f"{programs}\n\nWithout and with floating-point numbers on an ECP5-85: a lane (yosys, no placing), and "
            "where measured a processor with its scalar core.\n\n"
            + table(["", "LUT", "FF", "multipliers 18x18", "block RAM", "MHz"], areas))


@reports_errors
def main() -> None:
    """Measure and write."""
    measurement = Measurement("vector_floats", "figures", "subject", SUBJECTS)
    options = measurement.parse(measurement.parser(__doc__))
    measurement.run(options, measure, {"device": f"{ECP5_85_DEVICE}, speed grade 6"})


if __name__ == "__main__":
    sys.exit(main())
