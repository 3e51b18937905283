"""All boards by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hw.boards.de3 import De3Platform, de3_pins
from hw.boards.flow import FLOWS
from hw.boards.found import found_boards
from hw.boards.pins import Connection
from hw.errors import SluiceError

__all__ = ["Board", "BoardError", "boards", "find", "find_board"]


class BoardError(SluiceError):
    """A board that does not exist or that cannot do what is asked of it."""


@dataclass(frozen=True)
class Board:
    """One board.

    `name` in kebab case; `family`, the FPGA family, one of `hw.boards.found.FAMILIES`; `device`; `clock_hz`, the
    oscillator; `platform`, a maker of the Amaranth platform; `takes_pins`, whether `build_platform` accepts a pin file.
    """

    name: str
    family: str
    device: str
    clock_hz: float
    platform: Callable[..., Any]
    takes_pins: bool = False

    @property
    def can_place(self) -> bool:
        """Whether the free tools place and route for this board."""
        return self.family in FLOWS

    def build_platform(self, pins: Path | None = None, connections: Iterable[Connection] = ()) -> Any:
        """The Amaranth platform. Raises `BoardError` or `PinError`."""
        connections = tuple(connections)
        if not self.takes_pins and (pins is not None or connections):
            raise BoardError(f"board {self.name} has its pins built in; --pins and --connect are for boards without")
        if pins is None and connections:
            raise BoardError("--connect needs the pin file that it refers to: --pins FILE")
        return self.platform() if pins is None else self.platform(de3_pins(pins, connections))


@cache
def boards() -> Mapping[str, Board]:
    """Every board by name: the DE3 and those of amaranth-boards."""
    de3 = Board("de3", "stratix3", "EP3SL150F1152C2", 50e6, De3Platform, takes_pins=True)
    return {"de3": de3} | {name: Board(name, found.family, found.device, found.clock_hz, found.platform)
                           for name, found in found_boards().items()}


def find_board(name: str) -> Board:
    """The board called `name`, in kebab or snake case. Raises `BoardError` with names that come close."""
    return find("board", name.lower().replace("_", "-"), boards())


def find(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    """The entry called `name`. Raises `BoardError` with the names that come close, or all if there are few."""
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=4, cutoff=0.4) or [key for key in known if name and name in key]
    hint = f"did you mean {' or '.join(close)}?" if close else "--list shows them all"
    raise BoardError(f"there is no {kind} '{name}'; {hint}")
