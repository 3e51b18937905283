"""Shapes of instructions: a box of elements becomes vector length, rows, matrices, and loops around them.

Dimensions that lie behind each other in all operands are merged. Where all operands have one pitch, rows with gaps
are merged too, and what is computed in the gaps is garbage that nobody reads: it is often cheaper than short rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from compiler.bind.vector.access_ranges import wavefronts
from compiler.bind.vector.ir import Instruction, Setting, Statement
from hw.vector_lanes.isa import Mode

__all__ = ["Dimension", "Operands", "Settings", "State", "cycles", "instructions", "merged"]


@dataclass(frozen=True)
class Dimension:
    """`extent` steps of d, a and b bytes."""

    extent: int
    d: int
    a: int
    b: int

    @property
    def steps(self) -> tuple[int, int, int]:
        """Steps of D, A and B in bytes."""
        return self.d, self.a, self.b


@dataclass(frozen=True)
class Operands:
    """First addresses of D, A and B (A: the scalar, if the mode says so)."""

    d: int
    a: int
    b: int


State = tuple[tuple[str, tuple[int, ...]], ...]
"""Settings and their values."""


class Settings:
    """The vector unit's registers, so that only changes are written."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, ...]] = {}

    def change(self, kind: str, *values: int) -> Iterator[Setting]:
        """The setting, if it is not in force already."""
        if self._values.get(kind) != values:
            self._values[kind] = values
            yield Setting(kind, values)

    def state(self) -> State:
        """What is in force."""
        return tuple(sorted(self._values.items()))

    def operands(self) -> State:
        """The part of it that instructions depend on, and change."""
        return tuple(sorted(item for item in self._values.items() if item[0] != "transfer"))

    def restore(self, state: State) -> None:
        """What `state` said is in force again."""
        self._values |= dict(state)

    def forget(self) -> None:
        """Nothing is known any more."""
        self._values.clear()


def _sizes(mode: Mode) -> tuple[int, int, int]:
    """Steps of D, A and B from element to element; 0 for what is no vector, or one element for all of the row."""
    size = 1 << mode.in_element
    return 1 << mode.out_element, size if mode.reads_a else 0, size if mode.reads_b and not mode.repeats_b else 0


def merged(dimensions: list[Dimension]) -> list[Dimension]:
    """Neighbours that follow each other in every operand are one."""
    result: list[Dimension] = []
    for dimension in dimensions:
        if result and all(o == i * dimension.extent for o, i in zip(result[-1].steps, dimension.steps, strict=True)):
            result[-1] = Dimension(result[-1].extent * dimension.extent, *dimension.steps)
        else:
            result.append(dimension)
    return result


def _shape(dimensions: list[Dimension], mode: Mode) -> list[Dimension]:
    """Dimensions with the vector itself last (one element if nothing steps element by element)."""
    real = merged([d for d in dimensions if d.extent > 1])
    unit = _sizes(mode)
    if mode.accumulate:
        unit = (0, *unit[1:])
    used = [u > 0 or i == 0 or (i == 2 and mode.repeats_b) for i, u in enumerate(unit)]
    matching = [i for i, d in enumerate(real) if all(s == u for s, u, k in zip(d.steps, unit, used, strict=True) if k)]
    if matching:
        best = max(matching, key=lambda i: real[i].extent)
        if mode.accumulate or best == len(real) - 1 or real[best].extent > 1:
            vector = real.pop(best)
            return [*real, vector]
    return [*real, Dimension(1, *unit)]


def _with_gaps(shape: list[Dimension], mode: Mode) -> list[Dimension]:
    """The innermost rows as one vector that runs over the gaps between them, if all gaps are alike."""
    if len(shape) < 2 or (mode.repeats_b and any(dimension.b for dimension in shape[-2:])):
        return shape
    row, vector = shape[-2:]
    sizes = _sizes(mode)
    pitches = {step // size for step, size in zip(row.steps, sizes, strict=True) if size}
    exact = all(step % size == 0 for step, size in zip(row.steps, sizes, strict=True) if size)
    units = all(s == u for s, u in zip(vector.steps, sizes, strict=True) if u) and vector.d == sizes[0]
    if len(pitches) != 1 or not exact or not units:
        return shape
    (pitch,) = pitches
    if pitch < vector.extent:
        return shape
    return [*shape[:-2], Dimension((row.extent - 1) * pitch + vector.extent, *vector.steps)]


def _wavefronts(shape: list[Dimension], mode: Mode, row_bytes: int) -> int:
    total = wavefronts(mode, shape[-1].extent, row_bytes)
    for dimension in shape[:-1]:
        total *= dimension.extent
    return total


def _best(dimensions: list[Dimension], mode: Mode, row_bytes: int, gaps: bool) -> list[Dimension]:
    shape = _shape(dimensions, mode)
    if gaps and not mode.accumulate:
        joined = _with_gaps(shape, mode)
        if _wavefronts(joined, mode, row_bytes) <= _wavefronts(shape, mode, row_bytes):
            return joined
    return shape


def cycles(dimensions: list[Dimension], mode: Mode, row_bytes: int, gaps: bool = False) -> int:
    """Wavefronts that `instructions` would take."""
    return _wavefronts(_best(dimensions, mode, row_bytes, gaps), mode, row_bytes)


@lru_cache(maxsize=1024)
def _with_dimensions(mode: Mode, count: int) -> Mode:
    return replace(mode, dimensions=count)


def instructions(settings: Settings, mode: Mode, operands: Operands, dimensions: list[Dimension], row_bytes: int,
                 gaps: bool = False) -> Iterator[Statement]:
    """Statements that carry out `mode` over a box of `dimensions`, outermost first.

    `gaps`: elements between the rows of the destination may be overwritten.
    """
    shape = _best(dimensions, mode, row_bytes, gaps)
    vector, outer = shape[-1], sorted(shape[:-1], key=lambda d: d.extent)
    loops, instruction_dimensions = outer[:-2], outer[-2:]
    yield from settings.change("length", vector.extent)
    rows = instruction_dimensions[-1:]
    for kind, dimension in zip(("rows", "matrices"), instruction_dimensions[::-1], strict=False):
        a = dimension.a if mode.reads_a else 0
        b = dimension.b if mode.reads_b else 0
        yield from settings.change(kind, dimension.extent, dimension.d, a, b)
    word = _with_dimensions(mode, len(instruction_dimensions)) if rows else mode
    for index in itertools.product(*(range(d.extent) for d in loops)):
        d, a, b = (sum(i * dim.steps[k] for i, dim in zip(index, loops, strict=True)) for k in range(3))
        yield Instruction(word, operands.d + d, operands.a + (a if mode.reads_a else 0),
                          operands.b + b if mode.reads_b else 0)
