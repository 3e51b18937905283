"""The tiles of a phase in the order of work, each made when it is asked for: there may be millions of them."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from math import prod
from typing import NamedTuple, overload

from compiler.bind.vector.access import Box

__all__ = ["NO_ENDS", "Ends", "TileBoxes"]


class Ends(NamedTuple):
    """Extents of the first and of the last tiles along the first dimension, in the order of work."""

    first: tuple[int, ...]
    last: tuple[int, ...]


NO_ENDS = Ends((), ())


class _Lazy(Sequence):
    """A sequence without slices, by the number of an element."""

    @overload
    def __getitem__(self, index: int) -> tuple: ...
    @overload
    def __getitem__(self, index: slice) -> list: ...

    def __getitem__(self, index: int | slice) -> tuple | list:
        if isinstance(index, slice):
            return [self._at(number) for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there is no tile {index} of {len(self)}")
        return self._at(number)

    @abstractmethod
    def _at(self, number: int) -> tuple:
        """Element `number`, which there is."""


class _EqualParts(_Lazy):
    """Parts of `most` of a dimension of `length`; the last one may be shorter."""

    def __init__(self, length: int, most: int) -> None:
        self._length, self._most = length, most

    def __len__(self) -> int:
        return -(-self._length // self._most)

    def _at(self, number: int) -> tuple[int, int]:
        low = number * self._most
        return low, min(low + self._most, self._length)


class TileBoxes(_Lazy):
    """Tiles of `tile` elements that cover `shape`, the first dimension first: tiles that share rows follow each other.

    The first and the last tiles have the extents `ends`; those between are then of equal size, as far as multiples of
    `unit` allow.
    """

    def __init__(self, shape: tuple[int, ...], tile: tuple[int, ...], ends: Ends = NO_ENDS, unit: int = 1) -> None:
        self._shape, self._tile = shape, tile
        self.is_regular = not any(ends)
        self.others = [_EqualParts(n, t) for n, t in zip(shape[1:], tile[1:], strict=True)]
        self._columns = prod(map(len, self.others))
        self._rows: list[Sequence[tuple[int, int]]] = []
        if shape:
            cuts = [(ends.first if first else (), ends.last if last else ()) for first, last in
                    ((True, self._columns == 1), (False, False), (False, True))]
            self._rows = [_cut(shape[0], tile[0], up, down, unit) for up, down in cuts]

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each dimension, between the ends along the first one."""
        return (len(self._rows[1]), *map(len, self.others)) if self._shape else ()

    def __len__(self) -> int:
        if not self._shape:
            return 1
        first, middle, last = map(len, self._rows)
        return first if self._columns == 1 else first + (self._columns - 2) * middle + last

    def _at(self, number: int) -> Box:
        if not self._shape:
            return ()
        first, middle, last = self._rows
        if number < len(first):
            return (first[number], *self._column(0))
        if number >= len(self) - len(last):
            return (last[number - len(self) + len(last)], *self._column(self._columns - 1))
        column, row = divmod(number - len(first), len(middle))
        return (middle[row], *self._column(1 + column))

    def _column(self, number: int) -> Box:
        found: list[tuple[int, int]] = []
        for parts in reversed(self.others):
            number, place = divmod(number, len(parts))
            found.append(parts[place])
        return tuple(reversed(found))

    def farthest(self) -> list[Box]:
        """The first tile moved along each dimension that has several places, one dimension at a time, to the last."""
        first = self[0]
        rows = sorted(parts[-1] for parts in self._rows if len(parts) > 1)[-1:]
        columns = [(d, parts[-1]) for d, parts in enumerate(self.others, 1) if len(parts) > 1]
        return [(*first[:d], part, *first[d + 1:]) for d, part in [*((0, row) for row in rows), *columns]]

    def place(self, index: Sequence[int]) -> Box:
        """The tile at a place along each dimension, of tiles without ends."""
        return tuple(parts[k] for parts, k in zip((self._rows[1], *self.others), index, strict=True))

    def starts(self, period: int) -> set[tuple[int, ...]]:
        """Where tiles begin, modulo `period`."""
        if not self.is_regular:
            return {tuple(low % period for low, _ in box) for box in self}
        along = [{(k * t) % period for k in range(min(n, period))}
                 for n, t in zip(self.counts, self._tile, strict=True)]
        return set(itertools.product(*along))


def _cut(length: int, most: int, up: tuple[int, ...], down: tuple[int, ...], unit: int) -> Sequence[tuple[int, int]]:
    """Parts of a dimension: extents `up`, then parts of at most `most`, then `down`."""
    if not up and not down:
        return _EqualParts(length, most)
    middle = max(0, length - sum(up) - sum(down))
    part = most
    if middle:
        equal = -(-middle // -(-middle // most))
        part = min(most, -(-equal // unit) * unit)
    sizes = [*up, *(min(part, middle - start) for start in range(0, middle, part)), *down]
    bounds = [min(b, length) for b in itertools.accumulate(sizes, initial=0)]
    return [(low, high) for low, high in itertools.pairwise(bounds) if low < high]
