"""What FPGA devices hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["Capacity", "CapacityUnknown", "device_capacity", "shortages"]


class CapacityUnknown(SluiceError):
    """A device whose size is not on record."""


@dataclass(frozen=True)
class Capacity:
    """Units of a device. `luts`: LUTs of 4 inputs (ECP5) or ALUTs (Stratix III); `block_ram`: 18 Kbit blocks (ECP5) or
    9 Kbit blocks (Stratix III); `multipliers`: 18 x 18 bits."""

    luts: int
    block_ram: int
    multipliers: int


_DEVICES = {
    "LFE5U-12": Capacity(24_288, 56, 28),
    "LFE5U-25": Capacity(24_288, 56, 28),
    "LFE5U-45": Capacity(43_848, 108, 72),
    "LFE5U-85": Capacity(83_640, 208, 156),
    "LFE5UM-25": Capacity(24_288, 56, 28),
    "LFE5UM-45": Capacity(43_848, 108, 72),
    "LFE5UM-85": Capacity(83_640, 208, 156),
    "LFE5UM5G-25": Capacity(24_288, 56, 28),
    "LFE5UM5G-45": Capacity(43_848, 108, 72),
    "LFE5UM5G-85": Capacity(83_640, 208, 156),
    "EP3SL150": Capacity(113_600, 355, 384),
}


def device_capacity(device: str) -> Capacity:
    """The capacity of `device`, a full part name such as ``LFE5U-85F-6BG381``. Raises `CapacityUnknown`."""
    for prefix, capacity in _DEVICES.items():
        rest = device[len(prefix):]
        if device.startswith(prefix) and not rest[:1].isdigit():
            return capacity
    raise CapacityUnknown(f"the size of device {device} is not on record; known are {', '.join(_DEVICES)}")


def shortages(cells: Mapping[str, int], capacity: Capacity) -> list[str]:
    """What an ECP5 has too little of for a netlist of these cells (yosys' names), which nextpnr may take hours to find.
    A slice has as many flip-flops as LUTs. What is not listed may still not fit."""
    needed = {"LUTs": (cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0), capacity.luts),
              "flip-flops": (cells.get("TRELLIS_FF", 0), capacity.luts),
              "block RAMs": (cells.get("DP16KD", 0), capacity.block_ram),
              "multipliers": (cells.get("MULT18X18D", 0), capacity.multipliers)}
    return [f"{count} {what} of {held}" for what, (count, held) in needed.items() if count > held]
