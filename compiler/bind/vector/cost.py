"""The cost model: a timeline of scalar core, lanes and DMA engine over the statements of a program.

Its constants are measured by ``python -m compiler.bind.vector.calibrate`` on the processor in RTL simulation and
recorded in ``cost_model.json``. It predicts where waiting comes from (dispatch, dependent instructions, transfers), so
that the size of tiles can be chosen; results never depend on it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from compiler.bind.vector.access_ranges import Span, span, touched, wavefronts
from compiler.bind.vector.c_code import REACH
from compiler.bind.vector.dma_timing import Job, TransferTimes
from compiler.bind.vector.ir import (
    Affine,
    Instruction,
    Loop,
    Setting,
    Statement,
    Transfer,
    at,
    fields_of,
    has_stepping_counts,
    unrolled,
)
from hw.vector_lanes.datapath import accumulate_latency
from hw.vector_lanes.spec import VectorSpec

__all__ = ["CACHED", "CONSTANTS_FILE", "CodeWords", "Constants", "Interval", "Timeline", "as_json", "cold_cycles",
           "constants", "recorded", "steady_times"]

CACHED = 1000
"""Words of code that the scalar core's instruction cache of 4 KiB holds, beside a few for what surrounds them."""

LOOP = 4
"""Words of code that a turn of a loop takes beside its statements and a word for each number that steps with it."""

REGISTERS = 24
"""Registers of the core that can hold numbers through a loop."""

DISPATCH, SEQUENCE, QUEUED = 4, 4, 2
"""Cycles of the way of an instruction: from the core until it leaves dispatch, from there to its first wavefront, and
from the queue until it leaves dispatch."""

INDEX = 6
"""Cycles from the read of the first index of a gather to that of its element."""

LONG, SETTLED = 64, 24
"""Loops of more turns than the first are carried out for so many turns, and once more for the last one; what lies
between takes as long as the second half of those did, on average."""

PERIOD, AGAIN, SAME = 4, 3, 1e-6
"""Turns that take the same time, up to so many cycles, as those before them, all of them several times over, go on
like that: so many turns at most."""

GROWING = 5
"""Loops of more turns, in which counts of loops step, are carried out in part."""

CONSTANTS_FILE = Path(__file__).with_name("cost_model.json")


@dataclass(frozen=True)
class Constants:
    """Clock cycles.

    start: before the first instruction and after the last. setting: to issue a control operation; instruction: a
    vector instruction, both with operands that the core has at hand; operand: for each word of code that brings
    another one. fetch: for each word of code that is not in the core's instruction cache; contention: by what factor
    that takes longer while transfers go on. dependence: from the issue of a wavefront to that of one that needs its
    result; accumulate: the same for the result of a row. row: lost per row of a 2-D transfer whose sides lie
    differently in their beats; burst: that a row takes at least. latency: from the moment that the DMA engine takes a
    load up to its first beat; store: the same of a store; answer: from the last beat of a store to memory's answer.
    """

    start: float = 17.0
    setting: float = 1.5
    instruction: float = 2.5
    operand: float = 1.0
    fetch: float = 2.5
    contention: float = 1.2
    dependence: float = 7.0
    accumulate: float = 11.0
    row: float = 1.0
    burst: float = 1.5
    latency: float = 23.0
    store: float = 9.0
    answer: float = 18.0


def recorded() -> dict[int, Constants]:
    """The recorded constants by lanes of the machine."""
    return {int(lanes): Constants(**values) for lanes, values in json.loads(CONSTANTS_FILE.read_text()).items()}


def as_json(measured: Mapping[int, Constants]) -> str:
    """For the file."""
    return json.dumps({str(lanes): asdict(measured[lanes]) for lanes in sorted(measured)}, indent=1) + "\n"


@lru_cache(maxsize=16)
def constants(lanes: int) -> Constants:
    """The constants for a machine: those of the next smaller one that was measured, or of the smallest."""
    known = recorded()
    return known[max((n for n in known if n <= lanes), default=min(known))]


def constants_of(spec: VectorSpec) -> Constants:
    """The same for all parameters of a machine: with floating-point lanes rows' sums may be later."""
    found, plain = constants(spec.lanes), replace(spec, float32=False)
    later = accumulate_latency(spec) - accumulate_latency(plain)
    return replace(found, accumulate=found.accumulate + later)


