"""Reading flatbuffers: tables of optional fields behind offsets, in the little-endian layout of that format.

A table starts with a signed 32-bit distance back to its vtable: 16-bit sizes of the vtable and of the table, then one
16-bit offset per slot, 0 for a field that is absent. References are unsigned 32-bit distances from their own place.
Strings and vectors start with their length. Nothing is copied before it is asked for, every place is checked, and the
elements that may be read altogether are bounded by the size of the buffer, so that bad bytes end soon, in an error.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from compiler.frontend.halide.errors import PipelineError

__all__ = ["Buffer", "Place", "Table"]

Place = int
"""A position in the buffer, in bytes."""

_WORK = 16
"""Elements that are read for each byte of the buffer, at most: shared strings and vectors are read several times."""


class Buffer:
    """The bytes of one flatbuffer. All methods raise `PipelineError` for places that are outside."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._budget = _WORK * len(data) + 4096

    def number(self, place: Place, layout: str) -> int | float | bool:
        """The number at `place`; `layout` is its letter of `struct`."""
        try:
            return struct.unpack_from(f"<{layout}", self._data, place)[0] if place >= 0 else self._outside(place)
        except struct.error:
            return self._outside(place)

    def root(self) -> Table:
        """The outermost table."""
        return self.table(self.reference(0))

    def reference(self, place: Place) -> Place:
        """Where the reference at `place` leads."""
        return place + int(self.number(place, "I"))

    def table(self, place: Place) -> Table:
        """The table at `place`."""
        vtable = place - int(self.number(place, "i"))
        size = int(self.number(vtable, "H"))
        if size < 4 or size % 2:
            raise PipelineError(f"the serialised pipeline is damaged: a table at byte {place} has no fields")
        self._spend(size // 2)
        return Table(self, place, tuple(int(self.number(vtable + at, "H")) for at in range(4, size, 2)))

    def vector(self, place: Place, size: int) -> range:
        """The places of the elements, of `size` bytes each, of the vector that the reference at `place` leads to."""
        start = self.reference(place)
        count = int(self.number(start, "I"))
        if start + 4 + count * size > len(self._data):
            self._outside(start + 4 + count * size)
        self._spend(count)
        return range(start + 4, start + 4 + count * size, size)

    def bytes(self, place: Place) -> bytes:
        """The contents of the vector of bytes that the reference at `place` leads to."""
        places = self.vector(place, 1)
        return self._data[places.start:places.stop]

    def text(self, place: Place) -> str:
        """The string that the reference at `place` leads to."""
        try:
            return self.bytes(place).decode()
        except UnicodeDecodeError:
            raise PipelineError(f"the serialised pipeline is damaged: the name at byte {place} is no text") from None

    def _spend(self, count: int) -> None:
        self._budget -= count
        if self._budget < 0:
            raise PipelineError("the serialised pipeline is damaged: its parts overlap")

    def _outside(self, place: Place) -> int:
        raise PipelineError(f"the serialised pipeline is damaged: it refers to byte {place} and has "
                            f"{len(self._data)} bytes")


@dataclass(frozen=True)
class Table:
    """One table: `offsets` of its slots from `start`."""

    buffer: Buffer
    start: Place
    offsets: tuple[int, ...]

    def place(self, slot: int) -> Place | None:
        """Where the field in `slot` is; None if it is absent."""
        offset = self.offsets[slot] if slot < len(self.offsets) else 0
        return self.start + offset if offset else None

    def last(self) -> int:
        """The number of the last slot that is present, -1 if none is."""
        return max((slot for slot, offset in enumerate(self.offsets) if offset), default=-1)
