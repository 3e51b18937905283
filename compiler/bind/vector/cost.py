"""The cost model: a timeline of scalar core, lanes and DMA engine over the statements of a program.

Its constants are measured by ``python -m compiler.bind.vector.calibrate`` on the processor in RTL simulation and
recorded in ``cost_model.json``. It predicts where waiting comes from (dispatch, dependent instructions, transfers), so
that the size of tiles can be chosen; results never depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from compiler.bind.vector.c_code import REACH
from compiler.bind.vector.ir import Instruction, Loop, Setting, Statement, Transfer, unrolled
from hw.vector_lanes.spec import VectorSpec

__all__ = ["CACHED", "CONSTANTS_FILE", "CodeWords", "Constants", "Interval", "Timeline", "as_json", "constants",
           "recorded"]

CACHED = 1000
"""Words of code that the scalar core's instruction cache of 4 KiB holds, beside a few for what surrounds them."""

CONSTANTS_FILE = Path(__file__).with_name("cost_model.json")


@dataclass(frozen=True)
class Constants:
    """Clock cycles.

    start: before the first instruction and after the last. setting: to issue a control operation; instruction: a
    vector instruction, both with operands that the core has at hand; operand: for each word of code that brings
    another one. fetch: for each word of code that is not in the core's instruction cache. dependence: from the issue
    of a wavefront to that of one that needs its result; accumulate: the same for the result of a row. transfer: lost
    per transfer; row: lost per row of a 2-D transfer whose sides lie differently in their beats. latency: from the
    issue of a load to its first data. contention: by what factor code takes longer to fetch while transfers go on.
    """

    start: float = 60.0
    setting: float = 2.0
    instruction: float = 2.5
    operand: float = 1.0
    fetch: float = 2.5
    dependence: float = 7.0
    accumulate: float = 12.0
    transfer: float = 2.0
    row: float = 1.0
    latency: float = 25.0
    contention: float = 1.0


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


@dataclass(frozen=True)
class Interval:
    """When a part of the machine ("lanes", "load", "store") is busy with one statement."""

    part: str
    start: float
    end: float


@dataclass
class _Write:
    """A destination of recent work: bytes, when its first and its last element can be read."""

    low: int
    high: int
    first: float
    last: float


@dataclass
class _Job:
    """A transfer: bytes of the scratchpad, and when it is finished."""

    low: int
    high: int
    end: float
    writes: bool


_Place = tuple[str, int]
"""A number that the core needs in a register: of an array in memory ("" for plain numbers), and how far from it."""


class CodeWords:
    """How many words of code bring operands into registers of the core: none for what is there, one for what an
    immediate operand reaches from there, else two. The compiler keeps about `HELD` numbers."""

    HELD = 16

    def __init__(self) -> None:
        self._held: dict[_Place, None] = {("", 0): None}

    def bring(self, *places: _Place) -> int:
        """Words for these numbers."""
        return sum(self._words(place) for place in places)

    def _words(self, place: _Place) -> int:
        zero = ("", 0)
        if place == zero:
            return 0
        words = 0
        if place not in self._held:
            near = any(name == place[0] and abs(value - place[1]) <= REACH for name, value in self._held)
            words = 1 if near else 2
        self._held.pop(place, None)
        self._held[place] = None
        if len(self._held) > self.HELD:
            del self._held[next(k for k in self._held if k != zero)]
        return words


