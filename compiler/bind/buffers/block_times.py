"""When the blocks of a buffer are complete, as a function of their numbers: the nest of the writer, in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd, prod
from operator import mul

import numpy as np

from compiler.bind.buffers.iteration_samples import MOST_LISTED, near_ends
from compiler.bind.buffers.sequences import BufferTraffic

__all__ = ["BlockTimes", "residues"]

_ENDLESS = 1 << 40


@dataclass(frozen=True)
class BlockTimes:
    """Blocks of `packing` words, numbered by their addresses: `blocks` of them in a tile, some of which may never be
    written. Loops of the writer, innermost first, with cycles and blocks from one iteration to the next; `first`: cycle
    in which the first block is complete. Tile t does the same ``t * period`` cycles later. `gathered`: cycles from a
    block's first word to its last.
    """

    ranges: tuple[int, ...]
    time: tuple[int, ...]
    address: tuple[int, ...]
    first: int
    gathered: int
    period: int
    tiles: int
    blocks: int

    @staticmethod
    def of(traffic: BufferTraffic, packing: int) -> BlockTimes:
        """The blocks of `packing` words in which `traffic` is stored."""
        write, step = traffic.write, traffic.write.time[0]
        gathered = (packing - 1) * step
        first = write.time_offset + gathered
        if traffic.homogeneous:
            return BlockTimes((_ENDLESS,), (step * packing,), (1,), first, gathered, 0, 1, _ENDLESS)
        ranges = (-(-write.ranges[0] // packing), *write.ranges[1:])
        address = (write.address[0] if packing == 1 else 1, *(words // packing for words in write.address[1:]))
        return BlockTimes(ranges, (step * packing, *write.time[1:]), address, first, gathered, traffic.period,
                          traffic.tiles, traffic.tile_words // packing)

    @cached_property
    def count(self) -> int:
        """Blocks that are written in a tile."""
        return prod(self.ranges)

    @property
    def last(self) -> int:
        """Cycle in which the last block of the first tile is complete."""
        return self.first + sum((trips - 1) * cycles for trips, cycles in zip(self.ranges, self.time, strict=True))

    def at(self, block: np.ndarray) -> np.ndarray:
        """Cycles in which blocks are complete, of any tile. One that is never written counts as the next one that is:
        nobody reads it, and what lies in its place lives at least until then."""
        tile, rest = np.divmod(block, self.blocks)
        number = np.zeros_like(rest)
        inner = list(accumulate((1, *self.ranges[:-1]), mul))
        for trips, stride, size in reversed(list(zip(self.ranges, self.address, inner, strict=True))):
            digit = np.minimum(rest // stride, trips)
            rest = np.where(digit < trips, rest - digit * stride, 0)
            number = number + digit * size
        after = self.first + self.period if self.tiles > 1 else self.last
        return np.where(number < self.count, self._in_tile(number), after) + tile * self.period

    def in_order(self, number: np.ndarray) -> np.ndarray:
        """Cycles in which blocks are complete, by their place in the order in which they are."""
        tile, rest = np.divmod(number, self.count)
        return self._in_tile(rest) + tile * self.period

    def _in_tile(self, number: np.ndarray) -> np.ndarray:
        cycles, rest = np.full(len(number), self.first), number
        for trips, stride in zip(self.ranges, self.time, strict=True):
            rest, digit = np.divmod(rest, trips)
            cycles = cycles + digit * stride
        return cycles

    def least_gap(self, ahead: int, tiles: int) -> int | None:
        """Fewest cycles from the last word of a block to the first word of the block `ahead` places behind it, within
        so many tiles; None if there is none."""
        number = self._standing_for_all() if self.count * tiles > MOST_LISTED else np.arange(self.count * tiles)
        number = number[number + ahead < self.count * tiles]
        gaps = self.in_order(number + ahead) - self.gathered - self.in_order(number)
        return int(gaps.min()) if len(gaps) else None

    def _standing_for_all(self) -> np.ndarray:
        """Places of blocks near the ends of all loops: what lies between neighbours elsewhere does there, too."""
        number = np.zeros(1, np.int64)
        inner = accumulate((1, *self.ranges[:-1]), mul)
        for trips, size in zip(self.ranges, inner, strict=True):
            number = (number[:, None] + near_ends(trips, ()) * size).ravel()
        return number

    def cycles(self, count: int, tiles: int, cyclic: int | None) -> np.ndarray:
        """Cycles in which the first `count` blocks are complete; those of so many tiles modulo `cyclic`, each once."""
        if cyclic is None:
            return self.in_order(np.arange(count))
        return residues(self.first, (*self.ranges, tiles), (*self.time, self.period), cyclic)


def residues(first: int, ranges: Sequence[int], time: Sequence[int], modulus: int) -> np.ndarray:
    """The cycles of a nest modulo `modulus`, each once."""
    found = np.array([first % modulus])
    for trips, stride in zip(ranges, time, strict=True):
        steps = min(trips, modulus // gcd(stride, modulus))
        found = np.unique((found[:, None] + np.arange(steps) * stride) % modulus)
    return found
