"""The distinct ones of many words, and where each comes first: numbers of an array's elements, so a table of the array
takes the place of sorting them wherever it is not much longer than they are."""

from __future__ import annotations

import numpy as np

__all__ = ["distinct", "first_places", "last_places"]

_SPARSE = 8
"""A table may have so many times as many entries as there are words."""


def distinct(words: np.ndarray) -> np.ndarray:
    """Each of the words once, ascending."""
    if not _dense(words):
        return np.unique(words)
    low = int(words.min())
    present = np.zeros(int(words.max()) - low + 1, np.bool_)
    present[words - low] = True
    return np.flatnonzero(present) + low


def first_places(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each of the words once, ascending, and the index of its first occurrence."""
    if not _dense(words):
        return np.unique(words, return_index=True)
    names, low = distinct(words), int(words.min())
    place = np.empty(int(words.max()) - low + 1, np.int64)
    place[words[::-1] - low] = np.arange(len(words) - 1, -1, -1)  # the last one assigned stays
    return names, place[names - low]


def last_places(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each of the words once, ascending, and the index of its last occurrence."""
    names, place = first_places(words[::-1])
    return names, len(words) - 1 - place


def _dense(words: np.ndarray) -> bool:
    return bool(len(words)) and int(words.max()) - int(words.min()) < _SPARSE * len(words)