class Timeline:
    """Feeds on statements; `now` is when everything so far is finished. A `log`, if there is a list, takes note of
    all work. While it is `cold`, code has to be fetched. `words`: of code, carried out so far."""

    WINDOW = 12

    def __init__(self, spec: VectorSpec, model: Constants | None = None) -> None:
        self.spec = spec
        self.model = model or constants(spec.lanes)
        self.core = self.model.start
        self.lanes = 0.0
        self.dma = 0.0
        self.done = 0.0
        self.wavefronts = 0
        self.bytes = 0
        self._writes: list[_Write] = []
        self._reads: list[tuple[int, int, float]] = []
        self._jobs: list[_Job] = []
        self._settings: dict[str, tuple[int, ...]] = {}
        self._issued: list[float] = []
        self.log: list[Interval] | None = None
        self.cold = False
        self.words = 0
        self._code = CodeWords()

    @property
    def now(self) -> float:
        """When everything so far is finished."""
        return max(self.core, self.lanes, self.dma, self.done)

    def feed_program(self, body: Sequence[Statement], counters: tuple[int, ...] = ()) -> None:
        """Carry out a program: what comes for the first time, or is in a loop that the cache does not hold, is cold."""
        for statement in body:
            if isinstance(statement, Loop):
                before, held = self.words, False
                for turn in range(statement.count):
                    self._turn(statement.body, (*counters, turn), self.cold and not held)
                    held = held or self.words - before <= CACHED
            else:
                self.feed(unrolled((statement,), counters))

    def _turn(self, body: Sequence[Statement], counters: tuple[int, ...], cold: bool) -> None:
        before, self.cold = self.cold, cold
        self.feed_program(body, counters)
        self.cold = before

    def feed(self, statements: Iterable[Statement]) -> None:
        """Carry out unrolled statements."""
        for statement in statements:
            match statement:
                case Setting(kind, values):
                    self._settings[kind] = tuple(v for v in values if isinstance(v, int))
                    own = 2 if kind in ("rows", "matrices") else 1
                    self.core += self._cost(own, self.model.setting * own, *(("", v) for v in self._settings[kind]))
                case Instruction():
                    self._instruction(statement)
                case Transfer():
                    self._transfer(statement)

    def _record(self, part: str, start: float, end: float) -> None:
        if self.log is not None:
            self.log.append(Interval(part, start, end))

    def _cost(self, own: int, issue: float, *places: _Place) -> float:
        """Cycles of the core for `own` words of code, which take `issue` cycles from the cache, and their operands."""
        words = self._code.bring(*places)
        self.words += own + words
        hot = issue + words * self.model.operand
        fetch = self.model.fetch * (self.model.contention if self.dma > self.core else 1.0)
        return max(hot, (own + words) * fetch) if self.cold else hot

    def _issue(self, cost: float) -> float:
        """The core issues; it waits while the queue is full."""
        self.core += cost
        self._issued.append(0.0)
        if len(self._issued) > self.spec.queue_depth:
            self.core = max(self.core, self._issued[-1 - self.spec.queue_depth])
        return self.core

    def _instruction(self, statement: Instruction) -> None:
        mode = statement.mode
        numbers = [n for n in (statement.a, statement.b, statement.d) if isinstance(n, int)]
        issue = self._issue(self._cost(2, self.model.instruction, *(("", n) for n in numbers)))
        steps = [self._settings[kind] for kind in ("rows", "matrices")[:mode.dimensions]]
        (length,) = self._settings["length"]
        count = 1
        for rows, *_ in steps:
            count *= rows
        size = 1 << mode.exec_size
        waves = count * -(-length * size // self.spec.row_bytes)
        start = max(issue, self.lanes)
        sources = [self._span(statement.a, length << mode.in_size, steps, 2)] if mode.reads_a else []
        if mode.reads_b:
            sources.append(self._span(statement.b, length << mode.in_size, steps, 3))
        target = self._span(statement.d, (1 if mode.accumulate else length) << mode.out_size, steps, 1)
        start = self._after(start, waves, sources, target)
        self.lanes = start + waves
        self._record("lanes", start, self.lanes)
        self.wavefronts += waves
        self._issued[-1] = start
        delay = self.model.accumulate if mode.accumulate else self.model.dependence
        self._writes.append(_Write(*target, start + (delay if not mode.accumulate else delay + waves / count),
                                   self.lanes + delay))
        self._writes = self._writes[-self.WINDOW:]
        self._reads = [*self._reads, *((*s, self.lanes) for s in sources)][-2 * self.WINDOW:]
        self.done = max(self.done, self.lanes + delay)

    def _after(self, start: float, waves: int, sources: list[tuple[int, int]], target: tuple[int, int]) -> float:
        for low, high in sources:
            for write in self._writes:
                if write.low < high and low < write.high:
                    start = max(start, write.first, write.last - waves)
        for job in self._jobs:
            spans = [*sources, target] if job.writes else [target]
            if job.end > start and any(job.low < high and low < job.high for low, high in spans):
                start = job.end
        return start

    def _span(self, base: object, size: int, steps: list[tuple[int, ...]], place: int) -> tuple[int, int]:
        assert isinstance(base, int)
        reach = [(s[0] - 1) * s[place] for s in steps]
        return base + sum(min(0, r) for r in reach), base + sum(max(0, r) for r in reach) + size

    def _transfer(self, statement: Transfer) -> None:
        assert isinstance(statement.scratchpad, int) and isinstance(statement.bytes, int)
        assert isinstance(statement.rows, int) and isinstance(statement.offset, int)
        places = (("", statement.scratchpad), (statement.array, statement.offset), ("", statement.bytes),
                  ("", statement.rows if statement.rows > 1 else 0))
        issue = self._issue(self._cost(2, self.model.setting * 2, *places))
        step, memory = self._settings.get("transfer", (0, 0)) if statement.rows > 1 else (0, 0)
        low = statement.scratchpad + min(0, (statement.rows - 1) * step)
        high = statement.scratchpad + max(0, (statement.rows - 1) * step) + statement.bytes
        start = max(issue, self.dma)
        for write in self._writes:
            if write.low < high and low < write.high:
                start = max(start, write.last)
        if not statement.to_host:
            for first, last, end in self._reads:
                if first < high and low < last:
                    start = max(start, end)
        width = self.spec.memory_bytes
        if statement.rows > 1 and memory != statement.bytes:
            apart = (statement.scratchpad - statement.offset) % width or (step - memory) % width
            touched = -(-(statement.offset % width + statement.bytes) // width)
            beats = statement.rows * (touched + (self.model.row if apart else 0))
        else:
            beats = -(-statement.bytes * statement.rows // width)
        self.dma = start + beats + self.model.transfer
        self._record("store" if statement.to_host else "load", start, self.dma)
        self.bytes += statement.bytes * statement.rows
        end = self.dma + self.model.latency
        self._issued[-1] = issue
        self._jobs.append(_Job(low, high, end, not statement.to_host))
        self._jobs = self._jobs[-self.WINDOW:]
        self.done = max(self.done, end)


