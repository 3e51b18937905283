"""Delays and buffers: how every use of a node gets its value when it wants it, with as few words as are alive.

The uses of a node at constant distances are taps of one chain, from the newest to the oldest. Neighbours that are at
most `register_gap` cycles apart differ by registers. Behind a larger gap comes a memory: a delay line that moves in
every cycle, or, where many cycles bring nothing that is still wanted, a buffer that stores only that (Liu 2023,
sections 5.1 and 5.6). Reads whose distance varies come from buffers, too. Those that see the same words a constant
number of cycles apart share a port, or are chained: each memory takes a word over from the port of the one before, so
that together they hold it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from compiler.analysis.port_unions import common_shifts, follows, join_ports, steps_of
from compiler.bind.fpga.buffer_choice import LISTED, smallest_buffer, stored_goals
from compiler.bind.fpga.errors import UnevenWalk
from compiler.bind.fpga.traces import Idle, Part, Trace
from hw.pipeline.spec import BUFFER_LATENCY, MINIMUM_LINE, BufferCell, Cell, LineCell, Tap, Word

__all__ = ["DelayAllocator", "Need", "Placed"]

_WORTH = 1.25
"""A buffer replaces a delay line that has this many times its words."""

_GAIN = 4
"""And so many more: its address generators are not free."""

_SHIFTS = 512
"""Shifts that are tried when two reads are compared."""


_SAMPLE = 1 << 10
"""Events by which most shifts are told to be wrong."""


@dataclass(frozen=True)
class Need:
    """A use of a node, which wants what `trace` says, in physical cycles. `delay`: cycles from the node's value to the
    use if that is constant; then only the words of the trace count, and there is none if the node's values are not a
    statement's. `key` says who wants them; `name` is for messages, and `read` is the statement and number of a read at
    varying distances."""

    key: tuple[int, int]
    trace: Trace | None
    delay: int | None
    name: str
    read: tuple[str, int] = ("", 0)

    @property
    def times(self) -> np.ndarray:
        """Cycles of all events."""
        assert self.trace is not None
        return self.trace.times

    @property
    def words(self) -> np.ndarray:
        """Numbers of their words."""
        assert self.trace is not None
        return self.trace.words


@dataclass(frozen=True)
class Placed:
    """Memory in cell number `cell`: a ``line`` or a ``buffer`` of `words` words, with the two registers behind it."""

    cell: int
    kind: str
    words: int


@dataclass(frozen=True)
class _Stream:
    """What a tap carries, if it is a statement's values."""

    tap: Tap
    trace: Trace | None

    def later(self, cycles: int) -> _Stream:
        trace = None if self.trace is None else self.trace.later(cycles)
        return _Stream(Tap(self.tap.cell, self.tap.cycles + cycles), trace)


