"""``--port``: what is refused before anything is compiled, and what is said of a port that is not there."""

from __future__ import annotations

import pytest

from compiler.cli.main import main


@pytest.mark.parametrize(("arguments", "message"), [
    (["fir", "--target", "fpga", "--port", "/dev/nothing"], "cannot open /dev/nothing: "),
    (["fir", "--target", "fpga", "--port", "/dev/nothing", "--baud", "0"],
     "a serial line has 1 or more bits per second, not 0"),
    (["fir", "--target", "fpga", "--port", "x", "--waves"], "--waves is for simulations; --port runs a board"),
    (["fir", "--target", "fpga", "--port", "x", "--stall-seed", "1"], "--stall-seed is for simulations; --port runs a "
                                                                      "board"),
    (["fir", "--program"], "--program needs to know the board: add --board NAME"),
    (["fir", "--board", "ulx3s-85f"], "--board is for --program; a board that is loaded already needs --port alone"),
    (["fir", "--main-memory", "sdram"], "--main-memory is about --program, which is not given"),
    (["fir", "--answer-seconds", "0"], "--answer-seconds 0: give a time above 0"),
    (["blur.sc", "--port", "x"], "--port runs one program on a board; a SA-C application has several, and its host "
                                 "between"),
])
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) != 0
    assert message in capsys.readouterr().err
