"""The resource model of systolic arrays: fitted to yosys, and tested on designs that it was not fitted to.

    python -m benchmarks.systolic_resources [--fit-only | --missing] [-o benchmarks/results/systolic_resources.json]

Synthesizes arrays for ECP5, those of `TRAINING` and those of `HELD_OUT`, whole systems with memory port and
registers; fits LUTs and flip-flops to the first (mean and largest relative error, added, are made as small as
possible; the largest alone predicts designs that are left out worse; no coefficient is negative), writes
``compiler/bind/systolic/tuner/resource_model.json``, and records the errors for both.
With `--fit-only` the recorded cell counts are fitted again, with `--missing` after those that are not recorded have
been counted. Operators on floating-point numbers are none of what is fitted (`hw.float.area`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import compiler
from benchmarks.fits import fit_linear
from benchmarks.results import RESULTS, write_results
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.tuner.estimate import Tilings
from compiler.bind.systolic.tuner.resources import FEATURES, MODEL_FILE, evaluate_resources, features, operator_cells
from compiler.bind.systolic.tuner.shapes import Shape
from compiler.frontend.c_scop import load_c
from hw.ecp5.pnr import cell_counts, synthesize
from hw.errors import SluiceError
from hw.files import write_atomic
from hw.systolic.system import SYSTEM_MODULE, emit_system

__all__ = ["HELD_OUT", "TRAINING", "fit", "main"]

_RESULT = RESULTS / "systolic_resources.json"
_APPS = Path(__file__).parents[1] / "apps" / "systolic"

_LINEAR = ("luts", "flip_flops")

Sample = tuple[str, dict[str, int], dict[str, Any]]

TRAINING: tuple[Sample, ...] = (
    ("mm", {"DATA_BITS": 8}, {"space": "i,j", "array": "2x2", "time": "k:8", "simd": "off"}),
    ("mm", {"DATA_BITS": 8}, {"space": "i,j", "array": "4x3", "time": "k:16,i:2,j:2", "simd": "off"}),
    ("mm", {"DATA_BITS": 16}, {"space": "i,j", "array": "2x2", "time": "k:4,i:4,j:2", "simd": "k:4"}),
    ("mm", {"DATA_BITS": 16}, {"space": "i", "array": "5", "time": "k:8,j:8", "simd": "k:2"}),
    ("mm", {"DATA_BITS": 8}, {"space": "i,k", "array": "2x3", "time": "i:2,j:4", "simd": "off"}),
    ("mm", {"DATA_BITS": 8}, {"space": "k", "array": "4", "time": "i:4,j:4", "simd": "j:2"}),
    ("mm", {"DATA_BITS": 16}, {"space": "j,k", "array": "2x2", "time": "i:8,k:2", "simd": "off", "bus_bits": 32}),
    ("cnn", {"DATA_BITS": 8}, {"space": "o,h", "array": "2x2", "time": "w:2,i:2,p:3,q:3", "simd": "i:4"}),
    ("mttkrp", {"DATA_BITS": 8}, {"space": "i,j", "array": "2x3", "time": "k:4,l:8", "simd": "off"}),
    ("pointwise", {"DATA_BITS": 8}, {"space": "o,h", "array": "3x2", "time": "i:4,w:3", "simd": "i:2"}),
    ("quantised_layer", {"DATA_BITS": 8}, {"space": "n,o", "array": "2x2", "time": "i:8,o:2", "simd": "i:2"}),
    ("gemm", {"DATA_BITS": 8}, {"space": "i,j", "array": "3x2", "time": "k:8,i:2", "simd": "off"}),
    ("mm", {"DATA_BITS": 32}, {"space": "i,j", "array": "2x2", "time": "k:4,i:2", "simd": "off"}),
    ("mm", {"DATA_BITS": 8}, {"space": "i,j", "array": "4x4", "time": "k:4,i:2,j:2", "simd": "k:2", "bus_bits": 128}),
    ("residual_layer", {"DATA_BITS": 8}, {"space": "o,h", "array": "2x2", "time": "v:5,p:3,q:3", "simd": "off"}),
    ("mttkrp", {"DATA_BITS": 16}, {"space": "k,l", "array": "2x2", "time": "i:4,j:4", "simd": "off"}),
    ("depthwise", {"DATA_BITS": 16}, {"space": "c,h", "array": "2x3", "time": "w:4,p:3,q:3", "simd": "off"}),
    ("syrk", {"DATA_BITS": 8}, {"space": "i,k", "array": "2x2", "time": "i:2,j:4,k:2", "simd": "off"}),
    ("mm", {"DATA_BITS": 16}, {"space": "i,j", "array": "3x2", "time": "k:8,i:2", "simd": "k:2", "bus_bits": 128}),
    ("mm", {"DATA_BITS": 16}, {"space": "i,j", "array": "2x4", "time": "k:4,j:2", "simd": "k:4", "bus_bits": 128}),
    ("mm", {"DATA_BITS": 8}, {"space": "i,j", "array": "3x3", "time": "k:8", "simd": "k:4", "bus_bits": 256}),
    ("mttkrp", {"DATA_BITS": 16}, {"space": "i", "array": "3", "time": "j:4,k:4,l:4", "simd": "off"}),
    ("cnn", {"DATA_BITS": 16}, {"space": "o", "array": "4", "time": "h:2,w:4,i:2,p:3,q:3", "simd": "off"}),
    ("ttmc", {"DATA_BITS": 16}, {"space": "i", "array": "3", "time": "j:2,k:4,l:4,m:2", "simd": "off"}),
)
"""Application, its macros, options of the target."""

HELD_OUT: tuple[Sample, ...] = (
    ("mm", {"DATA_BITS": 8}, {"space": "i,j", "array": "3x3", "time": "k:8,i:2", "simd": "k:2"}),
    ("cnn", {"DATA_BITS": 8}, {"space": "o,w", "array": "3x2", "time": "i:2,p:3,q:3,h:2", "simd": "off"}),
    ("mttkrp", {"DATA_BITS": 8}, {"space": "i", "array": "4", "time": "j:4,k:4,l:4", "simd": "off"}),
    ("quantised_layer", {"DATA_BITS": 8}, {"space": "n,i", "array": "2x3", "time": "n:2,o:4", "simd": "off"}),
    ("syrk", {"DATA_BITS": 8}, {"space": "i,j", "array": "2x3", "time": "k:8,i:2", "simd": "off"}),
    ("residual_layer", {"DATA_BITS": 8}, {"space": "o,v", "array": "3x2", "time": "h:3,p:3,q:3", "simd": "i:2"}),
    ("ttmc", {"DATA_BITS": 8}, {"space": "i,j", "array": "2x2", "time": "k:3,l:4,m:2", "simd": "off"}),
    ("mm", {"DATA_BITS": 16}, {"space": "i,j", "array": "4x2", "time": "k:4,j:4", "simd": "k:2", "bus_bits": 128}),
    ("trmm", {"DATA_BITS": 8}, {"space": "i,k", "array": "2x3", "time": "i:2,j:3", "simd": "j:2"}),
    ("ttmc", {"FLOAT_BITS": 16}, {"space": "i,j", "array": "2x2", "time": "k:8,l:4,m:2", "simd": "off",
                                  "reassociate": True}),
    ("mm", {"FLOAT_BITS": 32}, {"space": "i,k", "array": "2x2", "time": "i:4,j:8", "simd": "off",
                                "reassociate": True}),
)
"""What the model has not seen: it is fitted to arrays of integers, and knows operators on floating-point numbers from
`hw.float.area`."""


def _compiled(sample: Sample) -> SystolicDesign:
    app, macros, options = sample
    design = compiler.compile(load_c(_APPS / f"{app}.c", **macros), target="systolic", **options)
    if not isinstance(design, SystolicDesign):
        raise SluiceError(f"{app} is no reduction kernel")
    return design


def _tilings(design: SystolicDesign) -> Tilings:
    """The design as the tuner sees it."""
    kernel: Kernel = design.plan.kernel
    choice = design.plan.choice
    times = [choice.time.get(name, 1) for name in kernel.loops]
    shape = Shape(choice.space, choice.array, choice.simd, choice.lanes)
    return Tilings(kernel, shape, np.array([times]), choice.bus_bits, choice.latency)


def _measured(design: SystolicDesign) -> dict[str, int]:
    """Cells on ECP5. A carry cell is two LUTs, a memory of 16 words of 4 bits is four."""
    with tempfile.TemporaryDirectory(prefix="sluice-area-") as folder:
        synthesize(emit_system(design.plan.spec), SYSTEM_MODULE, Path(folder))
        cells = cell_counts(Path(folder))
    luts = cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + 4 * cells.get("TRELLIS_DPR16X4", 0)
    return {"luts": luts, "flip_flops": cells.get("TRELLIS_FF", 0), "block_ram": cells.get("DP16KD", 0),
            "multipliers": cells.get("MULT18X18D", 0)}


def _key(app: str, macros: dict[str, int], options: dict[str, Any]) -> str:
    return json.dumps([app, macros, options])


def _known(path: Path) -> dict[str, dict[str, int]]:
    """The recorded cells by design."""
    rows = json.loads(path.read_text())
    return {_key(row["application"], row["macros"], row["options"]): row["measured"]
            for group in ("training", "held out") for row in rows[group]}


def _row(sample: Sample, known: Mapping[str, dict[str, int]] | None = None) -> dict[str, Any]:
    """What the model of a design takes, and its cells: those that are `known`, or else counted."""
    app, macros, options = sample
    design = _compiled(sample)
    tilings = _tilings(design)
    columns = {name: float(column[0]) for name, column in features(tilings).items()}
    return {"application": app, "macros": macros, "options": options, "features": columns,
            "operators": {name: int(column[0]) for name, column in operator_cells(tilings).items()},
            "measured": (known or {}).get(_key(*sample)) or _measured(design)}


def fit(rows: Sequence[dict[str, Any]], figure: str) -> dict[str, float]:
    """Coefficients of a figure of designs."""
    return fit_linear([row["features"] for row in rows], [row["measured"][figure] for row in rows], FEATURES,
                      [row["operators"][figure] for row in rows])


def _with_errors(rows: Sequence[dict[str, Any]], samples: Sequence[Sample], model: dict[str, dict[str, float]]) -> None:
    """Add what the model says, and by how much it is off, to each row."""
    for row, sample in zip(rows, samples, strict=True):
        found = evaluate_resources(_tilings(_compiled(sample)), model)
        row["model"] = {name: int(getattr(found, name)[0]) for name in row["measured"]}
        row["error"] = {name: round(row["model"][name] / row["measured"][name] - 1, 4) for name in _LINEAR}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--fit-only", action="store_true")
    what.add_argument("--missing", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=_RESULT)
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    known = _known(options.output) if options.fit_only or options.missing else {}
    if options.fit_only and (lacking := [sample for sample in (*TRAINING, *HELD_OUT) if _key(*sample) not in known]):
        raise SluiceError(f"{len(lacking)} designs have not been measured, such as {lacking[0]}: --missing does it")
    groups = [[_row(sample, known) for sample in track(samples, description=name, console=console)]
              for name, samples in (("training", TRAINING), ("held out", HELD_OUT))]
    model = {figure: fit(groups[0], figure) for figure in _LINEAR}
    for rows, samples in zip(groups, (TRAINING, HELD_OUT), strict=True):
        _with_errors(rows, samples, model)
    write_atomic(MODEL_FILE, json.dumps({"fitted by": "benchmarks.systolic_resources", "coefficients": model}, indent=1)
                 + "\n")
    write_results(options.output, {"training": groups[0], "held out": groups[1]})
    _show(groups)
    return 0


def _show(groups: Sequence[Sequence[dict[str, Any]]]) -> None:
    table = Table()
    titles = ("LUT", "model", "error", "FF", "model", "error", "block RAM", "model", "multipliers", "model")
    for title in ("design", *titles):
        table.add_column(title)
    for rows in groups:
        for row in rows:
            measured, model, error = row["measured"], row["model"], row["error"]
            cells = [f"{row['application']} {row['options']['space']} {row['options']['array']}"]
            for name in _LINEAR:
                cells += [str(measured[name]), str(model[name]), f"{error[name]:+.1%}"]
            for name in ("block_ram", "multipliers"):
                cells += [str(measured[name]), str(model[name])]
            table.add_row(*cells)
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
