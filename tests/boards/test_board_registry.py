"""Boards by name."""

import amaranth_boards.ulx3s
import pytest

from hw.boards.ecp5 import board_name
from hw.boards.pins import Connection
from hw.boards.registry import BoardError, boards, find_board


def test_known_boards():
    known = boards()
    assert known["de3"].device == "EP3SL150F1152C2"
    assert known["de3"].clock_hz == 50e6
    assert known["ulx3s-85f"].platform is amaranth_boards.ulx3s.ULX3S_85F_Platform
    assert known["ulx3s-85f"].clock_hz == 25e6
    assert {"ecpix5-85", "orangecrab-r0-2-25f", "versa-ecp5", "colorlight-5a75b-r7-0"} <= set(known)
    assert len(known) >= 20
    assert {board.can_place for name, board in known.items() if name != "de3"} == {True}


@pytest.mark.parametrize(
    ("module", "cls", "name"),
    [
        ("amaranth_boards.versa_ecp5", "VersaECP5Platform", "versa-ecp5"),
        ("amaranth_boards.ulx3s", "ULX3S_85F_Platform", "ulx3s-85f"),
        ("amaranth_boards.logicbone", "Logicbone85FPlatform", "logicbone-85f"),
        ("amaranth_boards.colorlight_5a75b_r7_0", "Colorlight_5A75B_R70Platform", "colorlight-5a75b-r7-0"),
        ("amaranth_boards.some_file", "OtherPlatform", "other"),
    ],
)
def test_board_names(module, cls, name):
    assert board_name(module, cls) == name


@pytest.mark.parametrize("name", ["ulx3s-85f", "ulx3s_85f", "ULX3S-85F"])
def test_spelling(name):
    assert find_board(name).name == "ulx3s-85f"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("de4", "there is no board 'de4'; did you mean de3?"),
        ("ulx3s", "there is no board 'ulx3s'; did you mean ulx3s-85f or ulx3s-45f or ulx3s-25f or ulx3s-12f?"),
        ("zzzzzz", "there is no board 'zzzzzz'; --list shows them all"),
    ],
)
def test_unknown_board(name, message):
    with pytest.raises(BoardError) as error:
        find_board(name)
    assert str(error.value) == message


def test_pins_only_where_they_are_needed(tmp_path):
    with pytest.raises(BoardError) as error:
        find_board("ulx3s-85f").build_platform(pins=tmp_path / "x")
    assert str(error.value) == (
        "board ulx3s-85f has its pins built in; --pins and --connect are for boards without"
    )
    with pytest.raises(BoardError) as error:
        find_board("de3").build_platform(connections=[Connection("clk50", "OSC")])
    assert str(error.value) == "--connect needs the pin file that it refers to: --pins FILE"
