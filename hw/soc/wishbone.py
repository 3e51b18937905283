"""Wishbone (classic cycles with the burst signals of revision B.3) as the scalar core speaks it."""

from __future__ import annotations

from enum import IntEnum

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CycleType", "WishboneSignature"]


class CycleType(IntEnum):
    """CTI."""

    CLASSIC = 0
    INCREMENTING = 2
    END = 7


class WishboneSignature(wiring.Signature):
    """Manager's side, 32-bit data: `adr` in words. There is no error line: the core would ignore it."""

    def __init__(self) -> None:
        super().__init__({
            "cyc": Out(1),
            "stb": Out(1),
            "we": Out(1),
            "adr": Out(30),
            "sel": Out(4),
            "cti": Out(3),
            "dat_w": Out(32),
            "dat_r": In(32),
            "ack": In(1),
        })
