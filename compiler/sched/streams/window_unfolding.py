"""Loads that bring the words of a window in the order in which its reader wants them, some of them again and again.

A reader that moves over rows by more than one word (``2*x + rx``) leaves words out that were fetched with those it
wants, and starts in another place of a wide word for every step of the window. A bank can walk a box in any affine
order, so it may bring a row once for each step of the window (``rx``), each time only the words that this step wants:
the reader then walks rows from end to end, and every row starts with a wide word of its own. That takes more words of
memory and more cycles of the load, which are free as long as nothing waits for it: another alignment of layouts than
the padding of Liu 2023, section 6.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.dependences import constant_bounds
from compiler.ir.program import Access, Statement
from compiler.sched.streams.load_nest import LoadLoop

if TYPE_CHECKING:
    from compiler.sched.static.schedule import Schedule

__all__ = ["Window", "match_window", "repeated_inputs", "unfold_loops"]


@dataclass(frozen=True)
class Window:
    """Along one dimension reads are at ``low + step * outer + stride * inner``: `loops` are those two. `iterators`: for
    every read the positions of its statement's iterators that are `outer` and `inner`, with their first values."""

    loops: tuple[LoadLoop, LoadLoop]
    iterators: tuple[tuple[tuple[int, int], tuple[int, int]], ...]


def match_window(dimension: int, low: tuple[tuple[int, ...], int], reads: Sequence[tuple[Statement, Access]],
                depth: int) -> Window | None:
    """How `reads` move along a dimension of their box, whose first element is `low` (coefficients of the tile iterators
    and a constant); None if they are not all alike or do not move with exactly two loops inside a tile."""
    found = [_moves(dimension, low, *read, depth) for read in reads]
    loops = {entry[0] for entry in found if entry is not None}
    if len(loops) != 1 or None in found:
        return None
    return Window(loops.pop(), tuple(entry[1] for entry in found if entry is not None))


def _moves(dimension: int, low: tuple[tuple[int, ...], int], statement: Statement, access: Access, depth: int
           ) -> tuple[tuple[LoadLoop, LoadLoop], tuple[tuple[int, int], tuple[int, int]]] | None:
    form = affine_form(isl.PwMultiAff.from_map(access.map.intersect_domain(statement.domain)).get_pw_aff(dimension))
    if form is None:
        return None
    bounds = list(constant_bounds(statement).values())
    moving = [k for k, (first, last) in enumerate(bounds) if k >= depth and form[0][k] and last > first]
    if len(moving) != 2 or any(form[0][k] < 0 for k in moving):
        return None
    start = form[1] + sum(form[0][k] * bounds[k][0] for k in range(depth, len(bounds)))
    if (form[0][:depth], start) != low:
        return None
    outer, inner = (LoadLoop(dimension, bounds[k][1] - bounds[k][0] + 1, form[0][k]) for k in moving)
    return (outer, inner), ((moving[0], bounds[moving[0]][0]), (moving[1], bounds[moving[1]][0]))


def repeated_inputs(schedule: Schedule) -> list[str]:
    """Inputs of which a schedule loads words several times, for each step of a window."""
    entries = schedule.statements
    return [f.array for f in schedule.staged.inputs if prod(entries[f.statement].trips.values()) > f.words]


def unfold_loops(loops: Sequence[LoadLoop], windows: Sequence[Window]) -> list[LoadLoop]:
    """`loops` with the loop along the dimension of each window as its two."""
    split = {window.loops[0].dimension: window.loops for window in windows}
    return [part for loop in loops for part in split.get(loop.dimension, (loop,))]
