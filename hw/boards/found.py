"""The boards of amaranth-boards, found by looking."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import amaranth_boards
from amaranth.build import Platform

__all__ = ["FAMILIES", "FoundBoard", "board_name", "found_boards"]

FAMILIES: Mapping[str, str] = {
    "LFE5U": "ecp5", "LCMXO2": "machxo2", "LCMXO3": "machxo3", "iCE40": "ice40", "GW": "gowin",
    "xc7": "xilinx7", "xc6s": "spartan6", "xc3s": "spartan3", "xcku": "ultrascale", "xczu": "ultrascale",
    "5C": "cyclone5", "EP4C": "cyclone4", "EP3C": "cyclone3", "EP3S": "stratix3", "10M": "max10",
}
"""By the beginning of a device's name, whatever its case."""


@dataclass(frozen=True)
class FoundBoard:
    """A platform class with an oscillator: `family` of `FAMILIES`, `device` with speed and package."""

    family: str
    device: str
    clock_hz: float
    platform: type[Any]


def found_boards() -> dict[str, FoundBoard]:
    """Boards by name (`board_name`), sorted by name. Those without an oscillator, of other families, and those that
    their own platform refuses are left out."""
    found = {}
    for module in _modules():
        for cls in _platforms(module):
            board = _board(cls)
            if board is not None:
                found[board_name(module.__name__, cls.__name__)] = board
    return dict(sorted(found.items()))


def _board(cls: type[Any]) -> FoundBoard | None:
    part = getattr(cls, "part", None)  # of Gowin; the others are made of pieces
    device = part if isinstance(part, str) else getattr(cls, "device", "")
    family = next((family for prefix, family in FAMILIES.items()
                   if isinstance(device, str) and device.lower().startswith(prefix.lower())), None)
    if family is None or cls.default_clk is None:
        return None
    try:
        platform = cls()
    except ValueError:  # Gowin's looks its part up only then
        return None
    full = device if part else f"{device}-{getattr(cls, 'speed', '')}{getattr(cls, 'package', '')}"
    return FoundBoard(family, full, float(platform.default_clk_frequency), cls)


def board_name(module: str, cls: str) -> str:
    """A board's name in kebab case, from the names of its module and its class.

    The module's name says where the words end, the class says which variant: ``versa_ecp5`` and
    ``VersaECP5Platform`` give ``versa-ecp5``, ``ulx3s`` and ``ULX3S_85F_Platform`` give ``ulx3s-85f``.
    """
    board = module.rpartition(".")[2].lower()
    variant = cls.removesuffix("Platform").lower()
    pattern = "_?".join(re.escape(character) for character in board.replace("_", ""))
    rest = re.sub(rf"^{pattern}", "", variant).strip("_")
    same = rest != variant.strip("_") or rest == ""
    words = [board, rest] if same else [variant.strip("_")]
    return "-".join(word for word in words if word).replace("_", "-")


def _modules() -> Iterator[ModuleType]:
    for entry in pkgutil.iter_modules(amaranth_boards.__path__):
        if not entry.ispkg:
            yield importlib.import_module(f"{amaranth_boards.__name__}.{entry.name}")


def _platforms(module: ModuleType) -> Iterator[type[Any]]:
    for name, cls in vars(module).items():
        if isinstance(cls, type) and issubclass(cls, Platform) and cls.__module__ == module.__name__ and name[0] != "_":
            yield cls
