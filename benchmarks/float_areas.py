"""The model of the area of floating-point operators: fitted to yosys, and tested on formats that it was not fitted to.

    python -m benchmarks.float_areas [--missing] [-o benchmarks/results/float_areas.json]

Synthesizes operators for ECP5, those of `TRAINING` and those of `HELD_OUT`; fits LUTs and registers to the first (the
largest relative error and the mean one, added, as small as possible; no coefficient is negative), writes
``hw/float/area_model.json``, and records the errors for both. With `--missing` only cells that are not recorded are
counted. Operators of functions (`exp` and others) have no model.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.area import Subject, yosys_area
from benchmarks.command import reports_errors
from benchmarks.fits import fit_linear
from benchmarks.markdown import table
from benchmarks.results import RESULTS, read_results, write_results
from hw.files import write_atomic
from hw.float import Float, FloatOperator, FloatSpec, Integer
from hw.float.area import AREA_KINDS, LUT_TERMS, MODEL_FILE, area_kind, count_registers, lut_terms
from hw.verilog import convert

__all__ = ["HELD_OUT", "TRAINING", "float_area_table", "main"]

_RESULT = RESULTS / "float_areas.json"

_FORMATS = {"bfloat16": Float(8, 7), "float16": Float(5, 10), "float32": Float(8, 23), "float64": Float(11, 52),
            "6.13": Float(6, 13), "7.16": Float(7, 16)}
"""The last two by bits of exponent and mantissa."""

_SHORT = {"bfloat16": (2, 4), "float16": (2, 4), "float32": (3, 6, 9)}
_LONG = {"bfloat16": (12,), "float16": (12,), "float32": (30,), "float64": (30,)}
_CYCLES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "add": _SHORT | {"float32": (3, 6, 9, 12), "float64": (12,)}, "mul": _SHORT | {"float64": (8,)}, "mad": _SHORT,
    "div": _LONG, "sqrt": _LONG, **{op: {"bfloat16": (cycles,), "float32": (cycles,), "float64": (cycles,)}
                                    for op, cycles in (("min", 2), ("lt", 1))},
}
_CASTS = (("int8", "bfloat16"), ("int32", "float32"), ("int32", "float64"), ("bfloat16", "int32"),
          ("float32", "int32"), ("float64", "int8"), ("float16", "float32"), ("float32", "float64"),
          ("float32", "bfloat16"), ("float64", "float32"))
_CAST_CYCLES = 4


def _form(name: str) -> Float | Integer:
    return Integer(int(name.removeprefix("int"))) if name.startswith("int") else _FORMATS[name]


def _operators(cycles: Mapping[str, Mapping[str, tuple[int, ...]]], casts: Sequence[tuple[str, str]]
               ) -> dict[str, FloatSpec]:
    found = {f"{op} {name} {count}": FloatSpec(op, _FORMATS[name], count) for op, forms in cycles.items()
             for name, counts in forms.items() for count in counts}
    return found | {f"{source} to {to}": FloatSpec("cast", _form(source), _CAST_CYCLES, _form(to))
                    for source, to in casts}


TRAINING: Mapping[str, FloatSpec] = _operators(_CYCLES, _CASTS)
"""Operators by operation, format and cycles."""

HELD_OUT: Mapping[str, FloatSpec] = _operators(
    {"add": {"6.13": (12,), "7.16": (6,)}, "mul": {"6.13": (8,), "7.16": (8,)}, "mad": {"6.13": (14,)},
     "div": {"7.16": (30,)}}, (("int32", "7.16"),))
"""What the model has not seen."""


def _measured(spec: FloatSpec) -> dict[str, int]:
    cells = yosys_area(Subject("operator", {"operator.v": convert(FloatOperator(spec), "operator")}))
    return {"luts": cells["lut"] + 4 * cells["lut_ram"], "flip_flops": cells["ff"], "block_ram": cells["block_ram"],
            "multipliers": cells["multipliers"]}


def _known(path: Path) -> dict[str, dict[str, int]]:
    """The recorded cells."""
    try:
        results = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return {name: row["measured"] for group in _GROUPS for name, row in results.get(group, {}).items()}


_GROUPS = {"training": TRAINING, "held out": HELD_OUT}


def _fitted(measured: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Any]]:
    """Coefficients by kind: of LUTs, and of registers."""
    luts: dict[str, dict[str, float]] = {}
    registers: dict[str, float] = {}
    for kind in AREA_KINDS:
        names = [name for name, spec in TRAINING.items() if area_kind(spec) == kind]
        luts[kind] = fit_linear([lut_terms(TRAINING[name]) for name in names],
                                [measured[name]["luts"] for name in names], LUT_TERMS)
        counted = [{"bits": float(count_registers(TRAINING[name])[0])} for name in names]
        registers[kind] = fit_linear(counted, [measured[name]["flip_flops"] for name in names], ("bits",))["bits"]
    return {"luts": luts, "registers": registers}


def _compared(spec: FloatSpec, measured: dict[str, int], model: Mapping[str, Any]) -> dict[str, Any]:
    """What the model says beside what there is."""
    kind, (bits, multipliers) = area_kind(spec), count_registers(spec)
    found = {"luts": round(sum(model["luts"][kind][name] * value for name, value in lut_terms(spec).items())),
             "flip_flops": round(model["registers"][kind] * bits), "multipliers": multipliers}
    return {"measured": measured, "model": found,
            "error": {name: round(found[name] / measured[name] - 1, 4) for name in ("luts", "flip_flops")}}


def float_area_table() -> str:
    """The committed results as Markdown: the largest and the mean error of each kind."""
    results = read_results("float_areas")
    rows = []
    for kind in AREA_KINDS:
        cells: list[object] = [kind]
        for group, specs in _GROUPS.items():
            found = [results[group][name]["error"] for name, spec in specs.items() if area_kind(spec) == kind]
            cells.append(len(found))
            for figure in ("luts", "flip_flops"):
                errors = [abs(error[figure]) for error in found]
                cells.append(f"{100 * sum(errors) / len(errors):.1f} / {100 * max(errors):.1f}" if errors else "-")
        rows.append(cells)
    head = ["operation", "operators fitted to", "LUT, error %", "FF, error %", "held out", "LUT, error %",
            "FF, error %"]
    return ("Model of the area of floating-point operators against yosys' cells on ECP5 "
            "(`python -m benchmarks.float_areas`): mean and largest error, in per cent, of the formats that it is "
            "fitted to, bfloat16 to float64, and of two others, with 6 and 13 and with 7 and 16 bits of exponent and "
            "mantissa. Multipliers are counted, exactly.\n\n" + table(head, rows))


@reports_errors
def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT)
    options = parser.parse_args()
    measured = _known(options.output) if options.missing else {}
    every = {**TRAINING, **HELD_OUT}
    for name in track([name for name in every if name not in measured], console=Console(stderr=True)):
        measured[name] = _measured(every[name])
        print(name, measured[name], flush=True)
        write_results(options.output, {group: {name: {"measured": measured[name]} for name in own if name in measured}
                                       for group, own in _GROUPS.items()})
    model = _fitted(measured)
    write_atomic(MODEL_FILE, json.dumps({"fitted by": "benchmarks.float_areas", "coefficients": model}, indent=1)
                 + "\n")
    write_results(options.output, {group: {name: _compared(spec, measured[name], model) for name, spec in own.items()}
                                   for group, own in _GROUPS.items()})


if __name__ == "__main__":
    sys.exit(main())
