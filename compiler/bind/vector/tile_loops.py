"""The tiles of a phase as loops, without making them all.

Tiles of a loop are alike in runs: at its ends something lies outside of arrays, between them nothing does. Within a run
the statements of a tile depend on nothing but the buffers that are its turn and what the tiles before have left behind
(settings, copies that need not be made again). Where that is the same before and after some tiles, all that follow up
to the end of the run repeat them, with addresses in memory that step. So a handful of tiles of each run are made, at
each level of the loops; what they become when they are unrolled is what making all of them gives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Protocol

from compiler.bind.vector.ir import Statement
from compiler.bind.vector.loop_reroll import LoopGroup, is_progression, loop_of
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.shapes import Settings

__all__ = ["TileLevel", "TileNest", "TileWork", "TiledPlan", "code_of", "runs_of"]

FEW = 256
"""Plans of no more tiles are made tile by tile."""

WORTH = 4
"""Turns that a loop has at least."""

PATIENCE = 4
"""Repetitions of a run that are made before what they leave behind is the same."""

Groups = list[list[Statement]]


@dataclass(frozen=True)
class TileLevel:
    """A loop over tiles. `runs`: where runs of turns that are alike end. `block`: turns after which all buffers come
    round. `margin`: turns that a turn looks ahead."""

    runs: tuple[int, ...]
    block: int
    margin: int

    @property
    def count(self) -> int:
        """Turns."""
        return self.runs[-1]

    def blocks(self, place: int) -> int:
        """Blocks from a turn on, of which no one sees a turn of another run: neither the one before nor those ahead."""
        start = max((end for end in self.runs if end <= place), default=0)
        end = min(end for end in self.runs if end > place)
        return max(0, end - self.margin - place) // self.block if place > start else 0


@dataclass(frozen=True)
class TileNest:
    """Loops around tiles, outermost first."""

    levels: tuple[TileLevel, ...]

    @cached_property
    def below(self) -> tuple[int, ...]:
        """Tiles of a turn of each loop."""
        return tuple(prod(level.count for level in self.levels[depth + 1:]) for depth in range(len(self.levels)))


class TileWork(Protocol):
    """Statements of tiles by number."""

    def before(self) -> list[Statement]:
        """What comes before the first tile."""
        ...

    def group(self, number: int) -> list[Statement]:
        """Those of a tile; tiles are asked for in order, though not all of them."""
        ...

    def state(self) -> Hashable:
        """All that the next tile depends on besides the tiles around it."""
        ...


class TiledPlan(Protocol):
    """A plan of tiles."""

    @property
    def steps(self) -> int:
        """Tiles."""
        ...

    def work(self, settings: Settings) -> TileWork:
        """Its tiles."""
        ...

    def nest(self) -> TileNest | None:
        """The loops around them; None if they are not regular."""
        ...


def code_of(plan: TiledPlan, settings: Settings, repeats: Repeats) -> Groups:
    """The statements of a plan in groups, without those that `repeats` leaves out: tile by tile, or with loops where
    there are many."""
    nest = plan.nest() if plan.steps > FEW else None
    work = plan.work(settings)
    start = repeats.without(work.before())
    if nest is None:
        return [start, *(repeats.without(work.group(number)) for number in range(plan.steps))]
    return [start, *_Rolled(work, nest, repeats).level(0, 0)]


def runs_of(count: int, signature: Callable[[int], Hashable]) -> tuple[int, ...]:
    """Where runs of equal signatures end, of `count` places. What lies outside of something changes once from place to
    place, so that a run is known by its ends and its middle."""
    known: dict[int, Hashable] = {}

    def at(place: int) -> Hashable:
        if place not in known:
            known[place] = signature(place)
        return known[place]

    def ends(low: int, high: int) -> list[int]:
        middle = (low + high) // 2
        if at(low) == at(high) == at(middle):
            return [high + 1]
        first, second = ends(low, middle), ends(middle + 1, high)
        return first[:-1] + second if at(first[-1] - 1) == at(middle + 1) else first + second

    return tuple(ends(0, count - 1))


class _Rolled:
    """Makes the groups of a nest."""

    def __init__(self, work: TileWork, nest: TileNest, repeats: Repeats) -> None:
        self._work, self._nest, self._repeats = work, nest, repeats

    def _state(self) -> Hashable:
        return self._work.state(), self._repeats.state()

    def _turns(self, depth: int, number: int, count: int) -> Groups:
        """The groups of `count` turns of a loop, from the one on that begins with tile `number`."""
        below = self._nest.below[depth]
        numbers = range(number, number + count * below, below)
        if depth + 1 == len(self._nest.levels):
            return [self._repeats.without(self._work.group(n)) for n in numbers]
        return [group for n in numbers for group in self.level(depth + 1, n)]

    def level(self, depth: int, first: int) -> Groups:
        """The groups of a loop whose first tile is number `first`."""
        level, below = self._nest.levels[depth], self._nest.below[depth]
        found: Groups = []
        place, tried = 0, 0
        while place < level.count:
            blocks = level.blocks(place)
            number = first + place * below
            if blocks < WORTH or tried == PATIENCE:
                found += self._turns(depth, number, 1)
                place += 1
                tried = 0 if blocks < WORTH else tried
                continue
            state = self._state()
            made = self._turns(depth, number, level.block)
            place += level.block
            tried += 1
            if state == self._state():
                rest = self._repeated(depth, number, made, blocks)
                place += (blocks - 1) * level.block if rest else 0
                made = rest or made
            found += made
        return found

    def _repeated(self, depth: int, number: int, made: Groups, blocks: int) -> Groups | None:
        """A loop of `blocks` blocks, of which the first one is `made`: the second one says what steps, and the last one
        that it does. None if they do not."""
        step = self._nest.levels[depth].block * self._nest.below[depth]
        first, second, last = (LoopGroup(_joined(groups)) for groups in
                               (made, *(self._turns(depth, number + turn * step, self._nest.levels[depth].block)
                                        for turn in (1, blocks - 1))))
        if not is_progression(first, second, last, blocks - 1):
            return None
        return [[loop_of([first], [second], blocks)]]


def _joined(groups: Sequence[Sequence[Statement]]) -> tuple[Statement, ...]:
    return tuple(statement for group in groups for statement in group)
