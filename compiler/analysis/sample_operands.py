"""Operand vectors on which two forms of an expression are compared: corners of the types, and random words.

They need not be operands of a run, so tables are looked up modulo a power of two while forms are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from compiler.ir.evaluate import storage, word_type
from compiler.ir.expr import Cast, Expr, Load, Lookup, Store, fold, with_children
from compiler.ir.floating import decode, to_words
from compiler.ir.program import Program, Table
from compiler.ir.types import Float, Int, Type

__all__ = ["VECTORS", "UnknownMemories", "mixed", "operand_columns", "operand_vectors", "repeat_entries",
           "wrap_lookups"]

VECTORS = 256
"""Random operand vectors; corners come on top."""

_SEED = 0x51C3
_MULTIPLIER, _MODULUS = 0x9E3779B97F4A7C15, 1 << 64
"""Of a congruential generator; its high bits depend on all bits of what is mixed in."""

_FULL_CORNERS = 4
"""Up to so many operands, all combinations of corners are tried."""


def operand_columns(types: Sequence[Type]) -> list[np.ndarray]:
    """`operand_vectors` of any types: of floating-point numbers all kinds of bits."""
    words = operand_vectors([word_type(type) for type in types])
    return [decode(type, column) if isinstance(type, Float) else column
            for type, column in zip(types, words, strict=True)]


def operand_vectors(types: Sequence[Int]) -> list[np.ndarray]:
    """One array per operand, all equally long; the same for the same types. Its elements are int64, or Python ints for
    types whose values these do not hold."""
    random = np.random.default_rng(_SEED)
    corners = _corner_rows(types)
    columns = []
    for position, type_ in enumerate(types):
        held = np.int64 if type_.maximum <= np.iinfo(np.int64).max else np.uint64
        full = random.integers(type_.minimum, type_.maximum, VECTORS, dtype=held, endpoint=True)
        full = full if held is np.int64 else full.astype(object)
        # Small words reach other branches than large ones do: thresholds, table entries, carries.
        small = full >> random.integers(0, max(1, type_.width), VECTORS)
        fixed = np.array([row[position] for row in corners], dtype=full.dtype)
        columns.append(np.concatenate([fixed, full, small]))
    return columns


def _corners(type_: Int) -> list[int]:
    values = (0, 1, -1, 2, type_.minimum, type_.maximum, type_.minimum + 1, type_.maximum // 2 + 1)
    return sorted({v for v in values if type_.minimum <= v <= type_.maximum})


def _corner_rows(types: Sequence[Int]) -> list[tuple[int, ...]]:
    """All combinations for a few operands; for many, one operand at a corner and the others equal."""
    corners = [_corners(type_) for type_ in types]
    if len(types) <= _FULL_CORNERS:
        return list(product(*corners))
    rows = []
    for base in ("low", "zero", "high"):
        rest = [{"low": t.minimum, "zero": 0, "high": t.maximum}[base] for t in types]
        rows += [(*rest[:k], value, *rest[k + 1:]) for k, values in enumerate(corners) for value in values]
    return rows


def mixed(memory: int, stores: bool, arguments: Sequence[np.ndarray]) -> np.ndarray:
    """A number that depends on all operands of an access and on where it goes, in place of what memory would give."""
    total: np.ndarray = np.array([2 * memory + stores + 1], object)
    for argument in arguments:
        total = (total ^ argument.astype(object)) * _MULTIPLIER % _MODULUS
    return total >> 20


class UnknownMemories:
    """Memories of which nothing is known (`compiler.ir.evaluate.Memories`)."""

    def __init__(self, program: Program) -> None:
        self._names = [memory.name for memory in program.memories]

    def load(self, node: Load, index: np.ndarray, after: Sequence[np.ndarray]) -> np.ndarray:
        """As `mixed`, of the bits of floating-point numbers."""
        value = mixed(self._names.index(node.memory), False, [index, *_bits(node.after, after)])
        return _in_type(value, node.type)

    def store(self, node: Store, index: np.ndarray, value: np.ndarray, enable: np.ndarray,
              after: Sequence[np.ndarray]) -> np.ndarray:
        """As `mixed`, of the bits of floating-point numbers."""
        operands = [index, to_words(node.value.type, value), enable, *_bits(node.after, after)]
        return _in_type(mixed(self._names.index(node.memory), True, operands), node.type)


def _bits(nodes: Sequence[Expr], values: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [to_words(node.type, value) for node, value in zip(nodes, values, strict=True)]


def _in_type(value: np.ndarray, type: Type) -> np.ndarray:
    words = np.asarray(word_type(type).wrap(value)).astype(storage(word_type(type)))
    return decode(type, words) if isinstance(type, Float) else words


def wrap_lookups(value: Expr, tables: Sequence[Table]) -> tuple[Expr, dict[str, Table]]:
    """`value` with every index of a table taken modulo the next power of two, and tables that long."""
    long = {table.name: replace(table, values=repeat_entries(table.values)) for table in tables}

    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Lookup):
            bits = len(long[node.table].values).bit_length() - 1
            return Lookup(node.table, Cast(parts[0], Int(max(1, bits), signed=False)), node.type)
        return with_children(node, parts)

    return fold(value, step), long


def repeat_entries(values: tuple[int, ...]) -> tuple[int, ...]:
    """The entries of a table, from the first again until their number is a power of two (at least 2)."""
    size = max(2, 1 << (len(values) - 1).bit_length())
    return (values * size)[:size]
