"""How much memory a buffer needs, and how far its reads may be delayed, in circular regions of a power of two.

Address linearisation (Liu 2023, section 5.6): words are laid out in the order of their production, so the
smallest legal modulus is the largest number of words between one that is written and the oldest still to be read.
Regions are powers of two where the hardware wraps addresses with a mask; see `compiler.bind.buffers.rings` for others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.bind.buffers.block_times import BlockTimes
from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic

__all__ = ["UNLIMITED", "Lifetimes", "block_lifetimes", "live_words"]

UNLIMITED = 1 << 20
"""Lateness that nothing in a buffer limits; a bound keeps the solver's numbers small."""


@dataclass(frozen=True)
class Lifetimes:
    """The cycles in which blocks are `complete`, and of those that are used in one tile (ascending): number, and first
    and last cycle in which a read uses it.

    Blocks are numbered in the order of their production. Block k of tile t does the same ``t * period`` cycles later
    and is block ``k + t * complete.blocks`` of the stream, which has `total_blocks`.
    """

    complete: BlockTimes
    block: np.ndarray
    first_use: np.ndarray
    last_use: np.ndarray
    total_blocks: int

    def minimum_shift(self) -> int:
        """Fewest cycles by which all reads must be late so that none comes before its block is complete."""
        return int(np.max(self.complete.at(self.block) - self.first_use))

    def maximum_shift(self, region: int) -> int:
        """Most cycles by which all reads may be late before a region of `region` blocks loses a block in use.

        At this lateness a block's last use falls into the nominal cycle of the block that overwrites it.
        """
        lost = self.block < self.total_blocks - region
        if not lost.any():
            return UNLIMITED
        overwritten = self.complete.at(self.block[lost] + region)
        return min(UNLIMITED, int(np.min(overwritten - self.last_use[lost])))


def block_lifetimes(traffic: BufferTraffic, read: ReadTraffic) -> Lifetimes:
    """Lifetimes of the blocks of `traffic`, of its packing's size, as `read` sees them."""
    complete = BlockTimes.of(traffic, traffic.packing)
    total = 1 << 60 if traffic.homogeneous else traffic.tiles * complete.blocks
    return Lifetimes(complete, *_uses(read.address[read.real] // traffic.packing, read.time[read.real]), total)


def _uses(block: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The blocks that are used, each once, with the first and the last cycle of its uses."""
    order = np.lexsort((time, block))
    block, time = block[order], time[order]
    starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    return block[starts], time[starts], time[np.append(starts[1:], len(block)) - 1]


def live_words(traffic: BufferTraffic) -> int:
    """Largest number of words that are written and still to be read by any reader of `traffic`, without lateness.

    No implementation can do with less storage at this schedule. A word is not counted in the cycle of its last use.
    """
    address = np.concatenate([read.address[read.real] for read in traffic.reads])
    word, _, last = _uses(address, np.concatenate([read.time[read.real] for read in traffic.reads]))
    born, gone = traffic.over_tiles(BlockTimes.of(traffic, 1).at(word), last)
    times = np.concatenate([born, gone])
    change = np.repeat([1, -1], len(born))
    order = np.lexsort((change, times))
    return int(np.max(np.cumsum(change[order])))
