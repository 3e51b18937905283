"""How much slower or larger than ideal a mapping may be, and what is tried in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.sched.static.schedule import UNIT_II, InitiationIntervals

__all__ = ["Relaxation", "RelaxationSpace"]


class Relaxation(NamedTuple):
    """How much slower or larger than ideal a mapping may be: alignment of loop lengths, initiation intervals of
    innermost loops, whether reads that are no delay lines get a wide word for every word (wide fetch only), and whether
    two of them may share a memory tile. `rings`: delay lines have circular regions of any size. `in_step`: loads keep
    step with their readers, `windows`: rows are loaded once for each step of a window, `in_turns`: buffers are written
    before they are read (wide fetch only)."""

    alignment: int = 1
    pace: InitiationIntervals = UNIT_II
    sparse: bool = False
    shared: bool = False
    rings: bool = True
    in_step: bool = False
    windows: bool = False
    in_turns: bool = False

    def __str__(self) -> str:
        """What is relaxed, in words."""
        words = {"words of loops in fours": self.alignment > 1, "a word per wide word": self.sparse,
                 "buffers share tiles": self.shared, "strides of loads padded": self.in_step,
                 "rows loaded for each step of a window": self.windows, "filled, then drained": self.in_turns}
        return ", ".join([f"initiation interval {self.pace}", *(word for word, used in words.items() if used)])

    @property
    def wide(self) -> bool:
        """Whether it makes a difference to memories with wide fetches only."""
        return self.sparse or self.in_step or self.windows or self.in_turns

    @property
    def tight(self) -> bool:
        """Whether nothing at its initiation interval is tighter: no schedule at a longer one ends sooner."""
        return self.alignment == 1 and not self.in_step and not self.windows and not self.in_turns


_FULL_RATE = (
    Relaxation(shared=True), Relaxation(), Relaxation(shared=True, in_step=True), Relaxation(in_step=True),
    Relaxation(shared=True, windows=True), Relaxation(windows=True),
    Relaxation(4, shared=True), Relaxation(4), Relaxation(in_turns=True), Relaxation(4, in_turns=True))
_INTERVALS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_LONGEST = 256
"""The longest initiation interval that a recurrence may need."""
_ELSEWHERE = (1, 2, 4)
"""Initiation intervals of other loops, where memories cannot follow; after these all loops have the same."""
_NO_USE = {False: 4, True: 32}
"""From which initiation interval on a loop that a longer one did not help is given up, for narrow and wide memories:
wide words take longer to fill at longer intervals, until each word has one of its own."""
_KINDS = ((1, False), (4, False), (1, True), (4, True))

_Kind = tuple[int, bool]


class RelaxationSpace:
    """What is tried, fastest first: all at the full rate, then at longer and longer initiation intervals.

    Only loops of recurrences that were too slow have the longer interval, unless a memory could not follow. A loop that
    was too slow at two intervals tells at which one it is fast enough: nothing is tried before that. `merged`: two
    buffers may share a memory tile, and delay lines wrap in loops instead of masks. `patient`: longer intervals are
    tried, too. `wide`: memories have wide fetches.
    """

    def __init__(self, merged: bool, patient: bool, wide: bool) -> None:
        self._merged, self._patient, self._wide = merged, patient, wide
        self._least: Counter[_Kind] = Counter()
        self._needed: Counter[_Kind] = Counter()
        self._excess: dict[tuple[_Kind, frozenset[str]], tuple[int, int]] = {}
        self._slow: frozenset[str] = frozenset()
        self._behind = False
        self._patternless: set[_Kind] = set()

    def __iter__(self) -> Iterator[Relaxation]:
        for relaxation in self._all():
            if (relaxation.wide and not self._wide) or relaxation.pace.interval < self._least[_kind(relaxation)]:
                continue
            if _kind(relaxation) in self._patternless and not relaxation.windows:
                continue
            if self._merged:
                yield relaxation
            elif not relaxation.shared:
                yield relaxation._replace(rings=False)

    def _all(self) -> Iterator[Relaxation]:
        yield from _FULL_RATE
        interval, others, again = 1, 0, False
        while self._patient and (again or (interval := self._after(interval))):
            slow, self._behind = self._slow, False
            elsewhere = min((*_ELSEWHERE, interval)[others], interval)
            for alignment, sparse in _KINDS:
                yield Relaxation(alignment, InitiationIntervals(interval, self._slow, elsewhere) if self._slow else
                InitiationIntervals(interval),
                                sparse)
            slower = self._behind and bool(slow) and elsewhere < interval
            others, again = others + slower, slower or slow != self._slow

    def _after(self, interval: int) -> int:
        """The next interval; 0 if there is none."""
        longer = [step for step in (*_INTERVALS, *self._needed.values()) if interval < step <= _LONGEST]
        return min(longer, default=0)

    def note_pattern(self, relaxation: Relaxation) -> None:
        """That a reader's words come in an order that no controller has: no interval changes that, only other ways to
        load or to store them do."""
        if not relaxation.windows:
            self._patternless.add(_kind(relaxation))

    def note_memory(self) -> None:
        """That a memory could not follow."""
        self._behind = True

    def note(self, relaxation: Relaxation, loop: RecurrenceViolation, slow: frozenset[str]) -> None:
        """That a loop was too slow, through these statements. If they had no longer interval, the same one may do."""
        interval, kind = relaxation.pace.interval, _kind(relaxation)
        paced = relaxation.pace.slow is None or slow <= relaxation.pace.slow
        self._slow |= slow
        if interval > 1 and not paced:
            return
        key = kind, frozenset(loop.units)
        before, excess = self._excess.get(key, (interval, loop.excess))
        self._excess[key] = interval, loop.excess
        if before < interval and loop.excess < excess:
            gain = ceil((excess - loop.excess) / (interval - before))
            for same in self._with_the_loop(key):
                self._needed[same] = max(self._needed[same], interval + ceil(loop.excess / gain))
                self._least[same] = max(self._least[same], self._needed[same])
        elif before < interval >= _NO_USE[self._wide]:
            self._needed[kind] = _LONGEST + 1
        self._least[kind] = max(self._needed[kind], interval + 1)

    def _with_the_loop(self, key: tuple[_Kind, frozenset[str]]) -> list[_Kind]:
        """The kinds in which the loop through the same units has needed the same interval so far: it is the same loop
        there, and what fails in one of them after placement does in all."""
        kind, units = key
        needed = self._needed[kind]
        return [kind, *(other for other in _KINDS if needed and other != kind and self._needed[other] == needed
                        and (other, units) in self._excess)]


def _kind(relaxation: Relaxation) -> _Kind:
    """What decides, with the interval, how long a loop takes and how much time there is for it."""
    return relaxation.alignment, relaxation.sparse
