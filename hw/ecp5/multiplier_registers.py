"""Registers that move into the ECP5's multipliers, which have some of their own at both inputs and at the output.

Yosys maps products to multipliers without registers. Those around a product are then flip-flops somewhere near, and the
way from the first to the second, through the multiplier, is often the longest of a design. Inside, that way is 4 ns,
which nextpnr does not add up: it times what leads to and from a multiplier with registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hw.ecp5.netlist import ZERO, Bit, Cell, Control, Wires, flip_flop_control, remove_unread

__all__ = ["absorb_registers"]

_MULTIPLIER = "MULT18X18D"
_INPUTS = [f"{side}{bit}" for side in "AB" for bit in range(18)]
_OUTPUTS = [f"P{bit}" for bit in range(36)]


def absorb_registers(module: Mapping[str, Any]) -> int:
    """Change a module of a netlist (as yosys writes it in JSON for an ECP5): flip-flops before both inputs or behind
    the output of a multiplier become registers of the multiplier, if all bits of these have one and the flip-flops have
    clock, enable and reset in common. A flip-flop with other readers stays for these. Returns how many are gone."""
    cells: dict[str, Cell] = module["cells"]
    multipliers = [cell for cell in cells.values() if cell["type"] == _MULTIPLIER]
    gone = 0
    for absorb in (_absorb_inputs, _absorb_outputs):
        wires = Wires(module)
        gone += remove_unread(module, {name for cell in multipliers for name in absorb(cell, wires)})
    return gone


def _has(multiplier: Cell, register: str) -> bool:
    """Whether it has this register already: the Verilog may have named the primitive."""
    return multiplier["parameters"].get(f"REG_{register}_CLK", "NONE") != "NONE"


def _absorb_inputs(multiplier: Cell, wires: Wires) -> Iterable[str]:
    """The flip-flops that are registers of both inputs now."""
    if _has(multiplier, "INPUTA") or _has(multiplier, "INPUTB"):
        return ()
    found: dict[str, str | None] = {}
    for port in _INPUTS:
        bit = multiplier["connections"][port][0]
        if bit != ZERO:
            found[port] = wires.flip_flop(wires.driver.get(bit), "Q")
    return _absorb(multiplier, wires.cells, found, "DI", ("INPUTA", "INPUTB"))


def _absorb_outputs(multiplier: Cell, wires: Wires) -> Iterable[str]:
    """The flip-flops that are registers of the output now: the only readers of its bits."""
    if _has(multiplier, "OUTPUT"):
        return ()
    found: dict[str, str | None] = {}
    for port in _OUTPUTS:
        bit = multiplier["connections"][port][0]
        if wires.readers[bit]:
            found[port] = wires.flip_flop_behind(bit)
    absorbed = _absorb(multiplier, wires.cells, found, "Q", ("OUTPUT",))
    for name in absorbed:
        wires.cells[name]["connections"]["Q"] = []
    return absorbed


def _absorb(multiplier: Cell, cells: Mapping[str, Cell], found: Mapping[str, str | None], outside: str,
            registers: Sequence[str]) -> list[str]:
    """Set `registers` of a multiplier in place of the flip-flops `found` at its ports, on whose side `outside` it is
    connected then. Nothing happens if one is missing or they differ in kind."""
    names = [name for name in found.values() if name is not None]
    controls = {flip_flop_control(cells[name]) for name in names}
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


def _pins(multiplier: Cell, control: Control) -> tuple[int, dict[str, list[Bit]]] | None:
    """The number of the enable and reset pins for registers that listen to `control`, and what these pins and that of
    the clock are connected to; None if there is another clock. Registers with all in common share pins: routing
    constants to many takes very long."""
    used = multiplier["connections"]
    for number in range(2):
        pins = {"CLK0": [control.clock], f"CE{number}": [control.enable], f"RST{number}": [control.reset]}
        if all(used.get(pin, bits) == bits for pin, bits in pins.items()):
            return number, pins
    return None
