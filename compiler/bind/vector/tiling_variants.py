"""Tilings that are like another one but for one decision: where a search for a better plan goes from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.bind.vector.epilogue_overlap import late_finish
from compiler.bind.vector.plan import PhasePlan
from compiler.bind.vector.plan_timing import ALL, second_tile_instructions
from compiler.bind.vector.prologue_overlap import early_start
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.tile_boxes import NO_ENDS, Ends, TileBoxes
from compiler.bind.vector.tiling import Tiling

__all__ = ["delayed", "early", "further_ahead", "halved_ends", "late", "uneven", "whole", "with_carry", "with_ends"]

ENDS = 3
"""Smaller tiles at each end, at most."""
DELAYS = ((1, 0), (4, 0), (3, 3), (3, 6))
"""Instructions of a tile that are tried in front of the transfers that follow the tile before, and between them."""
EARLY = (3, 8)
"""Operations of the first tile, at most, that are tried in halves."""
LATE = 2
"""Units of the last tile that are tried to be stored first."""


def with_carry(plan: PhasePlan) -> Iterator[Tiling]:
    """Shared rows copied on chip, if there are any."""
    if plan.steps > 1 and (plan.steps > ALL or plan.overlaps()):
        yield replace(plan.tiling, carry=True)


def further_ahead(plan: PhasePlan) -> Iterator[Tiling]:
    """Two tiles are loaded ahead."""
    if plan.steps >= 3:
        yield replace(plan.tiling, ahead=2, ends=NO_ENDS, whole=False)


def whole(plan: PhasePlan) -> Iterator[Tiling]:
    """Arrays stay as a whole."""
    if plan.steps > 1 and _is_variable(plan):
        yield replace(plan.tiling, ahead=2, whole=True, carry=True, ends=NO_ENDS)


def with_ends(plan: PhasePlan, stays: bool) -> Iterator[Tiling]:
    """The first and the last tiles are smaller: halves of the tile, then of these, to both sides. `stays`: arrays stay
    as a whole."""
    if _is_variable(plan):
        yield from halved_ends(plan, stays)


def halved_ends(plan: PhasePlan, stays: bool = False) -> Iterator[Tiling]:
    """The same, however many tiles there are."""
    for parts in _halvings(plan)[1:]:
        yield replace(plan.tiling, ahead=2, ends=Ends(parts[::-1], parts), whole=stays,
                      carry=plan.tiling.carries or stays)


def _is_variable(plan: PhasePlan) -> bool:
    return bool(plan.tiling.tile) and plan.steps + 2 * ENDS <= ALL


def delayed(plan: PhasePlan) -> Iterator[Tiling]:
    """Transfers come behind the first instructions of the next tile, and then or else one more tile is loaded ahead.
    Behind all of its instructions they would come in time by the model, but do not on the machine."""
    if not 2 <= plan.steps <= ALL:
        return
    instructions = second_tile_instructions(plan)
    for ahead in (plan.tiling.ahead, plan.tiling.ahead + 1):
        yield from (replace(plan.tiling, ahead=ahead, delay=delay, gap=gap, early=0, late=0) for delay, gap in DELAYS
                    if delay < instructions)


def early(plan: PhasePlan) -> Iterator[Tiling]:
    """Operations of the first tile begin when half of it has come."""
    if plan.steps <= ALL:
        code = plan.tile(0, Settings())
        starts = (early_start(code, plan.order, most, plan.unit) for most in EARLY)
        yield from (replace(plan.tiling, early=len(start.head)) for start in starts if start)


def late(plan: PhasePlan) -> Iterator[Tiling]:
    """A part of the last tile is stored before the rest is done."""
    if plan.steps <= ALL and plan.tiling.tile:
        code = plan.tile(plan.steps - 1, Settings())
        if late_finish(code, plan.order, LATE * plan.unit):
            yield replace(plan.tiling, late=LATE)


def uneven(plan: PhasePlan) -> Iterator[Tiling]:
    """Another number of small tiles at the beginning or at the end, or a first one that is a little larger: what the
    lanes wait for is not the same there, for at the beginning the core has yet to fetch the code."""
    if not plan.tiling.tile or not 2 <= plan.steps <= ALL:
        return
    first, last = plan.tiling.ends
    tried = [Ends(parts[::-1], last) for parts in _halvings(plan)] + [Ends(first, parts) for parts in _halvings(plan)]
    tried += [Ends((first[0] + more * plan.unit, *first[1:]), last) for more in (1, 2) if first]
    for ends in tried:
        tiles = TileBoxes(plan.phase.shape, plan.tiling.tile, ends, plan.unit)
        if max(*ends.first, *ends.last, 0, 0) < plan.tiling.tile[0] and len(tiles) <= ALL:
            yield replace(plan.tiling, ends=ends, late=0)


def _halvings(plan: PhasePlan) -> list[tuple[int, ...]]:
    """Extents of the last tiles: none, then halves of the tile, one more each time."""
    found: list[tuple[int, ...]] = [()]
    part = plan.tiling.tile[0]
    for _ in range(ENDS):
        half = -(-part // (2 * plan.unit)) * plan.unit
        if half >= part:
            break
        part = half
        found.append((*found[-1], part))
    return found
