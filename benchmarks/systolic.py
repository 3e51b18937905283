"""Systolic arrays of the published shapes: share of the array's peak, in RTL simulation.

    python -m benchmarks.systolic [NAME ...] [--simulator verilator|icarus|none] [-o benchmarks/results/systolic.json]

For every case the tuner chooses tiles for the shape; the emitted Verilog runs the whole kernel, from the start bit
until the last result is in memory, and the results are compared with gcc's. The share is ideal cycles (evaluations of
the body over processing elements times lanes) over measured ones. Problems are smaller than the published ones where
simulation would take hours; the model's share at the published size stands beside it. Then the ablation of Wang 2021,
figure 13: one matrix product on an 8 x 8 array without and with latency hiding, SIMD, double buffering. Results of
cases that are not named are kept.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import compiler
from benchmarks.results import RESULTS, write_results
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.tuner.estimate import Tilings
from compiler.bind.systolic.tuner.resources import evaluate_resources
from compiler.bind.systolic.tuner.search import step_choices
from compiler.bind.systolic.tuner.shapes import Shape
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.errors import SluiceError

__all__ = ["ABLATION", "CASES", "Case", "main", "measure"]

_APPS = Path(__file__).parents[1] / "apps" / "systolic"
_RESULT = RESULTS / "systolic.json"
_BLOCKS = 2000
"""18 Kbit blocks of memory that a case may take: those of the published device."""

_MOST_RESULTS = 1024
"""Accumulators of a processing element."""

_AS_FAST = 1.002
"""Cycles, relative to the fastest, that count as equally fast."""


@dataclass(frozen=True)
class Case:
    """An array shape as published: `full` sizes as published, `sizes` of what is simulated."""

    app: str
    bits: int
    shape: Shape
    full: Mapping[str, int]
    sizes: Mapping[str, int]
    published: float | None = None
    bus_bits: int = 512


def _matrix(size: int) -> dict[str, int]:
    return {"I": size, "J": size, "K": size}


CASES: dict[str, Case] = {
    "MM 13x16 x 8": Case("mm", 16, Shape(("i", "j"), (13, 16), "k", 8), {"I": 1040, "J": 1024, "K": 1024},
                         {"I": 416, "J": 512, "K": 512}, 0.94),
    "MM 16x16 x 32": Case("mm", 16, Shape(("i", "j"), (16, 16), "k", 32), _matrix(1024),
                          _matrix(1024), 0.803, 1024),
    "MM 24x8 x 64": Case("mm", 8, Shape(("i", "j"), (24, 8), "k", 64), {"I": 1056, "J": 1024, "K": 1024},
                         {"I": 1056, "J": 1024, "K": 1024}, 0.993, 1024),
    "CNN 16x14 x 8": Case("cnn", 16, Shape(("o", "h"), (16, 14), "i", 8),
                          {"O": 512, "I": 512, "H": 56, "W": 56, "P": 3, "Q": 3},
                          {"O": 64, "I": 128, "H": 56, "W": 28, "P": 3, "Q": 3}, 0.982),
    "MTTKRP 16x8 x 8": Case("mttkrp", 16, Shape(("i", "j"), (16, 8), "l", 8),
                            {"I": 256, "J": 256, "K": 256, "L": 256}, {"I": 64, "J": 64, "K": 64, "L": 256}, 0.989),
    "TTMc 16x8 x 8": Case("ttmc", 16, Shape(("i", "j"), (16, 8), "m", 8),
                          {"I": 128, "J": 128, "K": 128, "L": 128, "M": 128},
                          {"I": 32, "J": 32, "K": 16, "L": 32, "M": 128}, 0.995),
    "MM 8x8": Case("mm", 8, Shape(("i", "j"), (8, 8), "", 1), _matrix(256), _matrix(256), None, 64),
}

ABLATION: dict[str, dict[str, Any]] = {
    "partitioning": {"array": "8x8", "time": "i:1,j:1,k:64", "simd": "off", "double_buffering": False},
    "+ latency hiding": {"array": "8x8", "time": "i:4,j:4,k:64", "simd": "off", "double_buffering": False},
    "+ SIMD": {"array": "8x8", "time": "i:4,j:4,k:16", "simd": "k:4", "double_buffering": False},
    "+ double buffering": {"array": "8x8", "time": "i:4,j:4,k:16", "simd": "k:4", "double_buffering": True},
}
"""Options of a product of 8-bit matrices, step by step."""

_ABLATION_SIZE = 128
_ABLATION_BUS = 256


def best_tiles(program: Program, shape: Shape, bus_bits: int) -> dict[str, int]:
    """Steps per loop of the largest tiles that are, by the models, as fast as any of `shape`: they leave memory most
    time."""
    kernel = recognise(program)
    tilings = Tilings(kernel, shape, step_choices(kernel, shape), bus_bits)
    cycles, blocks = tilings.cycles, evaluate_resources(tilings).block_ram
    fits = (blocks <= _BLOCKS) & (tilings.geometry.results.own <= _MOST_RESULTS)
    if not fits.any():
        raise SluiceError(f"{shape}: no tiling fits {_BLOCKS} blocks of memory")
    fast = fits & (cycles <= _AS_FAST * cycles[fits].min())
    row = int(np.argmax(np.where(fast, tilings.steps, 0)))
    return dict(zip(kernel.loops, map(int, tilings.times[row]), strict=True))


def _program(app: str, bits: int, sizes: Mapping[str, int]) -> Program:
    return load_c(_APPS / f"{app}.c", DATA_BITS=bits, **sizes)


def _compiled(program: Program, **options: Any) -> SystolicDesign:
    design = compiler.compile(program, target="systolic", **options)
    assert isinstance(design, SystolicDesign)
    return design


def _designed(program: Program, case: Case, tile: Mapping[str, int]) -> SystolicDesign:
    shape = case.shape
    simd = f"{shape.simd}:{shape.lanes}" if shape.lanes > 1 else "off"
    return _compiled(program, space=shape.space, array=shape.array, time=tile, simd=simd, bus_bits=case.bus_bits,
                     check=False)


def by_gcc(app: str, macros: Mapping[str, int], program: Program, inputs: Mapping[str, np.ndarray]
           ) -> dict[str, np.ndarray]:
    """The outputs of the C file as gcc compiles it. Raises `SluiceError` if it does not."""
    arrays = {}
    for array in (*program.inputs, *program.outputs):
        assert isinstance(array.type, Int)
        arrays[array.name] = np.array(inputs.get(array.name, np.zeros(array.shape)), array.type.dtype, order="C")
    with tempfile.TemporaryDirectory(prefix="sluice-gcc-") as folder:
        library = Path(folder) / "library.so"
        flags = [f"-D{name}={value}" for name, value in macros.items()]
        command = ["gcc", "-std=gnu11", "-O3", "-fwrapv", "-fPIC", "-shared", *flags, "-o", str(library),
                   str(_APPS / f"{app}.c")]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SluiceError(f"gcc does not compile {app}.c: {result.stderr.splitlines()[0]}")
        function = getattr(ctypes.CDLL(str(library)), app)
        function(*(ctypes.c_void_p(data.ctypes.data) for data in arrays.values()))
    return {array.name: arrays[array.name] for array in program.outputs}


def _simulated(design: SystolicDesign, app: str, macros: Mapping[str, int], simulator: str) -> dict[str, Any]:
    """Cycles and counters of a run whose results are gcc's."""
    inputs = random_inputs(design.program, 0)
    run = design.simulate(inputs, simulator)
    for name, wanted in by_gcc(app, macros, design.program, inputs).items():
        if not np.array_equal(run.outputs[name], wanted):
            raise SluiceError(f"{app}: output {name} is not what gcc computes")
    ideal = design.plan.kernel.instances / design.plan.spec.macs
    return {"cycles": run.cycles, "share": round(ideal / run.cycles, 4),
            "model error": round(design.predicted_cycles / run.cycles - 1, 4),
            "compute cycles": run.counters["compute cycles"], "simulation s": round(run.seconds, 1)}


