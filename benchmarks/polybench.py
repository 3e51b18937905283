"""The thirty kernels of `apps/polybench` on every target: what is taken, cycles beside the bound, time to compile.

    python -m benchmarks.polybench [KERNEL ...] [--target TARGET ...] [--size mini|small] [-o FILE]
    python -m benchmarks.polybench --type float [--simulate KERNEL ...] [--resume]

Elements are integers of 16 bits. Cycles are predictions ("model"): those of the data path alone, and those from start
to done with main memory of the default latency. A kernel that a target refuses has its message.

With ``--type`` elements are floating-point numbers, targets those that have operators for all of them, and results go
to `polybench_float.json`: the interpreter's are compared bit for bit with those of gcc without contraction, and so are
those of both RTL simulators for kernels that ``--simulate`` names, with random stalls. ``--resume`` leaves out what an
earlier run has measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

import compiler
from benchmarks.command import Measurement, reports_errors
from benchmarks.polybench_reference import FOLDER, TYPES, arguments, gcc_results, inputs_of, program_of
from benchmarks.results import RESULTS, kept_results
from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.design import Design
from compiler.bind.fpga.design import FpgaDesign
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from hw.errors import SluiceError
from hw.sim.simulate import StallProfile

__all__ = ["FLOAT_RESULTS", "FLOAT_TARGETS", "FOLDER", "KERNELS", "SIZES", "TARGETS", "main", "measured",
           "measured_floats"]

KERNELS = sorted(path.stem for path in FOLDER.glob("*.c"))
TARGETS: dict[str, dict[str, Any]] = {
    "fpga": {}, "dataflow": {}, "cgra": {"array": "16x32", "memory": "dual-port"}, "vector": {}, "systolic": {},
}
"""Targets, and their options here."""

FLOAT_TARGETS = ("fpga", "dataflow")
"""Targets that take every kernel's floating-point numbers."""

FLOAT_RESULTS = "polybench_float"
"""The results of floating-point elements."""

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
    "small": {
        "2mm": {"NI": 40, "NJ": 50, "NK": 70, "NL": 80}, "3mm": {"NI": 40, "NJ": 50, "NK": 60, "NL": 70, "NM": 80},
        "adi": {"TSTEPS": 40, "N": 60}, "atax": {"M": 116, "N": 124}, "bicg": {"M": 116, "N": 124},
        "cholesky": {"N": 120}, "correlation": {"M": 80, "N": 100}, "covariance": {"M": 80, "N": 100},
        "deriche": {"W": 192, "H": 128}, "doitgen": {"NQ": 20, "NR": 25, "NP": 30}, "durbin": {"N": 120},
        "fdtd_2d": {"TSTEPS": 40, "NX": 60, "NY": 80}, "floyd_warshall": {"N": 180},
        "gemm": {"NI": 60, "NJ": 70, "NK": 80}, "gemver": {"N": 120}, "gesummv": {"N": 90},
        "gramschmidt": {"M": 60, "N": 80}, "heat_3d": {"TSTEPS": 40, "N": 20}, "jacobi_1d": {"TSTEPS": 40, "N": 120},
        "jacobi_2d": {"TSTEPS": 40, "N": 90}, "lu": {"N": 120}, "ludcmp": {"N": 120}, "mvt": {"N": 120},
        "nussinov": {"N": 180}, "seidel_2d": {"TSTEPS": 40, "N": 120}, "symm": {"M": 60, "N": 80},
        "syr2k": {"M": 60, "N": 80}, "syrk": {"M": 60, "N": 80}, "trisolv": {"N": 120}, "trmm": {"M": 60, "N": 80},
    },
}
"""Values of a kernel's macros where they are not those of its file; `mini` and `small` are the suite's."""

MEASUREMENT = Measurement("polybench", "kernels", "kernel", KERNELS)


def measured(kernel: str, target: str, size: str, kind: str = "int16") -> dict[str, Any]:
    """Compile a kernel with elements of type `kind` for a target; what that gives, or why it is refused."""
    return _compiled(kernel, target, size, kind)[1]


