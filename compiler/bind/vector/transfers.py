"""Transfers between main memory and buffers, and what lies outside an array: filled, clamped or wrapped around."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.bind.vector.access import Box
from compiler.bind.vector.emit import TileCode
from compiler.bind.vector.graph import Leaf, Part
from compiler.bind.vector.ir import Statement, Transfer
from compiler.bind.vector.layout import extents
from compiler.bind.vector.shapes import Dimension, Operands, Settings, instructions
from compiler.bind.vector.translate import Result
from compiler.frontend.parallel_array.expression import Boundary
from hw.vector_lanes.isa import Mode, Op

__all__ = ["Piece", "Slab", "load", "pad", "pad_slabs", "store", "transfer_box"]

MOST_ROWS = 65535


@dataclass(frozen=True)
class Piece:
    """`length` elements of an axis, from `source` in the array to `target` in the index space of the leaf."""

    target: int
    source: int
    length: int


def axis_pieces(low: int, high: int, size: int, boundary: Boundary | None) -> list[Piece]:
    """What of an axis is transferred for indices `low` to `high`."""
    if boundary is not None and boundary.kind == "wrap":
        return _wrapped(low, high, size)
    first, last = max(low, 0), min(high, size)
    if first < last:
        return [Piece(first, first, last - first)]
    if boundary is not None and boundary.kind == "clamp":
        return [Piece(low, min(max(low, 0), size - 1), 1)]
    return []


def _wrapped(low: int, high: int, size: int) -> list[Piece]:
    pieces = []
    while low < high:
        source = low % size
        length = min(high - low, size - source)
        pieces.append(Piece(low, source, length))
        low += length
    return pieces


def transfer_box(settings: Settings, to_host: bool, array: str, part: Part, index: Sequence[int],
                 counts: tuple[int, ...], address: int, strides: tuple[int, ...], size: int,
                 gaps: bool = False) -> Iterator[Statement]:
    """A box of the `part` of an array, from `index` on, to or from a buffer: as few transfers as two dimensions each
    allow. `gaps`: what lies between rows may be moved with them."""
    memory = [size * stride for stride in part.strides]
    starts = [f + i * k for f, i, k in zip(part.first, index, part.steps, strict=True)]
    apart = [m * k for m, k in zip(memory, part.steps, strict=True)]
    dimensions = _merged([(n, s, m) for n, s, m in zip(counts, strides, apart, strict=True) if n > 1], size)
    offset = sum(i * m for i, m in zip(starts, memory, strict=True))
    length = size
    if dimensions and dimensions[-1][1:] == (size, size):
        length = dimensions.pop()[0] * size
    if gaps and dimensions and dimensions[-1][1] == dimensions[-1][2]:
        count, pitch, _ = dimensions.pop()
        length += (count - 1) * pitch
    rows, outer = (dimensions[-1], dimensions[:-1]) if dimensions else ((1, 0, 0), [])
    if rows[0] > 1:
        yield from settings.change("transfer", rows[1], rows[2])
    for index in itertools.product(*(range(n) for n, *_ in outer)):
        place = address + sum(i * d[1] for i, d in zip(index, outer, strict=True))
        there = offset + sum(i * d[2] for i, d in zip(index, outer, strict=True))
        for first in range(0, rows[0], MOST_ROWS):
            count = min(MOST_ROWS, rows[0] - first)
            yield Transfer(to_host, place + first * rows[1], array, there + first * rows[2], length,
                           count if rows[0] > 1 else 1)


def _merged(dimensions: list[tuple[int, int, int]], size: int) -> list[tuple[int, int, int]]:
    result: list[tuple[int, int, int]] = []
    for extent, step, there in dimensions:
        if result and result[-1][1] == step * extent and result[-1][2] == there * extent:
            result[-1] = (result[-1][0] * extent, step, there)
        else:
            result.append((extent, step, there))
    return result


def load(code: TileCode, leaf: Leaf, box: Box) -> Iterator[Statement]:
    """The part of an array inside `box`."""
    axes = [axis_pieces(low, high, n, b) for (low, high), n, b in zip(box, leaf.shape, leaf.boundaries, strict=True)]
    part = leaf.part or _whole(leaf.shape)
    gaps = leaf.part is None and not any(leaf.boundaries)
    for pieces in itertools.product(*axes):
        yield from transfer_box(
            code.settings, False, leaf.name, part, [p.source for p in pieces], tuple(p.length for p in pieces),
            code.address(leaf, [p.target for p in pieces]), code.strides(leaf), leaf.dtype.itemsize, gaps)


def _whole(shape: tuple[int, ...]) -> Part:
    return Part(shape, (0,) * len(shape), (1,) * len(shape))


@dataclass(frozen=True)
class Slab:
    """A box outside an array along `axis`; `edge` is the index of the nearest element inside."""

    box: Box
    axis: int
    edge: int
    boundary: Boundary


def pad_slabs(leaf: Leaf, box: Box) -> Iterator[Slab]:
    """What lies outside the array in `box`, innermost axis first."""
    inner = []
    for (low, high), size, boundary in zip(box, leaf.shape, leaf.boundaries, strict=True):
        pieces = axis_pieces(low, high, size, boundary)
        inner.append((pieces[0].target, pieces[-1].target + pieces[-1].length) if pieces else (low, low))
    for axis in reversed(range(leaf.rank)):
        boundary = leaf.boundaries[axis]
        if boundary is None or boundary.kind == "wrap":
            continue
        (low, high), (first, last) = box[axis], inner[axis]
        for part, edge in (((low, first), first), ((last, high), last - 1)):
            slab = (*inner[:axis], part, *box[axis + 1:])
            if all(a < b for a, b in slab):
                yield Slab(slab, axis, edge, boundary)


def pad(code: TileCode, leaf: Leaf, slab: Slab) -> Iterator[Statement]:
    """Fill a slab with its default value, or with the elements at the edge."""
    if slab.boundary.kind == "default":
        yield from code.fill(leaf, slab.box, slab.boundary.value)
        return
    corner = [low for low, _ in slab.box]
    source = [slab.edge if d == slab.axis else low for d, low in enumerate(corner)]
    dimensions = [Dimension(n, s, 0 if d == slab.axis else s, 0)
                  for d, (n, s) in enumerate(zip(extents(slab.box), code.strides(leaf), strict=True))]
    size = leaf.dtype.itemsize.bit_length() - 1
    operands = Operands(code.address(leaf, corner), code.address(leaf, source), 0)
    yield from instructions(code.settings, Mode(Op.VMOV, False, size, size), operands, dimensions, code.row_bytes)


def store(code: TileCode, result: Result) -> Iterator[Statement]:
    """A tile of a result to memory."""
    starts = tuple(low for low, _ in code.box)
    index = [a + s for a, s in zip(starts, result.starts, strict=True)]
    part = result.memory or _whole(result.shape)
    yield from transfer_box(code.settings, True, result.name, part, starts, extents(code.box),
                            code.address(result.node, index), code.strides(result.node), result.dtype.itemsize)
