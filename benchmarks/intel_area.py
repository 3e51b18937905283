"""Area of the vector processor on an Intel FPGA with adaptive logic modules, as yosys' `synth_intel_alm` maps it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from hw.ecp5.pnr import cell_counts, run_tool
from hw.soc.system import SYSTEM_MODULE, emit_vector_system
from hw.vector_lanes.spec import VectorSpec

__all__ = ["FAMILY", "INTEL_SUBJECTS", "intel_counts", "measure_intel"]

FAMILY = "cyclonev"

_CELLS = {
    "aluts": r"MISTRAL_ALUT(\d|_ARITH)",
    "ff": r"MISTRAL_FF",
    "m10k": r"MISTRAL_M10K",
    "mlab_bits": r"MISTRAL_MLAB",
    "multipliers_27x27": r"MISTRAL_MUL27X27",
    "multipliers_18x18": r"MISTRAL_MUL18X18",
    "multipliers_9x9": r"MISTRAL_MUL9X9",
}
"""Figures, and the cells that count for each. A MISTRAL_MLAB is one bit wide and 32 words deep."""


def _vector_system(lanes: int) -> Callable[[], Mapping[str, str]]:
    return lambda: emit_vector_system(VectorSpec(lanes=lanes))


INTEL_SUBJECTS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    f"vector_{lanes}": _vector_system(lanes) for lanes in (4, 16)
}
"""What is measured, and its Verilog by file name."""


def measure_intel(name: str) -> dict[str, int]:
    """Synthesize one of `INTEL_SUBJECTS` and count its cells. Raises `PnrError`.

    Module by module, so that lanes and banks are synthesized once: nothing is optimized across their borders.
    """
    sources = INTEL_SUBJECTS[name]()
    with tempfile.TemporaryDirectory(prefix="sluice-intel-") as directory:
        for file, text in sources.items():
            (Path(directory) / file).write_text(text)
        read = "".join(f"read_verilog {file}; " for file in sorted(sources))
        synthesis = f"synth_intel_alm -family {FAMILY} -noflatten -noiopad -noclkbuf -top {SYSTEM_MODULE}"
        run_tool("yosys", ["-q", "-p", f"{read}{synthesis}; tee -q -o cells.json stat -json"], Path(directory))
        return intel_counts(cell_counts(Path(directory)))


def intel_counts(cells: Mapping[str, int]) -> dict[str, int]:
    """Figures out of the numbers of cells by type."""
    return {
        name: sum(count for cell, count in cells.items() if re.fullmatch(pattern, cell.lstrip("\\")))
        for name, pattern in _CELLS.items()
    }
