"""The loops around the statements of a staged program, within a tile, and how values go from loop to loop."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from compiler.analysis.affine import pieces, slopes
from compiler.analysis.common_loops import innermost_recurrences
from compiler.analysis.dependences import Dependence, flow, recurrences, topological_order
from compiler.ir.program import Statement
from compiler.sched.static.schedule import Loop, loop_trips, timed_dependences
from compiler.sched.streams.streams import StagedProgram

__all__ = ["Match", "Nests"]

Match: TypeAlias = tuple[Loop, Loop, Fraction]
"""A loop of a producer, the loop of a reader that walks it, and how many iterations of the first one of the second
takes."""


@dataclass(frozen=True)
class Nests:
    """What schedules of `staged` have in common, at whichever initiation intervals."""

    staged: StagedProgram

    @cached_property
    def dependences(self) -> tuple[Dependence, ...]:
        """All flow dependences."""
        return flow(self.staged.program)

    @cached_property
    def timed(self) -> tuple[Dependence, ...]:
        """The dependences whose values are there from some cycle on."""
        return timed_dependences(self.staged, self.dependences)

    @cached_property
    def carried(self) -> frozenset[tuple[str, int, str]]:
        """Keys of the dependences that lead back."""
        return recurrences(self.staged.program, self.timed)

    @cached_property
    def order(self) -> list[str]:
        """The statements, producers before their readers."""
        return topological_order(self.staged.program, self.dependences)

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """The statements by name, in that order."""
        return {name: self.staged.program.statement(name) for name in self.order}

    @cached_property
    def loops(self) -> dict[str, tuple[str, ...]]:
        """The iterators around every statement, from the outermost inwards."""
        return {name: self.staged.inner_iterators(s) for name, s in self.statements.items()}

    @cached_property
    def trips(self) -> dict[Loop, int]:
        """Iterations of every loop."""
        return {(s, n): count for s, nest in self.loops.items()
                for n, count in loop_trips(self.statements[s]).items() if n in nest}

    @cached_property
    def loads(self) -> frozenset[str]:
        """The statements that fetch inputs."""
        return frozenset(footprint.statement for footprint in self.staged.inputs)

    def recurring(self, names: frozenset[str]) -> frozenset[str]:
        """The statements of the recurrences of those in `names`, as far as innermost loops may carry them."""
        if names not in self._recurring:
            self._recurring[names] = innermost_recurrences(self.staged.program, self.timed, names)
        return self._recurring[names]

    @cached_property
    def _recurring(self) -> dict[frozenset[str], frozenset[str]]:
        return {}

    @cached_property
    def matches(self) -> list[tuple[Dependence, tuple[Match, ...]]]:
        """The timed dependences in the order of their readers, each with the loops that may run in step."""
        position = {name: k for k, name in enumerate(self.order)}
        return [(d, tuple(self._matches(d))) for d in sorted(self.timed, key=lambda d: position[d.sink])]

    def _matches(self, dependence: Dependence) -> list[Match]:
        """For producer loops the consumer loop that walks it over the longest range, with its slope.

        Only as far inwards as both nests have the loops in the same order (algorithm 2): where a consumer walks rows of
        columns, neither is fused, or a step of its inner loop would take as long as a row of the producer.
        """
        sink, source = self.statements[dependence.sink], self.statements[dependence.source]
        parts = pieces(dependence.relation)
        depth = self.staged.tile_depth
        found: list[Match] = []
        trips = loop_trips(sink)
        for position, iterator in list(enumerate(source.iterators))[depth:]:
            steps = slopes(parts[0][1].get_aff(position))
            walkers = [(step * trips[n], step, n) for n, step in zip(sink.iterators, steps, strict=True)
                       if n in sink.iterators[depth:] and step > 0]
            if walkers:
                _, step, name = max(walkers)
                found.append(((source.name, iterator), (sink.name, name), step))
        place = [sink.iterators.index(consumer[1]) for _, consumer, _ in found]
        ordered = [all(place[k] < later for later in place[k + 1:]) for k in range(len(place))]
        return found[: ordered.index(False)] if False in ordered else found

    def walks_again(self, matches: tuple[Match, ...]) -> bool:
        """Whether a statement has a loop of its own around the loops that it shares, on either side of a dependence."""
        return any(self._has_loop_around(loops) for loops in ([m[0] for m in matches], [m[1] for m in matches]))

    def _has_loop_around(self, shared: list[Loop]) -> bool:
        """Whether a statement has a loop around some of its loops that is none of them."""
        names = [name for _, name in shared]
        nest = self.loops[shared[0][0]]
        return any(name not in names for name in nest[: max(map(nest.index, names))])
