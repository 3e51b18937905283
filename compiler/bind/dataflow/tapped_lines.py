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

from compiler.analysis.counting import UncountedError
from compiler.bind.dataflow.firings import Firings
from compiler.bind.dataflow.timing import Carried
from hw.dataflow.spec import ChannelSpec, Predicate

__all__ = ["with_lines"]

_LATENCY = 2
"""Ticks from writing a queue until the word can be read."""

FiringsOf = Callable[[int, UncountedError | None], tuple[Firings, Predicate]]
"""Node number, and why its firings are to be looked at one by one if they are -> when it fires by the counters, and the
predicate of that."""


@dataclass(frozen=True)
class _Tap:
    """A read of the line: the number of its channel, how many firings of the source ago its words were given, and when
    the part of the line that it ends gives words (`left` ticks after a firing's counters)."""

    number: int
    behind: int
    left: int


def with_lines(channels: Sequence[ChannelSpec], carried: Sequence[Carried],
               firings: FiringsOf) -> tuple[ChannelSpec, ...]:
    """`channels`, with lines where these have fewer words than the queues (and delays) of the same values."""
    found = list(channels)
    groups: dict[tuple[int, int | None], list[int]] = {}
    for number, channel in enumerate(channels):
        if channel.kind in ("fifo", "delay"):
            groups.setdefault((channel.source, channel.operand), []).append(number)
    for (source, _), numbers in groups.items():
        if sum(channels[k].kind == "fifo" for k in numbers) > 1:
            try:
                best = _shared(channels, carried, numbers, *firings(source, None))
            except UncountedError as reason:
                best = _shared(channels, carried, numbers, *firings(source, reason))
            for number, channel in zip(numbers, best, strict=True):
                found[number] = channel
    return tuple(found)


def _shared(channels: Sequence[ChannelSpec], carried: Sequence[Carried], numbers: Sequence[int], fired: Firings,
            push: Predicate) -> list[ChannelSpec]:
    """The channels of `numbers`, which carry one value: those with a line that have the fewest words."""
    best = [channels[k] for k in numbers]
    for chosen in ([k for k in numbers if channels[k].kind == "fifo"], numbers):
        line = _line(channels, carried, chosen, fired, push)
        changed = [line.get(k, channels[k]) for k in numbers]
        if _words(changed) < _words(best):
            best = changed
    return best


def _words(channels: Sequence[ChannelSpec]) -> int:
    """Words in channels of one value; delays of it are one line."""
    delay = max((c.depth for c in channels if c.kind == "delay"), default=0)
    return delay + sum(c.depth + c.later for c in channels if c.kind != "delay")


def _line(channels: Sequence[ChannelSpec], carried: Sequence[Carried], numbers: Sequence[int], fired: Firings,
          push: Predicate) -> dict[int, ChannelSpec]:
    """The line for those reads of `numbers` that can share one, as channels by number."""
    taps = sorted((tap for k in numbers for tap in _tap(k, channels[k], carried[k], fired)),
                  key=lambda tap: (tap.behind, tap.left))
    while taps:
        placed = _placed(taps, fired)
        if _follows(channels[taps[0].number].written, 0, placed[0], fired):
            early = _read_early(channels, carried, placed, fired)
            if early is None:
                return dict(_parts(channels, placed, fired, push))
            taps = [tap for tap in taps if tap.number != early]
        else:
            taps = taps[1:]
    return {}


def _tap(number: int, channel: ChannelSpec, item: Carried, fired: Firings) -> Iterator[_Tap]:
    """The read, if the number of firings between is the same for all words."""
    behind = fired.behind(item)
    if behind is not None and behind >= 0:
        yield _Tap(number, behind, channel.read)


def _placed(taps: Sequence[_Tap], fired: Firings) -> list[_Tap]:
    """`taps`, each given as late as it is read and as the next part can take it."""
    placed: list[_Tap] = []
    for tap in reversed(taps):
        left = tap.left
        if placed:
            after = placed[0]
            left = min(left, after.left + fired.gap(after.behind - tap.behind) - _LATENCY)
            if left < after.left <= tap.left:
                left = after.left
        placed.insert(0, replace(tap, left=left))
    return placed


def _follows(left: int, behind: int, tap: _Tap, fired: Firings) -> bool:
    """Whether a part that ends with `tap` can take words that are given `left` ticks after a firing."""
    return left == tap.left or left + _LATENCY <= tap.left + fired.gap(tap.behind - behind)


def _read_early(channels: Sequence[ChannelSpec], carried: Sequence[Carried], placed: Sequence[_Tap],
                fired: Firings) -> int | None:
    """The number of a channel that is read, between two firings, before a word has come to where it waits; None if
    there is none. Where a part steps with the firings words are at its end from one to the next."""
    left, gone = channels[placed[0].number].written, 0
    waits: tuple[int, int] | None = (gone, left)  # firings after its own, and ticks, until a word is where it waits
    for tap in placed:
        if left != tap.left:
            waits = gone, left + _LATENCY
        elif tap.behind > gone:
            waits = None
        left, gone = tap.left, tap.behind
        if waits is not None:
            firing = fired.after_reading(carried[tap.number], waits[0])
            if firing is None or firing + waits[1] > tap.left:
                return tap.number
    return None


def _parts(channels: Sequence[ChannelSpec], placed: Sequence[_Tap], fired: Firings,
           push: Predicate) -> Iterator[tuple[int, ChannelSpec]]:
    """A channel for every tap; each goes on from the one before."""
    before: _Tap | None = None
    for tap in placed:
        channel = channels[tap.number]
        ahead = tap.behind - (before.behind if before else 0)
        written = before.left if before else channel.written
        depth = ahead
        if written != tap.left:
            depth = max(1, ahead, ahead + fired.waiting(tap.left - written))
        yield tap.number, ChannelSpec(channel.name, "line", channel.word, channel.source, channel.operand, depth,
                                      written, channel.read, push, after=before.number if before else None,
                                      ahead=ahead, later=channel.read - tap.left)
        before = tap
