"""How much memory each buffer of a stencil takes, beside the words that are live in it.

    python -m benchmarks.storage [APP ...] [-o benchmarks/results/storage.json]

The arrays have small memories: a description file with a `depth` of 32 wide words, 128 words of 16 bits, and, where a
program has tables that are larger, one column of memories that hold these (`mem_depths`). With names of applications,
only those are measured, and the results there are of the others are kept.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import compiler
from benchmarks.checks import check_run
from benchmarks.command import Measurement, reports_errors
from compiler.bind.cgra.design import CgraDesign
from compiler.frontend.apps import load
from hw.fabric.spec import FabricSpec

__all__ = ["STENCILS", "Stencil", "main", "measure"]


@dataclass(frozen=True)
class Stencil:
    """The array that an application is measured on: size, wide words of the memories of each column of them, simulator
    (None: no simulation, cycles are those of the compiled and validated design)."""

    array: str = "8x4"
    depths: tuple[int, ...] = (32,)
    simulator: str | None = "verilator"


STENCILS = {
    **dict.fromkeys(("gaussian", "conv_3_3", "cascade", "brighten_blur", "upsample", "gaussian_pyramid", "sobel"),
                    Stencil(simulator=None)),
    "gaussian_tiled": Stencil("8x8", simulator=None),
    "harris": Stencil("16x8", simulator=None),
    "unsharp": Stencil("16x32", (*[32] * 7, 64), None),
    "laplacian_pyramid": Stencil("16x32", simulator=None),
    "camera_pipeline": Stencil("16x32", (*[32] * 7, 256), None),
}
_BANK_WORDS = 32768
"""Words in each half of a bank: what a 64 x 64 tile of every application fits in."""


def measure(app: str) -> dict[str, Any]:
    """Storage of all buffers of an application. Raises `FigureError` if it computes something else in simulation."""
    stencil = STENCILS[app]
    spec = FabricSpec.parse(stencil.array)
    text = (f"rows = {spec.rows}\ncolumns = {spec.columns}\nmem_depths = {list(stencil.depths)}\n"
            f"[mem]\ndepth = {max(stencil.depths)}\n[glb]\nhalf_words = {_BANK_WORDS}\n")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "array.toml"
        file.write_text(text)
        program = load(app)
        design = compiler.compile(program, hardware=str(file))
    assert isinstance(design, CgraDesign)
    cycles = design.predicted_cycles
    if stencil.simulator:
        generator = np.random.default_rng(0)
        inputs = {a.name: generator.integers(0, 256, a.shape) for a in program.inputs}
        run = design.simulate(inputs, stencil.simulator)
        check_run(f"{app} with small memories", design, run, program, inputs)
        cycles = run.cycles
    tiles = Counter(tile.depth * design.spec.mem.fetch_width for tile in design.application.memories)
    buffers = {b.name: {"words live": b.live_words, "words of regions": b.allocated_words, "memories": len(b.units)}
               for b in design.storage}
    return {"array": stencil.array, "memories by words": {str(words): tiles[words] for words in sorted(tiles)},
            "cycles": cycles, "simulator": stencil.simulator or "model", "buffers": buffers}


@reports_errors
def main() -> None:
    """Measure what is asked for and write the results."""
    Measurement("storage", "stencils", "application", STENCILS).command(__doc__, measure)


if __name__ == "__main__":
    sys.exit(main())
