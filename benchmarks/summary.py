"""The two tables of README: one that helps to choose a target, and ten figures with the command that repeats each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.dataflow_tables import waited
from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["PROGRAM", "headline_table", "summary_tables", "target_choice_table"]

PROGRAM = "gaussian"
"""The program that the table of targets compares."""

CLASSES = {
    "cgra": "loop nests with (quasi-)affine accesses: stencils, convolutions, products, eliminations, tables; 16 and "
            "32 bits, bfloat16 by option",
    "fpga": "the same programs, gathers, scatters, floating-point numbers, without an array: a circuit for one program",
    "dataflow": "what `fpga` takes; sizes in registers (`--sizes`)",
    "systolic": "one kernel of products and sums in tiles, in floating point, too, or one uniform recurrence (LU and "
                "others)",
    "vector": "numpy expressions and C loop nests of 8, 16 and 32 bits, `float` by option; other programs without new "
              "hardware",
}
"""What each target takes, in one line; the whole list is docs/targets.md."""


def summary_tables() -> str:
    """Both tables as Markdown."""
    return f"{target_choice_table()}\n\n{headline_table()}"


def target_choice_table() -> str:
    """A row for each target: class of programs, and cycles, area, clock rate and compile time of `PROGRAM`."""
    results = read_results("targets")
    entries, size = results["programs"][PROGRAM], results["image"]
    head = ["target", "programs", "cycles", "LUT", "MHz", "compile s"]
    rows = [[f"`{name}`", CLASSES[name], _cycles(entries[name]), entries[name]["area"]["lut"],
             entries[name]["mhz"]["mhz"], entries[name]["compile seconds"]] for name in CLASSES]
    text = (f"`{PROGRAM}` on an image of {size}×{size} ([all programs](docs/figures.md); "
            "`python -m benchmarks.targets`). Cycles from start to done in RTL, transfers over a 64-bit port of "
            "latency 20 included; in brackets the target's lower bound. LUT and MHz on an ECP5, by yosys and "
            "nextpnr; `cgra` and `vector` are one circuit for all programs (an array of 8×8 tiles, MHz of its slowest "
            "tile; four lanes with their scalar core).")
    return f"{text}\n\n{table(head, rows)}"


def _cycles(entry: dict[str, Any]) -> str:
    return f"{waited(entry)} ({entry['bound']})"


def headline_table() -> str:
    """Ten figures, measured in simulation or by place and route, each with the command that measures it."""
    rows = [[what, figure, f"`python -m benchmarks.{command}`"] for what, figure, command in _headlines()]
    return table(["figure", "measured", "again with"], rows)


def _headlines() -> Iterator[tuple[str, str, str]]:
    yield from _array_headlines()
    yield from _pipeline_headlines()
    yield from _systolic_headlines()
    yield from _vector_headlines()


def _array_headlines() -> Iterator[tuple[str, str, str]]:
    applications = read_results("applications")["applications"]
    names = {"gaussian": "3×3 blur of 64×64 pixels", "harris": "Harris corners", "resnet_layer": "a ResNet layer"}
    for name, what in names.items():
        figures = applications[name]["pub"]
        clock = figures["clock cycles start to done"]
        yield (f"{what} on the {figures['array']} array",
               f"{_against(figures)}; {clock} from start to done, transfers and stalls included", "applications")
    unrolled = read_results("unrolled")["applications"]["gaussian"]
    yield (f"the blur unrolled {unrolled['factor']} times", _against(unrolled), "unrolled")


def _pipeline_headlines() -> Iterator[tuple[str, str, str]]:
    blur = read_results("fpga")["applications"]["gaussian"]
    yield ("the blur as an FPGA pipeline, without DMA", f"{_against(blur['cycles'])}; {blur['area']['lut']} LUT, "
           f"{blur['mhz']} MHz", "fpga")
    product = read_results("dataflow")["matmul"]["P=1"]
    yield (f"product of {product['N']}×{product['N']} matrices as a dataflow engine",
           f"{product['cycles simulated']} cycles of {product['ideal ticks']} ideal; {product['wall cycles']} with "
           "transfers and random stalls", "dataflow")


def _systolic_headlines() -> Iterator[tuple[str, str, str]]:
    case = read_results("systolic")["cases"]["MM 13x16 x 8"]
    yield ("matrix product on a 13×16 systolic array, 8 lanes, transfers included",
           f"{case['cycles']} cycles, {100 * case['share']:.1f} % of peak", "systolic")
    size, figures = list(read_results("systolic_lu")["sizes"].items())[-1]
    yield (f"LU of {size}×{size} integers, transfers included", f"{figures['cycles']} cycles", "systolic_lu")
    area = read_results("systolic_area")["8x8 int8"]
    yield "8×8 systolic system of bytes, routed", f"{area['lut']} LUT, {area['mhz']} MHz", "systolic_area"


def _vector_headlines() -> Iterator[tuple[str, str, str]]:
    figures = read_results("vector")["benchmarks"]["fir"]["word"]["V4"]
    yield ("the FIR filter on four vector lanes", f"{figures['cycles']} cycles (bound {figures['bound']}), "
           f"{figures['speed-up']} times as fast as the scalar core", "vector")


def _against(figures: dict[str, Any]) -> str:
    return f"{figures['cycles simulated']} cycles (bound {figures['lower bound']})"
