"""Tiles that repeat as loops, or all in a row.

A loop is short to read and its code is fetched once, but the core first brings the numbers of its body into registers,
one after the other, while the lanes may run out of work. The cost model decides; where it makes little difference there
are loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.bind.vector.cost import cold_cycles
from compiler.bind.vector.ir import Loop, Statement
from compiler.bind.vector.loop_reroll import roll
from hw.vector_lanes.spec import VectorSpec

__all__ = ["arranged"]

MOST = 300
"""Statements in a row: more would not stay readable, nor in the instruction cache."""
GAIN = 0.995
"""What the clock cycles without loops are of those with loops, at most."""


def arranged(groups: Sequence[Sequence[Statement]], spec: VectorSpec,
             sharing: float = 1.0) -> tuple[float, tuple[Statement, ...]]:
    """Predicted clock cycles and the statements of all groups; `sharing` as in `Timeline`."""
    looped = roll(groups)
    cycles = cold_cycles(looped, spec, sharing=sharing)
    row = tuple(statement for group in groups for statement in group)
    if len(row) <= MOST and not _has_loop(row) and _has_loop(looped):
        straight = cold_cycles(row, spec, sharing=sharing)
        if straight < GAIN * cycles:
            return straight, row
    return cycles, looped


def _has_loop(body: Sequence[Statement]) -> bool:
    return any(isinstance(statement, Loop) for statement in body)
