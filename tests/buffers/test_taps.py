"""Where a delay line has its memories."""

from __future__ import annotations

from typing import cast

import pytest

from compiler.bind.buffers.taps import group_taps
from compiler.bind.buffers.unified import ReadPort


class Tap:
    def __init__(self, distance: int) -> None:
        self.distance = distance


def heads(distances: list[int], gap: int, near: int = 0) -> list[int]:
    return [group.head for group in group_taps([cast(ReadPort, Tap(d)) for d in distances], gap, near)]


@pytest.mark.parametrize(("distances", "gap", "near", "found"), [
    ([0, 1, 2], 20, 0, [0]),
    ([1, 64, 65], 20, 0, [0, 64]),
    ([30], 20, 0, [30]),
    ([30], 20, 30, [0]),               # comes back in the next step: it is under way all the time
    ([30, 60], 20, 30, [0, 60]),       # the one before that is kept
    ([30, 45], 20, 30, [0]),
    ([5, 30], 0, 0, [5, 30]),
])
def test_heads_of_taps(distances: list[int], gap: int, near: int, found: list[int]) -> None:
    assert heads(distances, gap, near) == found