@dataclass(frozen=True)
class Interval:
    """When a part of the machine ("lanes", "load", "store") is busy with one statement."""

    part: str
    start: float
    end: float


@dataclass
class _Write:
    """A destination of recent work: bytes, when its first and its last element can be read, and when it is known that
    the work is finished."""

    low: int
    high: int
    first: float
    last: float
    retired: float


def _stepping(body: Sequence[Statement]) -> int:
    """Numbers that step with loops in `body`; those that lie near each other and step alike are one."""
    found: set[tuple[tuple[int, ...], int]] = set()
    for statement in body:
        if isinstance(statement, Setting | Instruction | Transfer):
            found |= {(n.steps, n.base // REACH) for n in fields_of(statement) if isinstance(n, Affine)}
    return len(found)


def _fixed(body: Sequence[Statement]) -> list[_Place]:
    """Numbers of a loop's own statements that stay the same: the compiler brings them into registers before it, if
    there are registers for all of them."""
    found = dict.fromkeys(("", n) for statement in body if isinstance(statement, Setting | Instruction | Transfer)
                          for n in fields_of(statement) if isinstance(n, int))
    return list(found) if len(found) <= REGISTERS else []


def steady_times(ends: Sequence[float]) -> list[float]:
    """What turns that end at these times take from now on, in cycles: the times of the last few, if they have come
    `AGAIN` and again, else nothing."""
    for turns in range(1, min(PERIOD, (len(ends) - 1) // AGAIN) + 1):
        last = [after - before for before, after in pairwise(ends[-1 - turns * AGAIN:])]
        if all(abs(time - last[place % turns]) < SAME for place, time in enumerate(last)):
            return last[-turns:]
    return []


_Place = tuple[str, int]
"""A number that the core needs in a register: of an array in memory ("" for plain numbers), and how far from it."""


class CodeWords:
    """How many words of code bring operands into registers of the core: none for what is there, one for what an
    immediate operand reaches from there, else two. The compiler keeps about `HELD` numbers."""

    HELD = 16
    ZERO: _Place = ("", 0)

    def __init__(self) -> None:
        self._held: dict[_Place, None] = {self.ZERO: None}

    def bring(self, *places: _Place) -> int:
        """Words for these numbers."""
        words, held = 0, self._held
        for place in places:
            if place == self.ZERO:
                continue
            if place in held:
                del held[place]
            else:
                words += 1 if self._reached(*place) else 2
            held[place] = None
            if len(held) > self.HELD:
                _, oldest, *_ = held  # the first one is zero
                del held[oldest]
        return words

    def _reached(self, name: str, number: int) -> bool:
        """Whether a number that is held is near enough. Most calls of the search for tiles end here."""
        for other, held in self._held:  # noqa: SIM110 - `any` takes twice the time
            if name == other and -REACH <= held - number <= REACH:
                return True
        return False


class Timeline:
    """Feeds on statements; `now` is when everything so far is finished. A `log`, if there is a list, takes note of
    all work. While it is `cold`, code has to be fetched. `words`: of code, carried out so far. `sharing`: cycles of a
    beat while loads and stores share memory."""

    WINDOW = 12

    def __init__(self, spec: VectorSpec, model: Constants | None = None, sharing: float = 1.0) -> None:
        self.spec = spec
        self.model = model or constants_of(spec)
        self.core = self.model.start
        self.lanes = 0.0
        self.wavefronts = 0
        self.bytes = 0
        self.transfers = TransferTimes(spec, self.model.latency, self.model.store, self.model.answer, sharing)
        self._front = 0.0
        self._finished = 0.0
        self._begun: deque[float] = deque([0.0, 0.0], maxlen=2)
        self._entries: deque[float] = deque([0.0] * (spec.queue_depth + 1), maxlen=spec.queue_depth + 1)
        self._writes: deque[_Write] = deque(maxlen=self.WINDOW)
        self._reads: deque[tuple[int, int, float]] = deque(maxlen=2 * self.WINDOW)
        self._settings: dict[str, tuple[int, ...]] = {}
        self._logged: list[tuple[str, Job]] = []
        self.log: list[Interval] | None = None
        self.cold = False
        self.words = 0
        self._left_out = 0.0
        self._code = CodeWords()

    @property
    def now(self) -> float:
        """When everything so far is finished."""
        return max(self.core, self._finished, self.transfers.finished()) + self._left_out

    @property
    def horizon(self) -> float:
        """Until when core, lanes or memory are busy, without what waits for them."""
        return max(self.core, self.lanes, self.transfers.memory.busy_until()) + self._left_out

    def intervals(self) -> list[Interval]:
        """The work in the `log`, with that of the DMA engine, by its beginning."""
        moved = [Interval(part, job.flow.start, self.transfers.memory.end(job.flow)) for part, job in self._logged]
        return sorted([*(self.log or []), *moved], key=lambda i: i.start)

    def feed_program(self, body: Sequence[Statement], counters: tuple[int, ...] = ()) -> None:
        """Carry out a program: what comes for the first time, or is in a loop that the cache does not hold, is cold."""
        for statement in body:
            if isinstance(statement, Loop):
                self._loop(statement, counters)
            else:
                self.feed(unrolled((statement,), counters) if counters else (statement,))

    def _loop(self, loop: Loop, counters: tuple[int, ...]) -> None:
        """Carry out a loop: a long one until its turns take the same time on average, and its last turn."""
        count = at(loop.count, counters)
        if count > GROWING and has_stepping_counts(loop.body, len(counters)):
            self._growing(loop, counters, count)
            return
        if not count:
            return
        before, held, ends, times = self.words, False, [], []
        own = LOOP + _stepping(loop.body)
        self._spend(0, 0.0, *_fixed(loop.body))
        most = count - 1 if count <= LONG else SETTLED
        while len(ends) < most and not (times := steady_times(ends)):
            self._turn(loop.body, (*counters, len(ends)), self.cold and not held, own)
            held = held or self.words - before <= CACHED
            ends.append(self.horizon)
        if len(ends) < count - 1:
            times = times or [(ends[-1] - ends[-1 - SETTLED // 2]) / (SETTLED // 2)]
            rounds, more = divmod(count - 1 - len(ends), len(times))
            self._left_out += rounds * sum(times) + sum(times[:more])
        self._turn(loop.body, (*counters, count - 1), self.cold and not held, own)

    def _growing(self, loop: Loop, counters: tuple[int, ...], count: int) -> None:
        """Carry out a loop whose turns become longer or shorter, by as much each time, as the loops inside do."""
        own, took = LOOP + _stepping(loop.body), []
        for turn in (0, 1, count - 2, count - 1):
            before = self.horizon
            self._turn(loop.body, (*counters, turn), self.cold and not turn, own)
            took.append(self.horizon - before)
        self._left_out += (count - 4) * (took[1] + took[2]) / 2

    def _turn(self, body: Sequence[Statement], counters: tuple[int, ...], cold: bool, own: int) -> None:
        before, self.cold = self.cold, cold
        self.feed_program(body, counters)
        self._spend(own, float(own))
        self.cold = before

    def feed(self, statements: Iterable[Statement]) -> None:
        """Carry out unrolled statements."""
        for statement in statements:
            match statement:
                case Setting(kind, values):
                    self._settings[kind] = tuple(v for v in values if isinstance(v, int))
                    own = 2 if kind in ("rows", "matrices") else 1
                    self._spend(own, self.model.setting * own, *(("", v) for v in self._settings[kind]))
                    for _ in range(own):
                        self._dispatch(0.0)
                case Instruction():
                    self._instruction(statement)
                case Transfer():
                    self._transfer(statement)

    def _spend(self, own: int, issue: float, *places: _Place) -> None:
        """Time of the core for `own` words of code, which take `issue` cycles from the cache, and their operands."""
        words = self._code.bring(*places)
        self.words += own + words
        spent = issue + words * self.model.operand
        if self.cold:
            beside = self.transfers.memory.busy_until() > self.core
            spent = max(spent, (own + words) * self.model.fetch * (self.model.contention if beside else 1.0))
        self.core += spent

    def _dispatch(self, room: float) -> float:
        """The core has put an entry into the queue, which may have to wait for a place; it leaves dispatch in order and
        not before there is `room`. Returns when it does."""
        self.core = max(self.core, self._entries[0] - QUEUED)
        self._front = max(self._front + 1, self.core + DISPATCH, room)
        self._entries.append(self._front)
        return self._front

    def _instruction(self, statement: Instruction) -> None:
        mode = statement.mode
        numbers = [n for n in (statement.a, statement.b, statement.d) if isinstance(n, int)]
        self._spend(2, self.model.instruction, *(("", n) for n in numbers))
        front = self._dispatch(self._begun[0])
        found = touched(statement, self._settings)
        (length,) = self._settings["length"]
        waves = found.rows * wavefronts(mode, length, self.spec.row_bytes)
        sources, target = list(found.reads.values()), found.writes
        start = self._after(max(front + SEQUENCE, self.lanes), waves, sources, target)
        self._begun.append(start - SEQUENCE)
        start += INDEX if mode.op.indexed else 0
        self.lanes = start + waves
        if self.log is not None:
            self.log.append(Interval("lanes", start, self.lanes))
        self.wavefronts += waves
        sums = mode.accumulate and not mode.op.indexed
        delay = self.model.accumulate if sums or mode.floating else self.model.dependence
        self._writes.append(_Write(*target, start + (delay if not sums else delay + waves / found.rows),
                                   self.lanes + delay, self.lanes + self.model.accumulate - 1))
        self._reads.extend((*s, self.lanes + self.model.accumulate - 1) for s in sources)
        self._finished = max(self._finished, self.lanes + self.model.accumulate)

    def _after(self, start: float, waves: int, sources: list[Span], target: Span) -> float:
        """When an instruction can begin that reads and writes these bytes: behind what it needs."""
        for write in self._writes:
            if write.last > start:
                for low, high in sources:
                    if write.low < high and low < write.high:
                        start = max(start, write.first, write.last - waves)
        for job in self.transfers.recent:
            for low, high in ([target] if job.to_host else [*sources, target]):
                if job.meets(low, high):
                    start = max(start, self.transfers.done(job) + SEQUENCE)
        return start

    def _transfer(self, statement: Transfer) -> None:
        assert isinstance(statement.scratchpad, int) and isinstance(statement.bytes, int)
        assert isinstance(statement.rows, int) and isinstance(statement.offset, int)
        several = statement.rows > 1
        places = (("", statement.scratchpad), (statement.array, statement.offset), ("", statement.bytes),
                  ("", statement.rows if several else 0))
        self._spend(2, self.model.setting * 2, *places)
        front = self._dispatch(self.transfers.room())
        step, memory = self._settings.get("transfer", (0, 0)) if several else (0, 0)
        low, high = span(statement.scratchpad, statement.bytes, [(statement.rows, step)])
        time = front
        for write in self._writes:
            if write.low < high and low < write.high:
                time = max(time, write.retired)
        if not statement.to_host:
            for first, last, end in self._reads:
                if first < high and low < last:
                    time = max(time, end)
        place = (statement.array, *span(statement.offset, statement.bytes, [(statement.rows, memory)]))
        job = Job(statement.to_host, low, high, place, self._beats(statement, step, memory), statement.rows - 1)
        self.transfers.add(job, time)
        if self.log is not None:
            self._logged.append(("store" if statement.to_host else "load", job))
        self.bytes += statement.bytes * statement.rows

    def _beats(self, statement: Transfer, step: int, memory: int) -> float:
        """Cycles in which memory is busy with a transfer."""
        rows, size, place, offset = (int(n) for n in (statement.rows, statement.bytes, statement.scratchpad,
                                                      statement.offset) if isinstance(n, int))
        width = self.spec.memory_bytes
        if rows == 1 or memory == size:
            return -(-(offset % width + size * rows) // width)
        apart = (place - offset) % width or (step - memory) % width
        touched = -(-(offset % width + size) // width)
        return rows * max(touched + (self.model.row if apart else 0), self.model.burst)


def cold_cycles(body: Sequence[Statement], spec: VectorSpec, model: Constants | None = None,
                sharing: float = 1.0) -> float:
    """Clock cycles of a program whose code has to be fetched; `sharing` as in `Timeline`."""
    timeline = Timeline(spec, model, sharing)
    timeline.cold = True
    timeline.feed_program(body)
    return timeline.now
