"""Units that statements take turns on: resources, latency and occupancy before and after sharing.

    python -m benchmarks.sharing [CASE ...] [-o benchmarks/results/sharing.json]

Liu 2023, tables 7.6 and 7.7, figures 7.6 and 7.7; and a sum that is computed in rounds on fewer units.
The input is a photograph; outputs are compared with the reference.
With names of cases, only those are measured, and the results there are of the others are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import compiler
from benchmarks.checks import check_run
from benchmarks.command import Measurement, reports_errors
from compiler.bind.cgra.design import CgraDesign
from compiler.cli.images import image_to_array, sample_image
from compiler.frontend.apps import load
from compiler.ir.program import Program

__all__ = ["CASES", "Case", "main", "measure"]


@dataclass(frozen=True)
class Case:
    """An application with `parameters` on an array; `shared`: what makes it share, parameters and options.

    `simulator`: None for figures of the compiled and validated design alone, which are then called model. `apart`:
    whether the form that shares nothing is simulated, too."""

    app: str
    memory: str
    array: str
    simulator: str | None
    parameters: Mapping[str, Any]
    shared: Mapping[str, Any]
    transform: str = ""
    apart: bool = True


PYRAMID = "share(Reduce_f1, Reduce_f2, Reduce_output)"
SMALL = {"size": 10, "channels": 4, "features": 2, "unroll": 2}
CASES = {
    "gaussian_pyramid, pub": Case("gaussian_pyramid", "pub", "8x4", "verilator", {}, {}, PYRAMID),
    "gaussian_pyramid, dual-port": Case("gaussian_pyramid", "dual-port", "8x8", None, {}, {}, PYRAMID),
    "sr_cnn, pub": Case("sr_cnn", "pub", "16x32", "verilator", {}, {"shared": True}, apart=False),
    "gaussian in 3 rounds, pub": Case("gaussian", "pub", "8x8", "icarus", {}, {}, "fold(Gaussian, 3)"),
    "sr_cnn 2x2, pub": Case("sr_cnn", "pub", "8x16", None, SMALL, {"shared": True}),
    "sr_cnn 2x2, dual-port": Case("sr_cnn", "dual-port", "8x16", None, SMALL, {"shared": True}),
}


def measure(case: Case) -> dict[str, Any]:
    """Figures of both forms. Raises `FigureError` if a result is wrong or its cycles are not those predicted."""
    apart = _figures(load(case.app, **case.parameters), case, "", case.simulator if case.apart else None)
    shared = _figures(load(case.app, **{**case.parameters, **case.shared}), case, case.transform, case.simulator)
    return {"memory": case.memory, "array": case.array, "simulator": case.simulator or "model",
            "parameters": dict(case.parameters), "apart": apart, "shared": shared}


def _figures(program: Program, case: Case, transform: str, simulator: str | None) -> dict[str, Any]:
    design = compiler.compile(program, memory=case.memory, array=case.array, transform=transform)
    assert isinstance(design, CgraDesign)
    cycles = design.predicted_cycles if simulator is None else _simulated(design, program, simulator)
    return {"PEs": design.resources["PEs"], "memory tiles": design.resources["memory tiles"], "cycles": cycles,
            "cycles from": simulator or "model", "bound": design.lower_bound, "starts": design.choices["starts"],
            "occupancy": round(design.occupancy, 4), "shared units": design.choices["shared units"],
            "compile seconds": round(sum(design.seconds.values()), 1)}


def _simulated(design: CgraDesign, program: Program, simulator: str) -> int:
    generator = np.random.default_rng(0)
    inputs = {a.name: generator.integers(-128, 128, a.shape) for a in program.inputs}
    inputs[program.image_input.name] = image_to_array(sample_image(), program.image_input)
    run = design.simulate(inputs, simulator)
    check_run(program.name, design, run, program, inputs)
    return run.cycles


@reports_errors
def main() -> None:
    """Measure what is asked for and write the results."""
    Measurement("sharing", "cases", "case", CASES).command(__doc__, lambda name: measure(CASES[name]))


if __name__ == "__main__":
    sys.exit(main())
