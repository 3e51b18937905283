"""Sizes of the scratchpad DMA engine and the layouts of what passes between its parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from amaranth.lib import data

from hw.dma.spec import ADDRESS_BITS, PAGE_BYTES
from hw.errors import SluiceError
from hw.vector_lanes.spec import VectorSpec

__all__ = ["ROWS_BITS", "ScratchpadDmaSpec", "ScratchpadDmaSpecError"]

ROWS_BITS = 16


class ScratchpadDmaSpecError(SluiceError):
    """A scratchpad DMA engine that cannot be built."""


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True)
class ScratchpadDmaSpec:
    """Sizes of a scratchpad DMA engine.

    * `memory_bytes`: M, bytes per beat of main memory and per chunk of the scratchpad: 2 to 128, a power of two.
    * `capacity`: bytes of the scratchpad, a power of two, at least two chunks.
    * `max_beats`: longest burst, a power of two from 2 beats to 256 beats or 4 KiB, which is the default (None). Bursts
      end at multiples of their greatest length, so they never cross 4 KiB.
    * `outstanding`: bursts per direction that may wait for their end, 1 to 64. `ahead`: another read burst is asked
      for when fewer beats than this are on their way: it hides latency, and delays other managers on the same memory.
    * `jobs`: transfers that may be unfinished, a power of two from 2 to 64.

    Raises `ScratchpadDmaSpecError`.
    """

    memory_bytes: int = 16
    capacity: int = 32768
    max_beats: int | None = None
    outstanding: int = 16
    ahead: int = 64
    jobs: int = 8

    def __post_init__(self) -> None:
        if not _is_power(self.memory_bytes) or not 2 <= self.memory_bytes <= 128:
            raise ScratchpadDmaSpecError(f"a beat has 2 to 128 bytes, a power of two, not {self.memory_bytes}")
        if not _is_power(self.capacity) or self.capacity < 2 * self.memory_bytes:
            least = 2 * self.memory_bytes
            raise ScratchpadDmaSpecError(f"a scratchpad has {least} bytes or more, a power of two, not {self.capacity}")
        longest = min(256, PAGE_BYTES // self.memory_bytes)
        if not _is_power(self.burst_beats) or not 2 <= self.burst_beats <= longest:
            raise ScratchpadDmaSpecError(f"the longest burst of {self.memory_bytes}-byte beats has 2 to {longest} "
                                         f"beats, a power of two, not {self.max_beats}")
        for name, least, most in (("outstanding", 1, 64), ("ahead", 1, 4096)):
            if not least <= getattr(self, name) <= most:
                raise ScratchpadDmaSpecError(f"{name} is {getattr(self, name)}, not in {least} to {most}")
        if not _is_power(self.jobs) or not 2 <= self.jobs <= 64:
            raise ScratchpadDmaSpecError(f"2 to 64 jobs can be unfinished, a power of two, not {self.jobs}")

    @classmethod
    def of(cls, vector: VectorSpec, *, max_beats: int | None = None, outstanding: int = 16, ahead: int = 64,
           jobs: int = 8) -> ScratchpadDmaSpec:
        """The engine for the scratchpad of the vector processor `vector`."""
        return cls(vector.memory_bytes, vector.capacity, max_beats, outstanding, ahead, jobs)

    @property
    def data_width(self) -> int:
        """Bits of a beat or chunk."""
        return 8 * self.memory_bytes

    @property
    def lane_bits(self) -> int:
        """Bits of a byte's number in a beat."""
        return (self.memory_bytes - 1).bit_length()

    @property
    def address_bits(self) -> int:
        """Bits of a byte address in the scratchpad."""
        return (self.capacity - 1).bit_length()

    @property
    def chunk_bits(self) -> int:
        """Bits of a chunk's number in the scratchpad."""
        return self.address_bits - self.lane_bits

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst."""
        return min(256, PAGE_BYTES // self.memory_bytes) if self.max_beats is None else self.max_beats

    @property
    def burst_bits(self) -> int:
        """Bits of a beat's number in the longest burst."""
        return (self.burst_beats - 1).bit_length()

    @cached_property
    def chunk_write(self) -> data.StructLayout:
        """Bytes of a chunk whose `strobe` is set, byte 0 lowest, to be written."""
        return data.StructLayout({"chunk": self.chunk_bits, "data": self.data_width, "strobe": self.memory_bytes})

    @cached_property
    def transfer(self) -> data.StructLayout:
        """`rows` of `bytes` (at least 1) each; from row start to row start `sp_inc` and `memory_inc` bytes (modulo)."""
        sp = self.address_bits
        return data.StructLayout({"sp": sp, "memory": ADDRESS_BITS, "bytes": sp + 1, "rows": ROWS_BITS, "sp_inc": sp,
                                  "memory_inc": ADDRESS_BITS})

    @cached_property
    def row(self) -> data.StructLayout:
        """`bytes` (at least 1) from byte addresses `sp` and `memory` on; `last` row of its job."""
        return data.StructLayout({"sp": self.address_bits, "memory": ADDRESS_BITS, "bytes": self.address_bits + 1,
                                  "last": 1})

    def move(self, target_bits: int) -> data.StructLayout:
        """A row as the data path sees it: byte lane where it begins in the source, byte address in the target."""
        return data.StructLayout({"source": self.lane_bits, "target": target_bits, "bytes": self.address_bits + 1,
                                  "last": 1})

    def step(self, target_bits: int) -> data.StructLayout:
        """One cycle of the data path.

        `take` a word from the source and turn it up by `rotate` bytes; `emit` the bytes in lanes `low` to `high` of
        the target's word number `unit`: those below lane `rotate`, or all if `whole`, from the word taken before.
        `row_last`: last word of its row, `job_last`: of its job.
        """
        lane = self.lane_bits
        return data.StructLayout({"take": 1, "rotate": lane, "emit": 1, "whole": 1, "unit": target_bits - lane,
                                  "low": lane, "high": lane, "row_last": 1, "job_last": 1})

    def word(self, target_bits: int) -> data.StructLayout:
        """A word for the target; see `step`."""
        return data.StructLayout({"data": self.data_width, "strobe": self.memory_bytes,
                                  "unit": target_bits - self.lane_bits, "row_last": 1, "job_last": 1})
