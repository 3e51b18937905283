"""Loops of producers and readers that run in step (Liu 2023, section 4.4.1 and algorithm 2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from compiler.analysis.common_loops import shared_loops
from compiler.sched.static.loop_levels import Levels
from compiler.sched.static.nests import Match, Nests
from compiler.sched.static.schedule import InitiationIntervals, Loop

__all__ = ["AlignedLoops"]

_HALO = 1.25
"""Loops may be shared if nothing takes more than so many times longer: the border of an image, but not a loop over
blocks at the rate of one over what is in them."""


@dataclass(frozen=True)
class AlignedLoops:
    """The loops of a program, joined into levels as suits a pace. The producers in `apart` share no loops with those
    consumers of theirs."""

    nests: Nests
    levels: Levels
    pace: InitiationIntervals
    apart: frozenset[tuple[str, str]]
    as_written: bool

    @staticmethod
    def of(nests: Nests, pace: InitiationIntervals, apart: frozenset[tuple[str, str]] = frozenset(),
           as_written: bool = False) -> AlignedLoops:
        """Statements that see values of each other share the loops that they share in the program, if they are to be
        `as_written`."""
        levels = Levels(nests, nests.recurring(pace.slow or frozenset()))
        together = [d for d in nests.timed if (d.source, d.sink) not in apart] if as_written else []
        _align(levels, apart, shared_loops(nests.staged.program, together), pace)
        return AlignedLoops(nests, levels, pace, apart, as_written)

    def setting_apart(self, pairs: Collection[tuple[str, str]]) -> AlignedLoops:
        """The same with more producers apart from consumers of theirs."""
        return AlignedLoops.of(self.nests, self.pace, self.apart.union(pairs), self.as_written)


def _align(levels: Levels, apart: Collection[tuple[str, str]], written: Sequence[tuple[Loop, Loop]],
           pace: InitiationIntervals) -> None:
    """Join the loops of producers and consumers, but not where a consumer that walks the same values again and again
    (it has a loop of its own around theirs) would then wait for a longer loop of the producer each time. Those that are
    `written` as one are so first."""
    for one, other in written:
        if one in levels.level and other in levels.level:
            levels.join(one, other, Fraction(1))
    refused: set[tuple[Match, ...]] = set()
    longest = levels.longest(pace)
    for dependence, matches in levels.nests.matches:
        if (dependence.source, dependence.sink) in apart or matches in refused:
            continue
        joined = _join(levels, matches, pace, longest)
        if joined is None:
            refused.add(matches)
        else:
            longest = joined


def _join(levels: Levels, matches: tuple[Match, ...], pace: InitiationIntervals, longest: int) -> int | None:
    """Join as many pairs of loops, from the outermost inwards, as slow nobody down: where a consumer walks a block of
    values several times, they share the loop over blocks, and the next block comes while this one is in use.

    The cycles that the slowest nest then takes, which were the `longest` before; None if all pairs would slow somebody
    down.
    """
    before = levels.snapshot()
    for count in range(len(matches), 0, -1):
        for producer, consumer, slope in matches[:count]:
            levels.join(producer, consumer, slope)
        if levels.level == before.level:
            return longest
        after = levels.longest(pace)
        if after <= longest * (1 if levels.nests.walks_again(matches) else _HALO):
            return after
        levels.restore(before)
    return None if matches else longest
