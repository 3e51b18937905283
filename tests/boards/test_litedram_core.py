"""LiteDRAM's generated Verilog: what is read of it, and one line for whatever it does not have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from board_copier import copier_design

from hw.boards import build
from hw.boards.project import LinkOptions, make_project
from hw.boards.registry import BoardError, find_board
from hw.errors import SluiceError
from hw.litedram.core import LiteDramError, read_core

MODEL = (Path(__file__).parents[2] / "tb" / "litedram_core.v").read_text()


def written(folder: Path, text: str = MODEL, clock: str = "constant,config_clock_frequency,48000000,,\n") -> Path:
    """A folder as the generator leaves it."""
    (folder / "gateware").mkdir()
    (folder / "csr.csv").write_text("#---\ncsr_base,sdram,0,,\n" + clock)
    (folder / "gateware" / "litedram_core.v").write_text(text)
    (folder / "gateware" / "litedram_core_rom.init").write_text("00000000\n")
    (folder / "gateware" / "build.sh").write_text("")
    return folder / "gateware"


def test_a_folder_of_the_generator(tmp_path: Path) -> None:
    core = read_core([written(tmp_path)])
    assert (core.module, core.user, core.size, core.data_width, core.clock_hz) == (
        "litedram_core", "user_port_0", 1 << 27, 64, 48e6)
    assert sorted(core.files) == ["litedram_core.v", "litedram_core_rom.init"]
    assert core.pads["dq"].width == 16 and core.pads["a"].width == 13


def change(old: str, new: str) -> str:
    assert old in MODEL
    return MODEL.replace(old, new)


WIDE = re.sub(r"\[63:0\] user_port", "[127:0] user_port", MODEL)


@pytest.mark.parametrize(("text", "message"), [
    ("module top (\n  input clk\n);\nendmodule\n", "no module with ports init_done and user_port_... is there"),
    (re.sub(r"user_port_0_a[wr]addr", "user_port_0_cmd_addr", MODEL),
     "module litedram_core has 0 AXI user ports: generate it with one alone, of type: axi"),
    (change("    input  wire          rst,", "    input  wire          rst,\n    input  wire [9:0] user_port_1_adr,"),
     "module litedram_core has user_port_1_adr, of another user port: generate it with one alone, of type: axi"),
    (change("    output reg           user_rst\n", "    output reg           user_rst_n\n"),
     "module litedram_core has no port user_rst: LiteDRAM's generator of 2024.12 writes one"),
    (change("    input  wire          rst,", "    input  wire          rst,\n    input  wire          wb_ctrl_stb,"),
     "module litedram_core waits for someone to calibrate its memory over wb_ctrl: generate it with a processor that "
     "does, cpu: vexriscv"),
    (change("    input  wire          rst,", "    input  wire          rst,\n    input  wire          clk_ref,"),
     "module litedram_core has an input clk_ref, and nothing here drives it"),
])
def test_cores_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(LiteDramError) as raised:
        read_core([written(tmp_path, text)])
    assert message in str(raised.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(LiteDramError, match=r"litedram_core\.v: No such file or directory$"):
        read_core([tmp_path / "litedram_core.v"])
    with pytest.raises(LiteDramError, match=r"gateware: no csr\.csv with config_clock_frequency beside it or one "):
        read_core([written(tmp_path, clock="")])


@pytest.mark.parametrize(("board", "text", "options", "message"), [
    ("ulx3s-85f", MODEL, {}, "board ulx3s-85f has no DDR3 in its platform, which --memory litedram needs"),
    ("ecpix5-85", change("[12:0] ddram_a,", "[15:0] ddram_a,"), {},
     "the core has 16 wires ddram_a and board ecpix5-85 has 15: generate it for this board's chips"),
    ("ecpix5-85", WIDE, {},
     "the user port of litedram_core has 128 bits and its controller 64: generate it with data_width: 64"),
    ("arty-a7-35", WIDE, {}, "the memory of litedram_core has a port of 128 bits and the design one of 64: compile the "
                             "design with --option bus_bits=128"),
    ("ecpix5-85", MODEL, {"memory_bytes": 1 << 28}, "the memory of litedram_core has 134217728 bytes, not 268435456"),
    ("orangecrab-r0-2-25f", MODEL, {},
     "the file of board orangecrab-r0-2-25f gives pin M3 to its DDR3 and to rgb_led 0: its DDR3 cannot be used"),
])
def test_boards_it_does_not_fit(board: str, text: str, options: dict[str, int], message: str, tmp_path: Path) -> None:
    carrier = "jtag" if find_board(board).family == "ecp5" else "uart"
    link = LinkOptions(115200, carrier=carrier, litedram=read_core([written(tmp_path, text)]), **options)
    with pytest.raises(SluiceError) as raised:
        make_project(find_board(board), copier_design(), link=link)
    assert str(raised.value).startswith(message)


def test_options_that_belong_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--board", "ecpix5-85", "--link", "--array", "1x4", "--bank-words", "64", "-o", str(tmp_path / "out")]
    assert build.main([*command, "--memory", "litedram"]) == 1
    assert "--litedram PATH and --memory litedram belong together" in capsys.readouterr().err
    link = LinkOptions(litedram=read_core([written(tmp_path)]))
    with pytest.raises(BoardError, match="--mhz and --divide are about boards whose memory does not set the clock"):
        make_project(find_board("ecpix5-85"), copier_design(), mhz=50, link=link)
