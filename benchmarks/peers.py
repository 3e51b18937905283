"""Beside other open generators: the same programs, in the same simulator with the same main memory, in the same flow.

    python -m benchmarks.peers [NAME ...] [--row NAME] [--no-area] [--again] [--simulator verilator|icarus]
                               [-o benchmarks/results/peers.json]

Needs the extra ``peers`` (nngen, veriloggen). Each program runs on some of our targets and on the peers, as their
documentation says and at better settings: cycles from the register write that starts it to the interrupt, arrays in
main memory, results compared with the interpreter's. LUT and MHz by plain ``synth_ecp5`` and nextpnr with its
defaults, in the harness of `benchmarks.area`: no netlist steps of our own. Where a peer leads in microseconds, or in
cycles x LUT, the row is lost, and the table says so. Results of programs that are not named are kept, and figures of
circuits that are still the same: a run that was broken off goes on where it was. A circuit that does not fit the
device, or that nextpnr does not place, has the reason instead of an area.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import compiler
from benchmarks.area import GENERATED_MHZ, Harness, Subject
from benchmarks.command import reports_errors
from benchmarks.peer_cores import (
    PEER_MODULE,
    PeerCore,
    PeerError,
    nngen_convolution,
    nngen_filter,
    nngen_product,
    peer_versions,
)
from benchmarks.peer_tables import score
from benchmarks.results import RESULTS, kept_results, write_results
from benchmarks.veriloggen_cores import veriloggen_filter, veriloggen_product
from compiler.bind.design import Design
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.cache import cache_folder
from hw.dataflow.system import SYSTEM_MODULE as DATAFLOW
from hw.ecp5.pnr import ECP5_85_DEVICE, PnrError, check_fits, place_and_route, run_tool
from hw.main_memory import MainMemory
from hw.pipeline.system import SYSTEM_MODULE as PIPELINE
from hw.systolic.system import SYSTEM_MODULE as SYSTOLIC
from hw.verilog import convert

__all__ = ["PROGRAMS", "Peer", "PeerProgram", "main", "measure", "plain_area"]

_APPS = Path(__file__).parents[1] / "apps"
_MODULES = {"dataflow": DATAFLOW, "fpga": PIPELINE, "systolic": SYSTOLIC}
_SIZE, _WINDOW = 16, 3
_LENGTH, _TAPS = 512, 8
_PARTS = 4
"""After how many parts of it a peer's result leaves."""

_RESULT = RESULTS / "peers.json"
_ECP5 = {"technology": "ecp5"}
"""Multipliers with their registers are named in the Verilog: the flow moves none into them."""

_ARRAY = {"space": "i,j", "array": "4x4", **_ECP5}


@dataclass(frozen=True)
class Peer:
    """What `make`s the circuit; `names`: its names of our inputs; `transposed`: those of ours that it takes
    transposed."""

    make: Callable[[], PeerCore]
    names: Mapping[str, str]
    transposed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PeerProgram:
    """`ours`: by name, target and options. `peers`: by name."""

    program: Callable[[], Program]
    ours: Mapping[str, tuple[str, Mapping[str, Any]]]
    peers: Mapping[str, Peer]


def _product() -> Program:
    return load_c(_APPS / "systolic" / "mm.c", I=_SIZE, J=_SIZE, K=_SIZE, DATA_BITS=8)


def _convolution() -> Program:
    inside = _SIZE - _WINDOW + 1
    return load_c(_APPS / "systolic" / "cnn.c", O=1, H=inside, W=inside, I=1, P=_WINDOW, Q=_WINDOW, DATA_BITS=8)


def _filter() -> Program:
    return load_c(_APPS / "dataflow" / "fir.c", N=_LENGTH + _TAPS - 1, TAPS=_TAPS)


_MATRICES = {"A": "A", "B": "B"}
_B_BY_COLUMNS = frozenset({"B"})
_IMAGE = {"input": "X", "weight": "W"}