def _compiled(kernel: str, target: str, size: str, kind: str) -> tuple[Design | None, dict[str, Any]]:
    start = time.process_time()
    program = program_of(kernel, kind, _macros(kernel, size))
    try:
        design = compiler.compile(program, target=target, **TARGETS[target])
    except SluiceError as error:
        return None, {"refused": str(error), "seconds": round(time.process_time() - start, 2)}
    seconds = time.process_time() - start
    return design, {"cycles (model)": design.predicted_cycles, "start to done (model)": design.predicted_start_to_done,
                    "bound": design.lower_bound, "seconds": round(seconds, 2)}


def _macros(kernel: str, size: str) -> tuple[tuple[str, int], ...]:
    return tuple(SIZES[size].get(kernel, {}).items())


def measured_floats(kernel: str, target: str, size: str, kind: str, simulators: tuple[str, ...] = ()
                    ) -> dict[str, Any]:
    """As `measured`, with clock cycles from start to done on RTL `simulators`. Raises `SluiceError` where the results
    of the interpreter or of a simulator are not gcc's, bit for bit, or cycles are not those predicted."""
    macros = _macros(kernel, size)
    program, data = program_of(kernel, kind, macros), arguments(kernel, 3, kind, macros)
    wanted, inputs = gcc_results(kernel, data, kind, macros), inputs_of(program, data)
    _require_same(f"{kernel}: the interpreter", interpret(program, inputs), wanted)
    design, found = _compiled(kernel, target, size, kind)
    if design is None:
        return found
    assert isinstance(design, FpgaDesign | DataflowDesign)
    for simulator in simulators:
        run = design.simulate(inputs, simulator, seed=5, stall=StallProfile.uniform(0.2))
        _require_same(f"{kernel} on {target} ({simulator})", run.outputs, wanted)
        if run.cycles != design.predicted_cycles:
            raise SluiceError(f"{kernel} on {target} takes {run.cycles} cycles, {design.predicted_cycles} predicted")
        found[simulator] = run.cycles
    return found


def _require_same(what: str, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, values in found.items():
        if not same(values, wanted[name].astype(values.dtype)):
            raise SluiceError(f"{what}: output {name} is not what gcc computes")


@reports_errors
def main() -> None:
    """Measure the kernels that are asked for on the targets that are, and write after each kernel."""
    parser = MEASUREMENT.parser(__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="(repeat; default: all)")
    parser.add_argument("--size", choices=SIZES, default="own")
    parser.add_argument("--type", choices=TYPES, default="int16")
    parser.add_argument("--simulate", action="append", default=[], metavar="KERNEL", choices=KERNELS,
                        help="kernels of floating-point numbers that both simulators run (repeat)")
    parser.add_argument("--resume", action="store_true", help="leave out what the file of results has")
    parser.set_defaults(output=None)
    options = MEASUREMENT.parse(parser)
    results = MEASUREMENT if options.type == "int16" else replace(MEASUREMENT, results=FLOAT_RESULTS)
    options.output = options.output or RESULTS / f"{results.results}.json"
    kept = kept_results(options.output, "kernels")

    def measure(kernel: str) -> dict[str, Any]:
        found = dict(kept.get(kernel, {}))
        part = options.size if options.type == "int16" else options.type
        old = found.get(part, {})
        found[part] = old | {target: old[target] if options.resume and target in old
                             else _measured_with(options, kernel, target) for target in _targets(options)}
        return found

    options.names = options.names or KERNELS
    results.run(options, measure, {"options": TARGETS})


def _targets(options: argparse.Namespace) -> list[str]:
    return options.target or list(TARGETS if options.type == "int16" else FLOAT_TARGETS)


def _measured_with(options: argparse.Namespace, kernel: str, target: str) -> dict[str, Any]:
    if options.type == "int16":
        return measured(kernel, target, options.size)
    simulators = ("verilator", "icarus") if kernel in options.simulate else ()
    return measured_floats(kernel, target, options.size, options.type, simulators)


if __name__ == "__main__":
    sys.exit(main())
