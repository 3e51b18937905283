"""Floating-point operators between registers of an ECP5-85: LUT, multipliers and MHz.

    python -m benchmarks.float_operators [NAME ...] [-o benchmarks/results/float_operators.json]

An operator is one component with its latency in cycles, subnormal numbers and rounding to nearest even, placed and
routed between shift registers (`benchmarks.area.Harness`) with a plain flow. LUT, FF and multipliers are yosys', of the
operator alone; MHz are of the whole, the faster of two placements.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.area import Subject, yosys_area
from benchmarks.area import measure as place_and_route_subject
from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from hw.dataflow.floating import FLOAT_LATENCY
from hw.ecp5.pnr import ECP5_85_DEVICE
from hw.float import Float, FloatOperator, FloatSpec
from hw.verilog import convert

__all__ = ["FORMATS", "OPERATORS", "float_operator_table", "main", "measure"]

FORMATS = {"bfloat16": Float(8, 7), "float16": Float(5, 10), "float32": Float(8, 23), "float64": Float(11, 52)}
_LATENCIES = {"bfloat16": (2, 4), "float16": (2, 4), "float32": (3, 6, 9), "float64": (9,)}
_SHORT_SUM = 4
"""Of a sum of float32 in arrays for recurrences (`benchmarks.systolic_lu`)."""
_SLOW_LATENCIES = (11, 30)
"""Of quotients and roots of float32: a register for two or three bits, and one for every bit."""

OPERATORS: Mapping[str, FloatSpec] = {
    **{f"{op} {name} {latency}": FloatSpec(op, form, latency)
       for name, form in FORMATS.items() for op in ("add", "mul", "mad") for latency in _LATENCIES[name]},
    f"add float32 {_SHORT_SUM}": FloatSpec("add", FORMATS["float32"], _SHORT_SUM),
    **{f"{op} float32 {cycles}": FloatSpec(op, FORMATS["float32"], cycles)
       for op in ("div", "sqrt") for cycles in _SLOW_LATENCIES},
    **{f"{op} float32 {FLOAT_LATENCY[op]}": FloatSpec(op, FORMATS["float32"], FLOAT_LATENCY[op])
       for op in ("exp", "log", "sin")},
}
"""Operators by operation, format and cycles."""


def measure(name: str) -> dict[str, Any]:
    """Area and MHz of one operator. Raises `PnrError`."""
    subject = Subject("operator", {"operator.v": convert(FloatOperator(OPERATORS[name]), "operator")}, alone=False,
                      target_mhz=250.0)
    return yosys_area(subject) | {"mhz": place_and_route_subject(subject, seeds=2)["mhz"]}


def float_operator_table() -> str:
    """The committed results as Markdown."""
    results = read_results("float_operators")
    rows = [[*name.split(), f["lut"], f["ff"], f["multipliers"], f["mhz"]]
            for name, f in results["operators"].items()]
    return ("Floating-point operators with subnormal numbers, rounding to nearest even, routed on an ECP5-85 "
            "(`python -m benchmarks.float_operators`). Published for single precision with subnormal numbers on a "
            "Kintex-7 (tables of six inputs, another internal format): an adder of 261 LUT at 319 MHz, a multiplier of "
            "235 LUT and two DSP48E at 305 MHz (Ehliar 2014).\n\n"
            + table(["operation", "format", "cycles", "LUT", "FF", "multipliers 18x18", "MHz"], rows))


@reports_errors
def main() -> None:
    """Measure and write."""
    measurement = Measurement("float_operators", "operators", "operator", OPERATORS)
    options = measurement.parse(measurement.parser(__doc__))
    measurement.run(options, measure, {"device": f"{ECP5_85_DEVICE}, speed grade 6"})


if __name__ == "__main__":
    sys.exit(main())
