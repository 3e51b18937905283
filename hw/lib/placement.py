"""Which of the places between an operator's steps get registers: those that leave the longest path shortest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

__all__ = ["least_registers", "place_registers"]


def place_registers(delays: Sequence[float], latency: int) -> list[int]:
    """How many registers each place has, place k behind step k, which takes ``delays[k]`` nanoseconds. The last place
    is the operator's end, which has the first of `latency` registers; those that no path needs go around the slowest
    steps, where multipliers can take them in."""
    counts = [0] * len(delays)
    if not latency:
        return counts
    counts[-1] = 1
    for place in _cuts(delays, latency - 1):
        counts[place] = 1
    spare = latency - sum(counts)
    slow = sorted(range(len(delays)), key=lambda k: -delays[k])
    around = [place for k in slow for place in (k, k - 1) if place >= 0]
    free = [place for place in dict.fromkeys(around) if not counts[place]]
    for place in (free + around * latency)[:spare]:
        counts[place] += 1
    return counts


def least_registers(delays: Sequence[float], longest: float) -> int:
    """Registers, one of them at the end, with which no path is longer than `longest` nanoseconds and the slowest
    step."""
    return len(_greedy(delays, max(longest, *delays))) + 1


def _cuts(delays: Sequence[float], most: int) -> list[int]:
    """At most so many places, so that the longest sum of delays between two is as short as it can be."""
    ends = [0.0, *accumulate(delays)]
    lengths = sorted({b - a for k, a in enumerate(ends) for b in ends[k + 1:]})
    low, high = 0, len(lengths) - 1
    while low < high:
        middle = (low + high) // 2
        if len(_greedy(delays, lengths[middle])) <= most and max(delays) <= lengths[middle] + 1e-9:
            high = middle
        else:
            low = middle + 1
    return _greedy(delays, lengths[low])


def _greedy(delays: Sequence[float], longest: float) -> list[int]:
    """Places behind the last step that still fits."""
    cuts: list[int] = []
    length = 0.0
    for k, delay in enumerate(delays):
        if k and length + delay > longest + 1e-9:
            cuts.append(k - 1)
            length = 0.0
        length += delay
    return cuts
