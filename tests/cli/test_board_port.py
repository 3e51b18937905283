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
    (["blur.sc", "--port", "x"], "--port runs one program on a board; a SA-C application has several, and its host "
                                 "between"),
])
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) != 0
    assert message in capsys.readouterr().err
