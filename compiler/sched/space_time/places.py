"""Best-first search of a place for one statement in the loops of others.

A place gives each loop a value: one of the statement's own iterators, with an offset, or a constant. What a value costs
is known loop by loop: how far the box around all statements grows, and between which least and greatest numbers the
distance of every value that the statement makes or uses then lies. So places come best first without a look at the
others, and beginnings of places along which a value would travel backwards are left out together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import combinations, permutations

import islpy as isl

from compiler.ir.program import Statement

__all__ = ["Choices", "Offer", "PlaceSearch", "Values", "make_place", "place_choices"]

Choices = tuple[tuple[str, ...], ...]
"""For each loop the values that it may have, as expressions of the statement's iterators, the most natural first."""


@dataclass(frozen=True)
class Values:
    """Values that the statement makes or uses: {sink -> source} by instances. `sink`, `source`: places of these
    statements, None for the one that is placed."""

    relation: isl.Map
    sink: isl.Map | None
    source: isl.Map | None


@dataclass(frozen=True)
class Offer:
    """A `place`: points of the box around everything, least sum of the distances, number in the order of choices."""

    volume: int
    distance: int
    number: tuple[int, ...]
    place: isl.Map


@dataclass(frozen=True)
class _Option:
    """One value of one loop: its least and greatest number, and those of every distance along the loop."""

    low: int
    high: int
    reach: tuple[tuple[int, int], ...]

    def least(self, uneven: int) -> int:
        """The least sum of distances; those that vary count `uneven` more."""
        return sum(0 if low <= 0 <= high else min(abs(low), abs(high)) for low, high in self.reach) + \
            uneven * sum(low != high for low, high in self.reach)


@dataclass(frozen=True)
class _Level:
    """The options of one loop in one of the choices, with their sides of the box and distances, and the least of each
    over this loop and all that follow it."""

    options: tuple[tuple[_Option, int, int], ...]
    side: int
    distance: int


_Beginning = tuple[int, int, tuple[int, ...], tuple[bool, ...]]
"""Of a place: least box and distances of what it can become, number of the choices and of the options of its loops, and
which values have an instance that travels forwards."""


@dataclass
class PlaceSearch:
    """Places of `statement` in `loops`. `box`: least and greatest values of each loop so far (None: sizes do not
    matter)."""

    statement: Statement
    loops: tuple[str, ...]
    values: Sequence[Values]
    box: Sequence[tuple[int, int]] | None = None
    _options: dict[tuple[int, str], _Option] = field(default_factory=dict)

    def offers(self, choices: Sequence[Choices], *, forward: bool = True, uneven: int = 0, once: bool = False
               ) -> Iterator[Offer]:
        """Places, the smallest box first, then the shortest distances, then in the order of `choices`.

        `forward`: without those in which all instances of some value would travel backwards. `uneven`: what a distance
        that varies counts. `once`: only the first of those that cannot be told apart by what is known of them.
        """
        levels = [self._levels(choice, uneven) for choice in choices]
        heap: list[_Beginning] = [(level[0].side, level[0].distance, (root,), (False,) * len(self.values))
                                  for root, level in enumerate(levels)]
        heapify(heap)
        seen: set[tuple[int, int, tuple[bool, ...]]] = set()
        while heap:
            volume, distance, number, ahead = heappop(heap)
            root, depth = number[0], len(number) - 1
            if once:
                if (root, depth, ahead) in seen:
                    continue
                seen.add((root, depth, ahead))
            if depth == len(self.loops):
                texts = [choices[root][k][index] for k, index in enumerate(number[1:])]
                yield Offer(volume, distance, number, make_place(self.statement, texts))
                continue
            here, after = levels[root][depth:depth + 2]
            for index, (option, side, cost) in enumerate(here.options):
                then = _ahead(ahead, option) if forward else ahead
                if then is not None:
                    heappush(heap, (volume // here.side * side * after.side, distance - here.distance + cost +
                                    after.distance, (*number, index), then))

    def _levels(self, choices: Choices, uneven: int) -> list[_Level]:
        """One for each loop, and one after the last."""
        levels = [_Level((), 1, 0)]
        for k in reversed(range(len(self.loops))):
            options = tuple((option, self._side(k, option), option.least(uneven))
                            for option in (self._option(k, text) for text in choices[k]))
            levels.append(_Level(options, levels[-1].side * min(side for _, side, _ in options),
                                 levels[-1].distance + min(distance for _, _, distance in options)))
        return levels[::-1]

    def _side(self, loop: int, option: _Option) -> int:
        if self.box is None:
            return 1
        low, high = self.box[loop]
        return max(high, option.high) - min(low, option.low) + 1

    def _option(self, loop: int, text: str) -> _Option:
        key = loop, text
        if key not in self._options:
            own = make_place(self.statement, [text])
            self._options[key] = _Option(*_ends(own.range()), tuple(self._reach(v, loop, own) for v in self.values))
        return self._options[key]

    def _reach(self, values: Values, loop: int, own: isl.Map) -> tuple[int, int]:
        """The least and the greatest distance along one loop."""
        sink = own if values.sink is None else _along(values.sink, loop)
        source = own if values.source is None else _along(values.source, loop)
        return _ends(values.relation.apply_domain(sink).apply_range(source).reverse().deltas())


