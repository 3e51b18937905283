"""Netlists as yosys writes them in JSON for an ECP5: who drives and who reads a net, what flip-flops listen to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ONE", "ZERO", "Bit", "Cell", "Control", "Wires", "flip_flop_control", "remove_unread"]

_FLIP_FLOP = "TRELLIS_FF"
ZERO, ONE = "0", "1"

Bit = int | str
"""A net by its number, or a constant."""
Cell = dict[str, Any]


@dataclass(frozen=True)
class Control:
    """What a register listens to: clock, enable and synchronous reset, which takes it to 0."""

    clock: Bit
    enable: Bit
    reset: Bit

    @property
    def fits(self) -> bool:
        """Whether registers of a multiplier do the same; of enable and reset it is not said which comes first."""
        return self.enable == ONE or self.reset == ZERO


class Wires:
    """Who drives and who reads each net: cell and port. Ports of the module are read by a cell without a name."""

    def __init__(self, module: Mapping[str, Any]):
        self.cells: Mapping[str, Cell] = module["cells"]
        self.driver: dict[Bit, tuple[str, str]] = {}
        self.readers: dict[Bit, list[tuple[str, str]]] = defaultdict(list)
        for name, port in module["ports"].items():
            for bit in port["bits"] if port["direction"] != "input" else ():
                self.readers[bit].append(("", name))
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                for bit in bits:
                    if cell["port_directions"][port] == "output":
                        self.driver[bit] = (name, port)
                    else:
                        self.readers[bit].append((name, port))

    def flip_flop_behind(self, bit: Bit) -> str | None:
        """The name of the flip-flop that takes `bit` and is the only one to read it."""
        readers = self.readers[bit]
        return self.flip_flop(readers[0], "DI") if len(readers) == 1 else None

    def flip_flop(self, place: tuple[str, str] | None, port: str) -> str | None:
        """The name of the flip-flop whose `port` is at `place`."""
        cell = self.cells.get(place[0]) if place and place[1] == port else None
        return place[0] if place and cell and cell["type"] == _FLIP_FLOP else None


def flip_flop_control(flip_flop: Cell) -> Control | None:
    """What a flip-flop listens to, None if it is of a kind that multipliers and block RAM do not have."""
    parameters, connections = flip_flop["parameters"], flip_flop["connections"]
    reset = connections.get("LSR", [ZERO])[0]
    enable = {"1": ONE, "CE": connections.get("CE", [ONE])[0]}.get(parameters.get("CEMUX", "1").strip())
    usual = parameters.get("CLKMUX", "CLK") == "CLK" and parameters.get("LSRMUX", "LSR") == "LSR"
    cleared = parameters.get("REGSET", "RESET") == "RESET" and parameters.get("SRMODE") != "ASYNC"
    return Control(connections["CLK"][0], enable, reset) if usual and cleared and enable is not None else None


def remove_unread(module: Mapping[str, Any], names: set[str]) -> int:
    """Remove those of the flip-flops `names` whose output nobody reads; returns how many."""
    readers = Wires(module).readers
    unread = [name for name in names if not any(readers[bit] for bit in module["cells"][name]["connections"]["Q"])]
    for name in unread:
        del module["cells"][name]
    return len(unread)
