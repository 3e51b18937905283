"""Reads of one value that share words: one line with an end for every read, instead of a queue for each.

A window that moves over an image reads every value many times, each time as many firings of the value's producer later.
Where rows are not equally long in ticks, these ways are not constant delays, and queues of their own would hold most
values as often as there are reads. But the number of firings between a value and its reading is constant: so
the values move through one line that steps with the producer, and a read takes what has gone so far. Parts of the line
step at different offsets to the counters, as early or late as the reads want them; they are queues then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.bind.dataflow.timing import Carried
from hw.dataflow.spec import ChannelSpec, Predicate

__all__ = ["with_lines"]

_LATENCY = 2
"""Ticks from writing a queue until the word can be read."""

Firings = Callable[[int], tuple[np.ndarray, Predicate]]
"""Node number -> ticks in which it fires by the counters, sorted, and the predicate of these."""


@dataclass(frozen=True)
class _Tap:
    """A read of the line: the number of its channel, how many firings of the source ago its words were given, and when
    the part of the line that it ends gives words (`left` ticks after a firing's counters)."""

    number: int
    behind: int
    left: int


def with_lines(channels: Sequence[ChannelSpec], carried: Sequence[Carried],
               firings: Firings) -> tuple[ChannelSpec, ...]:
    """`channels`, with lines where these have fewer words than the queues (and delays) of the same values."""
    found = list(channels)
    groups: dict[tuple[int, int | None], list[int]] = {}
    for number, channel in enumerate(channels):
        if channel.kind in ("fifo", "delay"):
            groups.setdefault((channel.source, channel.operand), []).append(number)
    for (source, _), numbers in groups.items():
        queues = [k for k in numbers if channels[k].kind == "fifo"]
        if len(queues) > 1:
            best, (fired, push) = [channels[k] for k in numbers], firings(source)
            for chosen in (queues, numbers):
                line = _line(channels, carried, chosen, fired, push)
                changed = [line.get(k, channels[k]) for k in numbers]
                if _words(changed) < _words(best):
                    best = changed
            for number, channel in zip(numbers, best, strict=True):
                found[number] = channel
    return tuple(found)


def _words(channels: Sequence[ChannelSpec]) -> int:
    """Words in channels of one value; delays of it are one line."""
    delay = max((c.depth for c in channels if c.kind == "delay"), default=0)
    return delay + sum(c.depth + c.later for c in channels if c.kind != "delay")


def _line(channels: Sequence[ChannelSpec], carried: Sequence[Carried], numbers: Sequence[int], fired: np.ndarray,
          push: Predicate) -> dict[int, ChannelSpec]:
    """The line for those reads of `numbers` that can share one, as channels by number."""
    taps = sorted((tap for k in numbers for tap in _tap(k, channels[k], carried[k], fired)),
                  key=lambda tap: (tap.behind, tap.left))
    while taps:
        placed = _placed(taps, fired)
        if _follows(channels[taps[0].number].written, 0, placed[0], fired):
            return dict(_parts(channels, placed, fired, push))
        taps = taps[1:]
    return {}


def _tap(number: int, channel: ChannelSpec, item: Carried, fired: np.ndarray) -> Iterator[_Tap]:
    """The read, if the number of firings between is the same for all words."""
    behind = np.searchsorted(fired, item.read) - np.searchsorted(fired, item.written)
    if (behind == behind[0]).all() and behind[0] >= 0:
        yield _Tap(number, int(behind[0]), channel.read)


def _gap(steps: int, fired: np.ndarray) -> int:
    """The least ticks from a firing to the one `steps` after it; for more steps than there are, as many as in all."""
    if not 0 < steps < len(fired):
        return int(fired[-1] - fired[0]) if steps else 0
    return int((fired[steps:] - fired[:-steps]).min())


def _placed(taps: Sequence[_Tap], fired: np.ndarray) -> list[_Tap]:
    """`taps`, each given as late as it is read and as the next part can take it."""
    placed: list[_Tap] = []
    for tap in reversed(taps):
        left = tap.left
        if placed:
            after = placed[0]
            left = min(left, after.left + _gap(after.behind - tap.behind, fired) - _LATENCY)
            if left < after.left <= tap.left:
                left = after.left
        placed.insert(0, replace(tap, left=left))
    return placed


def _follows(left: int, behind: int, tap: _Tap, fired: np.ndarray) -> bool:
    """Whether a part that ends with `tap` can take words that are given `left` ticks after a firing."""
    return left == tap.left or left + _LATENCY <= tap.left + _gap(tap.behind - behind, fired)


def _parts(channels: Sequence[ChannelSpec], placed: Sequence[_Tap], fired: np.ndarray,
           push: Predicate) -> Iterator[tuple[int, ChannelSpec]]:
    """A channel for every tap; each goes on from the one before."""
    before: _Tap | None = None
    for tap in placed:
        channel = channels[tap.number]
        ahead = tap.behind - (before.behind if before else 0)
        written = before.left if before else channel.written
        depth = ahead
        if written != tap.left:
            gone = np.searchsorted(fired + tap.left, fired + written, side="right")
            depth = max(1, ahead, ahead + int((np.arange(1, len(fired) + 1) - gone).max()))
        yield tap.number, ChannelSpec(channel.name, "line", channel.word, channel.source, channel.operand, depth,
                                      written, channel.read, push, after=before.number if before else None,
                                      ahead=ahead, later=channel.read - tap.left)
        before = tap
