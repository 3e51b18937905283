"""What kind of channel an edge needs, and how many words it holds: by counting, exactly.

Bok 2018, section 2.5: an edge whose words are read in the order in which they were written is a FIFO, and a shift
register if write and read are a constant vector apart; every other edge is a reordering buffer. The size is the
greatest number of words that are written and not yet read, over all firings in the order of the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network.reuse import Link
from compiler.sched.process_network.schedule import Times

__all__ = ["ChannelKind", "Traffic", "channel_kind", "high_water", "traffic"]


class ChannelKind(Enum):
    """Ways to hold the words of an edge, simplest first."""

    REGISTER = "register"
    SHIFT_REGISTER = "shift register"
    FIFO = "FIFO"
    REORDERING = "reordering buffer"


@dataclass(frozen=True)
class Traffic:
    """When every word of an edge is written and read: two int64 arrays of shape [time dimensions, words]."""

    written: np.ndarray
    read: np.ndarray

    @property
    def words(self) -> int:
        """Words that cross the edge."""
        return self.written.shape[1]

    def distances(self) -> np.ndarray:
        """The different vectors from write to read: shape [number of them, time dimensions], sorted."""
        vectors = (self.read - self.written).T
        constant = (vectors == vectors[0]).all()
        return vectors[:1] if constant else np.unique(vectors, axis=0)

    def in_order(self) -> bool:
        """Whether words are read in the order in which they are written."""
        written, read = self.clock()
        return bool((np.diff(read[np.argsort(written)]) > 0).all())

    def clock(self) -> tuple[np.ndarray, np.ndarray]:
        """Times of writes and reads as one number each, in the same order as the vectors."""
        low = np.minimum(self.written.min(axis=1), self.read.min(axis=1))
        extents = np.maximum(self.written.max(axis=1), self.read.max(axis=1)) - low + 1
        written, read = np.zeros(self.words, np.int64), np.zeros(self.words, np.int64)
        for dim, extent in enumerate(extents.tolist()):
            written = written * extent + (self.written[dim] - low[dim])
            read = read * extent + (self.read[dim] - low[dim])
        return written, read


def traffic(link: Link, times: Times) -> Traffic:
    """The traffic of `link` under the schedule `times`; the relation must be bounded."""
    domain = link.relation.domain()
    count, columns = enumerate_points(domain)
    read_at = link.relation.apply_range(times[link.sink])
    written = evaluate_map(times[link.source], domain, columns, count)
    read = evaluate_map(read_at, domain, columns, count)
    return Traffic(np.stack(np.broadcast_arrays(*written)), np.stack(np.broadcast_arrays(*read)))


def high_water(moved: Traffic, read_first: bool) -> int:
    """Most words in the channel at once. `read_first`: at one time reads come before writes (the reader fires first, or
    it is an edge of a node to itself: a firing reads, then writes); otherwise the writer fires first."""
    written, read = (np.sort(keys) for keys in moved.clock())
    gone = np.searchsorted(read, written, side="right" if read_first else "left")
    return int((np.arange(1, moved.words + 1) - gone).max(initial=0))


def channel_kind(link: Link, moved: Traffic, size: int) -> ChannelKind:
    """The simplest channel that serves the traffic of `link`."""
    if not moved.in_order():
        return ChannelKind.REORDERING
    if size <= 1:
        return ChannelKind.REGISTER
    if link.source == link.sink and len(moved.distances()) == 1:
        return ChannelKind.SHIFT_REGISTER
    return ChannelKind.FIFO
