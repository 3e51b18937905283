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

from compiler.bind.vector.ir import Instruction, Loop, Setting, Statement, Transfer, unrolled
from hw.vector_lanes.spec import VectorSpec

__all__ = ["CACHED", "CONSTANTS_FILE", "Constants", "Interval", "Timeline", "as_json", "constants", "recorded"]

CACHED = 140
"""Vector instructions and settings whose code the scalar core's instruction cache of 4 KiB holds."""

CONSTANTS_FILE = Path(__file__).with_name("cost_model.json")


@dataclass(frozen=True)
class Constants:
    """Clock cycles.

    start: before the first instruction and after the last. setting: to issue a control operation; instruction: a
    vector instruction; fetch: one whose code is not in the core's instruction cache (between one whose operands the
    core has at hand and one whose operands it has to compute). dependence: from the issue of a
    wavefront to that of one that needs its result; accumulate: the same for the result of a row. transfer: lost per
    transfer; row: lost per row of a 2-D transfer whose sides lie differently in their beats. latency: from the issue
    of a load to its first data.
    """

    start: float = 60.0
    setting: float = 2.0
    instruction: float = 5.0
    fetch: float = 10.0
    dependence: float = 7.0
    accumulate: float = 12.0
    transfer: float = 2.0
    row: float = 1.0
    latency: float = 25.0


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


def _count(body: Sequence[Statement]) -> int:
    """Statements of a program's text."""
    return sum(_count(s.body) if isinstance(s, Loop) else 1 for s in body)


class Timeline:
    """Feeds on statements; `now` is when everything so far is finished. A `log`, if there is a list, takes note of
    all work. While it is `cold`, code has to be fetched."""

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

    @property
    def now(self) -> float:
        """When everything so far is finished."""
        return max(self.core, self.lanes, self.dma, self.done)

    def feed_program(self, body: Sequence[Statement], counters: tuple[int, ...] = ()) -> None:
        """Carry out a program: what comes for the first time, or is in a loop that the cache does not hold, is cold."""
        for statement in body:
            if isinstance(statement, Loop):
                held = _count(statement.body) <= CACHED
                for turn in range(statement.count):
                    self._turn(statement.body, (*counters, turn), self.cold and not (turn and held))
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
                    cost = max(self.model.setting, self.model.fetch / 2) if self.cold else self.model.setting
                    self.core += cost * (2 if kind in ("rows", "matrices") else 1)
                case Instruction():
                    self._instruction(statement)
                case Transfer():
                    self._transfer(statement)

    def _record(self, part: str, start: float, end: float) -> None:
        if self.log is not None:
            self.log.append(Interval(part, start, end))

    def _issue(self, cost: float) -> float:
        """The core issues; it waits while the queue is full."""
        self.core += cost
        self._issued.append(0.0)
        if len(self._issued) > self.spec.queue_depth:
            self.core = max(self.core, self._issued[-1 - self.spec.queue_depth])
        return self.core

    def _instruction(self, statement: Instruction) -> None:
        mode = statement.mode
        issue = self._issue(max(self.model.instruction, self.model.fetch if self.cold else 0))
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
        issue = self._issue(max(self.model.setting * 2, self.model.fetch if self.cold else 0))
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


