"""Registers that move into the ECP5's block RAM, which has some of its own behind each read port.

Yosys maps memories without them. A register behind a read port is then flip-flops somewhere near, and the way to these
begins with the 5.6 ns that an access takes. Inside, nextpnr times what leads on from the register only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hw.ecp5.netlist import ZERO, Bit, Cell, Control, Wires, flip_flop_control, remove_unread

__all__ = ["absorb_block_ram_registers"]

_BLOCK_RAM = "DP16KD"
_WIDE = 36
"""Bits of a port that uses the outputs of both; it is number B that reads then."""

_OUTPUTS = {port: [f"DO{port}{bit}" for bit in range(18)] for port in "AB"}


def absorb_block_ram_registers(module: Mapping[str, Any]) -> int:
    """Change a module of a netlist: flip-flops behind a read port of a block RAM become the port's output register, if
    all bits that are read have one, nothing else reads these, and the flip-flops have the port's clock, one enable and
    no reset in common. Returns how many are gone."""
    cells: dict[str, Cell] = module["cells"]
    wires = Wires(module)
    absorbed: set[str] = set()
    for memory in [cell for cell in cells.values() if cell["type"] == _BLOCK_RAM]:
        for port, outputs in _read_ports(memory):
            absorbed |= _absorb(memory, port, outputs, wires)
    return remove_unread(module, absorbed)


def _read_ports(memory: Cell) -> list[tuple[str, list[str]]]:
    """The ports, and at which outputs their words are."""
    wide = [int(memory["parameters"][f"DATA_WIDTH_{port}"], 2) == _WIDE for port in "AB"]
    return [("B", [*_OUTPUTS["A"], *_OUTPUTS["B"]])] if any(wide) else list(_OUTPUTS.items())


def _absorb(memory: Cell, port: str, outputs: list[str], wires: Wires) -> set[str]:
    """The flip-flops in whose place the register of `port` is now."""
    connections, parameters = memory["connections"], memory["parameters"]
    bits: dict[str, Bit] = {name: connections[name][0] for name in outputs if connections.get(name)}
    found = {name: wires.flip_flop_behind(bit) for name, bit in bits.items() if wires.readers[bit]}
    names = {name for name in found.values() if name is not None}
    controls = {flip_flop_control(wires.cells[name]) for name in names}
    control = controls.pop() if len(controls) == 1 else None
    if None in found.values() or control is None or not _fits(memory, port, control):
        return set()
    for name, flip_flop in found.items():
        assert flip_flop is not None
        connections[name] = wires.cells[flip_flop]["connections"]["Q"]
        wires.cells[flip_flop]["connections"]["Q"] = []
    connections[f"OCE{port}"] = [control.enable]
    parameters |= {f"REGMODE_{name[2]}": "OUTREG" for name in outputs}
    return names


def _fits(memory: Cell, port: str, control: Control) -> bool:
    """Whether the output register of `port` can do what `control` says, and is free."""
    free = memory["parameters"].get(f"REGMODE_{port}", "NOREG") == "NOREG"
    rising = memory["parameters"].get(f"CLK{port}MUX", f"CLK{port}") == f"CLK{port}"
    same = rising and memory["connections"][f"CLK{port}"] == [control.clock]
    return free and same and control.reset == ZERO and memory["connections"].get(f"RST{port}", [ZERO]) == [ZERO]
