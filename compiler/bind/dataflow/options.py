"""Options of the dataflow target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.memory_options import MemoryOptions
from hw.dataflow.floating import FLOAT_LATENCY
from hw.dma.chunks import BUSES
from hw.ops import EVERY_OPERATION, FLOAT_FUNCTIONS, MULTIPLICATIONS

__all__ = ["Options"]

_REORDERINGS = ("host", "chip")
_EXITS = ("early", "maximum")


@dataclass(frozen=True)
class Options(MemoryOptions):
    """Choices of the user.

    * `lanes`: copies of the data path that work side by side (replication); 1 to 64.
    * `interleave`: how many independent recurrences share a pipelined operator in turns (C-slow); None finds a number
      that keeps the operators busy, 1 switches it off: then the data path waits for the recurrence.
    * `latency`: ticks of operations, e.g. ``{"add": 12}``; others take 1, multiplications 2, logic on constants none,
      quotients, remainders and roots of integers what `hw.integer.integer_latency` says,
      those on floating-point numbers `hw.dataflow.floating.FLOAT_LATENCY` (``cast``: their conversions).
    * `transform`: schedule directives that the program goes through first, e.g. ``"tile(i=4, j=4)"``
      (`compiler.passes.directives.script`).
    * `reorder`: who brings words into the order in which they are used: the ``host`` when it packs the streams, or the
      ``chip``, which then takes and gives every array in row-major order.
    * `reassociate`: whether sums of floating-point numbers that wait for an adder may become partial sums; results are
      then those of `DataflowDesign.reference`, bit for bit.
    * `clock_mhz`: clock rate at which recurrences are to run, 1 to 500. Where registers behind operators would make
      them wait, operators get registers only as far as their delays (`hw.delays`) ask for them in a period of it.

    * `exits`: ``early`` for loops that end when the data say so, ``maximum`` for loops that always make all their
      trips.
    * `bus_bits`: width of the memory port, 32 to 512, at least that of an element.

    Raises `DataflowError` for values outside these.
    """

    lanes: int = 1
    interleave: int | None = None
    latency: Mapping[str, int] | None = None
    reorder: str = "host"
    transform: str = ""
    clock_mhz: int = 120
    reassociate: bool = False
    exits: str = "early"
    bus_bits: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.lanes, int) or not 1 <= self.lanes <= 64:
            raise DataflowError(f"lanes is {self.lanes}, not in 1..64")
        if self.interleave is not None and (not isinstance(self.interleave, int) or self.interleave < 1):
            raise DataflowError(f"interleave is {self.interleave}; it is at least 1")
        if not isinstance(self.clock_mhz, int) or not 1 <= self.clock_mhz <= 500:
            raise DataflowError(f"clock_mhz is {self.clock_mhz}, not in 1..500")
        if self.reorder not in _REORDERINGS:
            raise DataflowError(f"reorder is '{self.reorder}', neither 'host' nor 'chip'")
        if self.exits not in _EXITS:
            raise DataflowError(f"exits is '{self.exits}', neither 'early' nor 'maximum'")
        if self.bus_bits not in BUSES:
            raise DataflowError(f"bus_bits is {self.bus_bits!r}, not one of {', '.join(map(str, BUSES))}")
        if not isinstance(self.transform, str):
            raise DataflowError(f"transform is {self.transform}, not a text like 'tile(i=4, j=4)'")
        if not isinstance(self.latency or {}, Mapping):
            raise DataflowError(f"latency is {self.latency}, not a table like {{'add': 12}}")
        for op, ticks in (self.latency or {}).items():
            if op not in (*EVERY_OPERATION, *FLOAT_FUNCTIONS, "cast"):
                known = ", ".join((*EVERY_OPERATION, *FLOAT_FUNCTIONS, "cast"))
                raise DataflowError(f"latency of '{op}': there is no such operation; there are: {known}")
            if not isinstance(ticks, int) or not 0 <= ticks <= 64:
                raise DataflowError(f"latency of '{op}' is {ticks} ticks, not in 0..64")

    def ticks(self, op: str, *, floating: bool = False) -> int:
        """Latency of operation `op`; constants, tables and conversions of integers have none of their own."""
        default = 2 if op in MULTIPLICATIONS else 0 if op == "pass" else 1
        if floating:
            default = FLOAT_LATENCY[op]
        return (self.latency or {}).get(op, default)
