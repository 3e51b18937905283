"""Boxes of one size, one for each turn of a loop, that begin farther on from turn to turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from compiler.analysis.boxes import box_of

__all__ = ["SteppingBox", "stepping_box"]

Ends = Sequence[tuple[int, int]]
"""First and last value of every iterator."""


@dataclass(frozen=True)
class SteppingBox:
    """Per iterator: where the box of turn 0 begins, how many steps farther that of the next turn does, and how many
    values there are."""

    low: tuple[int, ...]
    steps: tuple[int, ...]
    sizes: tuple[int, ...]

    def first(self, turn: int) -> tuple[int, ...]:
        """The first point of the box of a turn."""
        return tuple(low + turn * step for low, step in zip(self.low, self.steps, strict=True))

    def at(self, space: isl.Space, turn: int) -> isl.Set:
        """The points of the box of a turn."""
        return box_of(space, [(low, low + size - 1) for low, size in zip(self.first(turn), self.sizes, strict=True)])


def stepping_box(turns: Sequence[int], ends: Sequence[Ends], whole: Ends) -> SteppingBox:
    """A box of the least size that holds what each of some `turns` has, which begins and `ends` there. `whole`: the
    ends of what any turn has."""
    axes = [_axis(turns, [each[k] for each in ends], both) for k, both in enumerate(whole)]
    return SteppingBox(*zip(*axes, strict=True)) if axes else SteppingBox((), (), ())


def _axis(turns: Sequence[int], ends: Ends, whole: tuple[int, int]) -> tuple[int, int, int]:
    """The same of one iterator: its `SteppingBox.low`, `steps` and `sizes`."""
    still = whole[0], 0, whole[1] - whole[0] + 1
    if len({last - first for first, last in ends}) > 1 or len(turns) < 2:
        return still
    (start, high), span = ends[0], turns[-1] - turns[0]
    step, odd = divmod(ends[-1][0] - start, span)
    low = start - turns[0] * step
    if odd or any(first != low + turn * step for turn, (first, _) in zip(turns, ends, strict=True)):
        return still
    return low, step, high - start + 1
