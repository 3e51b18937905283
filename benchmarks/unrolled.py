"""The most parallel variants of the applications of Liu 2023 that place and route on the whole 16x32 array.

    python -m benchmarks.unrolled [APP ...] [--no-simulation] [-o benchmarks/results/unrolled.json]

For every application candidates are compiled, the widest first, until one fits; that one is simulated (wide-fetch
memory, Verilator) and compared with the reference, or only placed, routed and validated, which leaves its cycles
predicted. What did not fit is listed with the reason. Every column of the array has two banks of the global buffer, one
that sends words and one that takes them: `benchmarks/hardware/paired_banks.toml`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.applications import measure_program
from benchmarks.command import Measurement, reports_errors
from benchmarks.mapping import map_program
from benchmarks.resnet_layers import HARDWARE
from compiler.frontend.apps import load
from compiler.ir.program import Program
from compiler.passes.directives import batch
from hw.errors import SluiceError

__all__ = ["CANDIDATES", "PUBLISHED", "main"]

OPTIONS = {"memory": "pub", "hardware": str(HARDWARE / "paired_banks.toml")}
PUBLISHED = {"gaussian": "16", "harris": "3", "unsharp": "3", "resnet_layer": "8 x 8", "gemm": "8 x 8"}
"""Unroll factors that still fit that array in Liu 2023, section 7.5."""


def _resnet(inputs: int, outputs: int) -> Program:
    return load("resnet_layer", inputs=inputs, unroll_in=inputs, outputs=outputs, unroll_out=outputs)


CANDIDATES: dict[str, dict[str, Callable[[], Program]]] = {
    "gaussian": {str(n): lambda n=n: load("gaussian", height=8 * n + 2, lanes=n) for n in (32, 24)},
    "harris": {str(n): lambda n=n: batch(load("harris", height=32), n) for n in (5, 4, 3)},
    "unsharp": {str(n): lambda n=n: batch(load("unsharp", height=32), n) for n in (5, 4, 3)},
    "resnet_layer": {f"{i} x {o}": lambda i=i, o=o: _resnet(i, o) for i, o in ((12, 16), (8, 16), (8, 12))},
    "gemm": {f"{p} x {c}": lambda p=p, c=c: load("gemm", unroll=c, products=p) for p, c in ((8, 16), (4, 16))},
}
"""For every application, what it is compiled as by unroll factor: lanes of an image, independent strips, or products x
results in every cycle; the widest first."""


def widest(app: str, simulated: bool) -> dict[str, Any]:
    """The widest candidate that fits, and why wider ones do not."""
    refused: dict[str, str] = {}
    for factor, build in CANDIDATES[app].items():
        program, start = build(), time.perf_counter()
        try:
            if simulated:
                figures = measure_program(app, program, "verilator", OPTIONS)
            else:
                figures = map_program(program, OPTIONS)
        except SluiceError as error:
            refused[factor] = f"{error} (after {time.perf_counter() - start:.0f} s)"
            continue
        return {"factor": factor, "published": PUBLISHED[app], "banks of a column": 2, "refused": refused} | figures
    return {"factor": "-", "published": PUBLISHED[app], "refused": refused}


@reports_errors
def main() -> None:
    """Measure the applications that are asked for and write the results."""
    measurement = Measurement("unrolled", "applications", "application", CANDIDATES)
    parser = measurement.parser(__doc__)
    parser.add_argument("--no-simulation", action="store_true", help="only compile; cycles are then predicted")
    options = measurement.parse(parser)
    measurement.run(options, lambda app: widest(app, not options.no_simulation), {"array": "16x32"})


if __name__ == "__main__":
    sys.exit(main())
