"""Main memory by a model of a LiteDRAM core, on a whole board, and the window in front of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from board_link_bench import ROW_BITS, simulated_pins
from test_board_link import built

from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret
from hw.boards.project import LinkOptions, make_project
from hw.boards.registry import find_board
from hw.link.client import LinkClient
from hw.link.ports import open_port
from hw.litedram.core import read_core

FOLDER = Path(__file__).parent


def test_a_board_runs_from_litedram(simulator: str, tmp_path: Path) -> None:
    """Over JTAG; the core sets the clock, calibrates before it takes a burst, and stalls at every handshake."""
    design, system = built("fpga", tmp_path)
    (tmp_path / "csr.csv").write_text("constant,config_clock_frequency,55000000,,\n")
    (tmp_path / "litedram_core.v").write_text((FOLDER / "litedram_core.v").read_text())
    core = read_core([tmp_path / "litedram_core.v"])
    link = LinkOptions(memory_bytes=1 << 16, carrier="jtag", litedram=core)
    project = make_project(find_board("ecpix5-85"), system, link=link)
    assert project.clock_hz == 55e6 and 'FREQUENCY NET "core.memory_clock" 55000000.0 HZ;' in project.files["top.lpf"]
    sources = {name: text for name, text in project.files.items() if name.endswith(".v")}
    sources |= {name: (FOLDER / name).read_text()
                for name in ("ecp5_models.v", "jtag_line.v", "ecp5_jtagg.v", "ecpix5_litedram.v")}
    with simulated_pins(sources, "jtag_line", simulator, tmp_path, parameters={"BITS": ROW_BITS}) as port:
        with design.on_board(port, answer_seconds=30.0) as board:
            for seed in (1, 2):
                inputs = random_inputs(design.program, seed)
                run = board.simulate(inputs)
                for array, expected in interpret(design.program, inputs).items():
                    np.testing.assert_array_equal(run.outputs[array], expected)
        channel = open_port(port, 0, 30.0)
        client = LinkClient(channel, seconds=30.0)
        content = bytes(k * 7 % 251 for k in range(300))
        client.write_memory((1 << 16) - 300, content)
        assert client.read_memory((1 << 16) - 310, 310)[10:] == content
        client.close()
