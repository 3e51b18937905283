"""The memory of a dataflow graph: words of 32 bits with packed elements (Hammes 2000, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.dfg.interface import WORD, element_bits

__all__ = ["Memory"]


class Memory:
    """Words, with counts of the elements that were read and written."""

    def __init__(self, words: list[int]) -> None:
        self.words = words
        self.reads = self.writes = 0

    def read(self, address: int, extents: Sequence[int], indices: Sequence[int], width: int) -> int:
        """An element of an array at `address`; 0 outside of it, where no circuit checks."""
        if any(index >= extent for index, extent in zip(indices, extents, strict=True)):
            return 0
        word, first = _place(address, extents, indices, width)
        self.reads += 1
        return self.words[word] >> first & (1 << width) - 1

    def write(self, address: int, extents: Sequence[int], indices: Sequence[int], width: int, value: int) -> None:
        """Set an element."""
        word, first = _place(address, extents, indices, width)
        self.writes += 1
        mask = (1 << width) - 1
        self.words[word] = self.words[word] & ~(mask << first) | (value & mask) << first


def _place(address: int, extents: Sequence[int], indices: Sequence[int], width: int) -> tuple[int, int]:
    """Word and bit of an element: rows begin with a word of their own."""
    bits = element_bits(width)
    row = 0
    for index, extent in zip(indices[:-1], extents[:-1], strict=True):
        row = row * extent + index
    last = indices[-1] * bits if indices else 0
    words = -(-extents[-1] * bits // WORD) if extents else 1
    return address + row * words + last // WORD, last % WORD
