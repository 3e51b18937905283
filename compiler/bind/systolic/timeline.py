"""When every tile of a run is loaded, computed and stored: cycles from start to done for a stated main memory.

The array is a system of queues in which an event waits for the latest of those that it needs, so the times of all
events are found one after the other, a burst of memory, a tile of steps, a tile of results at a time. Runs of many
tiles become regular: beyond `_SHORT` tiles along a loop, cycles are extrapolated, so that the effort does not grow with
the number of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

import numpy as np

from compiler.bind.systolic.latency import result_cycles
from hw.main_memory import MainMemory
from hw.systolic.compute import Compute
from hw.systolic.elementwise import conversion_latency
from hw.systolic.loader import BURST_BEATS, OUTSTANDING
from hw.systolic.spec import ArraySpec, OperandSpec
from hw.systolic.storer import result_burst

__all__ = ["Phases", "follow_tiles", "predict_phases", "start_to_done"]

_ASK = 9
"""Cycles from the start bit to the first address of a burst."""

_ENTER = 5
"""Cycles from a beat on the bus, the last of the first tiles, to the first step that needs it."""

_REFILL = 2
"""Cycles from a beat that waits for a feeder, the last of its tile, to the first step that needs it."""

_STORED = 5
"""Cycles from the last beat of results on the bus until done, without memory's latency, and those from the array to
the bus."""

_BEHIND = 1
"""Beats that wait in a daisy chain beside one in front of each feeder."""

_AHEAD = 2
"""Rounds of results that wait in the chains which they leave by."""

_HELD = 3
"""Beats of memory between the queue of a stream and its daisy chain."""

_BURSTS = 16
"""Bursts of a tile that are followed one by one."""

_SHORT, _STRIDE = 4, 2
"""Tiles along a loop up to which all are followed, and how many more the regular part is measured over."""


@dataclass(frozen=True)
class Phases:
    """Cycles from the start: `first` step, `last` step, the last result `left` the PEs, `done`; and those in which the
    port reads (`beats_in`) and writes (`beats_out`)."""

    first: float
    last: float
    left: float
    done: float
    beats_in: float
    beats_out: float

    def mixed(self, other: Phases, weight: float) -> Phases:
        """This one and `weight` times what it has more than `other`."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Phases(*(own + weight * (own - less) for own, less in pairs))

    def at_least(self, steps: int, leaving: int, shorter: Phases) -> Phases:
        """This one, but no shorter than its `steps`, its reads and the cycles in which results leave allow, with the
        ends of a `shorter` run. More tiles only make runs slower than in proportion: what limits a long run may have
        been hidden in short ones."""
        after, tail = shorter.left - shorter.last, shorter.done - shorter.left
        last = max(self.last, self.first + steps, self.beats_in)
        left = max(self.left, last + after, self.first + leaving)
        return replace(self, last=last, left=left, done=left + tail)


@lru_cache(maxsize=4096)
def start_to_done(spec: ArraySpec, tiles: tuple[int, ...], memory: MainMemory) -> int:
    """Clock cycles of a run from start to done."""
    return round(predict_phases(spec, tiles, memory).done)


def follow_tiles(spec: ArraySpec, tiles: Sequence[int], memory: MainMemory) -> Phases:
    """The phases of a run, all tiles followed one by one."""
    return _Run(spec, tiles, memory).phases()


def predict_phases(spec: ArraySpec, tiles: Sequence[int], memory: MainMemory) -> Phases:
    """The phases of a run with tile loops of the extents `tiles`."""
    if prod(tiles) <= _SHORT ** 3:
        return follow_tiles(spec, tiles, memory)
    for k in range(len(tiles)):
        if tiles[k] > _SHORT + _STRIDE:
            less, more = ([*tiles[:k], count, *tiles[k + 1:]] for count in (_SHORT, _SHORT + _STRIDE))
            longer = predict_phases(spec, more, memory)
            weight = (tiles[k] - _SHORT - _STRIDE) / _STRIDE
            found = longer.mixed(predict_phases(spec, less, memory), weight)
            return found.at_least(*_work(spec, tiles), longer)
    return follow_tiles(spec, tiles, memory)


def _work(spec: ArraySpec, tiles: Sequence[int]) -> tuple[int, int]:
    """Cycles of all steps, and those in which all results leave."""
    results = prod(count for count, loop in zip(tiles, spec.tile_loops, strict=True) if not loop.reduction)
    return prod(tiles) * max(2, spec.step_cycles), results * result_cycles(spec)


