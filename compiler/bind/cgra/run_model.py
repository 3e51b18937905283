"""Clock cycles of a run from start to done, configuration apart, on main memory without random stalls.

A model of run control, sequencer and burst engines (`hw.fabric`, `hw.dma`), event by event: bands that the array takes
and gives back, transfers, bursts. Clock cycles count from the flush, in cycle 0. Exact for the first run after a reset;
runs of very many transfers are extrapolated from their first tiles.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hw.dma.descriptor import LINE_BYTES, DmaDescriptor, DmaLevel
from hw.dma.spec import PAGE_BYTES, DmaSpec
from hw.dma.tiles import HANDOUT_CYCLES
from hw.fabric.bank_config import BankConfig
from hw.fabric.control import settle_cycles
from hw.fabric.driver import RunPlan
from hw.fabric.spec import EN_LATENCY, FabricSpec
from hw.main_memory import MainMemory

__all__ = ["MOST_TRANSFERS", "start_to_done"]

MOST_TRANSFERS = 20_000
"""Transfers that are followed one by one."""

_MANY, _STEADY = 1024, (16, 24, 32)
"""Of more tiles so many first ones are followed: if the array waits for nothing from one to the next, it does not wait
later."""

_DMA = DmaSpec()
_FIRST_BURST, _BURST, _ROW = 4, 3, 4
"""Cycles from a job to its first burst, and from one burst to the next, in its row and in the next row."""

_WORD_OUT = 3
"""Cycles from a burst until its first word is written."""

_GIVEN = EN_LATENCY + 2
"""Cycles from the decision about a cycle until memory sees what the array gives back in it."""


def start_to_done(banks: Mapping[int, BankConfig], plan: RunPlan, spec: FabricSpec, memory: MainMemory) -> int:
    """Clock cycles of a run of `plan` with these banks, by number: `Run.wall_cycles`."""
    jobs = sum(bank.bands for bank in banks.values())
    tiles = max(3, MOST_TRANSFERS // jobs)

    def cycles(count: int) -> int:
        short = replace(plan, tiles=count, run_cycles=plan.run_cycles - (plan.tiles - count) * plan.period)
        return _Run(banks, short, spec, memory).cycles()

    if plan.tiles > _MANY:
        first, second, third = (cycles(count) for count in _STEADY)
        if third - second == second - first == (_STEADY[1] - _STEADY[0]) * plan.period:
            return third + (plan.tiles - _STEADY[2]) * plan.period
    if plan.tiles <= tiles:
        return cycles(plan.tiles)
    less, more = cycles(tiles - tiles // 2), cycles(tiles)
    return more + (plan.tiles - tiles) * (more - less) // (tiles // 2)


@dataclass
class _Stream:
    """Transfers of one bank. `released`: cycles in which transfers ended; `given`: cycles from which on memory has the
    bands that the array gave back; `claimed`, `taken`: bands that memory, and the array, have begun to use."""

    bank: BankConfig
    descriptor: DmaDescriptor
    jobs: int
    released: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    claimed: int = 0
    taken: int = 0

    @property
    def writes(self) -> bool:
        return self.bank.direction == "output"

    def wanted(self) -> int | None:
        """Cycle from which on memory can claim the next band; None if that is not known, or there is none."""
        if self.claimed == self.jobs:
            return None
        return _after(self.given, self.claimed - (0 if self.writes else self.bank.room))

    def ready(self) -> int | None:
        """Cycle in which the array can decide to take the next band at the earliest, None if that is not known."""
        released = _after(self.released, self.taken - (self.bank.room if self.writes else 0))
        return released if released in (None, 1) else released + 1

    def events(self, plan: RunPlan) -> Iterator[tuple[int, int]]:
        """(unstalled cycle, bands given back; -1 for the cycle of the tile's last access) of all bands taken."""
        bank = self.bank
        last = bank.nest.last_time - bank.nest.time_offset
        for tile in range(plan.tiles):
            begin = tile * plan.period + bank.first
            for band in range(bank.bands):
                yield begin + band * bank.band_cycles, int(band >= bank.lag)
            yield begin + last, -1

    def job(self) -> tuple[int, int, int, int]:
        """Address, bytes of a row, rows and planes of the next band."""
        d = self.descriptor
        tile, band = divmod(self.claimed, d.bands)
        steps = min(d.band or d.slowest.count, d.slowest.count - band * d.band)
        address = d.tile_base(tile) + band * d.band * d.slowest.stride
        if d.planes.count > 1:
            return address, d.row_bytes, d.rows.count, steps
        return (address, d.row_bytes, steps, 1) if d.rows.count > 1 else (address, steps, 1, 1)


def _after(cycles: list[int], index: int) -> int | None:
    """Entry `index`; what comes before the first one is there from cycle 1 on, what comes after the last one is not
    known."""
    if index < 0:
        return 1
    return cycles[index] if index < len(cycles) else None


class _Run:
    """One run, from its first transfer to its last."""

    def __init__(self, banks: Mapping[int, BankConfig], plan: RunPlan, spec: FabricSpec, memory: MainMemory):
        self.plan, self.spec, self.memory = plan, spec, memory
        self.streams = {number: _Stream(bank, plan.banks[number], plan.tiles * bank.bands)
                        for number, bank in sorted(banks.items())}
        self._idle = {False: 1, True: 1}  # cycle from which on the reader, and the writer, can take a job
        self._events = heapq.merge(*([(cycle, kind == -1, number, kind) for cycle, kind in stream.events(plan)]
                                     for number, stream in self.streams.items()), key=_order)
        self._next = next(self._events, None)
        self._cycle, self._clock = 0, 1  # the array has decided all cycles before this one, this one no sooner

    def cycles(self) -> int:
        """Clock cycles from the flush to done."""
        clock, turn = 1, 0
        self._advance()
        while any(stream.claimed < stream.jobs for stream in self.streams.values()):
            clock, turn = self._hand_out(clock, turn)
            self._advance()
        assert self._next is None
        last = self._clock + self.plan.run_cycles - 1 - self._cycle
        released = max(stream.released[-1] for stream in self.streams.values())
        return max(last + 1 + settle_cycles(self.spec), released + 1) + 1

    def _hand_out(self, clock: int, turn: int) -> tuple[int, int]:
        """The sequencer looks at one stream after the other from `turn` on, and hands out a job; when and where it goes
        on."""
        slots, looks = self.spec.bank_slots, []
        for number, stream in self.streams.items():
            wanted = stream.wanted()
            if wanted is not None:
                soonest = max(clock, wanted, self._idle[stream.writes])
                looks.append((soonest + (number - turn - (soonest - clock)) % slots, number))
        look, number = min(looks)
        stream, claim = self.streams[number], look + HANDOUT_CYCLES
        done = claim + self._duration(stream)
        stream.claimed += 1
        stream.released.append(done)
        self._idle[stream.writes] = done + 1
        return claim + 2, (number + 1) % slots

    def _advance(self) -> None:
        """The array goes on until it needs a band of which nothing is known yet."""
        while self._next is not None:
            cycle, _, number, kind = self._next
            stream = self.streams[number]
            clock = self._clock + cycle - self._cycle
            if kind != -1:
                ready = stream.ready()
                if ready is None:
                    return
                clock = max(clock, ready)
                stream.taken += 1
            self._cycle, self._clock = cycle, clock
            stream.given += [clock + _GIVEN] * (stream.bank.lag if kind == -1 else kind)
            self._next = next(self._events, None)

    def _duration(self, stream: _Stream) -> int:
        """Clock cycles from the claim of the next band to its release."""
        (address, *box), d = stream.job(), stream.descriptor
        return _transfer_cycles(stream.writes, address % PAGE_BYTES, tuple(box), d.rows, d.planes, self.memory)


@lru_cache(maxsize=1 << 14)
def _transfer_cycles(writes: bool, address: int, box: tuple[int, ...], row_level: DmaLevel, plane_level: DmaLevel,
                     memory: MainMemory) -> int:
    """Clock cycles of a transfer of `box`, bytes of a row, rows and planes, that begins at `address` of a page."""
    row_bytes, rows, planes = box
    bursts = [burst for plane in range(planes) for row in range(rows)
              for burst in _bursts(address + plane * plane_level.stride + row * row_level.stride, row_bytes)]
    if writes:
        return _written(bursts, memory)
    return _read(bursts, memory) + _spills(row_bytes, rows * planes, address, row_level, plane_level)


def _order(event: tuple[int, bool, int, int]) -> tuple[int, bool]:
    return event[:2]


def _bursts(address: int, row_bytes: int) -> list[tuple[bool, int]]:
    """Bursts of a row: whether it is the row's first one, and beats."""
    beat, end = address // LINE_BYTES, -(-(address + row_bytes) // LINE_BYTES)
    found: list[tuple[bool, int]] = []
    while beat < end:
        to_page = PAGE_BYTES // LINE_BYTES - beat % (PAGE_BYTES // LINE_BYTES)
        beats = min(_DMA.max_beats, to_page, end - beat)
        found.append((not found, beats))
        beat += beats
    return found


def _spills(row_bytes: int, rows: int, address: int, row_level: DmaLevel, plane_level: DmaLevel) -> int:
    """1 if the last beat of a transfer completes a word and begins another one, else 0."""
    planes, last_plane = divmod(rows - 1, row_level.count)
    start = address + planes * plane_level.stride + last_plane * row_level.stride
    ending = min((start + row_bytes - 1) % LINE_BYTES + 1, row_bytes)
    return int((row_bytes * rows - ending) % LINE_BYTES + ending > LINE_BYTES)


class _Requests:
    """When the bursts of a job are requested, in cycles from the job on; `ends`: when they are answered."""

    def __init__(self, memory: MainMemory):
        self._bursts = memory.bursts
        self.ends: list[int] = []
        self._made = self._accepted = 0

    def __call__(self, first_of_row: bool) -> tuple[int, int]:
        """Cycle in which the next burst is begun, and in which memory accepts its address."""
        count = len(self.ends)
        made = self._made + (_ROW if first_of_row else _BURST) if count else _FIRST_BURST
        made = max(made, self._accepted)
        if count >= _DMA.outstanding:
            made = max(made, self.ends[-_DMA.outstanding] + 1)
        accepted = made + 1
        if count >= self._bursts:
            accepted = max(accepted, self.ends[-self._bursts])
        self._made, self._accepted = made, accepted
        return made, accepted


def _read(bursts: list[tuple[bool, int]], memory: MainMemory) -> int:
    """Cycles from a job to its end, which is one cycle after its last beat."""
    requests = _Requests(memory)
    for first_of_row, beats in bursts:
        _, accepted = requests(first_of_row)
        begin = max(accepted + memory.latency, requests.ends[-1] + 1 if requests.ends else 0)
        requests.ends.append(begin + beats - 1)
    return requests.ends[-1] + 1


def _written(bursts: list[tuple[bool, int]], memory: MainMemory) -> int:
    """Cycles from a job to its end, which is one cycle after its last answer."""
    requests, sent = _Requests(memory), 0
    for first_of_row, beats in bursts:
        made, accepted = requests(first_of_row)
        sent = max(made + _WORD_OUT, accepted + 1, sent + 1) + beats - 1
        requests.ends.append(max(sent + memory.latency, requests.ends[-1] + 1 if requests.ends else 0))
    return requests.ends[-1] + 1
