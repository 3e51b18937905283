"""Arrays with wide elements, each of which is a few neighbours of a row.

In main memory the first neighbour is the lowest, so the wide elements are the same bytes as narrow ones of whole bytes,
but that rows are filled up to whole wide elements. Elements of 1, 2 or 4 bits, each of which would lie in a byte of its
own, are packed: the first is in the lowest bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl
import numpy as np

from compiler.ir.expr import Cast, Const, Expr, apply
from compiler.ir.floating import from_words
from compiler.ir.program import Array, Program
from compiler.ir.types import Int

__all__ = ["PACKED_WIDTHS", "WIDTHS", "PackedArrays", "group_map", "packed_array", "packed_value"]

WIDTHS = (8, 16, 32)
"""Bits of elements that lie in main memory without gaps."""

PACKED_WIDTHS = (1, 2, 4, *WIDTHS)
"""Bits of elements of which a power of 2 fills a word of main memory."""


def packed_array(array: Array, factor: int) -> Array:
    """The array with `factor` elements of a row in each of its own."""
    return replace(array, shape=(*array.shape[:-1], -(-array.shape[-1] // factor)),
                   type=Int(array.type.width * factor, False))


def group_map(array: str, rank: int, factor: int) -> isl.Map:
    """{element -> the wide element that it is in}."""
    names = [f"a{k}" for k in range(rank)]
    there = [*names[:-1], f"floor({names[-1]} / {factor})"]
    return isl.Map(f"{{ {array}[{', '.join(names)}] -> {array}[{', '.join(there)}] }}")


def packed_value(words: Mapping[int, Expr], width: int, factor: int) -> Expr:
    """A wide element of `factor` neighbours; `words` are the `width` bits of those that there are, by number."""
    wide = Int(width * factor, False)
    parts = [_shifted(Cast(word, wide), width * number) for number, word in words.items()]
    return reduce(lambda a, b: apply("or", a, b), parts)


def _shifted(value: Expr, bits: int) -> Expr:
    return apply("shl", value, Const(bits, value.type)) if bits else value


@dataclass(frozen=True)
class PackedArrays:
    """The program `before`, of whose inputs and outputs some have become arrays of wide elements, so many each by
    name."""

    before: Program
    factors: Mapping[str, int]

    def split(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Inputs with wide elements from those of `before`; what fills up rows is zero."""
        return {name: self._packed(self.before.array(name), np.asarray(data)) if name in self.factors else data
                for name, data in inputs.items()}

    def join(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs of `before` from those with wide elements."""
        return {name: self._unpacked(self.before.array(name), words) if name in self.factors else words
                for name, words in outputs.items()}

    def _packed(self, array: Array, data: np.ndarray) -> np.ndarray:
        factor = self.factors[array.name]
        rows = np.pad(data, [(0, 0)] * (data.ndim - 1) + [(0, -array.shape[-1] % factor)])
        bits = rows.reshape(*rows.shape[:-1], -1, factor).astype(np.int64).astype(np.uint64) & _mask(array)
        wide = np.bitwise_or.reduce(bits << _places(array, factor), axis=-1)
        return wide.astype(packed_array(array, factor).type.dtype)

    def _unpacked(self, array: Array, words: np.ndarray) -> np.ndarray:
        factor = self.factors[array.name]
        bits = (words.astype(np.uint64)[..., None] >> _places(array, factor)) & _mask(array)
        rows = bits.reshape(*words.shape[:-1], -1)[..., :array.shape[-1]]
        return from_words(array.type, rows.astype(np.int64))


def _mask(array: Array) -> np.uint64:
    return np.uint64((1 << array.type.width) - 1)


def _places(array: Array, factor: int) -> np.ndarray:
    """The lowest bit of each neighbour."""
    return np.arange(factor, dtype=np.uint64) * np.uint64(array.type.width)
