"""Memories become block RAM on the real flow: every kind of memory tile, the banks, the on-chip main memory."""

from dataclasses import replace

import pytest
from amaranth.hdl import Module, Signal

from hw.boards.memory import OnChipMemory
from hw.ecp5.pnr import PnrError, cell_counts, find_tool, synthesize
from hw.fabric.array import emit_tiles
from hw.fabric.elastic_bank import build_bank
from hw.fabric.spec import FabricSpec
from hw.verilog import convert

BLOCK_BYTES = 2048  # 16 Kbit of data
SPEC = FabricSpec(1, 4)


def _available():
    try:
        find_tool("yosys")
    except PnrError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _available(), reason="yosys is not installed: pip install 'sluice[pnr]'")


def block_rams(sources, top, directory):
    synthesize(sources, top, directory, memories_only=True)
    counts = cell_counts(directory)
    return counts.get("DP16KD", 0) + counts.get("PDPW16KD", 0)


@pytest.mark.parametrize(("kind", "depth"), [("dual-port", 512), ("pub", 1024)])
def test_memory_tile(tmp_path, kind, depth):
    """A tile of 4 KiB takes two blocks, one of 8 KiB four. (`tests/memtile/test_memtile_synthesis.py`: in detail.)"""
    spec = replace(SPEC, mem=replace(SPEC.mem, kind=kind, depth=depth))
    sources = {"mem_tile.v": emit_tiles(spec)["mem_tile.v"]}
    assert block_rams(sources, "mem_tile", tmp_path) == 2 * spec.mem.capacity_words // BLOCK_BYTES


def test_global_buffer_bank(tmp_path):
    spec = replace(SPEC, glb=replace(SPEC.glb, half_words=2048))
    sources = {"bank.v": convert(build_bank(spec), "bank")}
    assert block_rams(sources, "bank", tmp_path) == 2 * 2 * 2048 // BLOCK_BYTES


def test_main_memory(tmp_path):
    text = convert(OnChipMemory(4096, bytes(range(256)) * 16), "memory")
    assert block_rams({"memory.v": text}, "memory", tmp_path) == 4096 // BLOCK_BYTES


def test_registers_that_are_kept_stay_apart(tmp_path):
    """Of four registers of the same bit one is left, but those whose signals have the attribute `keep` all stay."""
    m, bit = Module(), Signal()
    registers = [Signal(name=f"register{k}", reset_less=True, attrs={"keep": 1} if k < 3 else {}) for k in range(4)]
    m.d.sync += [register.eq(bit) for register in registers]
    ends = [Signal(name=f"end{k}") for k in range(4)]
    m.d.comb += [end.eq(register) for end, register in zip(ends, registers, strict=True)]
    synthesize({"top.v": convert(m, "top", ports=[bit, *ends])}, "top", tmp_path)
    assert cell_counts(tmp_path)["TRELLIS_FF"] == 3
