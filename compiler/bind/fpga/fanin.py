"""Where a cell's value comes from: followed back through operators and delay lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from compiler.sched.verify import ValidationError
from hw.pipeline.spec import BufferCell, ConstantCell, CounterCell, LineCell, MergeCell, ComputedCell, PipelineSpec, Tap

__all__ = ["Leaf", "leaves", "resolved"]


_LEAVES = BufferCell | CounterCell | MergeCell | ConstantCell


class Leaf(NamedTuple):
    """Cell `cell`, `cycles` cycles before the result that is computed from it."""

    cell: int
    cycles: int


def resolved(spec: PipelineSpec, tap: Tap, carries: Mapping[int, str]) -> Tap:
    """`tap` followed back through delay lines, up to a cell that `carries` a statement's values."""
    while isinstance(cell := spec.cells[tap.cell], LineCell) and tap.cell not in carries:
        tap = Tap(cell.source.cell, tap.cycles + cell.cycles + cell.source.cycles)
    return tap


def leaves(spec: PipelineSpec, root: int, carries: Mapping[int, str]) -> list[Leaf]:
    """The leaves of the value of cell number `root`: cells that `carries` statements' values, buffers, merges,
    counters and constants."""
    if not isinstance(spec.cells[root], ComputedCell):
        return []
    found: dict[Leaf, None] = {}
    seen: set[Leaf] = set()
    pending = [Leaf(root, 0)]
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        cell = spec.cells[place.cell]
        if place.cell != root and (place.cell in carries or isinstance(cell, _LEAVES)):
            found[place] = None
        elif isinstance(cell, ComputedCell):
            for tap in (resolved(spec, operand, carries) for operand in cell.operands):
                pending.append(Leaf(tap.cell, place.cycles + tap.cycles + cell.latency))
        else:
            raise ValidationError(f"cell {place.cell} is used, but carries no statement's values")
    return list(found)
