"""Arrays of a program as streams: which element each word is, for designs between AXI4-Streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from compiler.ir.floating import to_words
from compiler.ir.program import Array
from hw.axi_stream.spec import StreamError, StreamPort

__all__ = ["StreamArray", "check_each_once", "find_loops", "with_beats"]


@dataclass(frozen=True)
class StreamArray:
    """The stream `port` carries elements of `array`: word k is the element whose row-major number is ``numbers[k]``.
    `host`: where `array` is a part of one, which one and where, for the manifest."""

    port: StreamPort
    array: Array
    role: str
    numbers: np.ndarray
    host: Mapping[str, Any] = field(default_factory=dict)

    def pack(self, values: np.ndarray) -> list[int]:
        """The words of the stream when the array holds `values`."""
        return to_words(self.array.type, np.asarray(values)).ravel()[self.numbers].tolist()

    def unpack(self, words: Sequence[int], into: np.ndarray) -> None:
        """Put the words of the stream in their places among the elements of the array, as words."""
        found = np.array(words, f"u{self.port.element_bytes}")
        into.ravel()[self.numbers] = found.view(f"{'i' if self.port.word.signed else 'u'}{self.port.element_bytes}")

    @cached_property
    def loops(self) -> tuple[tuple[int, int], ...] | None:
        """Loops (count, stride in elements), innermost first, that give `numbers` from the first one on; None if these
        are in no such order."""
        return find_loops(self.numbers)

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        port, letter = self.port, "s" if self.role == "input" else "m"
        order: dict[str, Any] = {"first": int(self.numbers[0])}
        if self.loops is None:
            order["elements"] = self.numbers.tolist()
        else:
            order["loops"] = [{"count": count, "stride": stride} for count, stride in self.loops]
        host = {"of": dict(self.host)} if self.host else {}
        return {"port": f"{letter}_axis_{port.name}", "array": self.array.name, "role": self.role,
                "type": str(self.array.type), "shape": list(self.array.shape), "words": port.words,
                "element_bits": 8 * port.element_bytes, "tdata_bits": 8 * port.bytes, "tkeep": port.has_keep,
                "beats": port.beats, "order": order, **host}


def find_loops(numbers: np.ndarray) -> tuple[tuple[int, int], ...] | None:
    """`numbers` as a loop nest (count, stride), innermost first; None if they are none, or one of more than 8 loops."""
    loops: list[tuple[int, int]] = []
    while len(numbers) > 1:
        steps = np.diff(numbers)
        other = np.flatnonzero(steps != steps[0])
        count = int(other[0]) + 1 if len(other) else len(numbers)
        if len(numbers) % count or len(loops) == 8:
            return None
        rows = numbers.reshape(-1, count)
        if (np.diff(rows, axis=1) != steps[0]).any():
            return None
        loops.append((count, int(steps[0])))
        numbers = rows[:, 0]
    return tuple(loops)


def check_each_once(streams: Sequence[StreamArray], rewrite: str) -> None:
    """Raise `StreamError` for an array of which elements go through its stream more than once; `rewrite` is what to
    do about it."""
    for stream in streams:
        values, counts = np.unique(stream.numbers, return_counts=True)
        if counts.max() > 1:
            number = int(values[counts.argmax()])
            index = "".join(f"[{i}]" for i in np.unravel_index(number, stream.array.shape))
            verb = "read" if stream.role == "input" else "written"
            raise StreamError(f"array '{stream.array.name}' is not {verb} in order: element {index} goes through its "
                              f"stream {counts.max()} times; {rewrite}")


def with_beats(stream: StreamArray, bits: int) -> StreamArray:
    """The same stream with beats of at least `bits`; 0 for those of one element. Raises `StreamError`."""
    if bits % 8:
        raise StreamError(f"beats of a stream have 8 to 1024 bits, a power of two, not {bits}")
    size = max(bits // 8, stream.port.element_bytes) if bits else 0
    return replace(stream, port=replace(stream.port, beat_bytes=size))
