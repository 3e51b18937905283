"""How much memory a buffer needs, and how far its reads may be delayed, in circular regions of a power of two.

Address linearisation (Liu 2023, section 5.6): words are laid out in the order of their production, so the
smallest legal modulus is the largest number of words between one that is written and the oldest still to be read.
Regions are powers of two where the hardware wraps addresses with a mask; see `compiler.bind.buffers.rings` for others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic

__all__ = ["UNLIMITED", "Lifetimes", "block_lifetimes", "live_words"]

NEVER = -(1 << 60)
UNLIMITED = 1 << 20
"""Lateness that nothing in a buffer limits; a bound keeps the solver's numbers small."""


@dataclass(frozen=True)
class Lifetimes:
    """Per block of one tile: the nominal cycle in which it is complete, and the first and last cycles in which a read
    uses it (for blocks that are never read, both are `NEVER`).

    `complete` is sorted: blocks are numbered in the order of their production. Block k of tile t does the same
    ``t * period`` cycles later and is block ``k + t * len(complete)`` of the stream, which has `total_blocks`.
    """

    complete: np.ndarray
    first_use: np.ndarray
    last_use: np.ndarray
    period: int
    total_blocks: int

    def minimum_shift(self) -> int:
        """Fewest cycles by which all reads must be late so that none comes before its block is complete."""
        used = self.last_use > NEVER
        return int(np.max(self.complete[used] - self.first_use[used]))

    def maximum_shift(self, region: int) -> int:
        """Most cycles by which all reads may be late before a region of `region` blocks loses a block in use.

        At this lateness a block's last use falls into the nominal cycle of the block that overwrites it.
        """
        count = len(self.complete)
        block = np.arange(min(count, self.total_blocks - region))
        block = block[self.last_use[block] > NEVER]
        if not len(block):
            return UNLIMITED
        tile, place = np.divmod(block + region, count)
        overwritten = self.complete[place] + tile * self.period
        return min(UNLIMITED, int(np.min(overwritten - self.last_use[block])))


def block_lifetimes(traffic: BufferTraffic, read: ReadTraffic) -> Lifetimes:
    """Lifetimes of the blocks of `traffic`, of its packing's size, as `read` sees them."""
    time, address = traffic.writes
    step = traffic.write.time[0]
    firsts = address % traffic.packing == 0
    complete = time[firsts] + (traffic.packing - 1) * step
    if traffic.homogeneous:
        return Lifetimes(complete, *_uses(read, traffic.packing, len(complete)), len(time) * step, 1 << 60)
    complete = _by_number(complete, address[firsts] // traffic.packing, traffic)
    uses = _uses(read, traffic.packing, len(complete))
    return Lifetimes(complete, *uses, traffic.period, traffic.tiles * len(complete))


def _by_number(complete: np.ndarray, blocks: np.ndarray, traffic: BufferTraffic) -> np.ndarray:
    """When each block of a tile is complete. One that is never written counts as the next one that is: nobody reads
    it, and what lies in its place lives at least until then."""
    after = int(complete[0]) + traffic.period if traffic.tiles > 1 else int(complete[-1])
    found = np.full(traffic.tile_words // traffic.packing, after)
    found[blocks] = complete
    return np.minimum.accumulate(found[::-1])[::-1]


def _uses(read: ReadTraffic, packing: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last cycle in which each block is used."""
    block, time = read.address[read.real] // packing, read.time[read.real]
    first = np.full(blocks, -NEVER)
    last = np.full(blocks, NEVER)
    np.minimum.at(first, block, time)
    np.maximum.at(last, block, time)
    return np.where(last > NEVER, first, NEVER), last


def live_words(traffic: BufferTraffic) -> int:
    """Largest number of words that are written and still to be read by any reader of `traffic`, without lateness.

    No implementation can do with less storage at this schedule. A word is not counted in the cycle of its last use.
    """
    time, address = traffic.writes
    place = np.full(int(address.max()) + 1, -1)
    place[address] = np.arange(len(address))
    last = np.full(len(address), NEVER)
    for read in traffic.reads:
        np.maximum.at(last, place[read.address[read.real]], read.time[read.real])
    used = last > NEVER
    born, gone = traffic.over_tiles(time[used], last[used])
    times = np.concatenate([born, gone])
    change = np.repeat([1, -1], len(born))
    order = np.lexsort((change, times))
    return int(np.max(np.cumsum(change[order])))
