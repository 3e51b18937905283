"""What kind of channel an edge needs, and how many words it holds, exactly.

Bok 2018, section 2.5: an edge whose words are read in the order in which they were written is a FIFO, and a shift
register if write and read are a constant vector apart; every other edge is a reordering buffer. The size is the
greatest number of words that are written and not yet read, over all firings in the order of the schedule. The few words
of an edge are looked at one by one; of more, relations and counting functions say the same
(`compiler.sched.process_network.symbolic_traffic`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import islpy as isl
import numpy as np

from compiler.analysis.counting import UncountedError
from compiler.analysis.instance_budget import box_volume, require_few
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.reuse import Link
from compiler.sched.process_network.schedule import Times
from compiler.sched.process_network.symbolic_traffic import SymbolicTraffic

__all__ = ["FEW_WORDS", "ChannelKind", "Traffic", "channel_kind", "counted_traffic", "symbolic_traffic", "traffic"]

FEW_WORDS = 1 << 15
"""Words of an edge that are looked at one by one: that is quicker than symbols."""


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

    def few_distances(self, most: int) -> list[tuple[int, ...]] | None:
        """`distances`, None if there are more than `most`."""
        found = self.distances()
        return [tuple(distance) for distance in found.tolist()] if len(found) <= most else None

    def crosses(self, dim: int) -> bool:
        """Whether a word is read at another value of time dimension `dim` than it is written at."""
        return bool((self.read[dim] != self.written[dim]).any())

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

    def high_water(self, read_first: bool) -> int:
        """Most words in the channel at once. `read_first`: at one time reads come before writes (the reader fires
        first, or it is an edge of a node to itself: a firing reads, then writes); otherwise the writer fires first."""
        written, read = (np.sort(keys) for keys in self.clock())
        gone = np.searchsorted(read, written, side="right" if read_first else "left")
        return int((np.arange(1, self.words + 1) - gone).max(initial=0))


def traffic(link: Link, times: Times, listed: int | None = None) -> Traffic | SymbolicTraffic:
    """The traffic of `link` under the schedule `times`; the relation must be bounded.

    Raises `NetworkError` for one of many words that are not counted with symbols, and are too many to look at: more
    than `listed`, if that is given.
    """
    if box_volume(link.relation.domain()) > FEW_WORDS:
        try:
            return symbolic_traffic(link, times)
        except UncountedError as reason:
            what = f"edge from {link.source} to {link.sink}"
            require_few(link.relation.domain(), what, reason, NetworkError)
            if listed is not None and (volume := box_volume(link.relation.domain())) > listed:
                raise NetworkError(f"{what}: {volume} values would have to be looked at one by one ({reason}), which a "
                                   f"schedule that is only tried is not worth beyond {listed}") from None
    return counted_traffic(link, times)


def symbolic_traffic(link: Link, times: Times) -> SymbolicTraffic:
    """The traffic of `link` as a relation. Raises `UncountedError` if it is in no class that can be counted."""
    found = SymbolicTraffic(_timed(link, times))
    found.check()
    return found


def counted_traffic(link: Link, times: Times) -> Traffic:
    """The traffic of `link`, word by word."""
    domain = link.relation.domain()
    count, columns = enumerate_points(domain)
    read_at = link.relation.apply_range(times[link.sink])
    written = evaluate_map(times[link.source], domain, columns, count)
    read = evaluate_map(read_at, domain, columns, count)
    return Traffic(np.stack(np.broadcast_arrays(*written)), np.stack(np.broadcast_arrays(*read)))


def _timed(link: Link, times: Times) -> isl.Map:
    """{time of the write -> time of the read}."""
    return link.relation.apply_domain(times[link.source]).apply_range(times[link.sink])


def channel_kind(link: Link, moved: Traffic | SymbolicTraffic, size: int) -> ChannelKind:
    """The simplest channel that serves the traffic of `link`."""
    if not moved.in_order():
        return ChannelKind.REORDERING
    if size <= 1:
        return ChannelKind.REGISTER
    if link.source == link.sink and moved.few_distances(1) is not None:
        return ChannelKind.SHIFT_REGISTER
    return ChannelKind.FIFO
