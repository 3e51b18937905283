"""What compiling takes as sizes grow, on every target: seconds, and the memory of the process at its highest.

    python -m benchmarks.compile_growth [PROGRAM ...] [--target TARGET ...] [--size N ...] [--seconds S] [-o FILE]

Every program is compiled in a process of its own, which also loads the compiler; seconds are processor time of loading
the program and compiling it. A size that a target refuses has its message; one that takes too much of the budget says
so, and larger ones are left out.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from typing import Any

import compiler
from benchmarks.command import Measurement, reports_errors
from benchmarks.polybench import FOLDER
from benchmarks.results import kept_results
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["PROGRAMS", "SIZES", "TARGETS", "main", "measured", "program_of"]

TARGETS: dict[str, dict[str, Any]] = {"fpga": {}, "dataflow": {}, "cgra": {"array": "16x32"}, "vector": {}}
"""Targets, and their options here."""

SIZES = (64, 256, 1024, 4096)

PROGRAMS = ("gemm", "conv_3_3", "jacobi_2d", "trisolv", "harris")

_KERNELS = {"gemm": ("NI", "NJ", "NK"), "jacobi_2d": ("N",), "trisolv": ("N",)}
"""Those of the PolyBench suite, and the macros that are their size; the others are pictures of `apps`."""

_SECONDS = 120
"""Processor time after which compiling is given up, if nothing else is asked for."""

_BYTES = 4 << 30
"""Address space that compiling may take."""

MEASUREMENT = Measurement("compile_growth", "programs", "program", PROGRAMS)


def program_of(name: str, size: int) -> Program:
    """A program on matrices, or pictures, of `size` by `size`."""
    if name in _KERNELS:
        return load_c(FOLDER / f"{name}.c", **dict.fromkeys(_KERNELS[name], size))
    return load(name, width=size, height=size)


def measured(name: str, target: str, size: int, seconds: int = _SECONDS) -> dict[str, Any]:
    """Compile a program in a process of its own and say what that takes, or why it is not compiled: also because it
    takes more `seconds` of processor time."""
    command = [sys.executable, "-m", "benchmarks.compile_growth", "--one", name, target, str(size), str(seconds)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"given up": f"after {seconds} s of processor time"}
    if found.returncode:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        return {"given up": f"code {found.returncode} within {_BYTES >> 30} GB: {last}"}
    return json.loads(found.stdout.splitlines()[-1])


def _compile_here(name: str, target: str, size: int, seconds: int) -> dict[str, Any]:
    """Compile a program in this process, which has compiled nothing yet."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    start = time.process_time()
    try:
        design = compiler.compile(program_of(name, size), target=target, **TARGETS[target])
        found: dict[str, Any] = {"start to done (model)": design.predicted_start_to_done, "bound": design.lower_bound}
    except SluiceError as error:
        found = {"refused": str(error)}
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(time.process_time() - start, 2), "MB": round(megabytes), **found}


def _growth(name: str, target: str, sizes: list[int], seconds: int) -> dict[str, Any]:
    """By size what compiling takes, up to the first one that is given up."""
    found: dict[str, Any] = {}
    for size in sizes:
        found[str(size)] = measured(name, target, size, seconds)
        if "given up" in found[str(size)]:
            break
    return found


@reports_errors
def main() -> None:
    """Measure the programs, targets and sizes that are asked for, and write after each program."""
    parser = MEASUREMENT.parser(__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="(repeat; default: all)")
    parser.add_argument("--size", action="append", type=int, help=f"(repeat; default: {SIZES})")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="processor time (default: %(default)s)")
    if sys.argv[1:2] == ["--one"]:
        name, target, *numbers = sys.argv[2:]
        print(json.dumps(_compile_here(name, target, *map(int, numbers))))
        return
    options = MEASUREMENT.parse(parser)
    kept = kept_results(options.output, "programs")

    def measure(name: str) -> dict[str, Any]:
        found = dict(kept.get(name, {}))
        for target in options.target or TARGETS:
            found[target] = found.get(target, {}) | _growth(name, target, sorted(options.size or SIZES),
                                                                   options.seconds)
        return found

    MEASUREMENT.run(options, measure, {"options": TARGETS})


if __name__ == "__main__":
    sys.exit(main())
