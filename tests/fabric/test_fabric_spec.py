"""Parameters of the array."""

from __future__ import annotations

from typing import Any

import pytest

from hw.fabric.bank_config import bank_controller
from hw.fabric.spec import FabricError, FabricSpec, GlobalBufferSpec, TileKind
from hw.memtile import MemTileSpec
from hw.pe import PeSpec


def test_a_size_is_rows_by_columns() -> None:
    spec = FabricSpec.parse("16x32")
    assert (spec.rows, spec.columns) == (16, 32)
    assert str(spec) == "16x32"


def test_every_fourth_column_is_memories() -> None:
    spec = FabricSpec.parse("16x32")
    assert (len(spec.tiles(TileKind.PE)), len(spec.tiles(TileKind.MEM))) == (384, 128)
    assert [spec.tile_kind(0, column) for column in range(4)] == [TileKind.PE] * 3 + [TileKind.MEM]
    assert len(spec.tiles()) == 512


def test_banks_are_spread_over_the_columns() -> None:
    assert FabricSpec(2, 4).bank_columns == (0, 1, 2, 3)
    assert FabricSpec(2, 8, glb=GlobalBufferSpec(banks=3)).bank_columns == (0, 2, 5)


def test_numbers_of_banks() -> None:
    single, paired = (FabricSpec(2, 8, glb=GlobalBufferSpec(banks=3, paired=paired)) for paired in (False, True))
    assert (single.bank_slots, single.bank_numbers) == (8, (0, 2, 5))
    assert (paired.bank_slots, paired.bank_numbers) == (16, (0, 2, 5, 8, 10, 13))
    assert [spec.bank_number(5, direction) for spec in (single, paired) for direction in ("input", "output")] == [
        5, 5, 5, 13]


@pytest.mark.parametrize("text", ["4", "4x", "0x4", "4X4", "4x4x4", " 4x4", "fourxfour", "-4x4", ""])
def test_what_is_not_a_size_is_an_error(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        FabricSpec.parse(text)
    assert str(caught.value) == f"'{text}' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rows": 129}, "an array has 1x1 to 128x256 tiles, not 129x4"),
        ({"columns": 0}, "an array has 1x1 to 128x256 tiles, not 4x0"),
        ({"tracks": 1}, "an array has 2 to 16 tracks per side, not 1"),
        ({"delay_depth": 12}, "the delay depth is 2, 4, 8, 16 or 32, not 12"),
        ({"mem_period": 0}, "one column in 0 cannot hold memories"),
        ({"pe": PeSpec(8)}, "processing elements have 8-bit words, memories 16-bit words"),
        ({"glb": GlobalBufferSpec(banks=5)}, "4 columns cannot have 5 banks"),
        ({"glb": GlobalBufferSpec(paired=True), "protocol": "ready-valid", "mem": MemTileSpec(kind="buffet")},
         "an array with ready-valid tracks has one bank in a column; leave out paired"),
        ({"pe": PeSpec(bfloat16=True), "protocol": "ready-valid", "mem": MemTileSpec(kind="buffet")},
         "an array with ready-valid tracks has processing elements without bfloat16"),
        ({"protocol": "ready-valid"}, "an array with ready-valid tracks cannot have memories of kind 'pub'"),
    ],
)
def test_what_cannot_be_built_is_an_error(parameters: dict[str, Any], message: str) -> None:
    size: dict[str, Any] = {"rows": 4, "columns": 4}
    with pytest.raises(FabricError) as caught:
        FabricSpec(**size | parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize("bits", [1, 33])
def test_banks_count_with_up_to_32_bits(bits: int) -> None:
    with pytest.raises(FabricError) as caught:
        GlobalBufferSpec(time_width=bits)
    assert str(caught.value) == f"a bank counts with 2 to 32 bits, not {bits}"
    assert bank_controller(GlobalBufferSpec(time_width=32)).time_width == 32


def test_a_place_outside_is_an_error() -> None:
    with pytest.raises(FabricError) as caught:
        FabricSpec.parse("4x4").tile_kind(4, 0)
    assert str(caught.value) == "the 4x4 array has no tile at row 4, column 0"
