"""Random options of the coarse-grained array: every one that it has, with values that it takes."""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["array_options"]

_VALUES: dict[str, tuple[Any, ...]] = {
    "memory": ("pub", "dual-port", "dual-port-pe", "buffet"),
    "counter": (True, False),
    "array": ("8x8", "16x8", "16x16", "6x12", "24x8"),
    "fusion_level": (None, None, None, 0, 1),
    "tile_depth": (*[None] * 9, 0, 1),
    "half_words": (32768, 32768, 32768, 1024, 64),
    "share": ("asked", "auto"),
    "loops": ("auto", "asked"),
    "schedule": ("pipelined", "pipelined", "sequential"),
    "sums": ("auto", "chain"),
}


def array_options(random: Random) -> dict[str, Any]:
    """Options of one compile; a program may have too few loops or too many words for some of them."""
    return {"seed": random.randrange(4)} | {name: random.choice(values) for name, values in _VALUES.items()}
