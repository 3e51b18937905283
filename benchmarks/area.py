"""LUT, FF, block RAM and MHz on an ECP5-85 of one PE tile, one with bfloat16, one memory tile of each kind, a small
array and the vector processor with its scalar core.

    python -m benchmarks.area [--array 4x4] [--place-only] [--seeds N] [--placer PLACER]
                              [-o benchmarks/results/area.json] [NAME ...]
    python -m benchmarks.area --intel [-o benchmarks/results/area.json] [vector_4 vector_16]

Every figure comes from nextpnr. The clock rate is that of the module in a harness which gives every input a register
of a shift register and every output a register behind it, so that each path through the module starts and ends in a
register. Area is that of a tile alone (out of context). For the systems, where the harness is a few per cent and a run
takes long, both come from one run; `harness_ff` says how many flip-flops (and at most as many LUTs) are the harness's.
Takes about a minute for a tile and much longer for a 4x4 array or a vector processor. With `--place-only` these are not
routed: area is the same then, and MHz are nextpnr's estimate after placement, said in `routed` and in the table.
`--intel` counts the cells that yosys maps the vector processor to on an Intel FPGA (`benchmarks.intel_area`): there is
no placing and routing for these here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from rich.console import Console
from rich.table import Table

from benchmarks.area_tables import printed_area_table
from benchmarks.command import reports_errors
from benchmarks.intel_area import FAMILY, INTEL_SUBJECTS, measure_intel
from benchmarks.results import RESULTS, kept_results
from hw.ecp5.pnr import (
    ECP5_85_DEVICE,
    PLACERS,
    Figures,
    cell_counts,
    check_fits,
    place_and_route,
    synthesize,
    tool_version,
)
from hw.errors import SluiceError
from hw.fabric.array import emit_array, emit_tiles
from hw.fabric.spec import FabricSpec
from hw.files import write_atomic
from hw.soc.system import SYSTEM_MODULE, emit_vector_system
from hw.vector_lanes.spec import VectorSpec
from hw.verilog import convert

__all__ = ["GENERATED_MHZ", "SUBJECTS", "Harness", "Port", "Subject", "main", "measure", "yosys_area"]

_RESULT = RESULTS / "area.json"
_TARGET_MHZ = 100.0
_SYSTEM_MHZ = 75.0
"""Asked of the vector processor."""

GENERATED_MHZ = 150.0
"""Asked of systems that are made for one program."""

_COMMON = ("clk", "rst")


@dataclass(frozen=True)
class Port:
    """A port of a Verilog module; `width` in bits."""

    name: str
    width: int
    is_input: bool


@dataclass(frozen=True)
class Subject:
    """A module to measure: its name, its Verilog by file name, whether its area is measured out of context, and what is
    asked of place and route: far above what can be reached, it works at the wrong paths."""

    module: str
    sources: Mapping[str, str]
    alone: bool = True
    target_mhz: float = _TARGET_MHZ

    @property
    def digest(self) -> str:
        """Changes when the Verilog does: figures with the same one are of the same hardware."""
        return hashlib.sha256(json.dumps([self.module, *sorted(self.sources.items())]).encode()).hexdigest()[:16]

    @property
    def ports(self) -> list[Port]:
        """The module's ports, as its Verilog declares them."""
        text = next(text for text in self.sources.values() if f"module {self.module}(" in text)
        body = text[text.index(f"module {self.module}(") :].partition("endmodule")[0]
        declarations = re.findall(r"^ *(input|output) (?:\[(\d+):0\] )?(\w+);", body, re.MULTILINE)
        return [Port(name, int(high or 0) + 1, direction == "input") for direction, high, name in declarations]


