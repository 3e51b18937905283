"""What a user can choose when compiling for an FPGA without an array."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.fpga.errors import FpgaError
from compiler.bind.memory_options import MemoryOptions
from hw.dma.chunks import BUSES

__all__ = ["Options"]

_LOOPS = ("auto", "asked")
_EXITS = ("early", "maximum")

_LIMITS = {"operator_latency": (1, 4), "multiplier_latency": (1, 8), "register_gap": (1, 64),
           "clock_mhz": (1, 500)}

_LANES = (0, 1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Options(MemoryOptions):
    """What a user can choose.

    fusion_level: loops that producers and consumers share step by step, None for all (Liu 2023, section 4.4).
    lanes: elements of a row that come and go at a time, with as many copies of all operators; 0 for as many as the bus
    takes where that ends sooner.
    tile_depth: shared outer loops that enumerate tiles, each fetched anew; None for what takes the least storage.
    operator_latency, multiplier_latency: cycles of an operation, and of a multiplication; from two on there is a
    register before it; quotients, remainders and roots of integers take what `hw.integer.integer_latency` says.
    register_gap: longest delay, in cycles, that registers give between two taps; longer ones take
    a memory. clock_mhz: clock rate at which recurrences are to run; where registers behind operations would make them
    wait, operations get registers only as far as their delays (`hw.delays`) ask for them in a period of it. bus_bits:
    width of main memory, 32 to 512. loops: "auto" for loops in another order where a recurrence would wait for its
    operators, "asked" for those of the program. buffer_bits: bits of delay lines and buffers up to which the design
    that ends first is taken. exits: "early" for loops that end when the data say so, "maximum" for loops that always
    make the most iterations. reassociate: whether sums of floating-point numbers that wait for an adder may become
    partial sums; results are then those of `FpgaDesign.reference`, bit for bit. passes: another pipeline in place of
    the target's (`compiler.passes.pipeline`).
    """

    fusion_level: int | None = None
    tile_depth: int | None = None
    lanes: int = 1
    operator_latency: int = 1
    multiplier_latency: int = 2
    register_gap: int = 12
    clock_mhz: int = 120
    bus_bits: int = 64
    loops: str = "auto"
    buffer_bits: int = 1 << 21
    exits: str = "early"
    reassociate: bool = False
    passes: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise FpgaError(f"option {name} is {value!r}, must be {low} to {high}")
        if self.lanes not in _LANES:
            raise FpgaError(f"option lanes is {self.lanes!r}, must be one of {', '.join(map(str, _LANES))}")
        if self.passes and self.lanes > 1:
            raise FpgaError(f"option lanes is {self.lanes} and option passes is given: name the pass "
                            f"pack-streams{{lanes={self.lanes}}} first in that")
        for name in ("fusion_level", "tile_depth"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 0):
                raise FpgaError(f"option {name} is {value!r}, must be a number from 0")
        if self.buffer_bits < 0:
            raise FpgaError(f"option buffer_bits is {self.buffer_bits!r}, must be a number from 0")
        if self.loops not in _LOOPS:
            raise FpgaError(f"option loops is {self.loops!r}, must be one of {', '.join(_LOOPS)}")
        if self.exits not in _EXITS:
            raise FpgaError(f"option exits is {self.exits!r}, must be one of {', '.join(_EXITS)}")
        if self.bus_bits not in BUSES:
            raise FpgaError(f"option bus_bits is {self.bus_bits!r}, must be one of {', '.join(map(str, BUSES))}")
