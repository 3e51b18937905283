"""What the host does around a dataflow graph: argument words, arrays in memory, results (Hammes 2000, sections 5.3
and 6.2.1).

Memory has words of 32 bits. The arguments are its first words, then come the arrays, then the results. Elements take
1, 2, 4, 8, 16 or 32 bits; each row, which is the last dimension, begins with a word of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.frontend.sac.types import Scalar

__all__ = ["WORD", "Interface", "Result", "element_bits", "pack", "unpack", "words_of"]

WORD = 32


@dataclass(frozen=True)
class Result:
    """A result in memory: its elements' type; which loop extents, factors and invariants make its shape.

    `factors`: extents of a tile, ones of an array, None of a reduction. `counts`: extents of histograms and labels,
    each a number or the operand of the loop that brings it.
    """

    scalar: Scalar
    factors: tuple[int, ...] | None
    counts: tuple[int | str, ...] = ()

    def shape(self, extents: Sequence[int], operands: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The shape in a loop of these extents with these operands."""
        if self.factors is None:
            return tuple(c if isinstance(c, int) else int(operands[int(c)]) for c in self.counts)
        rank = max(len(extents), len(self.factors))
        rows = [(1,) * (rank - len(part)) + tuple(part) for part in (extents, self.factors)]
        return tuple(a * b for a, b in zip(*rows, strict=True))


@dataclass(frozen=True)
class Interface:
    """The order of a graph's argument words: for each array (an operand of the loop) its address and extents; an
    address for each result; the loop's extents; their product; scalars (operands of the loop)."""

    arrays: tuple[tuple[int, Scalar], ...]
    results: tuple[Result, ...]
    rank: int
    scalars: tuple[tuple[int, Scalar], ...]

    def prepare(self, operands: Sequence[np.ndarray], extents: Sequence[int], first: int | None = None
                ) -> tuple[list[int], list[tuple[int, ...]]]:
        """Memory before the run, arguments at its bottom; and where each result begins, its words and its shape: behind
        the arrays, or from address `first` of another memory."""
        arrays = [operands[number] for number, _ in self.arrays]
        shapes = [result.shape(extents, operands) for result in self.results]
        count = sum(1 + array.ndim for array in arrays) + len(shapes) + self.rank + 1 + len(self.scalars)
        free, arguments, contents = count, [], []
        for (_, scalar), array in zip(self.arrays, arrays, strict=True):
            words = pack(array, scalar.width)
            arguments += [free, *array.shape]
            contents += words
            free += len(words)
        targets = []
        free = free if first is None else first
        for result, shape in zip(self.results, shapes, strict=True):
            targets.append((free, words_of(shape, result.scalar.width), *shape))
            arguments.append(free)
            free += targets[-1][1]
        arguments += [*extents, prod(extents)]
        arguments += [int(operands[n]) % (1 << scalar.width) for n, scalar in self.scalars]
        return arguments + contents + [0] * sum(words for _, words, *_ in targets if first is None), targets

    def collect(self, memory: Sequence[int], targets: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        """The results that a run left in memory."""
        return [unpack(memory[first:first + count], shape, result.scalar)
                for result, (first, count, *shape) in zip(self.results, targets, strict=True)]


def element_bits(width: int) -> int:
    """Bits of an element of `width` bits in memory: the next power of 2."""
    return 1 << (width - 1).bit_length()


def words_of(shape: Sequence[int], width: int) -> int:
    """Words of an array of this shape, or of a scalar."""
    if not shape:
        return 1
    return prod(shape[:-1]) * -(-shape[-1] * element_bits(width) // WORD)


def pack(array: np.ndarray, width: int) -> list[int]:
    """The words of an array whose integers have `width` bits."""
    bits = element_bits(width)
    each = WORD // bits
    rows = array.astype(np.int64).reshape((-1, array.shape[-1])) if array.size else np.zeros((0, 1), np.int64)
    padded = np.zeros((len(rows), -(-rows.shape[1] // each) * each), dtype=np.uint64)
    padded[:, :rows.shape[1]] = (rows & ((1 << width) - 1)).astype(np.uint64)
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    return np.bitwise_or.reduce(padded.reshape((-1, each)) << shifts, axis=1).tolist()


def unpack(words: Sequence[int], shape: Sequence[int], scalar: Scalar) -> np.ndarray:
    """The integers of an array, or of a scalar."""
    bits = element_bits(scalar.width)
    each = WORD // bits
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    held = (np.asarray(words, dtype=np.uint64)[:, np.newaxis] >> shifts) & np.uint64((1 << scalar.width) - 1)
    row = shape[-1] if shape else 1
    values = held.reshape((-1, max(1, -(-row // each)) * each))[:, :row].astype(np.int64) if row else np.zeros(0, int)
    if scalar.signed:
        values = np.where(values >> (scalar.width - 1), values - (1 << scalar.width), values)
    return values.reshape(tuple(shape))
