"""``--port``: what is refused before anything is compiled, and what is said of a port that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.bind.design import Design, Run
from compiler.cli import sac_hardware
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
    (["blur.sc", "--port", "x"], "--port is for hardware, and SA-C programs run on the host without --target"),
    (["blur.sc", "--target", "fpga", "--board", "ulx3s-85f"], "--board is for --program"),
    (["sac/max_window", "--target", "window", "--port", "x"], "--port is no option of target window"),
])
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) != 0
    assert message in capsys.readouterr().err


BETWEEN = """
uint16[:], uint16 main (uint8 A[70], uint16 n) {
    uint16 B[:] = for a in A return (array ((uint16)a * 3));
    uint16 m = n / (B[1] + 7);
    uint16 C[:] = for b in B return (array (b - m));
    uint16 k = m / (C[2] + 1);
    uint16 s = for b in B return (sum (b ^ k));
} return (C, s);
"""
"""Two divisions of the host stand between three loops."""


def on_a_board_that_simulates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Boards are simulations; what is loaded and what runs, by name."""
    done: list[str] = []

    def program(options: object, design: Design, *rest: object) -> None:
        done.append(f"load {design.program.name}")

    def run(options: object, design: Design, inputs: dict) -> Run:
        done.append(f"run {design.program.name}")
        return design.simulate(inputs, "icarus")

    monkeypatch.setattr(sac_hardware, "program_design", program)
    monkeypatch.setattr(sac_hardware, "run_on_board", run)
    return done


def test_designs_of_an_application_share_a_board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    done = on_a_board_that_simulates(monkeypatch)
    (tmp_path / "p.sc").write_text(BETWEEN)
    command = [str(tmp_path / "p.sc"), "--target", "fpga", "--random", "1", "--passes", "all", "--port", "x"]
    assert main(command) == 1
    assert capsys.readouterr().err.strip().endswith("--port: 3 designs share the board, which holds one: add --board "
                                                    "NAME --program, which loads each before it runs")
    assert main([*command, "--board", "ulx3s-85f", "--program"]) == 0
    assert [line.split()[0] for line in done] == ["load", "run"] * 3
    assert "(board at x)" in capsys.readouterr().out


def test_a_design_that_is_loaded_is_not_loaded_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = on_a_board_that_simulates(monkeypatch)
    (tmp_path / "p.sc").write_text(BETWEEN)
    command = [str(tmp_path / "p.sc"), "--target", "fpga", "--random", "1", "--board", "ulx3s-85f", "--program"]
    (tmp_path / "q.sc").write_text("uint16[:] main (uint8 A[70]) return (for a in A return (array ((uint16)a * 3)));")
    assert main([str(tmp_path / "q.sc"), *command[1:], "--port", "x", "--host-c", str(tmp_path / "d.c")]) == 0
    assert [line.split()[0] for line in done] == ["load", "run", "run"]  # the last one for the driver in C
    del done[:]
    assert main([str(tmp_path / "q.sc"), *command[1:]]) == 0
    assert [line.split()[0] for line in done] == ["load"]
