"""What a design may take."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hw.boards.capacity import device_capacity
from hw.boards.registry import find_board
from hw.errors import SluiceError

__all__ = ["Budget", "TunerError", "Usage", "board_budget", "parse_budget"]

_SHARE = 0.8
"""Of a device's LUTs and block RAM: more does not route well, and the rest of the system needs some."""


class TunerError(SluiceError):
    """Nothing fits, or what was asked for makes no sense."""


@dataclass(frozen=True)
class Usage:
    """Resources of a design: 18 x 18 multipliers, block RAM of 18 Kbit, LUTs of 4 inputs, flip-flops."""

    multipliers: int
    block_ram: int
    luts: int
    flip_flops: int


@dataclass(frozen=True)
class Budget:
    """Upper limits by resource; None is no limit."""

    multipliers: int | None = None
    block_ram: int | None = None
    luts: int | None = None

    def exceeded(self, usage: Usage) -> str | None:
        """What `usage` has too much of, in words; None if it fits."""
        for field in fields(self):
            limit, used = getattr(self, field.name), getattr(usage, field.name)
            if limit is not None and used > limit:
                return f"{used} {field.name.replace('_', ' ')} of {limit}"
        return None

    def __str__(self) -> str:
        limits = [f"{getattr(self, f.name)} {f.name.replace('_', ' ')}" for f in fields(self)
                  if getattr(self, f.name) is not None]
        return ", ".join(limits) or "no limits"


def board_budget(name: str) -> Budget:
    """All multipliers of a board's device and most of the rest. Raises `BoardError`, `CapacityUnknown`."""
    capacity = device_capacity(find_board(name).device)
    return Budget(capacity.multipliers, int(capacity.block_ram * _SHARE), int(capacity.luts * _SHARE))


def parse_budget(text: str) -> Budget:
    """``multipliers=64,block_ram=20,luts=10000``, any of them. Raises `TunerError`."""
    known = [field.name for field in fields(Budget)]
    limits: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = (word.strip() for word in part.partition("="))
        if name not in known or not number.isdecimal():
            raise TunerError(f"budget '{part.strip()}': write NAME=NUMBER with a name out of {', '.join(known)}")
        limits[name] = int(number)
    return Budget(**limits)
