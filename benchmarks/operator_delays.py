"""Delays of operations between registers of an ECP5-85: the table that `hw.delays` reads.

    python -m benchmarks.operator_delays [-o hw/operator_delays.json]

Chains of one operation, as `hw.dataflow.operators.applied` builds it, between registers: the period is that of
nextpnr's slowest path, the median of three placements, with one and with two operations. What an operation adds to a
path, with the wire to the next one, is the difference. Comparisons select a word, which the next one compares. All
chains of one width are on the device at once, each with a clock of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from rich.console import Console

from benchmarks.area import Harness, Subject
from benchmarks.command import reports_errors
from benchmarks.results import write_results
from hw.dataflow.operators import applied
from hw.dataflow.spec import Word
from hw.delays import COUNTS, MEASURED, TABLE_FILE, WIDTHS
from hw.ops import Kind, operation
from hw.pnr import ECP5_85_DEVICE, place_and_route, synthesize, tool_version
from hw.verilog import convert

__all__ = ["Chain", "main", "periods"]

_TARGET_MHZ = 600.0
_SEEDS = (1, 2, 3)
_NAMES = [f"{op}{count}" for op, count in product(MEASURED, COUNTS)]
"""Of the chains."""


class Chain(wiring.Component):
    """`count` times `op` on registers of `width` bits, each on the result of the one before, and a register for the
    last one."""

    def __init__(self, op: str, width: int, count: int):
        self.op, self.count, self.word = op, count, Word(width, True)
        operands = {f"i{k}": In(self.word.shape) for k in range(2 * count + 1)}
        super().__init__({"o": Out(self.word.shape)} | operands)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = [Signal(self.word.shape, name=f"taken{k}", reset_less=True) for k in range(2 * self.count + 1)]
        m.d.sync += [register.eq(getattr(self, f"i{k}")) for k, register in enumerate(taken)]
        value = taken[0]
        for k in range(self.count):
            value = self._step(m, value, *taken[2 * k + 1 : 2 * k + 3])
        m.d.sync += self.o.eq(value)
        return m

    def _step(self, m: Module, value: Signal, other: Signal, third: Signal) -> Signal:
        """The operation on `value`; what synthesis could make of several together it is kept from."""
        entry = operation(self.op)
        words = [self.word if kind is Kind.WORD else Word(1, False) for kind in entry.operands]
        operands = [third[0], value, other] if entry.operands[0] is Kind.BIT else [value, other]
        result = applied(self.op, list(map(Value.cast, operands)), words)
        following = Signal(self.word.shape, attrs={"keep": 1})
        m.d.comb += following.eq(Mux(result, value, third) if entry.result is Kind.BIT else result)
        return following


def _sources(width: int) -> dict[str, str]:
    """The Verilog of all chains of operations on `width` bits and of their harnesses."""
    files = {}
    for op, count in product(MEASURED, COUNTS):
        name = f"{op}{count}"
        files[f"{name}.v"] = convert(Chain(op, width, count), name)
        subject = Subject(name, {f"{name}.v": files[f"{name}.v"]}, alone=False)
        files[f"{name}_harness.v"] = convert(Harness(subject), f"{name}_harness")
    ports = "".join(f"input {n}_clk, input {n}_i, input {n}_load, output {n}_o, " for n in _NAMES)
    parts = "".join(f"{n}_harness {n} (.clk({n}_clk), .rst(1'b0), .i({n}_i), .load({n}_load), .o({n}_o)); "
                    for n in _NAMES)
    return files | {"chains.v": f"module chains({ports.removesuffix(', ')}); {parts}endmodule\n"}


def periods(width: int) -> dict[str, list[float]]:
    """Nanoseconds from clock edge to clock edge, by operation, for the `COUNTS`. Raises `PnrError`."""
    found: dict[str, list[float]] = {name: [] for name in _NAMES}
    with tempfile.TemporaryDirectory(prefix="sluice-delays-") as folder:
        netlist = synthesize(_sources(width), "chains", Path(folder))
        for seed in _SEEDS:
            place_and_route(netlist, target_mhz=_TARGET_MHZ, seed=seed)
            for name, clock in json.loads(netlist.with_suffix(".report.json").read_text())["fmax"].items():
                found[name.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN").removesuffix("_clk")].append(
                    1000 / clock["achieved"])
    return {op: [round(statistics.median(found[f"{op}{count}"]), 2) for count in COUNTS] for op in MEASURED}


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operator_delays",
                                     description="Delays of operations on an ECP5-85.")
    parser.add_argument("-o", "--output", type=Path, default=TABLE_FILE, metavar="FILE")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    measured = {}
    for width in WIDTHS:
        with console.status(f"{width} bits"):
            measured[width] = periods(width)
        console.print(f"{width} bits: {measured[width]}")
    tools = {tool: tool_version(tool) for tool in ("yosys", "nextpnr-ecp5")}
    table = {op: {str(width): measured[width][op] for width in WIDTHS} for op in MEASURED}
    write_results(options.output, {"device": f"{ECP5_85_DEVICE}, speed grade 6", "tools": tools, "unit": "ns",
                                   "periods": table})


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
