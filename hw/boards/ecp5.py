"""The ECP5 boards of amaranth-boards, found by looking."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import amaranth_boards
from amaranth.vendor import LatticePlatform

__all__ = ["board_name", "ecp5_platforms"]

_DEVICE_PREFIX = "LFE5U"


def ecp5_platforms() -> dict[str, type[LatticePlatform]]:
    """Platform classes by board name (`board_name`), sorted by name."""
    found = {board_name(module.__name__, cls.__name__): cls for module in _modules() for cls in _platforms(module)}
    return dict(sorted(found.items()))


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


def _platforms(module: ModuleType) -> Iterator[type[LatticePlatform]]:
    for cls in vars(module).values():
        if isinstance(cls, type) and issubclass(cls, LatticePlatform) and cls.__module__ == module.__name__:
            device = getattr(cls, "device", None)
            if isinstance(device, str) and device.startswith(_DEVICE_PREFIX):
                yield cls
