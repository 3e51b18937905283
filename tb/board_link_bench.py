"""A simulated board behind a pseudo-terminal or a socket: host programs open it as they open a serial line or a JTAG
cable.

`simulated_board` builds the board's top with its UART or JTAG pins and runs it beside the caller; `serve` and
`serve_cable`, which run inside the simulator, carry bytes between the terminal and the pins, and rows of bits between
the socket (Xilinx Virtual Cable 1.0) and the pins.
"""

from __future__ import annotations

import os
import pty
import random
import select
import socket
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

__all__ = ["ROW_BITS", "simulated_board", "simulated_pins"]

BIT_CYCLES = 8
ROW_BITS = 1024
SERVERS = {"board_line": "serve", "jtag_line": "serve_cable"}
_FOLDER = Path(__file__).parent
_STEP_NS = 20_000
_PATIENCE = 120.0


@contextmanager
def simulated_board(design: SystemDesign, simulator: str, folder: Path, *, memory_bytes: int | None = None,
                    damage: float = 0.0, sdram: SdramChip | None = None,
                    mhz: float | None = None, carrier: str = "uart") -> Iterator[str]:
    """The name of a port behind which `design` runs on a ULX3S, with main memory on chip or in `sdram`, at the board's
    clock or `mhz`, linked by `carrier`; in each direction a byte (of JTAG: a bit of 25) is damaged with probability
    `damage`. What the simulation raises is raised at the end."""
    board = find_board("ulx3s-85f")
    link = LinkOptions(baud=int(board.clock_hz) // BIT_CYCLES, memory_bytes=memory_bytes, sdram=sdram, carrier=carrier)
    project = make_project(board, design, link=link, mhz=mhz)
    top, parameters, models = _models(carrier, sdram)
    sources = {name: text for name, text in project.files.items() if name.endswith(".v")}
    sources |= {name: (_FOLDER / name).read_text() for name in ("ecp5_models.v", f"{top}.v", *models)}
    with simulated_pins(sources, top, simulator, folder, parameters=parameters, damage=damage) as port:
        yield port


@contextmanager
def simulated_pins(sources: Mapping[str, str], top: str, simulator: str, folder: Path, *,
                   parameters: Mapping[str, int | str], damage: float = 0.0) -> Iterator[str]:
    """The name of a port behind which `sources` are simulated, whose `top` is ``board_line`` or ``jtag_line``."""
    data = {"name": str(folder / "name"), "stop": str(folder / "stop"), "damage": damage}
    failures: list[BaseException] = []

    def simulate() -> None:
        try:
            run_bench(sources, top, __file__, simulator=simulator, parameters=parameters, data=data,
                      tests=f"{SERVERS[top]}$")
        except BaseException as error:  # handed to the caller's thread
            failures.append(error)

    thread = threading.Thread(target=simulate, daemon=True)
    thread.start()
    try:
        yield _port(Path(data["name"]), thread, failures)
    finally:
        Path(data["stop"]).touch()
        thread.join(_PATIENCE)
    if failures:
        raise failures[0]


def _models(carrier: str, sdram: SdramChip | None) -> tuple[str, dict[str, int | str], tuple[str, ...]]:
    """The bench's top, its parameters, and files."""
    if carrier == "jtag":
        return "jtag_line", {"BITS": ROW_BITS}, ("ulx3s_jtag.v", "ecp5_jtagg.v")
    models = ("ulx3s.v",) if sdram is None else ("ulx3s_sdram.v", "sdr_sdram.v")
    return "board_line", {"CYCLES": BIT_CYCLES}, models


def _port(name: Path, thread: threading.Thread, failures: list[BaseException]) -> str:
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


class Cable:
    """The pins' rows of bits, some of which are damaged on the way."""

    def __init__(self, dut, damage: float):
        self._dut = dut
        self._damage = damage / 25
        self._drawn = random.Random(2)
        self._count = 0
        dut.go.value = 0

    async def shift(self, length: int, tms: int, tdi: int) -> int:
        dut = self._dut
        dut.tms_bits.value, dut.tdi_bits.value, dut.length.value = tms, self._damaged(tdi, length), length
        self._count = (self._count + 1) % 256
        dut.go.value = self._count
        await ValueChange(dut.done)
        return self._damaged(int(dut.tdo_bits.value) & (1 << length) - 1, length)

    def _damaged(self, row: int, length: int) -> int:
        return row ^ sum(1 << k for k in range(length) if self._drawn.random() < self._damage) if self._damage else row


async def answer_request(line: socket.socket, cable: Cable) -> bool:
    """A request of the protocol that has begun to come; whether there was one."""
    line.setblocking(True)
    command = b""
    while not command.endswith(b":"):
        if not (byte := line.recv(1)):
            return False
        command += byte
    if command == b"getinfo:":
        line.sendall(f"xvcServer_v1.0:{2 * ROW_BITS // 8}\n".encode())
    elif command == b"settck:":
        line.sendall(line.recv(4, socket.MSG_WAITALL))
    elif command == b"shift:":
        length = int.from_bytes(line.recv(4, socket.MSG_WAITALL), "little")
        assert 0 < length <= ROW_BITS
        size = -(-length // 8)
        rows = line.recv(2 * size, socket.MSG_WAITALL)
        come = await cable.shift(length, *(int.from_bytes(row, "little") for row in (rows[:size], rows[size:])))
        line.sendall(come.to_bytes(size, "little"))
    else:
        raise AssertionError(f"no command: {command!r}")
    return True


@cocotb.test()
async def serve_cable(dut) -> None:
    """Until there is a file of the name `stop`."""
    data = bench_data()
    cable = Cable(dut, data["damage"])
    server = socket.create_server(("localhost", 0))
    _announce(data["name"], f"jtag:xvc://localhost:{server.getsockname()[1]}")
    line: socket.socket | None = None
    while not Path(data["stop"]).exists():
        await Timer(_STEP_NS, "ns")
        if line is None:
            line = server.accept()[0] if select.select([server], [], [], 0)[0] else None
        while line is not None and select.select([line], [], [], 0)[0]:
            line = line if await answer_request(line, cable) else None


def _announce(name: str, port: str) -> None:
    part = Path(f"{name}.part")
    part.write_text(port)
    part.rename(name)
