"""The same call that simulates runs a board: the whole board in the simulator, behind a pseudo-terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from board_link_bench import simulated_board

import compiler
from compiler.bind.design import Design
from compiler.cli.input_files import random_inputs
from compiler.cli.main import main
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.designs.registry import load_design
from hw.designs.system import SystemDesign
from hw.link.client import LinkError
from hw.sdram.chip import CHIPS, SdramChip
from tests.support.emitted_systems import SYSTEMS

PATIENCE = 30.0
"""Seconds that a simulated board may take to answer."""


def built(name: str, folder: Path) -> tuple[Design, SystemDesign]:
    """A system of a target, and what a board is built from: by way of the design directory, as users go."""
    target, text, options = SYSTEMS[name]
    design = compiler.compile(parse_scop(text), target=target, **options)
    design.emit(folder / "design", random_inputs(design.program, 1))
    return design, load_design(str(folder / "design"), None, None)


@pytest.mark.parametrize(("name", "sdram"), [*((name, None) for name in SYSTEMS), ("fpga", CHIPS["IS42S16160G"])])
def test_every_target_runs_on_a_board(name: str, sdram: SdramChip | None, tmp_path: Path) -> None:
    """With main memory on chip at the board's clock, and in SDRAM, whose model checks its times, at that of a loop."""
    design, system = built(name, tmp_path)
    with simulated_board(system, "verilator", tmp_path, sdram=sdram, mhz=37.5 if sdram else None) as port, \
            design.on_board(port, answer_seconds=PATIENCE) as board:
        for seed in (1, 2):
            inputs = random_inputs(design.program, seed)
            run = board.simulate(inputs)
            for array, expected in interpret(design.program, inputs).items():
                np.testing.assert_array_equal(run.outputs[array], expected)
            assert run.simulator == "board"
            assert sdram or run.cycles == design.predicted_cycles or not design.predicts_exactly


def test_damaged_bytes_are_sent_again(simulator: str, tmp_path: Path) -> None:
    """One byte of 200, in both directions."""
    design, system = built("fpga", tmp_path)
    inputs = random_inputs(design.program, 3)
    with simulated_board(system, simulator, tmp_path, damage=0.005) as port, \
            design.on_board(port, answer_seconds=2.0) as board:
        run = board.simulate(inputs)
        assert board.client.repeats > 0
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], expected)


def test_a_design_runs_over_jtag(simulator: str, tmp_path: Path) -> None:
    """One bit of 10000 is damaged, in both directions; another design is named, and the cable is free for the next."""
    design, system = built("fpga", tmp_path)
    other = compiler.compile(parse_scop(SYSTEMS["dataflow"][1]), target="fpga")
    inputs = random_inputs(design.program, 3)
    with simulated_board(system, simulator, tmp_path, carrier="jtag", damage=0.0025) as port:
        with other.on_board(port, answer_seconds=0.5) as board, \
                pytest.raises(LinkError, match=r"the board on jtag:xvc://\S+ holds design [0-9a-f]{32}, not "):
            board.simulate(random_inputs(other.program, 1))
        with design.on_board(port, answer_seconds=0.5) as board:
            for _ in range(50):  # until something that matters was damaged
                run = board.simulate(inputs)
                for array, expected in interpret(design.program, inputs).items():
                    np.testing.assert_array_equal(run.outputs[array], expected)
                assert run.cycles == design.predicted_cycles
                if board.client.repeats:
                    break
            assert board.client.repeats > 0


def test_another_bitstream_is_an_error(tmp_path: Path) -> None:
    """And so is a run that needs more memory than the board has, and a port that is not there."""
    _, system = built("fpga", tmp_path)
    other = compiler.compile(parse_scop(SYSTEMS["dataflow"][1]), target="fpga")
    with simulated_board(system, "verilator", tmp_path) as port, \
            other.on_board(port, answer_seconds=PATIENCE) as board:
        with pytest.raises(LinkError, match=r"the board on /dev/\S+ holds design [0-9a-f]{32}, not [0-9a-f]{32}: load "
                                            "the bitstream of this design"):
            board.simulate(random_inputs(other.program, 1))
    with pytest.raises(LinkError, match="cannot open /dev/nothing: "):
        other.on_board("/dev/nothing")


def test_loops_of_an_application_run_on_a_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In place of a simulation, with the host's part here."""
    source = tmp_path / "p.sc"
    source.write_text("uint16 main (uint8 A[66], uint8 n) {\n"
                      "uint16 s = for a in A return (sum ((uint16)(a ^ n)));\n} return (s / 3);")
    command = [str(source), "--target", "fpga", "--random", "1", "--passes", "all"]
    assert main([*command, "--simulator", "none", "--directory", str(tmp_path)]) == 0
    (folder,) = [path.parent for path in tmp_path.glob("*/manifest.json")]
    with simulated_board(load_design(str(folder), None, None), "icarus", tmp_path) as port:
        assert main([*command, "--port", port, "--answer-seconds", str(PATIENCE)]) == 0
    assert f"the whole application (board at {port})" in " ".join(capsys.readouterr().out.split())
