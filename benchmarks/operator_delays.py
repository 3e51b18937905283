"""Delays of operations between registers of an ECP5-85: the table that `hw.delays` reads.

    python -m benchmarks.operator_delays [OPERATION ...] [-o hw/operator_delays.json]

Chains of one operation, as `hw.dataflow.operators.applied` builds it, between registers: the period is that of
nextpnr's slowest path, the median of three placements, with one and with three operations. What an operation adds to a
path, with the wire to the next one, is half the difference. Comparisons select a word, which the next one compares.
What is not measured this time is kept as it was.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from rich.console import Console

from benchmarks.area import Harness, Subject
from benchmarks.command import reports_errors
from benchmarks.results import kept_results, write_results
from hw.dataflow.operators import applied
from hw.dataflow.spec import Word
from hw.delays import COUNTS, MEASURED, TABLE_FILE, WIDTHS
from hw.ecp5.pnr import ECP5_85_DEVICE, place_and_route, synthesize, tool_version
from hw.errors import SluiceError
from hw.ops import Kind, operation
from hw.verilog import convert

__all__ = ["Chain", "main", "period"]

_TARGET_MHZ = 600.0
_SEEDS = (1, 2, 3)


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


def period(op: str, width: int, count: int) -> float:
    """Nanoseconds from clock edge to clock edge. Raises `PnrError`."""
    subject = Subject("part", {"part.v": convert(Chain(op, width, count), "part")}, alone=False)
    sources = {**subject.sources, "harness.v": convert(Harness(subject), "harness")}
    with tempfile.TemporaryDirectory(prefix="sluice-delays-") as folder:
        netlist = synthesize(sources, "harness", Path(folder))
        found = [place_and_route(netlist, target_mhz=_TARGET_MHZ, seed=seed).mhz for seed in _SEEDS]
    return round(statistics.median(1000 / mhz for mhz in found if mhz), 2)


@reports_errors
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operator_delays",
                                     description="Delays of operations on an ECP5-85.")
    parser.add_argument("names", nargs="*", metavar="OPERATION", help=f"some of {', '.join(MEASURED)}")
    parser.add_argument("-o", "--output", type=Path, default=TABLE_FILE, metavar="FILE")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(MEASURED):
        raise SluiceError(f"there is no '{min(unknown)}'; there are: {', '.join(MEASURED)}")
    _measure_all(options.names or list(MEASURED), options.output)


def _measure_all(names: Sequence[str], output: Path) -> None:
    console = Console(highlight=False, soft_wrap=True)
    known = kept_results(output, "periods")
    for name in names:
        with console.status(name):
            known[name] = {str(width): [period(name, width, count) for count in COUNTS] for width in WIDTHS}
        console.print(f"{name}: {known[name]}")
        tools = {tool: tool_version(tool) for tool in ("yosys", "nextpnr-ecp5")}
        periods = {name: known[name] for name in MEASURED if name in known}
        write_results(output, {"device": f"{ECP5_85_DEVICE}, speed grade 6", "tools": tools, "unit": "ns",
                               "periods": periods})


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
