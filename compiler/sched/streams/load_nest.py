"""In which order a load copies its box: that in which the readers come to the words.

Main memory keeps an array row by row, and a bank can walk a tile's box in any affine order. A load in the order of
the array delivers weights ``kernel[ry][rx][w][z]`` of all input channels before it comes to the second row of the
window, where a reader that sums over blocks of channels outside the window needs those of the first block at once.
So where the reader walks the dimensions in another order, the loops of a load are those of its reader: a dimension that
is walked by an outer loop of the reader is walked by an outer loop of the load, one that is walked in blocks
(``8*zo + 3``) is split into the loop over blocks and the loop inside a block, and what parallel reads take apart comes
innermost. In the order of the array, a loop over blocks is split off where the reader goes over a block several times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.dependences import constant_bounds
from compiler.analysis.driving_loops import driving_loops, inner_trips
from compiler.ir.program import Access, Statement

__all__ = ["LoadLoop", "build_load_nest"]


@dataclass(frozen=True)
class LoadLoop:
    """A loop of a load statement: `trips` steps of `step` elements along `dimension` of the array."""

    dimension: int
    trips: int
    step: int = 1


def build_load_nest(extents: Sequence[int], low: Sequence[int], reads: Sequence[tuple[Statement, Access]],
               depth: int) -> list[LoadLoop]:
    """Loops that copy a box of `extents` elements, outermost first, none for dimensions of one element.

    `low`: first element of the box of the first tile in each dimension, without what the tile loops add; the first
    `depth` iterators of every statement enumerate tiles.
    """
    leading = max((statement for statement, _ in reads), key=lambda s: prod(inner_trips(s, depth)))
    place = driving_loops(leading, [access for statement, access in reads if statement is leading], depth)
    order = [place.get(dimension, len(leading.iterators)) for dimension, extent in enumerate(extents) if extent > 1]
    even = order == sorted(order)
    walked: list[tuple[int, LoadLoop]] = []
    inside: list[LoadLoop] = []
    for dimension, extent in enumerate(extents):
        at = place.get(dimension)
        useful = at is not None and (not even or _goes_over(leading, at, place, depth))
        block = _block(extent, low[dimension], dimension, reads, depth) if useful else 1
        walk, rest = LoadLoop(dimension, extent // block, block), LoadLoop(dimension, block)
        if even:
            walked += [(dimension, walk), (dimension, rest)]
        elif at is None:
            inside.append(walk)
        else:
            walked.append((at, walk))
            inside.append(rest)
    return [loop for loop in (*(loop for _, loop in sorted(walked, key=lambda pair: pair[0])), *inside)
            if loop.trips > 1]


def _goes_over(statement: Statement, position: int, place: Mapping[int, int], depth: int) -> bool:
    """Whether, inside its loop at `position`, a reader has a loop of its own that goes over the same words again."""
    trips = inner_trips(statement, depth)
    return any(count > 1 and k not in place.values() for k, count in enumerate(trips) if k > position)


def _block(extent: int, low: int, dimension: int, reads: Sequence[tuple[Statement, Access]], depth: int) -> int:
    """Elements along `dimension` that one step of every reader's loop passes over, 1 if they do not move in equal
    blocks that fill the box."""
    blocks = {_stride(statement, access, dimension, low, depth) for statement, access in reads}
    block = blocks.pop() if len(blocks) == 1 else 1
    return block if extent % block == 0 else 1


def _stride(statement: Statement, access: Access, dimension: int, low: int, depth: int) -> int:
    """The step of the only loop that moves a read along `dimension`, if the read stays within the first step's
    elements; else 1."""
    relation = isl.PwMultiAff.from_map(access.map.intersect_domain(statement.domain))
    form = affine_form(relation.get_pw_aff(dimension))
    if form is None:
        return 1
    bounds = list(constant_bounds(statement).values())[depth:]
    moves = list(zip(form[0][depth:], bounds, strict=True))
    moving = [step for step, (first, last) in moves if step and last > first]
    start = form[1] + sum(step * first for step, (first, _) in moves) - low
    return moving[0] if len(moving) == 1 and 0 <= start < moving[0] else 1
