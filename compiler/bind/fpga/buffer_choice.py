"""The smallest buffer between two streams of the same words.

Streams that are loop nests take no listing (`compiler.bind.fpga.nest_buffers`), but for few events; others are listed,
up to a budget beyond which there is no buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from compiler.analysis.port_nests import PortNest
from compiler.bind.fpga.address_generator_fit import build_walk, fit_levels
from compiler.bind.fpga.affine_buffers import affine_buffers
from compiler.bind.fpga.diagonal_words import along_diagonal
from compiler.bind.fpga.distinct_words import distinct, first_places, last_places
from compiler.bind.fpga.nest_buffers import Unlike, nest_buffer, product_words, stored_nests
from compiler.bind.fpga.traces import Idle, Trace
from hw.pipeline.spec import BUFFER_LATENCY, BufferCell, Tap, Walk, Word

__all__ = ["LISTED", "smallest_buffer", "stored_goals"]

LISTED = 4096
"""Events up to which streams are listed though they are nests."""


def stored_goals(trace: Trace, wanted: Sequence[Trace], source: Trace) -> Iterator[Trace]:
    """What a memory behind a node may hold, as the part of `trace` that comes out of it: the words that are `wanted`,
    those and what makes them loops, or all."""
    nests = [need.nest for need in wanted if need.nest is not None]
    if trace.nest is not None and trace.count > LISTED and len(nests) == len(wanted):
        yield from (Trace(trace.nest.taken(axes)) for axes in product_words(nests))
        if source.nest is not None:
            yield Trace(trace.nest.taken(source.nest.axes)) if source.nest.axes is not None else trace
    elif trace.nest is not None and trace.listable and source.listable and all(need.listable for need in wanted):
        words = distinct(np.concatenate([need.words for need in wanted]))
        for kept in (words, _lattice(words, trace.nest.shape), source.words):
            yield Trace((trace.times[kept], kept))


def smallest_buffer(tap: Tap, feed: Trace, goal: Trace, word: Word) -> BufferCell | None:
    """The smallest buffer that stores what `feed` brings and reads what `goal` carries; None if none will do."""
    found = [buffer for buffer in _buffers(tap, feed, goal, word) if buffer is not None]
    if feed.nest is not None and not feed.parts:
        for form in (goal, goal.onward):
            if form is not None and form.parts:
                found += affine_buffers(tap, feed.nest, form, word)
    return min(found, key=lambda buffer: buffer.depth, default=None)


def _buffers(tap: Tap, feed: Trace, goal: Trace, word: Word) -> Iterator[BufferCell | None]:
    if feed.parts:
        return  # what it carries where nothing is wanted may be anything
    if feed.nest is not None and goal.nest is not None and max(feed.count, goal.count) > LISTED:
        found = _between_nests(tap, feed.nest, goal, word)
        if not any(isinstance(buffer, Unlike) for buffer in found):
            yield from (buffer for buffer in found if not isinstance(buffer, Unlike))
            return
    if feed.nest is not None and feed.count > LISTED >= goal.count // 16 and not goal.parts:
        wanted = distinct(goal.words)
        events = [feed.nest.events_of(words) for words in (wanted, _lattice(wanted, feed.nest.shape))]
        if events[0] is not None:
            yield from (_listed_buffer(tap, *each, goal, word) for each in events if each is not None)
            return
    if feed.listable and goal.listable:
        for chosen in _distinct(_written(feed, goal)):
            yield _listed_buffer(tap, feed.times[chosen], feed.words[chosen], goal, word)


def _between_nests(tap: Tap, feed: PortNest, goal: Trace, word: Word) -> list[BufferCell | Unlike | None]:
    assert goal.nest is not None
    if goal.nest.owners is None:
        short = along_diagonal(feed, goal)
        return [Unlike()] if short is None else _between_nests(tap, *short, word)
    stored = stored_nests(feed, goal.nest)
    return [Unlike()] if stored is None else [nest_buffer(tap, nest, goal, word) for nest in stored]


def _distinct(choices: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    for number, chosen in enumerate(choices):
        if not any(np.array_equal(chosen, other) for other in choices[:number]):
            yield chosen


def _lattice(words: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The words of a box of `shape` that lie whole steps apart, from the first to the last of `words` in each
    dimension: all of `words`, and what makes them loops. Without dimensions there is one word."""
    if not shape:
        return words
    lines = []
    for column, size in zip(np.unravel_index(words, shape), shape, strict=True):
        low, high = int(column.min()), int(column.max())
        step = int(np.gcd.reduce(column - low)) or size
        lines.append(np.arange(low, high + 1, step))
    return np.ravel_multi_index(np.meshgrid(*lines, indexing="ij"), shape).ravel()


