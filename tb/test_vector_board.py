"""The vector processor on a board, as Verilog: it boots its program from on-chip memory and checks itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from hw.boards.project import TOP, make_project
from hw.boards.registry import find_board
from hw.designs.registry import load_design
from hw.sim.bench import run_bench

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def design():
    return load_design("vector", None, None, lanes=2)


def test_runs_by_itself(design):
    """Twice, the second time after the button, on what the first run has left in memory (see `test_board`).

    One simulator is enough: the system alone runs on both (`test_soc`), so does a board's top (`test_board`).
    """
    project = make_project(find_board("de3"), design)
    sources = {name: text for name, text in project.files.items() if name.endswith(".v")}
    sources["altera_models.v"] = (FOLDER / "altera_models.v").read_text()
    run_bench(sources, TOP, str(FOLDER / "test_board.py"), simulator="icarus", tests="runs_and_runs_again")


def test_serial_line_reaches_the_pin(design):
    """A board with a serial line has it connected, and the program's divisor fits the board's clock."""
    project = make_project(find_board("ulx3s-85f"), design, divide=1)
    assert "uart_0__tx__io" in project.files[f"{TOP}.lpf"]
    assert project.clock_hz == 25e6
    plan = dict(design.at_clock(project.clock_hz).image.plan)
    assert plan["UART_DIVISOR"] == 217
