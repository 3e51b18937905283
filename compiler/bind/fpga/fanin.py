"""Where a cell's value comes from: followed back through operators and delay lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from compiler.sched.verify import ValidationError
from hw.pipeline.spec import (
    BufferCell,
    ComputedCell,
    ConstantCell,
    CounterCell,
    LineCell,
    LoadCell,
    MergeCell,
    PipelineSpec,
    StoreCell,
    Tap,
    operand_delays,
)

__all__ = ["Leaf", "accesses", "leaves", "resolved"]


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
    return [place for place in _fan_in(spec, root, carries)
            if place.cell != root and (place.cell in carries or isinstance(spec.cells[place.cell], _LEAVES))]


def accesses(spec: PipelineSpec, root: int, carries: Mapping[int, str]) -> list[Leaf]:
    """The loads and stores that the value of cell number `root` is computed by, and how long before that they take
    their operands."""
    return [Leaf(place.cell, place.cycles + cell.latency) for place in _fan_in(spec, root, carries)
            if isinstance(cell := spec.cells[place.cell], LoadCell | StoreCell)
            and (place.cell == root or place.cell not in carries)]


def _fan_in(spec: PipelineSpec, root: int, carries: Mapping[int, str]) -> list[Leaf]:
    """All cells that the value of cell number `root` is computed from and by, if it is computed."""
    if not isinstance(spec.cells[root], ComputedCell):
        return []
    seen: dict[Leaf, None] = {}
    pending = [Leaf(root, 0)]
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen[place] = None
        cell = spec.cells[place.cell]
        if place.cell != root and (place.cell in carries or isinstance(cell, _LEAVES)):
            continue
        if isinstance(cell, ComputedCell):
            for operand, delay in zip(cell.operands, operand_delays(cell), strict=True):
                tap = resolved(spec, operand, carries)
                pending.append(Leaf(tap.cell, place.cycles + tap.cycles + delay))
        else:
            raise ValidationError(f"cell {place.cell} is used, but carries no statement's values")
    return list(seen)