@dataclass
class DelayAllocator:
    """Appends memories to `cells` and says which tap serves a need. `gap`: longest delay by registers.

    `placed`: the memories so far; `registers`: words in the chain of registers behind each cell.
    """

    cells: list[Cell]
    gap: int
    taps: dict[tuple[int, int], Tap] = field(default_factory=dict)
    placed: list[Placed] = field(default_factory=list)
    registers: dict[int, int] = field(default_factory=dict)

    def constant(self, cell: int, word: Word, needs: Sequence[Need], trace: Trace | None = None) -> list[_Stream]:
        """Serve needs at constant delays from cell number `cell`, which carries the words of `trace` (None: delays
        only), in their order. The result are the streams of the chain, newest first."""
        ordered = sorted(needs, key=lambda need: need.delay or 0)
        stream = _Stream(Tap(cell), trace)
        streams = [stream]
        base = reach = 0
        for place, need in enumerate(ordered):
            assert need.delay is not None
            if need.delay - reach > self.gap and need.delay - reach >= MINIMUM_LINE:
                stream = self._behind(stream, reach - base, need.delay - reach, word, ordered[place:], trace)
                streams.append(stream)
                base = reach = need.delay
            self.taps[need.key] = Tap(stream.tap.cell, stream.tap.cycles + need.delay - base)
            reach = need.delay
            self._registers(stream.tap.cell, reach - base)
        return streams

    def _registers(self, cell: int, count: int) -> None:
        """A cell has a chain of at least `count` registers behind it."""
        self.registers[cell] = max(self.registers.get(cell, 0), count)

    def _behind(self, stream: _Stream, skip: int, cycles: int, word: Word, later: Sequence[Need],
                trace: Trace | None) -> _Stream:
        """`stream`, `skip` and then `cycles` cycles later, out of a memory."""
        source = stream.later(skip)
        line = LineCell(source.tap, word, cycles)
        if trace is None or source.trace is None:
            return self._line(source, line)
        wanted = [need.trace for need in later if need.trace is not None]
        for goal in stored_goals(trace, wanted, source.trace):
            late = goal.later(int(later[0].delay or 0))
            buffer = self._buffer(source, late, word)
            if buffer is not None and buffer.depth * _WORTH <= line.depth and line.depth - buffer.depth >= _GAIN:
                return self._add(buffer, late)
        return self._line(source, line)

    def _line(self, source: _Stream, line: LineCell) -> _Stream:
        self.cells.append(line)
        self.placed.append(Placed(len(self.cells) - 1, "line", line.depth + BUFFER_LATENCY))
        return replace(source.later(line.cycles), tap=Tap(len(self.cells) - 1))

    def _add(self, buffer: BufferCell, goal: Trace) -> _Stream:
        self.cells.append(buffer)
        self.placed.append(Placed(len(self.cells) - 1, "buffer", buffer.depth + BUFFER_LATENCY))
        return _Stream(Tap(len(self.cells) - 1), goal)

    # Reads at varying distances.

    def varying(self, sources: Sequence[_Stream], word: Word, needs: Sequence[Need]) -> None:
        """Serve reads from streams of the same words, `sources`. Raises `UnevenWalk` naming a read that no address
        generator follows."""
        for members in _families(needs):
            while members:
                together, members = _together(members)
                self._family(sources, word, together)

    def _family(self, sources: Sequence[_Stream], word: Word, members: list[tuple[int, Need]]) -> None:
        """Reads that see the same words, `shift` cycles apart."""
        feeds = list(sources)
        while members:
            first = members[0][0]
            near = _near(members, self.gap)
            goal = _union([(shift - first, need) for shift, need in members])
            alone = _union([(shift - first, need) for shift, need in near])
            stream = self._port(feeds, goal, word) or self._port(sources, alone, word)
            if stream is None:
                near = members[:1]
                stream = self._port(sources, _union([(0, near[0][1])]), word)
            if stream is None:
                raise UnevenWalk(f"{near[0][1].name}: it walks what it reads in an order that no counters with short "
                                 "tables follow", near[0][1].read)
            for shift, need in near:
                self.taps[need.key] = Tap(stream.tap.cell, shift - first)
            self._registers(stream.tap.cell, near[-1][0] - first)
            feeds.append(stream.later(near[-1][0] - first))
            members = members[len(near) :]

    def _port(self, feeds: Sequence[_Stream], goal: Trace | None, word: Word) -> _Stream | None:
        """A stream that carries what `goal` does, from the last of the feeds that will do."""
        if goal is None:
            return None
        best: BufferCell | None = None
        for feed in reversed(feeds):
            buffer = self._buffer(feed, goal, word)
            if buffer is not None and (best is None or buffer.depth < best.depth):
                best = buffer
        return None if best is None else self._add(best, goal)

    def _buffer(self, feed: _Stream, goal: Trace, word: Word) -> BufferCell | None:
        """The smallest buffer between two streams, None if none will do."""
        assert feed.trace is not None
        return smallest_buffer(feed.tap, feed.trace, goal, word)


def _near(members: list[tuple[int, Need]], gap: int) -> list[tuple[int, Need]]:
    """The first members, as far as registers reach from one to the next."""
    count = 1
    while count < len(members) and members[count][0] - members[count - 1][0] <= gap:
        count += 1
    return members[:count]


def _families(needs: Sequence[Need]) -> list[list[tuple[int, Need]]]:
    """Needs in groups, each with its shift against the first of its group, in the order of the shifts."""
    groups: list[list[tuple[int, Need]]] = []
    for need in needs:
        for group in groups:
            shift = _shift(group[0][1], need)
            if shift is not None:
                group.append((shift, need))
                break
        else:
            groups.append([(0, need)])
    return [sorted(group, key=lambda member: member[0]) for group in groups]


def _together(members: list[tuple[int, Need]]) -> tuple[list[tuple[int, Need]], list[tuple[int, Need]]]:
    """The members that ports chained to each other can serve, and the others: those whose words would come in cycles
    in which the first ones want another word."""
    chosen, others = members[:1], []
    for member in members[1:]:
        first = chosen[0][0]
        fits = _union([(shift - first, need) for shift, need in [*chosen, member]]) is not None
        (chosen if fits else others).append(member)
    return chosen, others


