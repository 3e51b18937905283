"""From a sequence of events to the affine loop nest that produces it.

Controllers of memory tiles run affine nests (Liu 2023, section 6.1.2). Where a sequence was found by looking at the
words themselves (which block does the next read need?) its nest is recovered here, or shown not to exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["FittedNest", "fit_nest"]


@dataclass(frozen=True)
class FittedNest:
    """Trip counts and the strides of each column, innermost first, and each column's first value."""

    ranges: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]


def fit_nest(columns: list[np.ndarray], max_dims: int) -> FittedNest | None:
    """The nest of at most `max_dims` loops that enumerates the rows of `columns` in order, or None.

    `columns` are equally long, non-empty integer arrays (cycle, address, ...). Trip counts are as large as they come:
    `compiler.bind.buffers.counters` makes them fit the hardware.
    """
    rows = np.stack(columns, axis=1).astype(np.int64)
    loops = _fit(rows, max_dims)
    if loops is None:
        return None
    loops = loops or [(1, np.zeros(len(columns), dtype=np.int64))]
    strides = tuple(tuple(int(step[c]) for _, step in loops) for c in range(len(columns)))
    return FittedNest(tuple(n for n, _ in loops), strides, tuple(int(v) for v in rows[0]))


def _fit(rows: np.ndarray, dims: int) -> list[tuple[int, np.ndarray]] | None:
    """Loops (trip count, step) that enumerate `rows`, innermost first."""
    count = len(rows)
    if count == 1:
        return []
    if dims == 0:
        return None
    step = rows[1] - rows[0]
    for length in _inner_lengths(rows, step):
        chunks = rows.reshape(count // length, length, -1)
        expected = chunks[:, :1] + np.arange(length)[None, :, None] * step
        if np.array_equal(chunks, expected):
            outer = _fit(chunks[:, 0], dims - 1)
            if outer is not None:
                return [(length, step), *outer]
    return None


def _inner_lengths(rows: np.ndarray, step: np.ndarray) -> list[int]:
    """Candidate trip counts of the innermost loop, longest first: divisors that fit into the first even run."""
    even = np.all(np.diff(rows, axis=0) == step, axis=1)
    run = len(rows) if even.all() else int(np.argmin(even)) + 1
    return [n for n in range(run, 1, -1) if len(rows) % n == 0]
