"""Shapes of arrays that are worth a look: space loops, positions along them, SIMD loop and lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.plan import legal_spaces
from compiler.bind.systolic.simd import simd_loops

__all__ = ["Shape", "extent_choices", "shapes"]

_WASTE = 1.34
"""Padded iterations per iteration that a shape may cost along one loop."""

_LANES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Shape:
    """`array` positions along the loops of `space`; `lanes` of loop `simd` ("" for none)."""

    space: tuple[str, ...]
    array: tuple[int, ...]
    simd: str
    lanes: int

    @property
    def macs(self) -> int:
        """Evaluations of the body per cycle."""
        return prod(self.array) * self.lanes

    def counts(self, loops: tuple[str, ...]) -> list[int]:
        """Iterations that happen at once, per loop."""
        placed = dict(zip(self.space, self.array, strict=True))
        return [placed.get(name, 1) * (self.lanes if name == self.simd else 1) for name in loops]

    def fewest_steps(self, kernel: Kernel) -> int:
        """No tiling of this shape takes fewer steps."""
        counts = self.counts(kernel.loops)
        return prod(-(-extent // count) for extent, count in zip(kernel.extents, counts, strict=True))

    def __str__(self) -> str:
        size = "x".join(map(str, self.array))
        return f"{','.join(self.space)} {size}" + (f" x {self.lanes} lanes of {self.simd}" if self.lanes > 1 else "")


def extent_choices(extent: int, limit: int) -> list[int]:
    """Counts up to `limit` that cut `extent` iterations with little padding: of those with equally many rounds the
    smallest."""
    found = []
    for count in range(1, min(extent, limit) + 1):
        rounds = -(-extent // count)
        smallest = -(-extent // rounds) == count
        if smallest and rounds * count <= _WASTE * extent:
            found.append(count)
    return found


def shapes(kernel: Kernel, macs: int) -> Iterator[Shape]:
    """Every shape of at most `macs` evaluations of the body per cycle."""
    for simd, lanes in _lane_choices(kernel, macs):
        for space in legal_spaces(kernel):
            choices = [_position_choices(kernel, name, simd, lanes, macs // lanes) for name in space]
            for array in product(*choices):
                if prod(array) * lanes <= macs:
                    yield Shape(space, array, simd, lanes)


def _lane_choices(kernel: Kernel, macs: int) -> Iterator[tuple[str, int]]:
    yield "", 1
    legal = simd_loops(kernel)
    for name, extent in zip(kernel.loops, kernel.extents, strict=True):
        if legal[name].reason:
            continue
        for lanes in _LANES[1:]:
            if lanes <= macs and lanes < 2 * extent and -(-extent // lanes) * lanes <= _WASTE * extent:
                yield name, lanes


def _position_choices(kernel: Kernel, name: str, simd: str, lanes: int, limit: int) -> list[int]:
    extent = kernel.extent(name)
    return extent_choices(-(-extent // lanes) if name == simd else extent, limit)