class Harness(wiring.Component):
    """`subject` between two shift registers, so that its clock rate can be measured with a handful of pins.

    Input bits come from a shift register fed by `i`. Output bits are taken into another when `load` is high, which
    otherwise shifts out to `o`.
    """

    def __init__(self, subject: Subject):
        self._subject = subject
        super().__init__({"i": In(1), "load": In(1), "o": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        common = dict(zip(_COMMON, (ClockSignal(), ResetSignal()), strict=True))
        ports = self._subject.ports
        connections: dict[str, Any] = {f"i_{port.name}": common[port.name] for port in ports if port.name in common}
        data = {port: Signal(port.width, name=f"subject_{port.name}") for port in ports if port.name not in common}
        connections |= {f"{'i' if port.is_input else 'o'}_{port.name}": signal for port, signal in data.items()}
        m.submodules.subject = Instance(self._subject.module, **connections)
        inputs = Cat(signal for port, signal in data.items() if port.is_input)
        outputs = Cat(signal for port, signal in data.items() if not port.is_input)
        source = Signal(len(inputs), reset_less=True)
        captured = Signal(len(outputs), reset_less=True)
        m.d.comb += [inputs.eq(source), self.o.eq(captured[-1])]
        m.d.sync += [source.eq(Cat(self.i, source)), captured.eq(Cat(source[-1], captured))]
        with m.If(self.load):
            m.d.sync += captured.eq(outputs)
        return m


def _pe_tile(spec: FabricSpec) -> Subject:
    return Subject("pe_tile", _only(emit_tiles(spec), "pe_tile.v"))


def _pe_tile_with_floats(spec: FabricSpec) -> Subject:
    return _pe_tile(replace(spec, pe=replace(spec.pe, bfloat16=True)))


def _mem_tile(kind: Any) -> Callable[[FabricSpec], Subject]:
    def make(spec: FabricSpec) -> Subject:
        return Subject("mem_tile", _only(emit_tiles(replace(spec, mem=replace(spec.mem, kind=kind))), "mem_tile.v"))

    return make


def _ready_valid(name: str) -> Callable[[FabricSpec], Subject]:
    """A tile of the array in which words wait for each other; memories are buffets."""

    def make(spec: FabricSpec) -> Subject:
        waiting = replace(spec, mem=replace(spec.mem, kind="buffet"), protocol="ready-valid")
        return Subject(name, _only(emit_tiles(waiting), f"{name}.v"))

    return make


def _array(spec: FabricSpec) -> Subject:
    return Subject("cgra_array", emit_array(spec), alone=False)


def _vector_system(lanes: int) -> Callable[[FabricSpec], Subject]:
    """The vector processor with its scalar core and everything around it but main memory."""

    def make(_: FabricSpec) -> Subject:
        return Subject(SYSTEM_MODULE, emit_vector_system(VectorSpec(lanes=lanes)), alone=False, target_mhz=_SYSTEM_MHZ)

    return make


def _only(files: Mapping[str, str], name: str) -> dict[str, str]:
    return {name: files[name]}


SUBJECTS: Mapping[str, Callable[[FabricSpec], Subject]] = {
    "pe_tile": _pe_tile,
    "pe_tile_bfloat16": _pe_tile_with_floats,
    "mem_tile_pub": _mem_tile("pub"),
    "mem_tile_dual_port": _mem_tile("dual-port"),
    "mem_tile_buffet": _ready_valid("mem_tile"),
    "pe_tile_ready_valid": _ready_valid("pe_tile"),
    "array": _array,
    **{f"vector_{lanes}": _vector_system(lanes) for lanes in (1, 2, 4)},
}


def measure(subject: Subject, route: bool = True, seeds: int = 1, placer: str | None = None,
            enough_mhz: float | None = None) -> dict[str, Any]:
    """Area and MHz; without `route`, MHz as estimated after placement. With several `seeds` the fastest placement is
    taken, and the result says which ``seed`` of how many; with `enough_mhz` the first one is that of one seed, and
    placements end with one that has this clock. ``sources`` is the `Subject.digest`. `placer`: of `place_and_route`.
    Raises `PnrError`."""
    harness = {"harness.v": convert(Harness(subject), "harness")}
    sources, target = {**subject.sources, **harness}, subject.target_mhz
    several = range(1, seeds + 1) if enough_mhz is None else (None, *range(1, seeds))
    tried = _implement(sources, "harness", target, out_of_context=False, route=route,
                       seeds=several if seeds > 1 else (None,), placer=placer, enough_mhz=enough_mhz)
    seed, inside = max(tried, key=lambda found: found[1].mhz or 0.0)
    asked = {"target_mhz": target, "routed": route} | ({"seed": seed, "seeds": len(tried)} if len(tried) > 1 else {})
    asked |= {} if placer is None else {"placer": placer}
    asked |= {"sources": subject.digest}
    if subject.alone:
        [(_, area)] = _implement(subject.sources, subject.module, target, out_of_context=True, route=route)
        return _figures(area, inside) | asked
    bits = sum(port.width for port in subject.ports if port.name not in _COMMON)
    return _figures(inside, inside) | asked | {"harness_ff": bits}


def yosys_area(subject: Subject) -> dict[str, int]:
    """Cells of a module by yosys, without harness and placing: LUT (four inputs; a pair for two bits of carry), FF,
    block RAM of 18 Kbit, LUT RAM of 16x4 bits, multipliers of 18x18 bits. Raises `PnrError`."""
    with tempfile.TemporaryDirectory(prefix="sluice-area-") as folder:
        synthesize(subject.sources, subject.module, Path(folder))
        cells = cell_counts(Path(folder))
    lut = cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0)
    return {"lut": lut, "ff": cells.get("TRELLIS_FF", 0), "block_ram": cells.get("DP16KD", 0),
            "lut_ram": cells.get("TRELLIS_DPR16X4", 0), "multipliers": cells.get("MULT18X18D", 0)}


def _implement(
    sources: Mapping[str, str], top: str, target: float, *, out_of_context: bool, route: bool,
    seeds: Iterable[int | None] = (None,), placer: str | None = None, enough_mhz: float | None = None,
) -> list[tuple[int | None, Figures]]:
    """The figures of one netlist with each of `seeds` (None: that of the tool), up to one with a clock that is enough.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-area-") as name:
        netlist = synthesize(sources, top, Path(name))
        check_fits(netlist, top, ECP5_85_DEVICE)
        found: list[tuple[int | None, Figures]] = []
        for seed in seeds:
            figures = place_and_route(netlist, out_of_context=out_of_context, target_mhz=target, route=route,
                                      seed=seed, placer=placer)
            found.append((seed, figures))
            if enough_mhz is not None and (figures.mhz or 0.0) >= enough_mhz:
                break
        return found


def _figures(area: Figures, speed: Figures) -> dict[str, Any]:
    names = ("lut", "ff", "block_ram", "multipliers", "lut_ram")
    critical = {"critical": speed.critical} if speed.critical and not speed.met else {}
    return {name: getattr(area, name) for name in names} | {"mhz": round(speed.mhz or 0.0, 2)} | critical


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line. Results of subjects that are not measured this time are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.area", description="Area and MHz on an ECP5-85.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(SUBJECTS)}")
    parser.add_argument("--array", default="4x4", metavar="RxC", help="size of the array (default 4x4)")
    parser.add_argument("--place-only", action="store_true", help="do not route; MHz are an estimate then")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="take the fastest of N placements")
    parser.add_argument("--placer", choices=PLACERS, help="nextpnr's placer (default: that of the tool)")
    parser.add_argument("--intel", action="store_true", help=f"cells of {', '.join(INTEL_SUBJECTS)} on an Intel FPGA")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT, metavar="FILE")
    options = parser.parse_args(arguments)
    subjects = INTEL_SUBJECTS if options.intel else SUBJECTS
    unknown = set(options.names) - set(subjects)
    if unknown:
        raise SluiceError(f"there is no '{min(unknown)}'; there are {', '.join(subjects)}")
    spec = FabricSpec.parse(options.array)
    names = options.names or list(subjects)
    if options.intel:
        _measure_intel(names, options.output)
    else:
        how = {"route": not options.place_only, "seeds": options.seeds, "placer": options.placer}
        _measure_all(names, spec, options.output, how)


def _measure_all(names: Sequence[str], spec: FabricSpec, output: Path, how: Mapping[str, Any]) -> None:
    """`how`: arguments of `measure`."""
    console = Console(highlight=False)
    results = kept_results(output, "modules")
    for name in names:
        label = f"array_{spec}" if name == "array" else name
        with console.status(f"{label} …"):
            results[label] = measure(SUBJECTS[name](spec), **how)
        _write(output, {"modules": results, "tools": _versions("yosys", "nextpnr-ecp5")})
    console.print(printed_area_table("module", results))


def _measure_intel(names: Sequence[str], output: Path) -> None:
    console = Console(highlight=False)
    results = kept_results(output, "intel")
    for name in names:
        with console.status(f"{name} …"):
            results[name] = measure_intel(name)
        _write(output, {"intel": results, "intel_family": FAMILY})
    table = Table("module", *next(iter(results.values())))
    for name, counts in results.items():
        table.add_row(name, *map(str, counts.values()))
    console.print(table)


def _versions(*tools: str) -> dict[str, str]:
    return {tool: tool_version(tool) for tool in tools}


def _write(output: Path, parts: Mapping[str, Any]) -> None:
    """Renew `parts` of the results and keep the others."""
    kept = {name: kept_results(output, name) for name in ("modules", "tools", "intel", "intel_family")}
    document = {
        "device": f"{ECP5_85_DEVICE}, speed grade 6",
        "target_mhz": _TARGET_MHZ,
        **{name: part for name, part in kept.items() if part},
        **parts,
    }
    write_atomic(output, json.dumps(document, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