def _written(feed: Trace, goal: Trace) -> list[np.ndarray]:
    """Which events of the feed to store: each wanted word once, the last or the first time it comes, or every time;
    the same for what makes wanted words a box; or everything."""
    wanted = distinct(goal.words)
    boxes = [wanted] if feed.nest is None else [wanted, _lattice(wanted, feed.nest.shape)]
    found: list[np.ndarray] = []
    for words in boxes:
        once = np.flatnonzero(np.isin(feed.words, words))
        _, first = first_places(feed.words[once])
        _, last = last_places(feed.words[once])
        found += [np.sort(once[last]), np.sort(once[first]), once]
    return [*found, np.arange(len(feed.words))]


def _listed_buffer(tap: Tap, times: np.ndarray, words: np.ndarray, goal: Trace, word: Word) -> BufferCell | None:
    """A buffer that stores `words` at `times` and reads what `goal` carries."""
    names, first = first_places(words)
    if not len(words) or not np.isin(goal.words, names).all():
        return None
    order = np.argsort(times[first], kind="stable")  # words in the order in which they come
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    written = rank[np.searchsorted(names, words)]
    read = rank[np.searchsorted(names, goal.words)]
    born = times[first][order]
    reads = goal.times - BUFFER_LATENCY
    if (reads <= born[read]).any() or reads[0] < 0:
        return None
    depth = _depth(born, times, written, reads, read)
    levels = fit_levels(times, written)
    if depth is None or levels is None:
        return None
    write = build_walk(levels, int(times[0]), depth, int(written[0]))
    walk = _read_walk(reads, read, depth) or _idling_walk(goal.idle, (names, rank), (reads, read), write)
    return None if walk is None else BufferCell(tap, word, depth, write, walk)


def _read_walk(reads: np.ndarray, read: np.ndarray, depth: int) -> Walk | None:
    levels = fit_levels(reads, read)
    return None if levels is None else build_walk(levels, int(reads[0]), depth, int(read[0]))


def _idling_walk(idle: Idle, ranks: tuple[np.ndarray, np.ndarray], wanted: tuple[np.ndarray, np.ndarray],
                 write: Walk) -> Walk | None:
    """A walk for `wanted` cycles and places that goes on in idle ones; `ranks`: words that are stored, and places. None
    if there is no such walk, or it meets one of `write`, which a memory must not."""
    names, rank = ranks
    places, known = _places_of(idle.words, names, rank)
    if not known.any():
        return None
    times = np.concatenate([wanted[0], idle.times[known] - BUFFER_LATENCY])
    order = np.argsort(times)
    walk = _read_walk(times[order], np.concatenate([wanted[1], places[known]])[order], write.size)
    return None if walk is None or _meet(walk, write) else walk


def _places_of(words: np.ndarray, names: np.ndarray, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where words are, and of which that is known: of `names`, and of what lies beside them in equal steps, if these
    are stored in such an order."""
    places = rank[np.searchsorted(names, words).clip(max=len(names) - 1)]
    stored = np.isin(words, names)
    steps = np.unique(np.diff(names))
    if len(steps) != 1 or (np.diff(rank) != 1).any():
        return places, stored
    onward = (words - names[0]) // steps[0]
    return np.where(stored, places, onward), stored | (words - names[0] == onward * steps[0])


def _meet(one: Walk, other: Walk) -> bool:
    """Whether two walks are at one address in one cycle."""
    (times, places), (others, theirs) = one.events(), other.events()
    same = np.minimum(np.searchsorted(times, others), len(times) - 1)  # a walk has one event in a cycle
    return bool(((times[same] == others) & (places[same] == theirs)).any())


def _depth(born: np.ndarray, times: np.ndarray, written: np.ndarray, reads: np.ndarray, read: np.ndarray) -> int | None:
    """Fewest words of a circular memory that keep every word until its last use, which is no cycle of a write to its
    place; None if a word is stored again in a cycle in which it is read."""
    used = np.full(len(born), -1)
    np.maximum.at(used, read, reads)
    np.maximum.at(used, written, times)
    if len(written) > len(born) and len(np.intersect1d(times * len(born) + written, reads * len(born) + read)):
        return None
    following = np.searchsorted(born, used, side="right")
    return max(2, int((following - np.arange(len(born))).max()))
