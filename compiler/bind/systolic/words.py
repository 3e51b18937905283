"""Which words of a reference a processing element needs in one tile, and how they are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from compiler.bind.systolic.kernel import Reference
from compiler.bind.systolic.split import Split
from hw.systolic.spec import Address

__all__ = ["Axis", "Words", "number_words"]


@dataclass(frozen=True)
class Axis:
    """One dimension of a feeder's words: `extent` of them, `index` per time loop (and `offset`) gives the one of a
    step, and each is `steps` (one per subscript) elements after the one before."""

    extent: int
    index: tuple[int, ...]
    offset: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Words:
    """Words of a tile in one feeder, row-major over `axes`; the first holds the elements at `origin` (one per
    subscript, counted from those of the first iteration of the tile at this position)."""

    axes: tuple[Axis, ...]
    origin: tuple[int, ...]

    @property
    def count(self) -> int:
        """Words."""
        return prod(axis.extent for axis in self.axes)

    def address(self, times: int) -> Address:
        """The word of a step, for a nest of `times` time loops."""
        coefficients, constant = [0] * times, 0
        for number, axis in enumerate(self.axes):
            weight = prod(later.extent for later in self.axes[number + 1:])
            constant += weight * axis.offset
            coefficients = [c + weight * own for c, own in zip(coefficients, axis.index, strict=True)]
        return Address(tuple(coefficients), constant)

    def offsets(self) -> list[tuple[int, ...]]:
        """Per word: its distance from the tile's first iteration, in elements per subscript."""
        found = []
        for index in product(*(range(axis.extent) for axis in self.axes)):
            found.append(tuple(start + sum(axis.steps[d] * x for axis, x in zip(self.axes, index, strict=True))
                               for d, start in enumerate(self.origin)))
        return found


def number_words(reference: Reference, loops: Sequence[str], splits: Sequence[Split], times: Sequence[str]) -> Words:
    """The smaller of two numberings: by time loops, or by windows of the array, where steps share elements."""
    by_loop = _by_loop(reference, loops, splits, times)
    by_window = _by_window(reference, loops, splits, times)
    return by_window if by_window.count < by_loop.count else by_loop


def _by_loop(reference: Reference, loops: Sequence[str], splits: Sequence[Split], times: Sequence[str]) -> Words:
    axes = []
    for number, name in enumerate(times):
        position = loops.index(name)
        split = splits[position]
        if split.time > 1 and reference.depends(position):
            index = tuple(int(k == number) for k in range(len(times)))
            steps = tuple(s.coefficients[position] * split.lanes for s in reference.subscripts)
            axes.append(Axis(split.time, index, 0, steps))
    return Words(tuple(axes), (0,) * len(reference.subscripts))


def _by_window(reference: Reference, loops: Sequence[str], splits: Sequence[Split], times: Sequence[str]) -> Words:
    axes, origin = [], []
    for dimension, subscript in enumerate(reference.subscripts):
        moves = [subscript.coefficients[loops.index(name)] * splits[loops.index(name)].lanes for name in times]
        spans = [splits[loops.index(name)].time - 1 for name in times]
        unit = gcd(*(move for move, span in zip(moves, spans, strict=True) if span)) or 1
        index = tuple(move // unit if span else 0 for move, span in zip(moves, spans, strict=True))
        low = sum(min(0, i * span) for i, span in zip(index, spans, strict=True))
        extent = sum(abs(i) * span for i, span in zip(index, spans, strict=True)) + 1
        origin.append(low * unit)
        if extent > 1:
            steps = tuple(unit if d == dimension else 0 for d in range(len(reference.subscripts)))
            axes.append(Axis(extent, index, -low, steps))
    return Words(tuple(axes), tuple(origin))
