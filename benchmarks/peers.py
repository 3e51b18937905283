"""Beside other open generators: the same programs, in the same simulator with the same main memory, in the same flow.

    python -m benchmarks.peers [NAME ...] [--no-area] [--simulator verilator|icarus] [-o benchmarks/results/peers.json]

Needs the extra ``peers`` (nngen). Each program runs on some of our targets and on the peer, as its documentation says
and at better settings: cycles from the register write that starts it to the interrupt, arrays in main memory, results
compared with numpy's. LUT and MHz by plain ``synth_ecp5`` and nextpnr with its defaults, in the harness of
`benchmarks.area`: no netlist steps of our own. Where a peer leads in microseconds, or in cycles x LUT, the row is lost,
and the table says so. Results of programs that are not named are kept.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import compiler
from benchmarks.area import GENERATED_MHZ, Harness, Subject
from benchmarks.command import reports_errors
from benchmarks.peer_cores import PEER_MODULE, PeerCore, PeerError, nngen_convolution, nngen_product
from benchmarks.peer_tables import score
from benchmarks.results import RESULTS, kept_results, write_results
from compiler.bind.design import Design
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from hw.dataflow.system import SYSTEM_MODULE as DATAFLOW
from hw.ecp5.pnr import ECP5_85_DEVICE, check_fits, place_and_route, run_tool
from hw.main_memory import MainMemory
from hw.pipeline.system import SYSTEM_MODULE as PIPELINE
from hw.systolic.system import SYSTEM_MODULE as SYSTOLIC
from hw.verilog import convert

__all__ = ["PROGRAMS", "PeerProgram", "main", "measure", "plain_area"]

_APPS = Path(__file__).parents[1] / "apps" / "systolic"
_MODULES = {"dataflow": DATAFLOW, "fpga": PIPELINE, "systolic": SYSTOLIC}
_SIZE, _TAPS = 16, 3
_RESULT = RESULTS / "peers.json"
_ECP5 = {"technology": "ecp5"}
"""Multipliers with their registers are named in the Verilog: the flow moves none into them."""

_ARRAY = {"space": "i,j", "array": "4x4", **_ECP5}


@dataclass(frozen=True)
class PeerProgram:
    """`ours`: by name, target and options. `peers`: by name, what makes the circuit. `program`; `inputs`: what numpy
    array goes where, by our name and by the peer's; `transposed`: inputs that a peer of that name takes transposed."""

    program: Callable[[], Program]
    ours: Mapping[str, tuple[str, Mapping[str, Any]]]
    peers: Mapping[str, Callable[[], PeerCore]]
    names: Mapping[str, str]
    transposed: frozenset[str] = frozenset()


def _product() -> Program:
    return load_c(_APPS / "mm.c", I=_SIZE, J=_SIZE, K=_SIZE, DATA_BITS=8)


def _convolution() -> Program:
    inside = _SIZE - _TAPS + 1
    return load_c(_APPS / "cnn.c", O=1, H=inside, W=inside, I=1, P=_TAPS, Q=_TAPS, DATA_BITS=8)


PROGRAMS: Mapping[str, PeerProgram] = {
    "int8 matrix product 16x16x16, one multiplier": PeerProgram(
        _product, {"dataflow": ("dataflow", {}), "fpga": ("fpga", {})},
        {"nngen par 1, as documented": lambda: nngen_product(_SIZE, (1, 1, 1), transposed=False, bus_bits=64),
         "nngen par 1, B by columns": lambda: nngen_product(_SIZE, (1, 1, 1), transposed=True, bus_bits=64)},
        {"A": "A", "B": "B"}, frozenset({"nngen par 1, B by columns"})),
    "int8 matrix product 16x16x16, 64 multipliers": PeerProgram(
        _product, {"systolic 4x4, four lanes": ("systolic", _ARRAY | {"simd": "k:4"}),
                   "systolic 4x4": ("systolic", _ARRAY)},
        {"nngen par 4,4,4, 128 bits, B by columns":
            lambda: nngen_product(_SIZE, (4, 4, 4), transposed=True, bus_bits=128)},
        {"A": "A", "B": "B"}, frozenset({"nngen par 4,4,4, 128 bits, B by columns"})),
    "int8 convolution 3x3 of 16x16": PeerProgram(
        _convolution, {"dataflow": ("dataflow", {}), "fpga": ("fpga", {}), "systolic": ("systolic", _ECP5)},
        {"nngen par 1 (one product per cycle)": lambda: nngen_convolution(_SIZE, _TAPS, (1, 1), bus_bits=64)},
        {"input": "X", "weight": "W"}),
}