def _ahead(ahead: tuple[bool, ...], option: _Option) -> tuple[bool, ...] | None:
    """Which values have an instance that travels forwards by now; None if all of some value's travel backwards."""
    if any(not before and high < 0 for before, (_, high) in zip(ahead, option.reach, strict=True)):
        return None
    return tuple(before or high > 0 for before, (_, high) in zip(ahead, option.reach, strict=True))


def _along(place: isl.Map, loop: int) -> isl.Map:
    count = place.dim(isl.dim_type.out)
    return place.project_out(isl.dim_type.out, loop + 1, count - loop - 1).project_out(isl.dim_type.out, 0, loop)


def _ends(numbers: isl.Set) -> tuple[int, int]:
    if numbers.is_empty():
        return 0, 0
    return numbers.dim_min_val(0).to_python(), numbers.dim_max_val(0).to_python()


# The choices.


def place_choices(statement: Statement, loops: tuple[str, ...], bounds: Mapping[str, tuple[int, int]], *,
                  by_name: bool = True) -> list[Choices]:
    """The choices of a statement of fewer loops, the most natural ones first. `by_name`: loops of the same name are the
    same; else those places in which some are not."""
    same = _positions(statement, loops)
    every = same if by_name else [p for p in permutations(range(len(loops)), len(statement.iterators)) if p not in same]
    found = []
    for positions in every:
        own = dict(zip(positions, statement.iterators, strict=True))
        found.append(tuple((own[k],) if k in own else _values(statement, bounds[name]) for k, name in enumerate(loops)))
    return found


def _positions(statement: Statement, loops: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Which of the loops the statement's own ones are: those of the same names, else any in the same order."""
    if set(statement.iterators) <= set(loops):
        return [tuple(loops.index(name) for name in statement.iterators)]
    return list(combinations(range(len(loops)), len(statement.iterators)))


def _values(statement: Statement, bounds: tuple[int, int]) -> tuple[str, ...]:
    low, high = bounds
    constants = dict.fromkeys((low, high, low - 1, high + 1))
    own = [f"{name}{offset}" for offset in ("", " + 1", " - 1") for name in statement.iterators]
    return (*map(str, constants), *own)


def make_place(statement: Statement, values: Sequence[str]) -> isl.Map:
    """{instance -> `values`, expressions of its iterators}."""
    names = ", ".join(statement.iterators)
    place = isl.Map(f"{{ {statement.name}[{names}] -> [{', '.join(values)}] }}")
    return place.intersect_domain(statement.domain)
