"""Clock cycles of a run from start to done, before any simulation: the streams of a data path chunk by chunk.

The data path's own time is known: step c of it comes at clock cycle ``c + s``, where the stall s grows whenever a word
of the bus is not there or there is no room for one. What memory does follows from when chunks are asked for, and that
follows from when the data path has used up earlier words. So the events, a chunk asked for or a chunk written, are gone
through in order; each needs the stalls of earlier steps only. Random stalls are not part of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hw.dma.chunks import CHUNK_WORDS, CHUNKS_UNDER_WAY, NEAR_STREAMS, QUEUE_WORDS
from hw.dma.spec import PAGE_BYTES, DmaSpec
from hw.main_memory import MainMemory

__all__ = ["MOST_CHUNKS", "EngineTiming", "Rows", "StreamTimeline", "follow_streams"]

MOST_CHUNKS = 40_000
"""Chunks up to which each is looked at; with more, the rate at which they are asked for counts."""

_ADDRESS = 5
"""Clock cycles from a job to its first address."""

_NEXT_JOB, _NEXT_BURST = 4, 3
"""Least clock cycles from one job to the next, and from one burst to the next."""


@dataclass(frozen=True)
class EngineTiming:
    """Clock cycles of a system around its data path.

    `first_step`: from the start bit to step 0, if nothing is waited for. `first_job`: to the first chunk. `asked`: from
    the step that makes room for a chunk to its job. `arrival`: from a beat on the bus to the first step that can use
    its word. `departure`: from the step that completes a word to the word in its queue. `end`: from the last answer of
    memory to done.
    """

    first_step: int
    first_job: int
    asked: int
    arrival: int
    departure: int
    end: int


@dataclass(frozen=True)
class Rows:
    """A stream in memory: rows of `row` elements of `element_bytes` each, which begin at the byte `addresses`."""

    row: int
    element_bytes: int
    addresses: Sequence[int]

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.row * self.element_bytes

    def chunks(self, bus_bytes: int) -> int:
        """Chunks of all rows."""
        return -(-self.row_bytes // (CHUNK_WORDS * bus_bytes)) * len(self.addresses)


class StreamTimeline:
    """The chunks of a stream, and what the data path does with their words.

    `words` of the bus in each chunk, and in all up to each (`ends`). Of every word, as steps of the data path:
    `needed`: the step that cannot be without it (inputs); `freed`: the step after which it has left its queue, -1
    before any (inputs); `made`: the step that completes it (outputs). `times`: steps in which elements are used up, or
    given, int64 of shape [elements]. `ahead`: elements that wait between queue and data path. `early`: whether a step
    that uses an element must know that there is another one for the next.
    """

    def __init__(self, rows: Rows, times: np.ndarray, bus_bytes: int, ahead: int = 0, *, early: bool = False):
        size = CHUNK_WORDS * bus_bytes
        pieces = range(0, rows.row_bytes, size)
        lengths = [min(size, rows.row_bytes - first) for first in pieces]
        self.bus = bus_bytes
        self.words = np.tile([-(-n // bus_bytes) for n in lengths], len(rows.addresses))
        self.ends = np.cumsum(self.words)
        self.addresses = (np.array(rows.addresses, np.int64)[:, None] + np.array(pieces)).ravel()
        self.bytes = np.tile(lengths, len(rows.addresses))
        per_row = -(-rows.row_bytes // bus_bytes)
        inside = np.minimum(np.arange(per_row + 1) * (bus_bytes // rows.element_bytes), rows.row)
        starts = np.arange(len(rows.addresses))[:, None] * rows.row
        firsts, lasts = (starts + inside[None, :-1]).ravel(), (starts + inside[None, 1:]).ravel() - 1
        before = firsts - 1 - ahead
        self.needed = np.where(firsts >= 2, times[np.maximum(firsts - 2, 0)] + 1, 0) if early else times[firsts]
        self.freed = np.where(before >= 0, times[np.maximum(before, 0)], -1)
        self.made = times[lasts]
        self.done = 0

    @property
    def left(self) -> bool:
        """Whether there are chunks to move."""
        return self.done < len(self.words)

    @property
    def next_words(self) -> range:
        """Numbers of the words of the next chunk."""
        end = int(self.ends[self.done])
        return range(end - int(self.words[self.done]), end)

    def bursts(self) -> list[int]:
        """Beats of each burst of the next chunk."""
        first = int(self.addresses[self.done])
        end = first + int(self.bytes[self.done])
        place, found = first - first % self.bus, []
        longest = DmaSpec(data_width=8 * self.bus).max_beats * self.bus
        while place < end:
            stop = min(place + longest, (place // PAGE_BYTES + 1) * PAGE_BYTES, -(-end // self.bus) * self.bus)
            found.append((stop - place) // self.bus)
            place = stop
        return found


def follow_streams(inputs: Sequence[StreamTimeline], outputs: Sequence[StreamTimeline], memory: MainMemory,
                   timing: EngineTiming, last: int = 0) -> int:
    """Clock cycles from the start bit to done, which does not come before step `last`."""
    play = _Play(inputs, outputs, memory, timing)
    return max(play.cycles(), play.stalls.time(last) + timing.end)


class _Stalls:
    """When steps come, as a rising staircase: from step ``at[k]`` on at least ``by[k]`` after their number."""

    def __init__(self, first: int) -> None:
        self.at, self.by = [0], [first]

    def time(self, step: int) -> int:
        """Clock cycle of a step."""
        return step + self.by[max(0, bisect_right(self.at, step) - 1)]

    def require(self, step: int, time: int) -> None:
        """Step number `step` comes at clock cycle `time` or later."""
        late = time - step
        place = bisect_right(self.at, step)
        if self.by[place - 1] >= late:
            return
        end = place
        while end < len(self.at) and self.by[end] <= late:
            end += 1
        if self.at[place - 1] == step:
            place -= 1
        self.at[place:end], self.by[place:end] = [step], [late]


class _Play:
    """What happens, in order."""

    def __init__(self, inputs: Sequence[StreamTimeline], outputs: Sequence[StreamTimeline], memory: MainMemory,
                 timing: EngineTiming):
        self.inputs, self.outputs, self.memory, self.timing = inputs, outputs, memory, timing
        self.stalls = _Stalls(timing.first_step)
        self.read, self.write = _Channel(memory, timing), _Channel(memory, timing)
        self.first_beat = 1 + (len(outputs) > NEAR_STREAMS)  # clock cycles from an address to its first data
        self.turn = {id(inputs): 0, id(outputs): 0}

    def cycles(self) -> int:
        """Clock cycles until the last answer, and to done."""
        while True:
            reading, writing = self._next(self.inputs, self._asked), self._next(self.outputs, self._there)
            if reading is None and writing is None:
                return self.write.answered + self.timing.end
            if writing is None or (reading is not None and reading[0] <= writing[0]):
                assert reading is not None
                self._fetch(*reading[1:])
            else:
                self._store(*writing[1:])

    def _known(self) -> int:
        """Steps before this one have their time: all that they wait for has been asked for."""
        return min((int(stream.needed[stream.next_words[0]]) for stream in self.inputs if stream.left),
                   default=1 << 60)

    def _next(self, streams: Sequence[StreamTimeline],
              ready: Callable[[StreamTimeline], int]) -> tuple[int, int, int] | None:
        """(step that it waits for, number of the stream, clock cycle) of the chunk that is first ready."""
        known, best = self._known(), None
        for offset in range(len(streams)):
            number = (self.turn[id(streams)] + offset) % len(streams)
            if streams[number].left:
                step = ready(streams[number])
                if step < known:
                    time = self.stalls.time(step) if step >= 0 else 0
                    if best is None or time < best[2]:
                        best = (step, number, time)
        return best

    @staticmethod
    def _asked(stream: StreamTimeline) -> int:
        """The step after which there is room for the next chunk, -1 from the beginning."""
        used = int(stream.ends[stream.done]) - QUEUE_WORDS - 1
        return int(stream.freed[used]) if used >= 0 else -1

    @staticmethod
    def _there(stream: StreamTimeline) -> int:
        """The step that completes the next chunk."""
        return int(stream.made[stream.ends[stream.done] - 1])

    def _fetch(self, number: int, time: int) -> None:
        stream = self.inputs[number]
        words = stream.next_words
        beats = self.read.move(time + self.timing.asked, stream.bursts(), self.memory.latency)
        for word, beat in zip(words, beats[len(beats) - len(words):], strict=True):
            self.stalls.require(int(stream.needed[word]), beat + self.timing.arrival)
        stream.done += 1
        self.turn[id(self.inputs)] = (number + 1) % len(self.inputs)

    def _store(self, number: int, time: int) -> None:
        stream = self.outputs[number]
        beats = self.write.move(time + self.timing.departure, stream.bursts(), self.first_beat)
        for word, beat in zip(stream.next_words, beats, strict=False):
            if word + QUEUE_WORDS - 2 < len(stream.made):
                self.stalls.require(int(stream.made[word + QUEUE_WORDS - 2]), beat)
        self.write.answer(self.memory.latency)
        stream.done += 1
        self.turn[id(self.outputs)] = (number + 1) % len(self.outputs)


class _Channel:
    """One direction of the memory port: jobs, bursts and beats, one after the other."""

    def __init__(self, memory: MainMemory, timing: EngineTiming):
        self.memory_bursts = memory.bursts
        self.job, self.address, self.beat, self.answered = timing.first_job, 0, 0, 0
        self.ends: list[int] = []  # clock cycle from which on each burst counts no more
        self.chunks: list[int] = []

    def move(self, ready: int, bursts: Sequence[int], latency: int) -> list[int]:
        """Clock cycles of the beats of a chunk that could be asked for from `ready` on."""
        before = self.chunks[-CHUNKS_UNDER_WAY] if len(self.chunks) >= CHUNKS_UNDER_WAY else 0
        job = max(ready, self.job, before + 1)
        address, found = job + _ADDRESS, []
        for beats in bursts:
            address = max(address, self.address, self._end(self.memory_bursts), self._end(DmaSpec().outstanding) + 1)
            self.address = address + _NEXT_BURST
            first = max(address + latency, self.beat)
            found += range(first, first + beats)
            self.beat = first + beats
            self.ends.append(self.beat - 1)
        self.job = max(job + _NEXT_JOB, self.address - _ADDRESS + _NEXT_JOB - _NEXT_BURST)
        self.chunks.append(self.beat)
        return found

    def _end(self, bursts: int) -> int:
        """When the last but so many bursts counts no more: memory takes the next address at once, the engine a cycle
        later."""
        return self.ends[-bursts] if len(self.ends) >= bursts else 0

    def answer(self, latency: int) -> None:
        """The last burst is acknowledged after its last beat."""
        self.answered = self.beat - 1 + latency
        self.ends[-1] = self.answered
