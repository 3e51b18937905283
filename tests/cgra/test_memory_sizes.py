"""Memories of several depths in one array: every buffer and table in the smallest in which it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from memory_sizes import MIXED, cross, smoothed_curve

import compiler
from compiler.bind.cgra.check import PhysicalError, check
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.memories import MemoryAllocator
from compiler.bind.cgra.memory_stock import MemoryStock
from compiler.bind.cgra.netlist import Pin
from compiler.bind.cgra.operands import Signal
from compiler.bind.cgra.place import Placement
from compiler.bind.cgra.sites import ArrayTooSmall, Site
from compiler.bind.cgra.validate import validate
from compiler.sched.verify import ValidationError
from hw.designs.hardware import HardwareError, describe_array, load_hardware
from hw.fabric.array import emit_tiles
from hw.fabric.spec import FabricError, FabricSpec
from hw.memtile import MemTileSpec
from hw.ops import Kind


def described(tmp_path: Path, kind: str = "pub", text: str = MIXED) -> str:
    file = tmp_path / "array.toml"
    file.write_text(text.format(kind=kind))
    return str(file)


@pytest.mark.parametrize("kind", ["pub", "dual-port"])
def test_smallest_that_fits(tmp_path: Path, kind: str) -> None:
    """The rows wait in memories of 32 words, the table has one of 256. The validation proves the configuration."""
    design = compiler.compile(smoothed_curve(), hardware=described(tmp_path, kind))
    assert isinstance(design, CgraDesign)
    placement = design.physical.placement
    (table,) = design.application.roms
    assert {tile.depth for tile in design.application.memories} == {8}
    assert all(placement[tile.name].column == 3 for tile in design.application.memories)
    assert placement[table].column == 7


def test_each_depth_is_a_module(tmp_path: Path) -> None:
    hardware = load_hardware(described(tmp_path))
    spec = hardware.array
    assert spec is not None and spec.memories == {8: 2, 64: 2}
    assert {name for name in emit_tiles(spec) if name.startswith("mem")} == {"mem_tile.v", "mem_tile_8.v"}
    again = tmp_path / "again.toml"
    again.write_text(describe_array(spec))
    assert load_hardware(again).array == spec


def test_long_delays_take_the_memories_with_the_fewest_words() -> None:
    """60 cycles: three times 32 words, not 256; where there are only two such, the large one. 300 cycles are more
    than one memory has."""
    for left, cycles, expected in (({8: 9, 64: 9}, 60, [8, 8, 8]), ({8: 2, 64: 9}, 60, [64]),
                                   ({8: 2, 64: 9}, 300, [64, 64]), ({8: 0, 64: 9}, 20, [64])):
        allocator = MemoryAllocator(MemTileSpec(depth=64), shared=True, memories=left)
        allocator.delays("line", Signal(Pin("source", "out"), Kind.WORD), 0, 1000, [cycles])
        assert [tile.depth for tile in allocator.tiles] == expected


def test_stock() -> None:
    stock = MemoryStock.of(MemTileSpec(depth=64), {8: 1, 64: 1})
    assert [stock.take_for(words) for words in (40, 32, 8)] == [64, 8, 64]
    assert MemoryStock.of(MemTileSpec(depth=64), None).depths == [64]


def test_too_few_of_one_size(tmp_path: Path) -> None:
    text = MIXED.replace("rows = 2", "rows = 1")
    with pytest.raises(ArrayTooSmall) as error:
        compiler.compile(smoothed_curve(), hardware=described(tmp_path, text=text))
    assert str(error.value) == ("needs 4 PE tiles, 2 memory tiles of 256 words, 2 streams, 0 memory tiles of 32 words; "
                                "the 1x8 array has 6, 1, 8, 1")


def test_the_run_lasts_until_all_words_are_loaded(tmp_path: Path) -> None:
    """Also those that nothing waits for, or the hardware reports a run that is too short."""
    design = compiler.compile(cross(), hardware=described(tmp_path, "dual-port"))
    assert isinstance(design, CgraDesign)
    assert design.predicted_cycles < design.plan.run_cycles == 7 * 47
    short = replace(design.plan, run_cycles=design.plan.run_cycles - 1)
    with pytest.raises(ValidationError) as error:
        validate(design.parts.program, design.application, design.physical, design.words, short,
                 design.layout.addresses, design.spec)
    assert str(error.value) == f"input a has its last word in cycle {7 * 47 - 1}, the run has {7 * 47 - 1} cycles"


def test_a_memory_in_the_wrong_column_is_found(tmp_path: Path) -> None:
    design = compiler.compile(smoothed_curve(), hardware=described(tmp_path))
    assert isinstance(design, CgraDesign)
    sites = {name: Site(site.row, 10 - site.column) if site.column in (3, 7) and site.row >= 0 else site
             for name, site in design.physical.placement.sites.items()}
    with pytest.raises(PhysicalError, match="cannot be at"):
        check(replace(design.physical, placement=Placement(sites)), design.spec, design.application.netlist)


@pytest.mark.parametrize(("change", "message"), [
    ({"mem_depths": (8, 32)}, "the largest of mem_depths is 32, the depth of memories 64; they have to be the same"),
    ({"mem": MemTileSpec(depth=64, kind="dual-port-pe", inputs=1, outputs=1)},
     "memories of kind 'dual-port-pe' have one depth; leave out mem_depths"),
    ({"mem_depths": (7, 64)}, "memory tile: depth 7 is not a power of two above 1"),
])
def test_impossible_arrays(change: dict[str, object], message: str) -> None:
    spec = FabricSpec(2, 8, mem=MemTileSpec(depth=64), mem_depths=(8, 64))
    with pytest.raises((FabricError, Exception)) as error:
        replace(spec, **change)
    assert str(error.value) == message


def test_depths_are_a_list_of_numbers(tmp_path: Path) -> None:
    for wrong, message in (("mem_depths = 8", "mem_depths: must be a list"),
                           ('mem_depths = [8, "x"]', "mem_depths: 'x' is not possible")):
        text = MIXED.replace("mem_depths = [8, 64]", wrong)
        with pytest.raises(HardwareError) as error:
            compiler.compile(smoothed_curve(), hardware=described(tmp_path, text=text))
        assert str(error.value).endswith(message)
