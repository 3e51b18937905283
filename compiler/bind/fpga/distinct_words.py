"""The distinct ones of many words, and where each comes first: numbers of an array's elements, so a table of the array
takes the place of sorting them wherever it is not much longer than they are."""

from __future__ import annotations

import numpy as np

__all__ = ["distinct", "first_places", "last_places"]

_SPARSE = 8
"""A table may have so many times as many entries as there are words."""


def distinct(words: np.ndarray) -> np.ndarray:
    """Each of the words once, ascending."""
    ends = _dense_range(words)
    if ends is None:
        return np.unique(words)
    return _present(words, *ends)


def first_places(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each of the words once, ascending, and the index of its first occurrence."""
    ends = _dense_range(words)
    if ends is None:
        return np.unique(words, return_index=True)
    (low, high), names = ends, _present(words, *ends)
    place = np.empty(high - low + 1, np.int64)
    place[words[::-1] - low] = np.arange(len(words) - 1, -1, -1)  # the last one assigned stays
    return names, place[names - low]


def last_places(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each of the words once, ascending, and the index of its last occurrence."""
    names, place = first_places(words[::-1])
    return names, len(words) - 1 - place


def _present(words: np.ndarray, low: int, high: int) -> np.ndarray:
    present = np.zeros(high - low + 1, np.bool_)
    present[words - low] = True
    return np.flatnonzero(present) + low


def _dense_range(words: np.ndarray) -> tuple[int, int] | None:
    """The least and the greatest word; None if a table from one to the other is long beside the words."""
    if not len(words):
        return None
    low, high = int(words.min()), int(words.max())
    return (low, high) if high - low < _SPARSE * len(words) else None
