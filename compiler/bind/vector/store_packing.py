"""Arrays that are made of parts: where each part is stored, element by element or in words of several elements.

A transfer that leaves gaps between narrow elements takes a cycle and more for each of them. Neighbours along the
innermost dimension are put into one word by a multiply-add instead, and stored together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.bind.vector.access import compose
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Part, Value
from compiler.frontend.parallel_array.location import Location

__all__ = ["Piece", "packed", "squeezed"]

WORD = 4
"""Bytes of the widest element."""


@dataclass(frozen=True)
class Piece:
    """`shape` elements of `value`, of type `dtype`, and which elements of the array they are: `place`, counted in
    elements of that type."""

    value: Value
    shape: tuple[int, ...]
    dtype: np.dtype
    place: Part

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the array."""
        return self.shape == self.place.shape and not any(self.place.first)


def packed(pieces: Sequence[Piece], location: Location, builder: GraphBuilder) -> list[Piece]:
    """The pieces, with those that take turns along the innermost dimension in halfwords or words where they can."""
    found = list(pieces)
    size = found[0].dtype.itemsize
    for count in (4, 2):
        if size * count <= WORD and (packs := _packs(found, count)) is not None:
            return [_pack(pack, location, builder) for pack in packs]
    return found


def _packs(pieces: Sequence[Piece], count: int) -> list[list[Piece]] | None:
    """All pieces in sets of `count` neighbours; None if some have none."""
    sets: dict[tuple[object, ...], dict[int, Piece]] = {}
    for piece in map(_with_known_step, pieces):
        *others, first = piece.place.first
        if not piece.shape or piece.place.shape[-1] % count or piece.place.steps[-1] % count:
            return None
        key = (piece.shape, tuple(others), piece.place.steps, first // count)
        sets.setdefault(key, {})[first % count] = piece
    if any(len(pack) != count for pack in sets.values()):
        return None
    return [[pack[i] for i in range(count)] for pack in sets.values()]


def _with_known_step(piece: Piece) -> Piece:
    """A single element has any step: all of the row."""
    if not piece.shape or piece.shape[-1] != 1:
        return piece
    place = piece.place
    return replace(piece, place=replace(place, steps=(*place.steps[:-1], place.shape[-1])))


def _pack(pieces: Sequence[Piece], location: Location, builder: GraphBuilder) -> Piece:
    """Neighbours as one piece of wider elements: the first one in the lowest bits."""
    count, (first, *_) = len(pieces), pieces
    size, rank, place = first.dtype.itemsize, len(first.shape), first.place
    plain, wide = np.dtype(f"u{size}"), np.dtype(f"u{size * count}")
    total: Value = 0
    for number, piece in enumerate(pieces):
        bits = builder.operation("convert", (piece.value,), plain, location, rank)
        moved = builder.operation("multiply", (bits, 1 << 8 * size * number), wide, location, rank)
        total = builder.operation("add", (total, moved), wide, location, rank)

    def narrowed(extents: tuple[int, ...]) -> tuple[int, ...]:
        return (*extents[:-1], extents[-1] // count)

    part = Part(narrowed(place.shape), narrowed(place.first), narrowed(place.steps))
    return Piece(total, first.shape, wide, part)


def squeezed(piece: Piece) -> Piece:
    """The piece without its dimensions of one element, if its value then is computed in its own dimensions."""
    kept = [d for d, n in enumerate(piece.shape) if n > 1] or [0]
    if isinstance(piece.value, int) or piece.value.is_translation(len(piece.shape)) or len(kept) == len(piece.shape):
        return piece
    choice = tuple(tuple(int(d == k) for k in kept) for d in range(len(piece.shape)))
    value = compose(piece.value, choice, (0,) * len(piece.shape), len(kept))
    if not value.is_translation(len(kept)):
        return piece
    return replace(piece, value=value, shape=tuple(piece.shape[d] for d in kept), place=_joined(piece.place, kept))


def _joined(place: Part, kept: Sequence[int]) -> Part:
    """The same place in an array of which every dimension that is left out has become part of the one before, or of
    the first one that is left: elements lie where they did."""
    shape: list[int] = []
    first: list[int] = []
    steps: list[int] = []
    for dimension, (extent, start, step) in enumerate(zip(place.shape, place.first, place.steps, strict=True)):
        if dimension in kept[1:] or not shape:
            shape, first, steps = [*shape, extent], [*first, start], [*steps, step]
        else:
            shape[-1], first[-1] = shape[-1] * extent, first[-1] * extent + start
            steps[-1] = step if dimension in kept else steps[-1] * extent
    return Part(tuple(shape), tuple(first), tuple(steps))
