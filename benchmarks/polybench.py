"""The thirty kernels of `apps/polybench` on every target: what is taken, cycles beside the bound, time to compile.

    python -m benchmarks.polybench [KERNEL ...] [--target TARGET ...] [--size mini] [-o FILE]

Elements are integers of 16 bits. Cycles are predictions ("model"): those of the data path alone, and those from start
to done with main memory of the default latency. A kernel that a target refuses has its message.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import compiler
from benchmarks.command import Measurement, reports_errors
from benchmarks.results import kept_results
from compiler.frontend.c_scop import load_c
from hw.errors import SluiceError

__all__ = ["FOLDER", "KERNELS", "SIZES", "TARGETS", "main", "measured"]

FOLDER = Path(__file__).parent.parent / "apps" / "polybench"
KERNELS = sorted(path.stem for path in FOLDER.glob("*.c"))
TARGETS: dict[str, dict[str, Any]] = {
    "fpga": {}, "dataflow": {}, "cgra": {"array": "16x32", "memory": "dual-port"}, "vector": {}, "systolic": {},
}
"""Targets, and their options here."""

SIZES: dict[str, dict[str, dict[str, int]]] = {
    "own": {},
    "mini": {
        "2mm": {"NI": 16, "NJ": 18, "NK": 22, "NL": 24}, "3mm": {"NI": 16, "NJ": 18, "NK": 20, "NL": 22, "NM": 24},
        "adi": {"TSTEPS": 20, "N": 20}, "atax": {"M": 38, "N": 42}, "bicg": {"M": 38, "N": 42}, "cholesky": {"N": 40},
        "correlation": {"M": 28, "N": 32}, "covariance": {"M": 28, "N": 32}, "deriche": {"W": 64, "H": 64},
        "doitgen": {"NQ": 8, "NR": 10, "NP": 12}, "durbin": {"N": 40}, "fdtd_2d": {"TSTEPS": 20, "NX": 20, "NY": 30},
        "floyd_warshall": {"N": 60}, "gemm": {"NI": 20, "NJ": 25, "NK": 30}, "gemver": {"N": 40}, "gesummv": {"N": 30},
        "gramschmidt": {"M": 20, "N": 30}, "heat_3d": {"TSTEPS": 20, "N": 10}, "jacobi_1d": {"TSTEPS": 20, "N": 30},
        "jacobi_2d": {"TSTEPS": 20, "N": 30}, "lu": {"N": 40}, "ludcmp": {"N": 40}, "mvt": {"N": 40},
        "nussinov": {"N": 60}, "seidel_2d": {"TSTEPS": 20, "N": 40}, "symm": {"M": 20, "N": 30},
        "syr2k": {"M": 20, "N": 30}, "syrk": {"M": 20, "N": 30}, "trisolv": {"N": 40}, "trmm": {"M": 20, "N": 30},
    },
}
"""Values of a kernel's macros where they are not those of its file; `mini` is the suite's smallest set."""

MEASUREMENT = Measurement("polybench", "kernels", "kernel", KERNELS)


def measured(kernel: str, target: str, size: str) -> dict[str, Any]:
    """Compile a kernel for a target; what that gives, or why it is refused."""
    start = time.process_time()
    program = load_c(FOLDER / f"{kernel}.c", **SIZES[size].get(kernel, {}))
    try:
        design = compiler.compile(program, target=target, **TARGETS[target])
    except SluiceError as error:
        return {"refused": str(error), "seconds": round(time.process_time() - start, 2)}
    seconds = time.process_time() - start
    return {"cycles (model)": design.predicted_cycles, "start to done (model)": design.predicted_start_to_done,
            "bound": design.lower_bound, "seconds": round(seconds, 2)}


@reports_errors
def main() -> None:
    """Measure the kernels that are asked for on the targets that are, and write after each kernel."""
    parser = MEASUREMENT.parser(__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="(repeat; default: all)")
    parser.add_argument("--size", choices=SIZES, default="own")
    options = MEASUREMENT.parse(parser)
    kept = kept_results(options.output, "kernels")

    def measure(kernel: str) -> dict[str, Any]:
        found = dict(kept.get(kernel, {}))
        found[options.size] = found.get(options.size, {}) | {
            target: measured(kernel, target, options.size) for target in options.target or TARGETS}
        return found

    MEASUREMENT.run(options, measure, {"options": TARGETS})


if __name__ == "__main__":
    sys.exit(main())
