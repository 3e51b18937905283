"""Systolic arrays of single precision at the published shapes: share of the array's peak, by the model of events, and
in RTL on small arrays of the same kinds.

    python -m benchmarks.systolic_floats [NAME ...] [--simulator verilator|icarus|none]
                                         [-o benchmarks/results/systolic_floats.json]

Sums are made in lanes and along space loops (``reassociate``); operators take the cycles of
`hw.dataflow.floating.FLOAT_LATENCY`. All six arrays of a matrix product, those that the paper has not built with as
many processing elements as their neighbours, then the other published kernels. The share is ideal cycles (evaluations
of the body over processing elements times lanes) over those from start to done. RTL results are compared bit for bit
with the program that the design states, and the measured cycles stand beside the model's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compiler
from benchmarks.command import Measurement, reports_errors
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.tuner.shapes import Shape
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from hw.errors import SluiceError

__all__ = ["CASES", "Case", "main", "measure"]

_APPS = Path(__file__).parents[1] / "apps" / "systolic"
_SMALL_BUS_BITS = 256


@dataclass(frozen=True)
class Case:
    """An array as published (`shape`, `sizes`, `published` share), and one of the same kind for RTL (`small`). `time`:
    tiles of the published shape that are larger than the compiler takes by itself: from one end of a long row of adders
    to the other it takes as long as a small tile."""

    app: str
    shape: Shape
    sizes: Mapping[str, int]
    small: Shape
    small_sizes: Mapping[str, int]
    published: float | None = None
    bus_bits: int = 512
    time: str | None = None


def _product(shape: Shape, small: Shape, published: float | None = None, bus_bits: int = 512,
             time_: str | None = None) -> Case:
    sizes = {name: -(-1024 // whole) * whole for name, whole in (
        (name.upper(), shape.counts(("i", "j", "k"))[k]) for k, name in enumerate("ijk"))}
    return Case("mm", shape, sizes, small, {"I": 24, "J": 16, "K": 32}, published, bus_bits, time_)


CASES: dict[str, Case] = {
    "MM i 128 x 8": _product(Shape(("i",), (128,), "k", 8), Shape(("i",), (4,), "k", 2)),
    "MM j 128 x 8": _product(Shape(("j",), (128,), "k", 8), Shape(("j",), (4,), "k", 2)),
    "MM k 128 x 8": _product(Shape(("k",), (128,), "k", 8), Shape(("k",), (4,), "k", 2), time_="i:256,j:8,k:1"),
    "MM ij 13x16 x 8": _product(Shape(("i", "j"), (13, 16), "k", 8), Shape(("i", "j"), (2, 2), "k", 4), 0.94),
    "MM ik 13x12 x 8": _product(Shape(("i", "k"), (13, 12), "k", 8), Shape(("i", "k"), (2, 3), "k", 2)),
    "MM jk 13x12 x 8": _product(Shape(("j", "k"), (13, 12), "k", 8), Shape(("j", "k"), (2, 3), "k", 2),
                                bus_bits=1024),
    "CNN 16x14 x 8": Case(
        "cnn", Shape(("o", "h"), (16, 14), "i", 8), {"O": 512, "I": 512, "H": 56, "W": 56, "P": 3, "Q": 3},
        Shape(("o", "h"), (2, 2), "i", 2), {"O": 8, "I": 8, "H": 8, "W": 8, "P": 3, "Q": 3}, 0.982),
    "MTTKRP 16x8 x 8": Case(
        "mttkrp", Shape(("i", "j"), (16, 8), "l", 8), {"I": 256, "J": 512, "K": 512, "L": 256},
        Shape(("i", "j"), (2, 2), "l", 2), {"I": 8, "J": 8, "K": 8, "L": 8}, 0.989),
    "TTMc 16x8 x 8": Case(
        "ttmc", Shape(("i", "j"), (16, 8), "m", 8), {"I": 128, "J": 128, "K": 128, "L": 128, "M": 128},
        Shape(("i", "j"), (2, 2), "m", 2), {"I": 4, "J": 4, "K": 8, "L": 4, "M": 16}, 0.995),
}


MEASUREMENT = Measurement("systolic_floats", "cases", "case", CASES)


def _designed(case: Case, shape: Shape, sizes: Mapping[str, int], bus_bits: int, time_: str | None = None, *,
              check: bool) -> SystolicDesign:
    """The array of a shape; what is open of tiles and their order is the compiler's choice."""
    program = load_c(_APPS / f"{case.app}.c", FLOAT_BITS=32, **sizes)
    design = compiler.compile(program, target="systolic", space=shape.space, array=shape.array, bus_bits=bus_bits,
                              simd=f"{shape.simd}:{shape.lanes}", time=time_, reassociate=True,
                              check=check)
    assert isinstance(design, SystolicDesign)
    return design


def _ideal(design: SystolicDesign) -> float:
    return design.kernel.instances / design.plan.spec.macs


def measure(case: Case, simulator: str) -> dict[str, Any]:
    """One case. Raises `SluiceError` if the hardware's results are not those of the order that the design states."""
    start = time.perf_counter()
    whole = _designed(case, case.shape, case.sizes, case.bus_bits, case.time, check=False)
    found: dict[str, Any] = {
        "memory port, bits": case.bus_bits, "sizes": dict(case.sizes), "tile": dict(whole.plan.choice.time),
        "order": whole.choices["order"],
        "cycles per step": whole.plan.spec.interval,
        "multipliers": whole.resources["multipliers"], "model": whole.predicted_start_to_done,
        "share": round(_ideal(whole) / whole.predicted_start_to_done, 4), "published share": case.published,
        "compile s": round(time.perf_counter() - start, 2)}
    if simulator != "none":
        found["RTL"] = _simulated(case, simulator)
    return found


def _simulated(case: Case, simulator: str) -> dict[str, Any]:
    design = _designed(case, case.small, case.small_sizes, _SMALL_BUS_BITS, check=True)
    inputs = random_inputs(design.program, 0)
    run = design.simulate(inputs, simulator)
    for name, wanted in interpret(design.reference, inputs).items():
        if not same(run.outputs[name], wanted):
            raise SluiceError(f"{case.app}: output {name} is not what the design states")
    return {"array": str(case.small), "sizes": dict(case.small_sizes), "cycles": run.cycles,
            "model error": round(design.predicted_start_to_done / run.cycles - 1, 4),
            "share": round(_ideal(design) / run.cycles, 4)}


@reports_errors
def main() -> None:
    """Measure the cases that are asked for and write the results."""
    parser = MEASUREMENT.parser(__doc__)
    parser.add_argument("--simulator", choices=("verilator", "icarus", "none"), default="icarus")
    options = MEASUREMENT.parse(parser)
    MEASUREMENT.run(options, lambda name: measure(CASES[name], options.simulator), {})


if __name__ == "__main__":
    sys.exit(main())
