"""Registers that move into the ECP5's multipliers, which have some of their own at both inputs and at the output.

Yosys maps products to multipliers without registers. Those around a product are then flip-flops somewhere near, and the
way from the first to the second, through the multiplier, is often the longest of a design. Inside, that way is 4 ns,
which nextpnr does not add up: it times what leads to and from a multiplier with registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["absorb_registers"]

_MULTIPLIER, _FLIP_FLOP = "MULT18X18D", "TRELLIS_FF"
_INPUTS = [f"{side}{bit}" for side in "AB" for bit in range(18)]
_OUTPUTS = [f"P{bit}" for bit in range(36)]
_ZERO, _ONE = "0", "1"

Bit = int | str
"""A net of the netlist by its number, or a constant."""
Cell = dict[str, Any]


@dataclass(frozen=True)
class _Control:
    """What a register listens to: clock, enable and synchronous reset, which takes it to 0."""

    clock: Bit
    enable: Bit
    reset: Bit

    @property
    def fits(self) -> bool:
        """Whether registers of a multiplier do the same; of enable and reset it is not said which comes first."""
        return self.enable == _ONE or self.reset == _ZERO


def absorb_registers(module: Mapping[str, Any]) -> int:
    """Change a module of a netlist (as yosys writes it in JSON for an ECP5): flip-flops before both inputs or behind
    the output of a multiplier become registers of the multiplier, if all bits of these have one and the flip-flops have
    clock, enable and reset in common. A flip-flop with other readers stays for these. Returns how many are gone."""
    cells: dict[str, Cell] = module["cells"]
    multipliers = [cell for cell in cells.values() if cell["type"] == _MULTIPLIER]
    before = len(cells)
    for absorb in (_absorb_inputs, _absorb_outputs):
        wires = _Wires(module)
        absorbed = {name for cell in multipliers for name in absorb(cell, wires)}
        readers = _Wires(module).readers
        for name in absorbed:
            if not any(readers[bit] for bit in cells[name]["connections"]["Q"]):
                del cells[name]
    return before - len(cells)


class _Wires:
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

    def flip_flop(self, place: tuple[str, str] | None, port: str) -> str | None:
        """The name of the flip-flop whose `port` is at `place`."""
        cell = self.cells.get(place[0]) if place and place[1] == port else None
        return place[0] if place and cell and cell["type"] == _FLIP_FLOP else None


def _absorb_inputs(multiplier: Cell, wires: _Wires) -> Iterable[str]:
    """The flip-flops that are registers of both inputs now."""
    found: dict[str, str | None] = {}
    for port in _INPUTS:
        bit = multiplier["connections"][port][0]
        if bit != _ZERO:
            found[port] = wires.flip_flop(wires.driver.get(bit), "Q")
    return _absorb(multiplier, wires.cells, found, "DI", ("INPUTA", "INPUTB"))


def _absorb_outputs(multiplier: Cell, wires: _Wires) -> Iterable[str]:
    """The flip-flops that are registers of the output now: the only readers of its bits."""
    found: dict[str, str | None] = {}
    for port in _OUTPUTS:
        readers = wires.readers[multiplier["connections"][port][0]]
        if readers:
            found[port] = wires.flip_flop(readers[0], "DI") if len(readers) == 1 else None
    absorbed = _absorb(multiplier, wires.cells, found, "Q", ("OUTPUT",))
    for name in absorbed:
        wires.cells[name]["connections"]["Q"] = []
    return absorbed


def _absorb(multiplier: Cell, cells: Mapping[str, Cell], found: Mapping[str, str | None], outside: str,
            registers: Sequence[str]) -> list[str]:
    """Set `registers` of a multiplier in place of the flip-flops `found` at its ports, on whose side `outside` it is
    connected then. Nothing happens if one is missing or they differ in kind."""
    names = [name for name in found.values() if name is not None]
    controls = {_control(cells[name]) for name in names}
    control = controls.pop() if len(controls) == 1 else None
    pins = _pins(multiplier, control) if control else None
    if len(names) != len(found) or control is None or not control.fits or pins is None:
        return []
    for port, name in found.items():
        assert name is not None
        multiplier["connections"][port] = cells[name]["connections"][outside]
    number, signals = pins
    multiplier["connections"] |= signals
    multiplier["port_directions"] |= dict.fromkeys(signals, "input")
    for register in registers:
        multiplier["parameters"] |= {
            f"REG_{register}_CLK": "CLK0", f"REG_{register}_CE": f"CE{number}", f"REG_{register}_RST": f"RST{number}"}
    multiplier["parameters"]["RESETMODE"] = "SYNC"
    return names


def _pins(multiplier: Cell, control: _Control) -> tuple[int, dict[str, list[Bit]]] | None:
    """The number of the enable and reset pins for registers that listen to `control`, and what these pins and that of
    the clock are connected to; None if there is another clock. Registers with all in common share pins: routing
    constants to many takes very long."""
    used = multiplier["connections"]
    for number in range(2):
        pins = {"CLK0": [control.clock], f"CE{number}": [control.enable], f"RST{number}": [control.reset]}
        if all(used.get(pin, bits) == bits for pin, bits in pins.items()):
            return number, pins
    return None


def _control(flip_flop: Cell) -> _Control | None:
    """What a flip-flop listens to, None if it is of a kind that multipliers do not have."""
    parameters, connections = flip_flop["parameters"], flip_flop["connections"]
    reset = connections.get("LSR", [_ZERO])[0]
    enable = {"1": _ONE, "CE": connections.get("CE", [_ONE])[0]}.get(parameters.get("CEMUX", "1").strip())
    usual = parameters.get("CLKMUX", "CLK") == "CLK" and parameters.get("LSRMUX", "LSR") == "LSR"
    cleared = parameters.get("REGSET", "RESET") == "RESET" and parameters.get("SRMODE") != "ASYNC"
    return _Control(connections["CLK"][0], enable, reset) if usual and cleared and enable is not None else None
