"""What designs take on boards, how fast their links are, and how often in a second they run (``python -m
benchmarks.boards [NAME ...]``): place and route by `sluice build --pnr`; link and run simulated, runs per second a
model of both. Where a design does not fit, what it would need. Needs the
tools of ``pip install 'sluice[pnr-ice40]'``.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator
from rich.console import Console

import compiler
from benchmarks.command import Measurement, reports_errors
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.bind.design import Design
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from hw.boards.build import build_board
from hw.boards.memory import OnChipMemory
from hw.designs.registry import load_design
from hw.ecp5.pnr import PnrError
from hw.link.protocol import LinkSpec, Operation, Request
from hw.link.uart_link import UartLink
from hw.sdram.chip import CHIPS

__all__ = ["BOARDS", "board_table", "line_efficiency", "measure"]

_CYCLES = 8
"""Of a bit in the simulation of the link: a frame takes as many bits at any rate."""
_PAYLOAD = 2048
_BITS = 10
_PATIENCE = 120.0
_TOO_LARGE = re.compile(r"does not fit the .*: needs (.*)|Failed to expand region .* of (.*)")
_BENCHES = Path(__file__).parents[1] / "tb"


@dataclass(frozen=True)
class _Case:
    """An application for target fpga on a board: where main memory is, MHz asked of the loop, bits per second, options
    of the target."""

    application: str
    board: str
    memory: str
    mhz: float
    baud: int = 1_000_000
    options: Mapping[str, Any] = field(default_factory=dict)


BOARDS: Mapping[str, _Case] = {
    "fir_ulx3s": _Case("fir", "ulx3s-85f", "chip", 50),
    "fir_ulx3s_sdram": _Case("fir", "ulx3s-85f", "sdram", 50),
    "fir_icebreaker": _Case("fir", "icebreaker", "chip", 18, options={"bus_bits": 32}),
}


@cache
def line_efficiency() -> dict[str, float]:
    """Payload bytes per byte that the line could carry, for whole frames in both directions, from the first bit of the
    request to the last one of the answer, as simulated; the host's own time comes on top."""
    content = bytes(range(256)) * (_PAYLOAD // 256)
    requests = {"to board": Request(1, Operation.WRITE_MEMORY, 0, _PAYLOAD, content),
                "to host": Request(2, Operation.READ_MEMORY, 0, _PAYLOAD)}
    cycles = {}
    m = Module()
    m.submodules.link = link = UartLink(LinkSpec(_PAYLOAD, 6, bytes(16)), _CYCLES)
    m.submodules.memory = memory = OnChipMemory(_PAYLOAD)
    wiring.connect(m, link.memory, memory.bus)

    async def host(ctx: Any) -> None:
        ctx.set(link.rx, 1)
        await ctx.tick().repeat(4)
        for name, request in requests.items():
            frame = request.encode()
            await _send(ctx, link.rx, frame)
            cycles[name] = len(frame) * _BITS * _CYCLES + await _answered(ctx, link)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.run()
    return {name: round(_PAYLOAD * _BITS * _CYCLES / count, 3) for name, count in cycles.items()}


async def _send(ctx: Any, line: Any, content: bytes) -> None:
    for byte in content:
        for bit in (0, *(byte >> k & 1 for k in range(8)), 1):
            ctx.set(line, bit)
            await ctx.tick().repeat(_CYCLES)


async def _answered(ctx: Any, link: Any) -> int:
    """Waits until the link is idle and its line has been high for longer than a byte; the cycles before that."""
    count, quiet = 0, 0
    while quiet < 2 * _BITS * _CYCLES:
        quiet = 0 if ctx.get(link.busy) or not ctx.get(link.tx) else quiet + 1
        count += 1
        await ctx.tick()
    return count - quiet


def measure(name: str) -> dict[str, Any]:
    """Figures of a case. Raises what compiling raises."""
    case = BOARDS[name]
    design = compiler.compile(load(case.application), target="fpga", **case.options)
    found = {"application": case.application, "board": case.board, "memory": case.memory, "mhz asked": case.mhz,
             "options": dict(case.options)}
    try:
        figures, clock_hz = _placed(design, case)
    except PnrError as error:
        if not (too_large := _TOO_LARGE.search(str(error))):
            raise
        return found | {"does not fit": f"needs {too_large[1] or too_large[2]}"}
    return found | figures | _runs(design, case, clock_hz)


def _placed(design: Design, case: _Case) -> tuple[dict[str, Any], float]:
    """Area and MHz of the board, and its clock. Raises `PnrError`."""
    with tempfile.TemporaryDirectory(prefix="sluice-boards-") as folder:
        directory = design.emit(Path(folder) / "design", random_inputs(design.program, 1))
        build_board(["--board", case.board, "--design", str(directory), "--link", "--memory", case.memory, "--mhz",
                     str(case.mhz), "--baud", str(case.baud), "--pnr", "-o", f"{folder}/board"], Console(quiet=True))
        manifest = json.loads((Path(folder) / "board" / "manifest.json").read_text())
    figures, clock_hz = manifest["figures"], manifest["clock_hz"]
    area = {key: figures[key] for key in ("lut", "ff", "block_ram", "multipliers")}
    return area | {"mhz": clock_hz / 1e6, "mhz reached": figures["mhz"]}, clock_hz


def _runs(design: Design, case: _Case, clock_hz: float) -> dict[str, Any]:
    """Runs per second: cycles of the simulated board, and bytes over its line at the rates of `line_efficiency`."""
    rates = {way: part * case.baud / _BITS for way, part in line_efficiency().items()}
    sizes = {way: sum(-(-array.type.width // 8) * prod(array.shape) for array in arrays)
             for way, arrays in (("to board", design.program.inputs), ("to host", design.program.outputs))}
    cycles = board_cycles(design, case)
    seconds = cycles / clock_hz
    linked = seconds + sum(sizes[way] / rates[way] for way in sizes)
    return {"baud": case.baud, "bytes per second": {way: round(rate) for way, rate in rates.items()}, "bytes": sizes,
            "start to done": cycles, "start to done predicted": design.predicted_start_to_done,
            "runs per second": round(1 / seconds), "runs per second with the link": round(1 / linked, 1)}


def board_cycles(design: Design, case: _Case) -> int:
    """From start to done, by the counter of the simulated ULX3S (on Verilator, with the board's memory), whose results
    are those of the interpreter."""
    sys.path.insert(0, str(_BENCHES))
    simulated_board = importlib.import_module("board_link_bench").simulated_board
    sdram = next(iter(CHIPS.values())) if case.memory == "sdram" else None
    inputs = random_inputs(design.program, 1)
    with tempfile.TemporaryDirectory(prefix="sluice-boards-") as name:
        folder = Path(name)
        system = load_design(str(design.emit(folder / "design", inputs)), None, None)
        with simulated_board(system, "verilator", folder, sdram=sdram, mhz=case.mhz if sdram else None) as port, \
                design.on_board(port, answer_seconds=_PATIENCE) as board:
            run = board.simulate(inputs)
    for array, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[array], expected)
    assert run.wall_cycles is not None
    return run.wall_cycles


def board_table() -> str:
    """The committed results as Markdown."""
    results = read_results("boards")["boards"]
    head = ["application", "board", "main memory", "LUT", "FF", "block RAM", "multipliers", "MHz of the PLL", "reached",
            "link, kB/s", "start to done, cycles", "predicted", "runs per second", "with the link"]
    placed = [[r["application"], r["board"], r["memory"], r["lut"], r["ff"], r["block_ram"], r["multipliers"], r["mhz"],
               r["mhz reached"], f"{min(r['bytes per second'].values()) / 1000:.1f}", r["start to done"],
               r["start to done predicted"], r["runs per second"], r["runs per second with the link"]]
              for r in results.values() if "does not fit" not in r]
    refused = [f"{r['application']} on {r['board']} ({r['does not fit']})" for r in results.values()
               if "does not fit" in r]
    more = f" Too large for their boards: {'; '.join(refused)}." if refused else ""
    return ("Target fpga on boards, with a link at 1 Mbaud, placed and routed (`python -m benchmarks.boards`). Cycles "
            "are those of the simulated board, SDRAM with its times at the loop's clock; predictions are for memory as "
            "in the simulations of designs. Runs per second are cycles at the loop's MHz, and with the bytes of inputs "
            "and outputs over the line at the simulated rate; the time of the host program comes on top." + more
            + "\n\n" + table(head, placed))


@reports_errors
def main() -> None:
    """Measure and write."""
    Measurement("boards", "boards", "board", BOARDS).command(__doc__, measure)


if __name__ == "__main__":
    sys.exit(main())