def measure(case: Case, simulator: str) -> dict[str, Any]:
    """One case: tiles, the model at the published size, simulation of the smaller one."""
    start = time.perf_counter()
    program = _program(case.app, case.bits, case.sizes)
    chosen = best_tiles(program, case.shape, case.bus_bits)
    design = _designed(program, case, chosen)
    polyhedral = time.perf_counter() - start
    start = time.perf_counter()
    assert design.executable.sources
    emitting = time.perf_counter() - start
    full = _program(case.app, case.bits, case.full)
    whole = _designed(full, case, best_tiles(full, case.shape, case.bus_bits)).predicted_cycles
    ideal = recognise(full).instances / case.shape.macs
    found = {
        "element bits": case.bits, "sizes": dict(case.sizes), "published sizes": dict(case.full),
        "tile": chosen, "published share": case.published, "ideal cycles": round(
            recognise(program).instances / case.shape.macs),
        "model": design.predicted_cycles, "share at published size, model": round(ideal / whole, 4),
        "compile s": round(polyhedral, 2), "Verilog s": round(emitting, 2),
    }
    if simulator != "none":
        found |= _simulated(design, case.app, {"DATA_BITS": case.bits, **case.sizes}, simulator)
    return found


def ablation(simulator: str) -> dict[str, Any]:
    """The steps of the ablation: cycles, times as fast as the first."""
    found: dict[str, Any] = {}
    macros = {"DATA_BITS": 8, **_matrix(_ABLATION_SIZE)}
    for name, options in ABLATION.items():
        design = _compiled(load_c(_APPS / "mm.c", **macros), space="i,j", bus_bits=_ABLATION_BUS, **options)
        run = _simulated(design, "mm", macros, simulator)
        first = found.setdefault("partitioning", run)
        found[name] = run | {"speed-up": round(first["cycles"] / run["cycles"], 2), "bus bits": _ABLATION_BUS}
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systolic", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(CASES)}, ablation (default: all)")
    parser.add_argument("--simulator", choices=("verilator", "icarus", "none"), default="verilator")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT, metavar="FILE")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    known = json.loads(options.output.read_text()) if options.output.exists() else {}
    results = {key: known[key] for key in ("cases", "ablation") if key in known}
    try:
        for name in options.names or [*CASES, "ablation"]:
            if name not in CASES and name != "ablation":
                raise SluiceError(f"there is no case '{name}'; there are: {', '.join(CASES)}, ablation")
            with console.status(name):
                if name == "ablation":
                    results["ablation"] = ablation(options.simulator)
                else:
                    results.setdefault("cases", {})[name] = measure(CASES[name], options.simulator)
            console.print(name, results["ablation"] if name == "ablation" else results["cases"][name])
            write_results(options.output, results)
    except SluiceError as error:
        console.print(f"error: {error}", style="red")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