PROGRAMS: Mapping[str, PeerProgram] = {
    "int8 matrix product 16x16x16, one multiplier": PeerProgram(
        _product, {"dataflow": ("dataflow", {}), "fpga": ("fpga", {})},
        {"nngen par 1, as documented":
            Peer(lambda: nngen_product(_SIZE, (1, 1, 1), transposed=False, bus_bits=64), _MATRICES),
         "nngen par 1, B by columns":
            Peer(lambda: nngen_product(_SIZE, (1, 1, 1), transposed=True, bus_bits=64), _MATRICES, _B_BY_COLUMNS),
         "veriloggen stream": Peer(lambda: veriloggen_product(_SIZE, _PARTS), _MATRICES)}),
    "int8 matrix product 16x16x16, 64 multipliers": PeerProgram(
        _product, {"systolic 4x4, four lanes": ("systolic", _ARRAY | {"simd": "k:4"}),
                   "systolic 4x4": ("systolic", _ARRAY)},
        {"nngen par 4,4,4, 128 bits, B by columns":
            Peer(lambda: nngen_product(_SIZE, (4, 4, 4), transposed=True, bus_bits=128), _MATRICES, _B_BY_COLUMNS)}),
    "int8 convolution 3x3 of 16x16": PeerProgram(
        _convolution, {"dataflow": ("dataflow", {}), "fpga": ("fpga", {}), "systolic": ("systolic", _ECP5)},
        {"nngen par 1": Peer(lambda: nngen_convolution(_SIZE, _WINDOW, (1, 1), bus_bits=64), _IMAGE)}),
    "int16 FIR of 8 taps, 512 results": PeerProgram(
        _filter, {"dataflow": ("dataflow", {}), "fpga": ("fpga", {}),
                  "dataflow, taps side by side": ("dataflow", {"transform": f"unroll(k, {_TAPS})"})},
        {"nngen par 1": Peer(lambda: nngen_filter(_LENGTH, _TAPS, 1, bus_bits=64), {"x": "X", "h": "W"}),
         "veriloggen stream": Peer(lambda: veriloggen_filter(_LENGTH, _TAPS, _PARTS), {"x": "x", "h": "h"})}),
}


def plain_area(subject: Subject) -> dict[str, Any]:
    """LUT, FF, block RAM, multipliers and MHz by yosys' ``synth_ecp5`` and nextpnr with their defaults, harness
    included. Netlists are kept in the cache. Raises `PnrError`."""
    folder = cache_folder() / "peers" / subject.digest
    folder.mkdir(parents=True, exist_ok=True)
    netlist = folder / "harness.json"
    if not netlist.exists():
        sources = {**subject.sources, "harness.v": convert(Harness(subject), "harness")}
        for file, text in sources.items():
            (folder / file).write_text(text)
        run_tool("yosys", ["-q", "-p", f"read_verilog {' '.join(sorted(sources))}; synth_ecp5 -top harness "
                           "-json unfinished.json"], folder)
        (folder / "unfinished.json").replace(netlist)
    check_fits(netlist, "harness", ECP5_85_DEVICE)
    found = place_and_route(netlist, target_mhz=subject.target_mhz)
    return {"lut": found.lut, "ff": found.ff, "block_ram": found.block_ram, "multipliers": found.multipliers,
            "mhz": round(found.mhz or 0.0, 2)}


def measure(case: PeerProgram, simulator: str, area: bool, kept: Mapping[str, Any],
            keep: Callable[[dict[str, Any]], None]) -> None:
    """All rows of a program, one after the other; `keep` takes those that there are after each step. What is in `kept`
    of the same Verilog, or of the same version of a peer, is not measured again. Raises `PeerError` for a wrong
    result."""
    program, random = case.program(), np.random.default_rng(1)
    inputs = {array.name: random.integers(-128, 128, array.shape) for array in program.inputs}
    expected, = interpret(program, inputs).values()
    makers = {**{name: _our_circuit(program, *choice) for name, choice in case.ours.items()},
              **{name: _peer_circuit(peer) for name, peer in case.peers.items()}}
    rows = dict(kept)
    for name, make in makers.items():
        if _is_done(rows.get(name, {}), make, area):
            continue
        circuit = make.build()
        if rows.get(name, {}).get("digest") != circuit.subject.digest:
            cycles, output = circuit.run(inputs, simulator)
            if not np.array_equal(output.ravel(), expected.ravel()):
                raise PeerError(f"{name}: the result is not the interpreter's")
            rows[name] = {"ours": make.version == "", "version": make.version, "digest": circuit.subject.digest,
                          "cycles": cycles, "compile s": round(circuit.seconds, 2)}
            keep(rows)
        if area and not _has_area(rows[name]):
            rows[name] |= _placed(circuit.subject, rows[name]["cycles"])
            keep(rows)


