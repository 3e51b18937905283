"""Boards by name."""

import amaranth_boards.ulx3s
import pytest

from hw.boards.found import FAMILIES, board_name
from hw.boards.pins import Connection
from hw.boards.registry import BoardError, boards, find_board


def test_known_boards():
    known = boards()
    assert known["de3"].device == "EP3SL150F1152C2"
    assert known["de3"].clock_hz == 50e6
    assert known["ulx3s-85f"].platform is amaranth_boards.ulx3s.ULX3S_85F_Platform
    assert known["ulx3s-85f"].clock_hz == 25e6
    assert {"ecpix5-85", "orangecrab-r0-2-25f", "versa-ecp5", "colorlight-5a75b-r7-0"} <= set(known)
    assert {"icebreaker", "arty-a7-35", "de10-nano", "tang-nano-9k", "machxo3lsk"} <= set(known)
    assert len(known) >= 80
    families = {board.family for board in known.values()}
    assert {"ecp5", "ice40", "gowin", "machxo2", "machxo3", "xilinx7", "cyclone5", "max10"} <= families <= {
        *FAMILIES.values()}
    assert {board.family for board in known.values() if board.can_place} == {"ecp5", "ice40", "gowin"}


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
        ("de4", "there is no board 'de4'; did you mean de3 or de0 or de0-cv or de1-soc?"),
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
