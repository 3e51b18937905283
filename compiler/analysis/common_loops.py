"""Loops that the statements of a recurrence share as the program is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import islpy as isl
import networkx as nx

from compiler.analysis.affine import pieces
from compiler.analysis.dependences import Dependence, recurrence_members
from compiler.ir.program import Program

__all__ = ["common_loops", "in_nests", "innermost_recurrences", "shared_loops"]

_Loop = tuple[str, str]
"""Statement and iterator."""

_Times = list[str | int | None]


def shared_loops(program: Program, dependences: Sequence[Dependence]) -> list[tuple[_Loop, _Loop]]:
    """Pairs of loops that are one in the order of `program`, of statements that see values of each other."""
    graph = nx.DiGraph((d.source, d.sink) for d in dependences)
    return [pair for members in nx.strongly_connected_components(graph)
            for first, second in combinations(sorted(members), 2)
            for pair in common_loops(program, first, second)]


def common_loops(program: Program, first: str, second: str) -> Iterator[tuple[_Loop, _Loop]]:
    """The loops around both statements, from the outermost inwards."""
    for one, other in zip(_times(program, first), _times(program, second), strict=False):
        if isinstance(one, str) and isinstance(other, str):
            yield (first, one), (second, other)
        elif one is None or one != other:
            return


def innermost_recurrences(program: Program, dependences: Sequence[Dependence], names: Collection[str]
                          ) -> frozenset[str]:
    """The statements of the recurrences of those in `names`, as far as innermost loops may carry them: a way back
    through another nest takes an iteration of a loop around both. Where none may, those of the whole recurrence."""
    if not names:
        return frozenset()
    inner = recurrence_members(in_nests(program, dependences))
    outer = frozenset(names).difference(*inner)
    return frozenset().union(*(part for part in inner if not part.isdisjoint(names)),
                             *(part for part in recurrence_members(dependences) if not part.isdisjoint(outer)))


def in_nests(program: Program, dependences: Sequence[Dependence]) -> list[Dependence]:
    """The dependences between statements with all loops in common; and those of which the times do not tell."""
    times = {name: _times(program, name) for name in sorted({n for d in dependences for n in (d.source, d.sink)})}
    return [d for d in dependences if not _in_two_nests(times[d.source], times[d.sink])]


def _in_two_nests(one: _Times, other: _Times) -> bool:
    """Whether one of two statements, by their times, has a loop that is not around the other; no, if these do not tell.
    """
    for depth, (own, its) in enumerate(zip(one, other, strict=False)):
        if isinstance(own, int) and isinstance(its, int) and own != its:
            return any(not isinstance(each, int) for each in (*one[depth:], *other[depth:]))
        if type(own) is not type(its) or own is None:
            return False
    return False


def _times(program: Program, name: str) -> _Times:
    """What each dimension of a statement's time is: an iterator, a number, or neither."""
    functions = pieces(program.order_of(name))
    if len(functions) != 1:
        return []
    function = functions[0][1]
    return [_time(function.get_aff(k), program.statement(name).iterators)
            for k in range(function.dim(isl.dim_type.out))]


def _time(time: isl.Aff, iterators: Sequence[str]) -> str | int | None:
    if time.is_cst():
        return time.get_constant_val().to_python()
    used = [k for k in range(len(iterators)) if time.involves_dims(isl.dim_type.in_, k, 1)]
    return iterators[used[0]] if len(used) == 1 and not time.dim(isl.dim_type.div) else None
