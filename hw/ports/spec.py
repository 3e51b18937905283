"""Which ports a system has in place of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hw.errors import SluiceError

__all__ = ["PortError", "SystemPorts"]

_CHOICES = {"control": ("axi", "wishbone"), "memory": ("axi", "wishbone"), "reset": ("high", "low"),
            "address_bits": (32, 64)}


class PortError(SluiceError):
    """Ports that a system cannot have."""


@dataclass(frozen=True)
class SystemPorts:
    """control: of the registers, ``"axi"`` (AXI4-Lite) or ``"wishbone"`` (B4, 32 bits). memory: ``"axi"`` (AXI4) or
    ``"wishbone"`` (B4 with registered feedback bursts, as wide as the memory bus). reset: the level that resets, of
    port ``rst`` or ``rst_n``. address_bits: of memory; with 64, registers MEMORY_BASE_LOW and MEMORY_BASE_HIGH hold
    what is added to the system's addresses of 32 bits. Raises `PortError`."""

    control: str = "axi"
    memory: str = "axi"
    reset: str = "high"
    address_bits: int = 32

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise PortError(f"{name} of a system's ports is {getattr(self, name)!r}, must be one of "
                                f"{', '.join(map(str, choices))}")

    @classmethod
    def parse(cls, text: str) -> SystemPorts:
        """From ``NAME=VALUE,…``; ``wishbone`` alone is both ports. Raises `PortError`."""
        found: dict[str, Any] = {}
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if part == "wishbone":
                found |= {"control": "wishbone", "memory": "wishbone"}
            elif not equals or name not in _CHOICES:
                raise PortError(f"ports '{part}': write wishbone, or NAME=VALUE with a name of {', '.join(_CHOICES)}")
            else:
                found[name] = int(value) if name == "address_bits" and value.isdecimal() else value
        return cls(**found)

    @property
    def reset_name(self) -> str:
        """Name of the reset's port."""
        return "rst" if self.reset == "high" else "rst_n"
