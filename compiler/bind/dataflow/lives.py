"""Which words of an edge wait at the same time, and whether places in a memory keep them apart."""

from __future__ import annotations

from functools import cached_property

import islpy as isl
import numpy as np

from compiler.analysis.counting import UncountedError
from compiler.bind.dataflow.timing import Carried
from compiler.bind.dataflow.word_ticks import CountedTicks, SymbolicTicks
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.ir.relations import coordinates
from compiler.sched.process_network import ProcessNetwork

__all__ = ["Lives", "Weights", "lives_of"]

Weights = tuple[int, ...]
"""Of the coordinates of a place, in its number."""


class _CountedLives:
    """Word by word: those of `item`, read `extra` ticks later than its counters say."""

    def __init__(self, item: Carried, words: CountedTicks, extra: int) -> None:
        self.written, self.read = words.written, words.read + extra
        self.live = max(1, words.high_water(extra))
        self.domain = item.edge.relation.domain()
        self.looks, self.columns = enumerate_points(self.domain)
        self._places: list[tuple[isl.Map, list[np.ndarray]]] = []

    def apart(self, place: isl.Map, weights: Weights, depth: int | None) -> bool:
        """Whether each word is read before the next one is written to its place, the number of its coordinates by
        `weights` modulo `depth`."""
        numbers = sum((weight * value for weight, value in zip(weights, self._values(place), strict=True)),
                      np.zeros(self.looks, np.int64))
        if depth is not None:
            numbers = numbers % depth
        order = np.lexsort([self.written, numbers])
        same = numbers[order][1:] == numbers[order][:-1]
        return bool((~same | (self.written[order][1:] >= self.read[order][:-1])).all())

    def _values(self, place: isl.Map) -> list[np.ndarray]:
        for known, values in self._places:
            if known.plain_is_equal(place):
                return values
        values = [np.broadcast_to(v, self.looks) for v in evaluate_map(place, self.domain, self.columns, self.looks)]
        self._places.append((place, values))
        return values

    def longest(self) -> tuple[list[int], int]:
        """The instance whose word waits longest, and how many ticks."""
        waits = self.read - self.written
        longest = int(np.argmax(waits))
        return [int(c[longest]) for c in self.columns], int(waits[longest])


class _SymbolicLives:
    """As relations: the words of `item`, read `extra` ticks later than its counters say. `fired`: {instance -> counters
    at which it is written}. `_alive`: {instance that writes -> one that writes while the word waits}. Raises
    `UncountedError`."""

    def __init__(self, words: SymbolicTicks, extra: int, fired: isl.Map) -> None:
        self.words, self.extra, self.fired = words, extra, fired
        self.looks = 1
        self._steps: list[tuple[isl.Map, isl.Set]] = []

        back = self.fired.reverse()
        self._alive = words.alive(extra).apply_domain(back).apply_range(back).coalesce()

    @cached_property
    def live(self) -> int:
        """Most words that wait at once, at least 1."""
        return max(1, self.words.high_water(self.extra))

    def apart(self, place: isl.Map, weights: Weights, depth: int | None) -> bool:
        """Whether each word is read before the next one is written to its place, the number of its coordinates by
        `weights` modulo `depth`."""
        names = [f"x{k}" for k in range(len(weights))]
        number = " + ".join(f"{weight} * {name}" for weight, name in zip(weights, names, strict=True)) or "0"
        same = f"({number}) = 0" if depth is None else f"({number}) mod {depth} = 0"
        return self._differences(place).is_disjoint(isl.Set(f"{{ [{', '.join(names)}] : {same} }}"))

    def _differences(self, place: isl.Map) -> isl.Set:
        """The vectors from the place of a word to those of words that are written while it waits."""
        for known, steps in self._steps:
            if known.plain_is_equal(place):
                return steps
        bare = place.reset_tuple_id(isl.dim_type.out)
        steps = self._alive.apply_domain(bare).apply_range(bare).deltas().coalesce()
        self._steps.append((place, steps))
        return steps

    def longest(self) -> tuple[list[int], int]:
        """An instance whose word waits, and how many ticks the longest one does."""
        ends = self.fired.reverse().intersect_domain(self.words.writes.points).range()
        return list(coordinates(ends.sample_point())), self.words.most + self.extra


Lives = _CountedLives | _SymbolicLives


def lives_of(network: ProcessNetwork, item: Carried, extra: int) -> Lives:
    """The words of `item`, read `extra` ticks later than its counters say."""
    words = item.words
    if isinstance(words, SymbolicTicks):
        try:
            return _SymbolicLives(words, extra, network.times[item.edge.source])
        except UncountedError as reason:
            words = words.numbers(reason)
    return _CountedLives(item, words, extra)
