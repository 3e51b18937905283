"""Clock cycles of a pipeline from start to done, before any simulation: its streams chunk by chunk.

The pipeline's own time is known: cycle c comes at clock cycle ``c + s``, where the stall s grows whenever a word of the
bus is not there or there is no room for one. What memory does follows from when chunks are asked for, and that follows
from when the pipeline has used up earlier words. So the events, a chunk asked for or a chunk written, are gone through
in order; each needs the stalls of earlier pipeline cycles only. Random stalls are not part of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hw.dma.chunks import CHUNK_WORDS, CHUNKS_UNDER_WAY, QUEUE_WORDS
from hw.dma.spec import PAGE_BYTES, DmaSpec
from hw.main_memory import MainMemory
from hw.pipeline.spec import Walk
from hw.pipeline.streams import ArrayStream
from hw.pipeline.system import SystemSpec

__all__ = ["MOST_CHUNKS", "chunk_count", "start_to_done"]

MOST_CHUNKS = 40_000
"""Chunks up to which each is looked at; with more, the rate at which they are asked for counts."""

_FIRST_JOB = 2
"""Clock cycle of the first job; the first one is that in which the engines are reset."""

_ADDRESS = 5
"""Clock cycles from a job to its first address."""

_NEXT_JOB, _NEXT_BURST = 4, 3
"""Least clock cycles from one job to the next, and from one burst to the next."""

_ARRIVAL = 6
"""From a beat on the bus to the first pipeline cycle that can use its word."""

_DEPARTURE = 2
"""From the pipeline cycle that completes a word to the word in its queue."""

_END = 2
"""From the last answer of memory to done."""


def chunk_count(system: SystemSpec) -> int:
    """Chunks of all streams."""
    bytes_ = CHUNK_WORDS * system.bus_bits // 8
    return sum(-(-s.row_bytes // bytes_) * s.rows for s in (*system.inputs, *system.outputs))


def start_to_done(system: SystemSpec, memory: MainMemory) -> int:
    """Clock cycles from the start bit to done."""
    if chunk_count(system) > MOST_CHUNKS:
        return max(system.pipeline.cycles, _NEXT_JOB * max(map(_busiest(system), (system.inputs, system.outputs))))
    return _Play(system, memory).cycles()


def _busiest(system: SystemSpec):
    bytes_ = CHUNK_WORDS * system.bus_bits // 8
    return lambda streams: sum(-(-s.row_bytes // bytes_) * s.rows for s in streams)


@dataclass
class _Stalls:
    """By how much pipeline cycles come late, as a rising staircase: from cycle ``at[k]`` on at least by ``by[k]``."""

    at: list[int] = field(default_factory=lambda: [0])
    by: list[int] = field(default_factory=lambda: [0])

    def time(self, cycle: int) -> int:
        """Clock cycle of a pipeline cycle."""
        return cycle + self.by[max(0, bisect_right(self.at, cycle) - 1)]

    def require(self, cycle: int, time: int) -> None:
        """Pipeline cycle `cycle` comes at clock cycle `time` or later."""
        late = time - cycle
        place = bisect_right(self.at, cycle)
        if self.by[place - 1] >= late:
            return
        end = place
        while end < len(self.at) and self.by[end] <= late:
            end += 1
        if self.at[place - 1] == cycle:
            place -= 1
        self.at[place:end], self.by[place:end] = [cycle], [late]


class _Chunks:
    """The chunks of a stream: `words` of the bus in each, and in all up to each (`ends`); `bursts` as beats."""

    def __init__(self, stream: ArrayStream, walk: Walk, bus_bits: int, base: int):
        bus = bus_bits // 8
        size = CHUNK_WORDS * bus
        self.times = walk.events()[0]
        pieces = range(0, stream.row_bytes, size)
        lengths = [min(size, stream.row_bytes - first) for first in pieces]
        self.words = np.tile([-(-n // bus) for n in lengths], stream.rows)
        self.ends = np.cumsum(self.words)
        rows = np.array(stream.addresses, np.int64) + base
        self.addresses = (rows[:, None] + np.array(pieces)).ravel()
        self.bytes = np.tile(lengths, stream.rows)
        self.bus = bus
        per_word = bus // stream.element_bytes
        inside = np.minimum(np.arange(stream.words(bus) + 1) * per_word, stream.row)
        self.firsts = (np.arange(stream.rows)[:, None] * stream.row + inside[None, :-1]).ravel()
        self.lasts = (np.arange(stream.rows)[:, None] * stream.row + inside[None, 1:]).ravel() - 1
        self.done = 0

    @property
    def left(self) -> bool:
        return self.done < len(self.words)

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


class _Play:
    """What happens, in order."""

    def __init__(self, system: SystemSpec, memory: MainMemory):
        self.memory, self.stalls = memory, _Stalls()
        self.inputs = [_Chunks(s, c.walk, system.bus_bits, 0)
                       for s, c in zip(system.inputs, system.pipeline.inputs, strict=True)]
        self.outputs = [_Chunks(s, c.walk, system.bus_bits, 0)
                        for s, c in zip(system.outputs, system.pipeline.outputs, strict=True)]
        self.read, self.write = _Channel(memory), _Channel(memory)
        self.turn = {id(self.inputs): 0, id(self.outputs): 0}

    def cycles(self) -> int:
        """Clock cycles until the last answer, and to done."""
        while True:
            reading, writing = self._next(self.inputs, self._asked), self._next(self.outputs, self._there)
            if reading is None and writing is None:
                return self.write.answered + _END
            if writing is None or (reading is not None and reading[0] <= writing[0]):
                assert reading is not None
                self._fetch(*reading[1:])
            else:
                self._store(*writing[1:])

    def _known(self) -> int:
        """Pipeline cycles before this one have their time: all that they wait for has been asked for."""
        return min((self._needed(chunks, int(chunks.ends[chunks.done] - chunks.words[chunks.done]))
                    for chunks in self.inputs if chunks.left), default=1 << 60)

    def _next(self, streams: Sequence[_Chunks], ready) -> tuple[int, int, int] | None:
        """(pipeline cycle that it waits for, number of the stream, clock cycle) of the chunk that is first ready."""
        known, best = self._known(), None
        for offset in range(len(streams)):
            number = (self.turn[id(streams)] + offset) % len(streams)
            if streams[number].left:
                cycle = ready(streams[number])
                if cycle < known:
                    time = self.stalls.time(cycle) if cycle >= 0 else 0
                    if best is None or time < best[2]:
                        best = (cycle, number, time)
        return best

    @staticmethod
    def _needed(chunks: _Chunks, word: int) -> int:
        """The pipeline cycle that cannot be without a word: after it there would be one element left, or none."""
        first = int(chunks.firsts[word])
        return int(chunks.times[first - 2]) + 1 if first >= 2 else 0

    @staticmethod
    def _asked(chunks: _Chunks) -> int:
        """The pipeline cycle after which there is room for the next chunk, -1 from the beginning."""
        used = int(chunks.ends[chunks.done]) - QUEUE_WORDS - 1
        if used < 0 or chunks.firsts[used] == 0:
            return -1
        return int(chunks.times[chunks.firsts[used] - 1])

    @staticmethod
    def _there(chunks: _Chunks) -> int:
        """The pipeline cycle that completes the next chunk."""
        return int(chunks.times[chunks.lasts[chunks.ends[chunks.done] - 1]])

    def _fetch(self, number: int, time: int) -> None:
        chunks = self.inputs[number]
        end = int(chunks.ends[chunks.done])
        word = end - int(chunks.words[chunks.done])
        beats = self.read.move(time + 1, chunks.bursts(), self.memory.latency)
        arrivals = beats[len(beats) - (end - word):]
        for place, beat in zip(range(word, end), arrivals, strict=True):
            self.stalls.require(self._needed(chunks, place), beat + _ARRIVAL)
        chunks.done += 1
        self.turn[id(self.inputs)] = (number + 1) % len(self.inputs)

    def _store(self, number: int, time: int) -> None:
        chunks = self.outputs[number]
        end = int(chunks.ends[chunks.done])
        word = end - int(chunks.words[chunks.done])
        beats = self.write.move(time + _DEPARTURE, chunks.bursts(), 1)
        for place, beat in zip(range(word, end), beats, strict=False):
            if place + QUEUE_WORDS - 2 < len(chunks.lasts):
                self.stalls.require(int(chunks.times[chunks.lasts[place + QUEUE_WORDS - 2]]), beat)
        self.write.answer(self.memory.latency)
        chunks.done += 1
        self.turn[id(self.outputs)] = (number + 1) % len(self.outputs)


class _Channel:
    """One direction of the memory port: jobs, bursts and beats, one after the other."""

    def __init__(self, memory: MainMemory):
        self.bursts_at_once = min(memory.bursts, DmaSpec().outstanding)
        self.job, self.address, self.beat, self.answered = _FIRST_JOB, 0, 0, 0
        self.ends: list[int] = []  # clock cycle from which on each burst counts no more
        self.chunks: list[int] = []

    def move(self, ready: int, bursts: Sequence[int], latency: int) -> list[int]:
        """Clock cycles of the beats of a chunk that could be asked for from `ready` on."""
        before = self.chunks[-CHUNKS_UNDER_WAY] if len(self.chunks) >= CHUNKS_UNDER_WAY else 0
        job = max(ready, self.job, before + 1)
        address, found = job + _ADDRESS, []
        for beats in bursts:
            limit = self.ends[-self.bursts_at_once] + 1 if len(self.ends) >= self.bursts_at_once else 0
            address = max(address, self.address, limit)
            self.address = address + _NEXT_BURST
            first = max(address + latency, self.beat)
            found += range(first, first + beats)
            self.beat = first + beats
            self.ends.append(self.beat - 1)
        self.job = max(job + _NEXT_JOB, self.address - _ADDRESS + _NEXT_JOB - _NEXT_BURST)
        self.chunks.append(self.beat)
        return found

    def answer(self, latency: int) -> None:
        """The last burst is acknowledged after its last beat."""
        self.answered = self.beat - 1 + latency
        self.ends[-1] = self.answered
