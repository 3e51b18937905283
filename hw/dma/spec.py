"""Sizes of the burst engines and the layouts of what passes between their parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from amaranth.lib import data

from hw.errors import SluiceError

__all__ = ["ADDRESS_BITS", "ROW", "ROW_BYTES_BITS", "TILE_JOB", "DmaSpec", "DmaSpecError"]

ADDRESS_BITS = 32
ROW_BYTES_BITS = 24
COUNT_BITS = 16

PAGE_BYTES = 4096
"""No AXI burst crosses a multiple of this."""

TILE_JOB = data.StructLayout({
    "address": ADDRESS_BITS,
    "row_bytes": ROW_BYTES_BITS,
    "rows": COUNT_BITS,
    "row_stride": ADDRESS_BITS,
    "planes": COUNT_BITS,
    "plane_stride": ADDRESS_BITS,
})
"""One tile: the byte address of its first row, and how to step; see `DmaDescriptor`. No count is 0."""

ROW = data.StructLayout({"address": ADDRESS_BITS, "bytes": ROW_BYTES_BITS, "last": 1})
"""`bytes` (at least 1) consecutive bytes at byte address `address`; `last` row of the tile."""


class DmaSpecError(SluiceError):
    """Burst engines that cannot be built."""


@dataclass(frozen=True)
class DmaSpec:
    """Sizes of a burst engine.

    `data_width`: bits of the memory bus, 16 to 1024. `max_beats`: longest burst, at most 256 beats and 4 KiB.
    `outstanding`: bursts that may wait for their answer, 1 to 15. Raises `DmaSpecError`.
    """

    data_width: int = 64
    max_beats: int = 16
    outstanding: int = 8

    def __post_init__(self) -> None:
        if self.data_width not in (16, 32, 64, 128, 256, 512, 1024):
            raise DmaSpecError(f"a memory bus has 16 to 1024 bits, a power of two, not {self.data_width}")
        longest = min(256, PAGE_BYTES // self.bytes)
        if not 1 <= self.max_beats <= longest:
            raise DmaSpecError(f"bursts on {self.data_width} bits have 1 to {longest} beats, not {self.max_beats}")
        if not 1 <= self.outstanding <= 15:
            raise DmaSpecError(f"1 to 15 bursts can be outstanding, not {self.outstanding}")

    @property
    def bytes(self) -> int:
        """Bytes per beat, a power of two."""
        return self.data_width // 8

    @property
    def lane_bits(self) -> int:
        """Bits of a byte lane's number."""
        return (self.bytes - 1).bit_length()

    @cached_property
    def burst(self) -> data.StructLayout:
        """A burst: address of its first beat (a multiple of the beat), AxLEN, first lane, bytes, last of the tile."""
        size = (self.max_beats * self.bytes).bit_length()
        return data.StructLayout({"address": ADDRESS_BITS, "len": 8, "lane": self.lane_bits, "bytes": size, "last": 1})

    @cached_property
    def beat(self) -> data.StructLayout:
        """Which bytes of a beat count: `count` (at least 1) from `lane` on; `last` beat of the burst, of the tile."""
        return data.StructLayout({"lane": self.lane_bits, "count": self.lane_bits + 1, "last": 1, "tile_last": 1})

    @cached_property
    def chunk(self) -> data.StructLayout:
        """A beat's data with the bytes that count: `count` from `lane` on; `last` of the tile."""
        return data.StructLayout({"data": self.data_width, "lane": self.lane_bits, "count": self.lane_bits + 1,
                                  "last": 1})

    @cached_property
    def word(self) -> data.StructLayout:
        """A word of the packed stream, first byte in the low bits; `last` word of the tile, rest of it is zero."""
        return data.StructLayout({"data": self.data_width, "last": 1})
