"""Area, MHz and cycles of the programs whose addresses, conditions or ends of loops depend on data (`apps/irregular`),
each as hardware of its own.

    python -m benchmarks.irregular [--missing] [-o benchmarks/results/irregular.json] ["PROGRAM, TARGET" ...]

Kernel, DMA and registers, placed and routed on an ECP5-85, from register to register. Where a placement has a
clock of less than 110 MHz, up to three more follow, and the fastest counts; where that is less, too, it comes with the
path that is slowest. Cycles from start to done are predicted; `tb/test_irregular.py` compares them with RTL.
Each takes minutes: figures are written after each, and with `--missing` only what has none is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import compiler
from benchmarks.area import measure as measure_area
from benchmarks.command import Measurement, reports_errors
from benchmarks.results import kept_results
from benchmarks.target_area import generated_subject
from compiler.bind.design import Design
from compiler.frontend.c_scop import load_c

__all__ = ["CASES", "GOAL_MHZ", "main", "measure"]

GOAL_MHZ = 110.0
_PLACEMENTS = 4
"""Placements of a design at most, as long as they miss the goal: they differ by some percent."""

_FOLDER = Path(__file__).parents[1] / "apps" / "irregular"
_TARGETS = ("fpga", "dataflow")

CASES = {f"{path.stem}, {target}": (path, target) for path in sorted(_FOLDER.glob("*.c")) for target in _TARGETS}


def measure(path: Path, target: str) -> dict[str, Any]:
    """Figures of one program on one target, or why it is refused there. Raises `PnrError`."""
    design: Design = compiler.compile(load_c(path), target=target)
    subject = generated_subject(design)
    assert subject is not None
    area = measure_area(subject, seeds=_PLACEMENTS, enough_mhz=GOAL_MHZ)
    if area["mhz"] >= GOAL_MHZ:
        area.pop("critical", None)
    return {"cycles predicted": design.predicted_start_to_done, **area}


@reports_errors
def main() -> None:
    """Measure what is asked for and write the results."""
    measurement = Measurement("irregular", "programs", "case", CASES)
    parser = measurement.parser(__doc__)
    parser.add_argument("--missing", action="store_true", help="only what has no figures yet")
    options = measurement.parse(parser)
    if options.missing:
        known = kept_results(options.output, "programs")
        options.names = [name for name in options.names or CASES if name not in known]
        if not options.names:
            print(f"{options.output} has figures of all")
            return
    measurement.run(options, lambda name: measure(*CASES[name]), {"device": "LFE5U-85F-6", "goal_mhz": GOAL_MHZ})


if __name__ == "__main__":
    sys.exit(main())
