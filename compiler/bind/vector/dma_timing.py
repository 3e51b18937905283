"""When transfers are carried out: the order in which the DMA engine takes them, and the memory that they share.

Reads and writes of main memory pass at one beat per cycle in all. Each direction keeps its order; if both wait they
take turns, so that a store that begins beside a load delays it. The end of a transfer is worked out when somebody asks
for it: by then all transfers before it, and those beside it, are known.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf

from hw.vector_lanes.dispatch_jobs import RUNNING
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Job", "SharedMemory", "TransferTimes"]

TURN = 32
"""Beats of a turn when loads and stores wait for memory."""
ASKED = 76
"""Beats that a load asks for in advance: 64, and what is left of the last burst."""
IN_HAND = 3
"""Transfers of a direction whose addresses the engine is making or keeps ready."""
TOLD = 2
"""Cycles from the last beat of a load until dispatch knows that it is finished, and as many more than memory's answer
until it knows that of a store."""


@dataclass
class _Flow:
    """Beats that pass when `ready`, behind those before them; `end`: when the last one has, if that is known."""

    ready: float
    left: float
    start: float = 0.0
    end: float | None = None


class SharedMemory:
    """The beats of main memory: flows of reads (0) and of writes (1), each in order. `sharing`: cycles of a beat while
    both ways have some."""

    def __init__(self, sharing: float = 1.0) -> None:
        self._sharing = sharing
        self._time = 0.0
        self._queues: tuple[deque[_Flow], deque[_Flow]] = (deque(), deque())
        self._turn = 0
        self._used = 0.0

    def add(self, way: int, ready: float, beats: float) -> _Flow:
        """So many beats to pass, behind those that have been added."""
        flow = _Flow(ready, beats)
        self._queues[way].append(flow)
        return flow

    def end(self, flow: _Flow) -> float:
        """When all beats of a flow have passed."""
        while flow.end is None:
            self._advance()
        return flow.end

    def busy_until(self) -> float:
        """When memory is idle, as far as it is known."""
        waiting = [flow for queue in self._queues for flow in queue]
        begin = max(self._time, min(flow.ready for flow in waiting)) if waiting else self._time
        return begin + sum(flow.left for flow in waiting)

    def _advance(self) -> None:
        """Pass what comes without a change: to the end of a flow or of a turn, or until the other way has beats too."""
        heads = [queue[0].ready if queue else inf for queue in self._queues]
        self._time = max(self._time, min(heads))
        keeps = heads[self._turn] <= self._time
        way = self._turn if keeps else 1 - self._turn
        waits = heads[1 - way] <= self._time
        flow = self._queues[way][0]
        most = TURN - self._used if waits else heads[1 - way] - self._time
        beats = min(flow.left, most)
        if not flow.start:
            flow.start = self._time
        self._time += beats * self._sharing if waits else beats
        flow.left -= beats
        if flow.left <= 0:
            flow.end = self._time
            self._queues[way].popleft()
        if keeps:
            self._used += beats
            if self._used >= TURN:
                self._used %= TURN
                self._turn = 1 - way if waits else way


@dataclass
class Job:
    """A transfer: bytes of the scratchpad and of an array in memory, and how many beats it takes. `steps`: rows less
    one. `number`: of the transfers before it."""

    to_host: bool
    low: int
    high: int
    place: tuple[str, int, int]
    beats: float
    steps: int
    number: int = 0
    flow: _Flow = field(default_factory=lambda: _Flow(0.0, 0.0))

    def meets(self, low: int, high: int) -> bool:
        """Whether it uses any of these bytes of the scratchpad."""
        return self.low < high and low < self.high

    def same_memory(self, other: Job) -> bool:
        """Whether both use a byte of main memory."""
        (array, low, high), (name, first, last) = self.place, other.place
        return array == name and low < last and first < high


class TransferTimes:
    """Transfers in the order of the program. `latency`: from the moment that the engine takes a load up to its first
    beat; `store`: the same of a store; `answer`: from the last beat of a store to memory's answer; `sharing`: see
    `SharedMemory`."""

    def __init__(self, spec: VectorSpec, latency: float, store: float, answer: float, sharing: float = 1.0) -> None:
        self.memory = SharedMemory(sharing)
        self._slots = spec.dma_queue + RUNNING
        self._before_beat = (latency, store)
        self._answer = answer
        self._taken = 0.0
        self._jobs: list[Job] = []
        self._done: list[float] = []
        self._hands: tuple[deque[Job], deque[Job]] = (deque(maxlen=IN_HAND), deque(maxlen=IN_HAND))

    @property
    def recent(self) -> list[Job]:
        """Those that may be unfinished, oldest first."""
        return self._jobs[-self._slots:]

    def done(self, job: Job) -> float:
        """When dispatch knows that a transfer, and all before it, are finished."""
        return self._told(job.number)

    def finished(self) -> float:
        """When all are."""
        return self._told(len(self._jobs) - 1) if self._jobs else 0.0

    def _told(self, number: int) -> float:
        while len(self._done) <= number:
            job = self._jobs[len(self._done)]
            end = self.memory.end(job.flow) + TOLD + (self._answer if job.to_host else 0.0)
            self._done.append(max(end, self._done[-1] + 1 if self._done else 0.0))
        return self._done[number]

    def room(self) -> float:
        """When the table of transfers has a place for another one."""
        return self._told(len(self._jobs) - self._slots) if len(self._jobs) >= self._slots else 0.0

    def add(self, job: Job, time: float) -> None:
        """A transfer that has been dispatched at a `time` when the instructions in its way are finished."""
        ready = max(time + 1, self._taken)
        others = 0
        for other in self.recent:
            opposite = other.to_host != job.to_host
            overlap = other.meets(job.low, job.high) and not (job.to_host and other.to_host)
            if overlap or (opposite and other.same_memory(job)):
                ready = max(ready, self.done(other) + 1)
            others += opposite and (other.number >= len(self._done) or self._done[other.number] > ready)
        taken = ready + 1 + job.steps.bit_length() + others
        hand = self._hands[job.to_host]
        if len(hand) == IN_HAND:
            taken = max(taken, self.memory.end(hand[0].flow) - (0 if job.to_host else ASKED))
        job.flow = self.memory.add(job.to_host, taken + self._before_beat[job.to_host], job.beats)
        job.number = len(self._jobs)
        hand.append(job)
        self._taken = taken
        self._jobs.append(job)
