"""A simulated board behind a pseudo-terminal: host programs open it as they open a serial line.

`simulated_board` builds the board's top with its UART pins and runs it beside the caller; `serve`, which runs inside
the simulator, carries bytes between the terminal and the pins.
"""

from __future__ import annotations

import os
import pty
import random
import select
import threading
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import cocotb
from cocotb.triggers import Timer, ValueChange

from hw.boards.project import LinkOptions, make_project
from hw.boards.registry import find_board
from hw.designs.system import SystemDesign
from hw.sdram.chip import SdramChip
from hw.sim.bench import bench_data, run_bench

__all__ = ["simulated_board"]

BIT_CYCLES = 8
_FOLDER = Path(__file__).parent
_STEP_NS = 20_000
_PATIENCE = 120.0


@contextmanager
def simulated_board(design: SystemDesign, simulator: str, folder: Path, *, memory_bytes: int | None = None,
                    damage: float = 0.0, sdram: SdramChip | None = None,
                    mhz: float | None = None) -> Iterator[str]:
    """The name of a terminal behind which `design` runs on a ULX3S, with main memory on chip or in `sdram`, at the
    board's clock or `mhz`; in each direction a byte is damaged with probability `damage`. What the simulation raises is
    raised at the end."""
    board = find_board("ulx3s-85f")
    link = LinkOptions(baud=int(board.clock_hz) // BIT_CYCLES, memory_bytes=memory_bytes, sdram=sdram)
    project = make_project(board, design, link=link, mhz=mhz)
    sources: Mapping[str, str] = {name: text for name, text in project.files.items() if name.endswith(".v")}
    models = ("ulx3s.v",) if sdram is None else ("ulx3s_sdram.v", "sdr_sdram.v")
    sources = sources | {name: (_FOLDER / name).read_text() for name in ("ecp5_models.v", "board_line.v", *models)}
    data = {"name": str(folder / "name"), "stop": str(folder / "stop"), "damage": damage}
    failures: list[BaseException] = []

    def simulate() -> None:
        try:
            run_bench(sources, "board_line", __file__, simulator=simulator, parameters={"CYCLES": BIT_CYCLES},
                      data=data)
        except BaseException as error:  # handed to the caller's thread
            failures.append(error)

    thread = threading.Thread(target=simulate, daemon=True)
    thread.start()
    try:
        yield _terminal(Path(data["name"]), thread, failures)
    finally:
        Path(data["stop"]).touch()
        thread.join(_PATIENCE)
    if failures:
        raise failures[0]


def _terminal(name: Path, thread: threading.Thread, failures: list[BaseException]) -> str:
    while not name.exists():
        if not thread.is_alive():
            raise failures[0]
        time.sleep(0.02)
    return name.read_text()


@cocotb.test()
async def serve(dut) -> None:
    """Until there is a file of the name `stop`."""
    data, drawn = bench_data(), random.Random(1)
    host, board = pty.openpty()
    tty.setraw(board)

    def damaged(byte: int) -> int:
        return byte ^ 1 << drawn.randrange(8) if drawn.random() < data["damage"] else byte

    async def listen() -> None:
        while True:
            await ValueChange(dut.got_count)
            os.write(host, bytes([damaged(int(dut.got.value))]))

    dut.send.value = dut.send_count.value = 0
    cocotb.start_soon(listen())
    _announce(data["name"], os.ttyname(board))
    count = 0
    while not Path(data["stop"]).exists():
        await Timer(_STEP_NS, "ns")
        while select.select([host], [], [], 0)[0]:
            for byte in os.read(host, 64):
                count = (count + 1) % 256
                dut.send.value, dut.send_count.value = damaged(byte), count
                await ValueChange(dut.sent_count)
    assert int(dut.violations.value) == 0, "the SDRAM's times"


def _announce(name: str, terminal: str) -> None:
    part = Path(f"{name}.part")
    part.write_text(terminal)
    part.rename(name)