def plain_area(subject: Subject) -> dict[str, Any]:
    """LUT, FF, block RAM, multipliers and MHz by yosys' ``synth_ecp5`` and nextpnr with their defaults, harness
    included. Raises `PnrError`."""
    sources = {**subject.sources, "harness.v": convert(Harness(subject), "harness")}
    with tempfile.TemporaryDirectory(prefix="sluice-peers-") as name:
        folder = Path(name)
        for file, text in sources.items():
            (folder / file).write_text(text)
        run_tool("yosys", ["-q", "-p", f"read_verilog {' '.join(sorted(sources))}; synth_ecp5 -top harness "
                           "-json harness.json"], folder)
        check_fits(folder / "harness.json", "harness", ECP5_85_DEVICE)
        found = place_and_route(folder / "harness.json", target_mhz=subject.target_mhz)
    return {"lut": found.lut, "ff": found.ff, "block_ram": found.block_ram, "multipliers": found.multipliers,
            "mhz": round(found.mhz or 0.0, 2)}


def measure(case: PeerProgram, simulator: str, area: bool, keep: Callable[[dict[str, Any]], None]) -> None:
    """All rows of a program, area of the fastest first; `keep` takes those that there are after each.
    Raises `PeerError` for a wrong result."""
    program, random = case.program(), np.random.default_rng(1)
    inputs = {array.name: random.integers(-128, 128, array.shape) for array in program.inputs}
    rows: dict[str, Any] = {}
    subjects: dict[str, Subject] = {}
    expected: np.ndarray | None = None
    for name, (target, options) in case.ours.items():
        design: Design = compiler.compile(program, target=target, **options)
        run = design.simulate(inputs, simulator)
        output, = run.outputs.values()
        expected = _equal(name, output, expected)
        executable: Any = getattr(design, "executable")  # noqa: B009
        rows[name] = {"ours": True, "cycles": run.clock_cycles, "compile s": round(design.compile_seconds, 2)}
        subjects[name] = Subject(_MODULES[target], executable.sources, alone=False, target_mhz=GENERATED_MHZ)
    for name, make in case.peers.items():
        core = make()
        flipped = name in case.transposed
        values = {other: inputs[own].T if flipped and own == "B" else inputs[own] for own, other in case.names.items()}
        job, output = core.run(values, MainMemory(), simulator)
        expected = _equal(name, output, expected)
        rows[name] = {"ours": False, "cycles": job.cycles, "compile s": round(core.seconds, 2)}
        subjects[name] = Subject(PEER_MODULE, core.sources, alone=False, target_mhz=GENERATED_MHZ)
    keep(rows)
    for name in sorted(subjects, key=lambda name: rows[name]["cycles"]) if area else ():
        rows[name] |= plain_area(subjects[name])
        rows[name] |= score(rows[name])
        keep(rows)


def _equal(name: str, output: np.ndarray, expected: np.ndarray | None) -> np.ndarray:
    if expected is not None and not np.array_equal(output.ravel(), expected.ravel()):
        raise PeerError(f"{name}: the result is not that of the others")
    return output


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{'; '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--no-area", action="store_true", help="cycles only")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="icarus")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT, metavar="FILE")
    options = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    unknown = set(options.names) - set(PROGRAMS)
    if unknown:
        raise PeerError(f"there is no program '{min(unknown)}'; there are: {'; '.join(PROGRAMS)}")
    for name in options.names or PROGRAMS:

        def keep(rows: dict[str, Any], name: str = name) -> None:
            results = kept_results(options.output, "programs") | {name: rows}
            write_results(options.output, {"memory": str(MainMemory()), "device": ECP5_85_DEVICE, "programs": results})

        with console.status(name):
            measure(PROGRAMS[name], options.simulator, not options.no_area, keep)
        console.print(name, kept_results(options.output, "programs")[name])


if __name__ == "__main__":
    raise SystemExit(main())
