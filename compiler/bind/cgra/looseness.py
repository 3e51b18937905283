"""How much slower or larger than ideal a mapping may be, and what is tried in which order."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from compiler.bind.cgra.timing import TimingLoop

__all__ = ["Looseness", "Ways"]


class Looseness(NamedTuple):
    """How much slower or larger than ideal a mapping may be: alignment of loop lengths, initiation interval of the
    busiest loop, whether reads that are no delay lines get a wide word for every word (wide fetch only), and whether
    two of them may share a memory tile. `rings`: delay lines have circular regions of any size. `in_step`: loads keep
    step with their readers, `windows`: rows are loaded once for each step of a window, `in_turns`: buffers are written
    before they are read (wide fetch only)."""

    alignment: int = 1
    interval: int = 1
    sparse: bool = False
    shared: bool = False
    rings: bool = True
    in_step: bool = False
    windows: bool = False
    in_turns: bool = False

    @property
    def wide(self) -> bool:
        """Whether it makes a difference to memories with wide fetches only."""
        return self.sparse or self.in_step or self.windows or self.in_turns


_FULL_RATE = (
    Looseness(shared=True), Looseness(), Looseness(shared=True, in_step=True), Looseness(in_step=True),
    Looseness(shared=True, windows=True), Looseness(windows=True),
    Looseness(4, shared=True), Looseness(4), Looseness(in_turns=True), Looseness(4, in_turns=True))
_INTERVALS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_LONGEST = 256
"""The longest initiation interval that a recurrence may need."""


class Ways:
    """What is tried, fastest first: all at the full rate, then at longer and longer initiation intervals.

    A loop that was too slow at two intervals tells at which one it is fast enough: nothing is tried before that.
    `merged`: two buffers may share a memory tile, and delay lines wrap in loops instead of masks. `patient`: longer
    intervals are tried, too. `wide`: memories have wide fetches.
    """

    def __init__(self, merged: bool, patient: bool, wide: bool) -> None:
        self._merged, self._patient, self._wide = merged, patient, wide
        self._least = {False: 1, True: 1}
        self._needed = {False: 1, True: 1}
        self._excess: dict[tuple[bool, frozenset[str]], tuple[int, int]] = {}

    def __iter__(self) -> Iterator[Looseness]:
        for looseness in self._all():
            if (looseness.wide and not self._wide) or looseness.interval < self._least[looseness.sparse]:
                continue
            if self._merged:
                yield looseness
            elif not looseness.shared:
                yield looseness._replace(rings=False)

    def _all(self) -> Iterator[Looseness]:
        yield from _FULL_RATE
        interval = 1
        while self._patient and (interval := self._after(interval)):
            yield Looseness(1, interval)
            yield Looseness(4, interval)
            yield Looseness(4, interval, sparse=True)

    def _after(self, interval: int) -> int:
        """The next interval; 0 if there is none."""
        longer = [step for step in (*_INTERVALS, *self._needed.values()) if interval < step <= _LONGEST]
        return min(longer, default=0)

    def note(self, looseness: Looseness, loop: TimingLoop) -> None:
        """That a loop was too slow."""
        interval, sparse, key = looseness.interval, looseness.sparse, (looseness.sparse, frozenset(loop.units))
        before, excess = self._excess.get(key, (interval, loop.excess))
        self._excess[key] = interval, loop.excess
        if before < interval and loop.excess < excess:
            gain = ceil((excess - loop.excess) / (interval - before))
            self._needed[sparse] = max(self._needed[sparse], interval + ceil(loop.excess / gain))
        self._least[sparse] = max(self._needed[sparse], interval + 1)
