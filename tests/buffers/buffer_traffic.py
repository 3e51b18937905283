"""Random traffic of one buffer: a writer's nest, and readers that visit its words in any affine order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic, WriteTraffic


@dataclass(frozen=True)
class Shape:
    """What is written in one tile: `rows` rows of `columns` words, a word every `step` cycles, a row every `row`."""

    rows: int
    columns: int
    step: int
    row: int

    @property
    def span(self) -> int:
        """Cycles from first to last write."""
        return (self.rows - 1) * self.row + (self.columns - 1) * self.step


@st.composite
def shapes(draw: st.DrawFn, largest: int = 12, steps: tuple[int, ...] = (1, 1, 1, 2, 4)) -> Shape:
    rows, columns = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    step = draw(st.sampled_from(steps))
    return Shape(rows, columns, step, columns * step + draw(st.sampled_from((0, 0, 1, 4))))


@st.composite
def reads(draw: st.DrawFn, shape: Shape, pitch: int, name: str) -> ReadTraffic:
    """A reader of some of the words, in row or column order, forwards or backwards, some words several times."""
    row_first, row_step, row_count = _axis(draw, shape.rows)
    column_first, column_step, column_count = _axis(draw, shape.columns)
    repeat = draw(st.sampled_from((1, 1, 1, 2, 3)))
    outer = (row_count, row_step * pitch)
    inner = (column_count, column_step)
    if draw(st.booleans()):
        outer, inner = inner, outer
    loops = [outer, (repeat, 0), inner] if draw(st.booleans()) else [outer, inner, (repeat, 0)]
    address = np.array([row_first * pitch + column_first])
    time, gap = np.array([0]), draw(st.sampled_from((1, 1, 1, 2, 3)))
    for count, step in reversed(loops):
        steps = np.arange(count)[:, None]
        address, time = (steps * step + address).ravel(), (steps * gap + time).ravel()
        gap = int(time[-1]) + gap + draw(st.sampled_from((0, 0, 0, 1, 4)))
    return ReadTraffic(name, time, address, np.ones(len(time), dtype=bool))


def _axis(draw: st.DrawFn, size: int) -> tuple[int, int, int]:
    """First index, step and number of indices along one dimension."""
    step = draw(st.sampled_from((1, 1, 1, 2, 3)))
    count = draw(st.integers(1, 1 + (size - 1) // step))
    first = draw(st.integers(0, size - 1 - (count - 1) * step))
    return (first + (count - 1) * step, -step, count) if draw(st.integers(0, 4)) == 0 else (first, step, count)


@st.composite
def traffics(draw: st.DrawFn, packing: int, readers: int = 2, largest: int = 12, tiles: int = 9,
             unused: int = 0) -> BufferTraffic:
    """A writer and up to `readers` readers in up to `tiles` tiles; each tile takes as long as its slowest part. Up to
    `unused` wide words lie between rows."""
    shape = draw(shapes(largest))
    pitch = (-(-shape.columns // packing) + draw(st.integers(0, unused))) * packing
    write = WriteTraffic((shape.columns, shape.rows), (shape.step, shape.row), draw(st.integers(0, 9)), (1, pitch))
    found = [draw(reads(shape, pitch, f"r{k}")) for k in range(draw(st.integers(1, readers)))]
    starts = [draw(st.integers(0, 2 * shape.span + 9)) for _ in found]
    found = [ReadTraffic(r.name, r.time + start, r.address, r.real) for r, start in zip(found, starts, strict=True)]
    spans = [int(r.time[-1] - r.time[0]) for r in found]
    period = 1 + max(shape.span, *spans) + draw(st.integers(0, 5))
    count = draw(st.integers(1, tiles))
    return BufferTraffic("buffer", write, tuple(found), period, count, pitch * shape.rows, packing)
