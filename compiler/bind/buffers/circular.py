"""How much memory a buffer needs, and how far its reads may be delayed, in circular regions of a power of two.

Address linearisation (seed 001, section 5.6): words are laid out in the order of their production, so the
smallest legal modulus is the largest number of words between one that is written and the oldest still to be read.
Regions are powers of two because the hardware wraps addresses with a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic

__all__ = ["Lifetimes", "block_lifetimes"]

TILES_COMPARED = 3
"""Consecutive tiles whose overlap is examined; the pattern repeats after that."""


@dataclass(frozen=True)
class Lifetimes:
    """Per block, over some consecutive tiles: the nominal cycle in which it is complete, and the
    first and last cycles in which `read` uses it (for blocks that are never read, both are very early).

    `complete` is sorted: blocks are numbered in the order of their production.
    """

    complete: np.ndarray
    first_use: np.ndarray
    last_use: np.ndarray
    total_blocks: int

    def minimum_shift(self) -> int:
        """Fewest cycles by which all reads must be late so that none comes before its block is complete."""
        used = self.last_use > NEVER
        return int(np.max(self.complete[used] - self.first_use[used]))

    def maximum_shift(self, region: int) -> int:
        """Most cycles by which all reads may be late before a region of `region` blocks loses a block in use."""
        if region >= self.total_blocks:
            return UNLIMITED
        if region >= len(self.complete):
            raise AssertionError("region is larger than the enumerated part of the stream")
        return int(np.min(self.complete[region:] - self.last_use[:-region]))

    def live_blocks(self) -> int:
        """Largest number of blocks that are complete or being filled and still to be read, without lateness."""
        used = self.last_use > NEVER
        times = np.concatenate([self.complete[used], self.last_use[used]])
        change = np.concatenate([np.ones(used.sum(), int), -np.ones(used.sum(), int)])
        order = np.lexsort((change, times))
        return int(np.max(np.cumsum(change[order])))


NEVER = -(1 << 60)
UNLIMITED = 1 << 20
"""Lateness that nothing in a buffer limits; a bound keeps the solver's numbers small."""


def block_lifetimes(traffic: BufferTraffic, read: ReadTraffic, words: int | None = None) -> Lifetimes:
    """Lifetimes of the blocks of `traffic` as `read` sees them; blocks of `words` words, default its packing."""
    fetch = words or traffic.packing
    time, address = traffic.writes
    inner = traffic.write.time[0]
    firsts = address % fetch == 0
    complete = time[firsts] + (fetch - 1) * inner
    first, last = _uses(read, fetch, int(firsts.sum()))
    tiles = min(traffic.tiles, TILES_COMPARED)
    shift = np.arange(tiles)[:, None] * traffic.period
    per_tile = len(complete) if not traffic.tile_words else traffic.tile_words // fetch
    assert per_tile == len(complete), "rows are padded, so every block has a first word"
    total = traffic.tiles * per_tile if not traffic.homogeneous else 1 << 60

    def over_tiles(values: np.ndarray) -> np.ndarray:
        return np.where(values > NEVER, values + shift, NEVER).ravel()

    return Lifetimes(over_tiles(complete), over_tiles(first), over_tiles(last), total)


def _uses(read: ReadTraffic, fetch: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last cycle in which each block is used."""
    block, time = read.address[read.real] // fetch, read.time[read.real]
    first = np.full(blocks, 1 << 60)
    last = np.full(blocks, NEVER)
    np.minimum.at(first, block, time)
    np.maximum.at(last, block, time)
    return np.where(last > NEVER, first, NEVER), last