def _shift(one: Need, other: Need) -> int | None:
    """Cycles by which `other` sees the words of `one` later (or earlier), None if it does not do so throughout.

    Where both want a word it has to be the same, for at least half of the cycles of the shorter one.
    """
    first, second = (None if need.trace is None else need.trace.nest for need in (one, other))
    if first is not None and second is not None and max(first.count, second.count) > LISTED:
        steps, candidates = steps_of([first, second]), common_shifts(first, second)
        if steps is not None and candidates is not None:
            return next((shift for shift in candidates[:_SHIFTS] if follows(first, second, shift, steps)), None)
    if not _listable([one, other]):
        return None
    middle = len(other.times) // 2
    same = np.flatnonzero(one.words == other.words[middle])
    candidates = sorted((int(t) for t in other.times[middle] - one.times[same]), key=abs)
    some = slice(None, None, -(-len(other.times) // _SAMPLE))
    for shift in candidates[:_SHIFTS]:
        if _contradict(one, other.times[some] - shift, other.words[some]):
            continue
        place = np.minimum(np.searchsorted(one.times, other.times - shift), len(one.times) - 1)
        both = one.times[place] == other.times - shift
        if both.sum() * 2 >= min(len(one.times), len(other.times)) and (one.words[place] == other.words)[both].all():
            return shift
    return None


def _contradict(one: Need, times: np.ndarray, words: np.ndarray) -> bool:
    """Whether a need wants another word than one of `words` in its cycle."""
    place = np.minimum(np.searchsorted(one.times, times), len(one.times) - 1)
    return bool(((one.times[place] == times) & (one.words[place] != words)).any())


def _listable(needs: Sequence[Need]) -> bool:
    return all(need.trace is not None and need.trace.listable for need in needs)


def _union(members: Sequence[tuple[int, Need]]) -> Trace | None:
    """What a port has to carry that gives each member its words `shift` cycles later; None if they contradict."""
    nests = [need.trace.nest.later(-shift) for shift, need in members if need.trace is not None and need.trace.nest]
    if len(nests) == len(members):
        joined = join_ports(nests)
        if joined is not None:
            return None if joined.times.base < BUFFER_LATENCY else Trace(joined, parts=_parts(members))
    if not _listable([need for _, need in members]):
        return None
    times = np.concatenate([need.times - shift for shift, need in members])
    words = np.concatenate([need.words for _, need in members])
    order = np.lexsort([words, times])
    times, words = times[order], words[order]
    new = np.concatenate([[True], (np.diff(times) > 0) | (np.diff(words) != 0)])
    times, words = times[new], words[new]
    if (np.diff(times) == 0).any() or times[0] < BUFFER_LATENCY:
        return None
    return Trace((times, words), _idle_union(members, times), onward=_onward_union(members))


def _onward_union(members: Sequence[tuple[int, Need]]) -> Trace | None:
    """The same as parts of a nest; None if that is not known."""
    forms = [(shift, trace if trace.nest is not None else trace.onward)
             for shift, need in members if (trace := need.trace) is not None]
    shifted = [form.later(-shift) for shift, form in forms if form is not None]
    if len(shifted) < len(members):
        return None
    joined = join_ports([form.nest for form in shifted if form.nest is not None])
    return None if joined is None or joined.times.base < BUFFER_LATENCY else Trace(joined, parts=_wanted(shifted))


def _parts(members: Sequence[tuple[int, Need]]) -> tuple[Part, ...]:
    """What members want; none if each wants all of its nest."""
    shifted = [need.trace.later(-shift) for shift, need in members if need.trace is not None]
    return _wanted(shifted) if any(trace.parts for trace in shifted) else ()


def _wanted(traces: Sequence[Trace]) -> tuple[Part, ...]:
    """What nests, or their parts, want."""
    return tuple(part for trace in traces
                 for part in trace.parts or ([Part(trace.nest, None)] if trace.nest is not None else []))


def _idle_union(members: Sequence[tuple[int, Need]], wanted: np.ndarray) -> Idle:
    """Where none of the members wants a word, and what one of them would see."""
    idle = [need.trace.idle.later(-shift) for shift, need in members if need.trace is not None]
    times, first = np.unique(np.concatenate([each.times for each in idle]), return_index=True)
    free = ~np.isin(times, wanted) & (times >= BUFFER_LATENCY)
    return Idle(times[free], np.concatenate([each.words for each in idle])[first][free])
