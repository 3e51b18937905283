"""Loops that the statements of a recurrence share as the program is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import islpy as isl
import networkx as nx

from compiler.analysis.affine import pieces
from compiler.analysis.dependences import Dependence
from compiler.ir.program import Program

__all__ = ["shared_loops"]

_Loop = tuple[str, str]
"""Statement and iterator."""


def shared_loops(program: Program, dependences: Sequence[Dependence]) -> list[tuple[_Loop, _Loop]]:
    """Pairs of loops that are one in the order of `program`, of statements that see values of each other."""
    graph = nx.DiGraph((d.source, d.sink) for d in dependences)
    return [pair for members in nx.strongly_connected_components(graph)
            for first, second in combinations(sorted(members), 2)
            for pair in _common(program, first, second)]


def _common(program: Program, first: str, second: str) -> Iterator[tuple[_Loop, _Loop]]:
    """The loops around both statements, from the outermost inwards."""
    for one, other in zip(_times(program, first), _times(program, second), strict=False):
        if isinstance(one, str) and isinstance(other, str):
            yield (first, one), (second, other)
        elif one is None or one != other:
            return


def _times(program: Program, name: str) -> list[str | int | None]:
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