@dataclass
class _Stream:
    """A stream of tiles on their way from memory into feeders.

    `beats` of memory and `chain` beats per tile, `places` that hold them; `firsts`: steps of a tile that are the first
    ones to take from each beat of a feeder, only the first step if it has to have them all; `fetches`: per tile of the
    run, the number of the fetch that it uses. Beats `asked` for; `arrived`: (beats before, first, last cycle) of each
    burst; `consumed`: (beats, cycle) when so many had gone into the chain; `filled`: of each tile, when steps in
    `firsts` may begin. All cycles are those of the nearest feeder: words and steps take as long to the others.
    """

    operand: OperandSpec
    awaited: bool
    beats: int
    chain: int
    places: int
    buffers: int
    firsts: np.ndarray
    fetches: list[int]
    asked: int = 0
    ready: float = 0
    arrived: list[tuple[int, float, int]] = field(default_factory=list)
    consumed: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])
    released: dict[int, float] = field(default_factory=dict)
    filled: dict[int, np.ndarray] = field(default_factory=dict)
    came: list[tuple[int, float]] = field(default_factory=lambda: [(0, -np.inf)])
    seen: int = 0
    place: int = 1

    @property
    def total(self) -> int:
        """Beats of the whole run."""
        return self.beats * (self.fetches[-1] + 1)

    @property
    def longest(self) -> int:
        """Beats of a burst; large tiles are followed in larger steps."""
        return BURST_BEATS * max(1, self.beats // (_BURSTS * BURST_BEATS))

    @property
    def waiting(self) -> int:
        """Beats of a tile that are in the chain while its feeders are still in use."""
        return min(self.chain, self.places + _BEHIND)

    def burst(self) -> int:
        """Beats of the next burst, which ends with its tile, and at a multiple of the longest one."""
        return min(self.longest - self.asked % self.longest if self.beats % self.longest else self.longest,
                   self.beats - self.asked % self.beats)

    def room(self) -> float | None:
        """The cycle from which there is room for another burst; None if that is not known yet."""
        wanted = self.asked - 3 * self.longest - _HELD
        if wanted <= 0:
            return 0.0
        self.consume()
        while self.place < len(self.consumed) and self.consumed[self.place][0] < wanted:
            self.place += 1
        if self.place == len(self.consumed):
            return None
        (before, start), (beats, end) = self.consumed[self.place - 1: self.place + 1]
        return start + max(0, wanted - before) * (end - start) / (beats - before)

    def consume(self) -> None:
        """Follow what has arrived into the chain, as far as it is known when feeders are free."""
        while self.seen < len(self.arrived):
            before, first, count = self.arrived[self.seen]
            fetch, inside = divmod(before, self.beats)
            free = self.released.get(fetch - self.buffers) if fetch >= self.buffers else -np.inf
            if free is None:
                return
            rate = max(1.0, self.chain / self.beats)
            came, freed = max(first, self.consumed[-1][1]), free - self.waiting + inside * rate
            end = max(max(came, freed) + count * rate, first + count)
            self.consumed.append((before + count, end))
            self._fill(fetch, inside, count, end, (_REFILL if freed > came else _ENTER), rate)
            self.seen += 1

    def _fill(self, fetch: int, inside: int, count: int, end: float, late: int, rate: float) -> None:
        """`count` beats after the first ones `inside` a tile have gone into the chain, one in `rate` cycles."""
        if inside == 0:
            self.came = [(0, end - count * rate + late)]
        self.came.append((inside + count, max(end + late, self.came[-1][1])))
        if inside + count == self.beats:
            needed = np.arange(1, len(self.firsts) + 1) * self.beats / len(self.firsts)
            beats, cycles = zip(*self.came, strict=True)
            self.filled[fetch] = np.interp(needed, beats, cycles)


class _Run:
    """The events of a run, in the order of its tiles."""

    def __init__(self, spec: ArraySpec, tiles: Sequence[int], memory: MainMemory):
        self._spec, self._tiles, self._memory = spec, list(tiles), memory
        self._streams = [_stream(spec, self._tiles, number) for number in range(len(spec.streams))]
        self._ask, self._port = float(_ASK), 0.0
        self._results = _Results(spec)
        self._ended: list[float] = []
        self._gate: float | None = None

    def phases(self) -> Phases:
        """Follow all tiles."""
        spec, reduced = self._spec, prod(
            count for count, loop in zip(self._tiles, self._spec.tile_loops, strict=True) if loop.reduction)
        first = end = 0.0
        for tile in range(prod(self._tiles)):
            steps = self._steps(tile, end, tile % reduced == 0)
            first = float(steps.begins(np.zeros(1))[0]) if tile == 0 else first
            end = steps.end(spec.step_cycles)
            if tile % reduced == reduced - 1:
                end += self._results.complete(steps)
            for stream in self._streams:
                self._release(stream, tile, end - (spec.interval - 1))  # with the last step
        results = prod(self._tiles) // reduced
        last = end + self._results.latency + spec.rows + spec.columns + spec.skew - 2
        return Phases(first, last, float(self._results.left[-1]), self._stored(self._results.arrived),
                      sum(stream.total for stream in self._streams), results * (spec.result_bytes // spec.bus_bytes))

    def _steps(self, tile: int, end: float, begins: bool) -> _Steps:
        """The steps of a tile, which `begins` a tile of results, after the `end` of the one before."""
        start = end
        if begins and not self._spec.result.double_buffered:
            start = max(start, self._results.emptied)
        places, lags = [np.zeros(1, np.int64)], [np.array([start])]
        for stream in self._streams[: len(self._spec.operands)]:
            entry = conversion_latency(self._spec, stream.operand) + self._spec.entry(stream.operand)
            there = self._filled(stream, stream.fetches[tile]) + entry
            places.append(stream.firsts)
            lags.append(there - stream.firsts * self._spec.interval)
        return _Steps.of(np.concatenate(places), np.concatenate(lags), self._spec.interval)

    def _stored(self, left: np.ndarray) -> float:
        """When memory has acknowledged the last tile of results, whose rounds have `left` the array: a burst begins
        when its beats are there."""
        beats = self._spec.result_bytes // self._spec.bus_bytes
        came = np.interp(np.arange(1, beats + 1) * len(left) / beats, np.arange(len(left) + 1),
                         np.concatenate([left[:1] - self._results.each, left]))
        end, sent = -np.inf, 0
        while sent < beats:
            burst = result_burst(self._spec.bus_bits, beats - sent)
            end = max(end, came[sent + burst - 1]) + burst
            sent += burst
        return float(end) + _STORED + self._memory.latency

    def _release(self, stream: _Stream, tile: int, end: float) -> None:
        fetch = stream.fetches[tile]
        if tile + 1 == len(stream.fetches) or stream.fetches[tile + 1] != fetch:
            read = end - self._spec.entry(stream.operand) + self._spec.spread(stream.operand)
            stream.released[fetch] = read if stream.awaited else float(self._results.left[-1])

    def _filled(self, stream: _Stream, fetch: int) -> np.ndarray:
        """When the feeders have the beats of a tile."""
        while fetch not in stream.filled:
            stream.consume()
            if fetch not in stream.filled:
                self._burst()
        return stream.filled[fetch]

    def _burst(self) -> None:
        """The next burst on the bus: of the streams that have room the one that has had it longest."""
        offers = [(max(when, self._ask), number) for number, stream in enumerate(self._streams)
                  if (when := self._allowed(stream)) is not None]
        when, number = min(offers)
        stream = self._streams[number]
        if len(self._ended) >= min(OUTSTANDING, self._memory.bursts):
            when = max(when, self._ended[-min(OUTSTANDING, self._memory.bursts)] + 1)
        beats = stream.burst()
        first = max(when + self._memory.latency, self._port)
        self._port = first + beats
        self._ask = when + 1
        self._ended.append(self._port)
        stream.arrived.append((stream.asked, first, beats))
        stream.asked += beats
        stream.ready = when + (2 if stream.asked % stream.beats else 4)
        if self._gate is None and all(s.asked >= s.beats for s in self._streams if s.awaited):
            self._gate = when + 2

    def _allowed(self, stream: _Stream) -> float | None:
        if stream.asked >= stream.total or (stream.asked >= stream.beats and self._gate is None):
            return None
        room = stream.room()
        if room is None:
            return None
        return max(room, stream.ready, self._gate or 0.0 if stream.asked >= stream.beats else 0.0)


@dataclass(frozen=True)
class _Steps:
    """When the steps of a tile begin: step s at ``s * interval + lag``, `lags` being those from each of the `places`
    on."""

    places: np.ndarray
    lags: np.ndarray
    interval: int = 1

    @classmethod
    def of(cls, places: np.ndarray, lags: np.ndarray, interval: int = 1) -> _Steps:
        """Steps from each of the `places` on that lag by so many cycles at least."""
        order = np.argsort(places, kind="stable")
        return cls(places[order], np.maximum.accumulate(lags[order]), interval)

    def begins(self, steps: np.ndarray) -> np.ndarray:
        """The cycles in which `steps` begin."""
        return steps * self.interval + self.lags[np.searchsorted(self.places, steps, "right") - 1]

    def end(self, cycles: int) -> float:
        """The first cycle after all of them, which take so many `cycles`; a tile takes two cycles at least."""
        return float(max(2, cycles) + self.lags[-1])


class _Results:
    """Rounds of results, one of each PE, on their way out.

    `left`: cycles in which the rounds of the latest tile have left the array, relative to its first PE; `each`: cycles
    of a round in the narrowest place on the way.
    """

    def __init__(self, spec: ArraySpec):
        self._spec, self._completed = spec, _completions(spec)
        rounds = len(self._completed)
        self.each, self.latency = result_cycles(spec) / rounds, Compute(spec).completion
        self.left = self._popped = np.full(rounds, -np.inf)
        self._earlier = np.full(rounds + _AHEAD, -np.inf)
        self._lag = 0

    def complete(self, steps: _Steps) -> float:
        """Complete the results of a tile with these steps. Returns the cycles for which steps have to wait until the
        results before have left the PEs."""
        rounds, last = len(self._completed), steps.begins(self._completed - 1)
        late = np.maximum(0.0, np.maximum.accumulate(self._popped - last))
        done = last + 1 + late + self.latency
        turns = np.arange(rounds) * self.each
        self.left = np.maximum(self.left[-1], np.maximum.accumulate(done - turns)) + turns + self.each
        self._earlier = np.concatenate([self._earlier, self.left])[-rounds - _AHEAD:]
        self._popped = np.maximum(done + 1, self._earlier[:rounds])
        if rounds == 1 and late[-1]:
            self._lag = self._spec.columns - 1
        return float(late[-1])

    @property
    def emptied(self) -> float:
        """When all results of the latest tile have left their PEs."""
        return float(self._popped[-1])

    @property
    def arrived(self) -> np.ndarray:
        """When the rounds of the latest tile are at the memory port; PEs with one accumulator wait for those before
        them in their row."""
        spec = self._spec
        return self.left + spec.rows + spec.columns + spec.skew + conversion_latency(spec, spec.result) + self._lag


def _stream(spec: ArraySpec, tiles: Sequence[int], number: int) -> _Stream:
    operand = spec.streams[number]
    places = 1 if operand.copied else spec.feeders(operand)
    awaited = number < len(spec.operands)
    inner = prod(tiles[spec.innermost(operand, tiles) + 1:])
    fetches = [tile // inner for tile in range(prod(tiles))]
    return _Stream(operand, awaited, spec.operand_bytes(operand) // spec.bus_bytes,
                   places * spec.feeder_beats(operand), places, 1 + operand.double_buffered, _firsts(spec, operand),
                   fetches)


def _firsts(spec: ArraySpec, operand: OperandSpec) -> np.ndarray:
    """Steps of a tile that first take from each beat of a feeder; the first one if it has to have them all."""
    if not spec.is_streamed(operand):
        return np.zeros(1, np.int64)
    first, inside = np.zeros(1, np.int64), 1
    for loop, coefficient in zip(reversed(spec.time_loops), reversed(operand.address.coefficients), strict=True):
        if coefficient:
            first = (first[None, :] + np.arange(loop.extent)[:, None] * inside).ravel()
        inside *= loop.extent
    return first[:: operand.pack]


def _completions(spec: ArraySpec) -> np.ndarray:
    """Steps of a tile, from 1, after which an accumulator's results are completed, one after the other."""
    found = np.zeros(1)
    inside = 1
    for loop in reversed(spec.time_loops):
        if loop.reduction:
            found = found + (loop.extent - 1) * inside
        else:
            found = (found[None, :] + np.arange(loop.extent)[:, None] * inside).ravel()
        inside *= loop.extent
    return found + 1
