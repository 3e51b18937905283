"""When a node fires, by the counters: what lines of words that step with it have to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl
import numpy as np

from compiler.analysis.counting import UncountedError
from compiler.analysis.walks import Walk
from compiler.bind.dataflow.timing import Carried
from compiler.bind.dataflow.word_ticks import CountedTicks, levels, ticks_between

__all__ = ["CountedFirings", "Firings", "SymbolicFirings"]


@dataclass(frozen=True)
class CountedFirings:
    """Ticks in which a node fires, sorted: int64 of shape [firings]."""

    ticks: np.ndarray

    def behind(self, item: Carried) -> int | None:
        """How many firings before it is read each word of an edge is written, None if that differs."""
        words = _counted(item)
        found = np.searchsorted(self.ticks, words.read) - np.searchsorted(self.ticks, words.written)
        return int(found[0]) if (found == found[0]).all() else None

    def after_reading(self, item: Carried, steps: int) -> int | None:
        """The most ticks from the reading of a word to the firing `steps` after its own; None if there is none for
        some."""
        words = _counted(item)
        later = np.searchsorted(self.ticks, words.written) + steps
        return int((self.ticks[later] - words.read).max()) if int(later.max()) < len(self.ticks) else None

    def gap(self, steps: int) -> int:
        """The least ticks from a firing to the one `steps` after it; for more steps than there are, as many as in
        all."""
        if not 0 < steps < len(self.ticks):
            return int(self.ticks[-1] - self.ticks[0]) if steps else 0
        return int((self.ticks[steps:] - self.ticks[:-steps]).min())

    def waiting(self, extra: int) -> int:
        """Most firings after which fewer than `extra` ticks have gone, at a firing, itself among them; not counted
        negative ones."""
        gone = np.searchsorted(self.ticks + extra, self.ticks, side="right")
        return int((np.arange(1, len(self.ticks) + 1) - gone).max())


def _counted(item: Carried) -> CountedTicks:
    """The words of an edge one by one."""
    words = item.words
    return words if isinstance(words, CountedTicks) else \
        words.numbers(UncountedError("its node's firings are looked at"))


class SymbolicFirings:
    """The vectors of `clock` at which a node fires. Raises `UncountedError` where counting does not succeed. `times`:
    those of all nodes."""

    def __init__(self, fired: isl.Set, clock: Walk, times: Mapping[str, isl.Map]) -> None:
        self.fired, self.clock, self.times = Walk(fired), clock, times

    def behind(self, item: Carried) -> int | None:
        """How many firings before it is read each word of an edge is written, None if that differs."""
        low, high = self.fired.between(self._relation(item)) or (None, None)
        return low if low == high else None

    def after_reading(self, item: Carried, steps: int) -> int | None:
        """The most ticks from the reading of a word to the firing `steps` after its own; None if there is none for
        some."""
        reads = self._relation(item).reverse()
        later = reads.apply_range(self.fired.shift(steps))
        return ticks_between(later, self.clock)[1] if reads.domain().is_subset(later.domain()) else None

    def _relation(self, item: Carried) -> isl.Map:
        """{firing that writes a word -> vector at which it is read}."""
        edge = item.edge
        return edge.relation.apply_domain(self.times[edge.source]).apply_range(self.times[edge.sink])

    def gap(self, steps: int) -> int:
        """The least ticks from a firing to the one `steps` after it; for more steps than there are, as many as in
        all."""
        if not steps:
            return 0
        if not 0 < steps < self.fired.count:
            ends = isl.Map.from_domain_and_range(self.fired.points.lexmin(), self.fired.points.lexmax())
            return ticks_between(ends, self.clock)[0]
        return ticks_between(self.fired.shift(steps), self.clock)[0]

    def waiting(self, extra: int) -> int:
        """Most firings after which fewer than `extra` ticks have gone, at a firing, itself among them."""
        return levels(self.fired, self.fired, self.clock, extra)


Firings = CountedFirings | SymbolicFirings
