"""The tables of the dataflow target, made from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.area_tables import area_table
from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["dataflow_tables", "target_tables", "waited"]


def dataflow_tables() -> str:
    """All tables as Markdown."""
    results = read_results("dataflow")
    return "\n\n".join([_programs(results), _matrix(results), *_area(results)])


def _programs(results: dict[str, Any]) -> str:
    head = ["program", "cycles", "bound", "ratio", "words in / out", "words kept / live", "C to Verilog s"]
    rows = [[" ".join([name, *(f"{k}={v}" for k, v in f["sizes"].items())]), f["cycles predicted"], f["bound"],
             f["ratio"], f"{f['words in']} / {f['words out']}", f"{f['words kept']} / {f['words live']}",
             f["C to Verilog seconds"]]
            for name, f in results["programs"].items()]
    text = ("Programs on the dataflow engine, at the sizes in their files where none is given "
            "(`python -m benchmarks.dataflow`); cycles without stalls, predicted and equal in simulation "
            f"({results['simulator']}, random stalls). The bound is one firing per tick of the busiest node with the "
            "ticks before and after it, or the longest chain of operators.")
    return f"{text}\n\n{table(head, rows)}"


def _matrix(results: dict[str, Any]) -> str:
    rows = [[name, f["N"], f["ideal ticks"], f["cycles predicted"], f"{100 * f['over ideal']:.1f} %",
             f["words kept"]]
            for name, f in results["matmul"].items()]
    text = ("The matrix product with fill and drain, against N³/P ticks (12 N³ where one sum at a time waits for its "
            "adder).")
    return f"{text}\n\n{table(['matrix product', 'N', 'ideal', 'cycles', 'over', 'words kept'], rows)}"


def _area(results: dict[str, Any]) -> list[str]:
    if "area" not in results:
        return []
    text = ("Kernel, DMA and registers on an ECP5-85, speed grade 6, by nextpnr (`python -m benchmarks.dataflow "
            "--area`); flip-flops include those of the harness.")
    return [f"{text}\n\n{area_table('program', results['area'])}"]


def target_tables() -> str:
    """The same programs on every target."""
    results = read_results("targets")
    names = results["targets"]
    rows = []
    for program, entries in results["programs"].items():
        rows.append([program, *(_entry(entries.get(name)) for name in names)])
    text = ("The same programs on every target: clock cycles from start to done, transfers included, and in brackets "
            "their ratio to the target's lower bound and how many of them are not stalled (`python -m "
            "benchmarks.targets`; a 64-bit port, latency 20). Measured in RTL, but for those marked *model*. A dash "
            "is a program that the target does not take (the reasons are in "
            "`benchmarks/results/targets.json`), an empty field one that was not tried. "
            "The array has 8x8 tiles, or 16x16 for programs that need more.")
    return f"{text}\n\n{table(['program', *names], rows)}{_target_hardware(results)}"


def _target_hardware(results: dict[str, Any]) -> str:
    """Area and clock rates, if they have been measured."""
    names, programs = results["targets"], results["programs"]
    if not any({"area", "mhz"} & entry.keys() for entries in programs.values() for entry in entries.values()):
        return ""
    rows = [[program, *(_hardware(entries.get(name) or {}) for name in names)] for program, entries in programs.items()]
    text = ("Their hardware on an ECP5, DMA and registers included: LUT / FF / block RAM / multipliers by yosys, and "
            "MHz routed (one placement each). "
            "The array and the vector processor are the same for every program: area of all tiles, or of the "
            "processor with its scalar core, and MHz of the slowest tile or of the processor by "
            "`python -m benchmarks.area`.")
    return f"\n\n{text}\n\n{table(['program', *names], rows)}"


def _hardware(figures: dict[str, Any]) -> str:
    if "refused" in figures:
        return "-"
    if not figures:
        return ""
    area, speed = figures.get("area", {}), figures.get("mhz", {})
    counts = " / ".join(str(area[name]) for name in ("lut", "ff", "block_ram", "multipliers") if name in area)
    if not area and not speed:
        return "not measured"
    rate = f"{speed['mhz']} MHz" if "mhz" in speed else speed.get("failed", "not routed")
    return f"{counts or area.get('failed', 'not synthesized')}, {rate}"


def _entry(figures: dict[str, Any] | None) -> str:
    if figures is None or "refused" in figures:
        return "" if figures is None else "-"
    cycles = waited(figures)
    mark = "" if "start to done" in figures else "model "
    return f"{mark}{cycles} ({cycles / figures['bound']:.2f}; {figures.get('unstalled', figures['cycles'])})"


def waited(figures: dict[str, Any]) -> int:
    """Cycles from start to done: those of a simulation, else those predicted."""
    return figures.get("start to done", figures["start to done predicted"])
