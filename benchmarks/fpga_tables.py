"""The table of pipelines without an array, made from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.results import RESULTS, read_results

__all__ = ["fpga_table"]

_AREA = {"LUT": "lut", "FF": "ff", "block RAM": "block_ram", "LUT RAM": "lut_ram", "multipliers": "multipliers"}


def fpga_table() -> str:
    """The table, or nothing if nothing has been measured."""
    if not (RESULTS / "fpga.json").exists():
        return ""
    results = read_results("fpga")
    head = ["pipeline", "cycles simulated", "predicted", "bound", "ratio", "words out per cycle",
            "words live / allocated", *_AREA, "MHz", "compile s"]
    rows = [_row(name, figures) for name, figures in results["applications"].items()]
    text = (f"Target fpga, no array: a pipeline for each application, 64x64 ({results['device']}; RTL simulation on "
            "Icarus, `python -m benchmarks.fpga`). Area by yosys is that of the pipeline without DMA engines; "
            "*_system* is with them and the control registers. MHz are nextpnr's, routed, between registers at all "
            "ports. A block RAM has 18 Kbit, a LUT RAM 16x4 bits. Words allocated count memories and the registers of "
            "their chains.")
    return f"{text}\n\n{table(head, rows)}"


def _row(name: str, figures: dict[str, Any]) -> list[Any]:
    f, area = figures["cycles"], figures.get("area", {})
    return [name, f["cycles simulated"], f["cycles predicted"], f["lower bound"], f["ratio"], f["words out per cycle"],
            f"{f['words live']} / {f['words allocated']}", *(area.get(key, "-") for key in _AREA.values()),
            figures.get("mhz", "-"), f["compile seconds"]]
