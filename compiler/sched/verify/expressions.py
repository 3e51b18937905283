"""Operand vectors on which two forms of an expression are compared: corners of the types, and random words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from compiler.ir.types import Int

__all__ = ["VECTORS", "operand_vectors"]

VECTORS = 256
"""Random operand vectors; corners come on top."""

_SEED = 0x51C3
_FULL_CORNERS = 4
"""Up to so many operands, all combinations of corners are tried."""


def operand_vectors(types: Sequence[Int]) -> list[np.ndarray]:
    """One int64 array per operand, all equally long; the same for the same types."""
    random = np.random.default_rng(_SEED)
    corners = _corner_rows(types)
    columns = []
    for position, type_ in enumerate(types):
        full = random.integers(type_.minimum, type_.maximum + 1, VECTORS, dtype=np.int64)
        # Small words reach other branches than large ones do: thresholds, table entries, carries.
        small = full >> random.integers(0, max(1, type_.width), VECTORS)
        fixed = np.array([row[position] for row in corners], dtype=np.int64)
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