def _placed(subject: Subject, cycles: int) -> dict[str, Any]:
    """The area of a circuit and its scores; or why it was not placed."""
    try:
        found = plain_area(subject)
    except PnrError as error:
        return {"unplaced": str(error)}
    return found | score({"cycles": cycles, **found})


def _has_area(row: Mapping[str, Any]) -> bool:
    """Whether placing the circuit has been tried."""
    return "lut" in row or "unplaced" in row


@dataclass(frozen=True)
class _Circuit:
    """What is simulated (`run`: cycles from start to done, and the output) and placed; `seconds` to make it."""

    run: Callable[[Mapping[str, np.ndarray], str], tuple[int, np.ndarray]]
    subject: Subject
    seconds: float


@dataclass(frozen=True)
class _Maker:
    """`build`s a circuit. `version` of the peer that does, empty for ours."""

    build: Callable[[], _Circuit]
    version: str = ""


def _is_done(row: Mapping[str, Any], make: _Maker, area: bool) -> bool:
    """Whether a peer's row is complete. Ours are made anew: the compiler may have changed."""
    return bool(make.version) and row.get("version") == make.version and (not area or _has_area(row))


def _our_circuit(program: Program, target: str, options: Mapping[str, Any]) -> _Maker:
    def build() -> _Circuit:
        design: Design = compiler.compile(program, target=target, **options)
        executable: Any = getattr(design, "executable")  # noqa: B009

        def run(inputs: Mapping[str, np.ndarray], simulator: str) -> tuple[int, np.ndarray]:
            found = design.simulate(inputs, simulator)
            output, = found.outputs.values()
            return found.wall_cycles, output

        return _Circuit(run, Subject(_MODULES[target], executable.sources, alone=False, target_mhz=GENERATED_MHZ),
                        design.compile_seconds)

    return _Maker(build)


def _peer_circuit(peer: Peer) -> _Maker:
    def build() -> _Circuit:
        core = peer.make()

        def run(inputs: Mapping[str, np.ndarray], simulator: str) -> tuple[int, np.ndarray]:
            values = {other: inputs[own].T if own in peer.transposed else inputs[own]
                      for own, other in peer.names.items()}
            job, output = core.run(values, MainMemory(), simulator)
            return job.cycles, output

        return _Circuit(run, Subject(PEER_MODULE, core.sources, alone=False, target_mhz=GENERATED_MHZ), core.seconds)

    return _Maker(build, peer_versions())


def _only(case: PeerProgram, rows: Sequence[str] | None) -> PeerProgram:
    """`case` with `rows` alone, None for all."""
    if rows is None:
        return case
    return replace(case, ours={name: how for name, how in case.ours.items() if name in rows},
                   peers={name: how for name, how in case.peers.items() if name in rows})


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{'; '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--row", action="append", metavar="NAME", help="only rows of this name (repeat)")
    parser.add_argument("--no-area", action="store_true", help="cycles only")
    parser.add_argument("--again", action="store_true", help="measure also what has not changed since the last run")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="icarus")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT, metavar="FILE")
    options = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    unknown = set(options.names) - set(PROGRAMS)
    if unknown:
        raise PeerError(f"there is no program '{min(unknown)}'; there are: {'; '.join(PROGRAMS)}")
    for name in options.names or PROGRAMS:

        def keep(rows: dict[str, Any], name: str = name) -> None:
            case = PROGRAMS[name]
            listed = {row: rows[row] for row in (*case.ours, *case.peers) if row in rows}
            results = kept_results(options.output, "programs") | {name: listed}
            write_results(options.output, {"memory": str(MainMemory()), "device": ECP5_85_DEVICE, "programs": results})

        with console.status(name):
            kept = {} if options.again else kept_results(options.output, "programs").get(name, {})
            measure(_only(PROGRAMS[name], options.row), options.simulator, not options.no_area, kept, keep)
        console.print(name, kept_results(options.output, "programs")[name])


if __name__ == "__main__":
    raise SystemExit(main())
