"""When the words of an edge are written and read, as a relation: order and levels without looking at words."""

from __future__ import annotations

from functools import cached_property

import islpy as isl

from compiler.analysis.counting import Term, basic_sets, count, greatest, joined
from compiler.analysis.polynomial import Polynomial
from compiler.analysis.walks import Walk
from compiler.ir.relations import coordinates

__all__ = ["SymbolicTraffic"]

_ONE = Polynomial.constant(1)


class SymbolicTraffic:
    """The words of an edge: `relation` {time of the write -> time of the read}, one to one. All questions are those of
    `compiler.sched.process_network.channels.Traffic`."""

    def __init__(self, relation: isl.Map) -> None:
        self.relation = relation.coalesce()
        self.writes, self.reads = Walk(relation.domain()), Walk(relation.range())

    def check(self) -> None:
        """Raise `UncountedError` if the words cannot be counted."""
        basic_sets(self.relation.wrap().flatten())
        _ = self.high_water(True), self.high_water(False), self.few_distances(1)

    @property
    def words(self) -> int:
        """Words that cross the edge."""
        return self.writes.count

    @cached_property
    def steps(self) -> isl.Set:
        """The vectors from write to read."""
        return self.relation.deltas().coalesce()

    def few_distances(self, most: int) -> list[tuple[int, ...]] | None:
        """The different vectors from write to read, sorted; None if there are more than `most`."""
        if not self.steps.is_singleton() and count(self.steps) > most:
            return None
        found: list[tuple[int, ...]] = []
        self.steps.foreach_point(lambda point: found.append(coordinates(point)))
        return sorted(found)

    def crosses(self, dim: int) -> bool:
        """Whether a word is read at another value of time dimension `dim` than it is written at."""
        return not self.steps.dim_min_val(dim).is_zero() or not self.steps.dim_max_val(dim).is_zero()

    def in_order(self) -> bool:
        """Whether words are read in the order in which they are written."""
        if self.steps.is_singleton():
            return True
        later = isl.Map.lex_lt(self.writes.points.get_space())
        pairs = later.intersect_domain(self.writes.points).intersect_range(self.writes.points)
        return pairs.apply_domain(self.relation).apply_range(self.relation).is_subset(later)

    def high_water(self, read_first: bool) -> int:
        """Most words in the channel at once."""
        here = [Term(piece, _ONE) for piece in basic_sets(self.reads.points.make_disjoint())] \
            if read_first else []
        everywhere = Term(isl.BasicSet.universe(self.writes.points.get_space()), _ONE)
        level = joined([*self.writes.below, everywhere], [*self.reads.below, *here])
        return max(0, greatest(level, self.writes.points) or 0)
