"""The window machine: a loop over windows of packed arrays, one iteration per cycle, its memory beside it.

It is the machine of Hammes 2000, sections 5.3 and 7.1.3: generators keep a window in shift registers, the loop's body
is combinational, writers pack results into words, and each memory takes one access per cycle.
"""

from hw.window.machine import WindowMachine
from hw.window.spec import (
    Accumulators,
    ArgumentWord,
    Carry,
    Constant,
    Counters,
    Element,
    FinalValue,
    Operator,
    Output,
    Reduction,
    Table,
    Tile,
    Windows,
    WindowSpec,
)

__all__ = [
    "Accumulators",
    "ArgumentWord",
    "Carry",
    "Constant",
    "Counters",
    "Element",
    "FinalValue",
    "Operator",
    "Output",
    "Reduction",
    "Table",
    "Tile",
    "WindowMachine",
    "WindowSpec",
    "Windows",
]
