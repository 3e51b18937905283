"""A specialised pipeline as plain data: what the compiler hands over and the hardware is built from.

A pipeline is a net of *cells*. Each cell has one value per cycle; operands are values of earlier cells, a constant
number of cycles ago (`Tap`). Values come back, as in a sum that grows, through merges only (`MergeCell`). Cycles are
those in which the pipeline moves: a stall freezes everything. What happens when is fixed by *walks*, loop nests of
events with a first cycle. Liu 2023, sections 4.2, 5.1 and 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import NamedTuple

import numpy as np

from hw.dataflow.spec import MemorySpec, Word
from hw.errors import SluiceError
from hw.labels import Label

__all__ = [
    "BUFFER_LATENCY", "LOAD_LATENCY", "MINIMUM_LINE", "STORE_LATENCY", "TABLE_LATENCY", "BufferCell", "Cell",
    "ComputedCell", "ConstantCell", "CounterCell", "Exit", "InputCell", "Level", "LineCell", "LoadCell", "MemorySpec",
    "MergeCell", "OperatorCell", "OutputCell", "PipelineError", "PipelineSpec", "StoreCell", "Tap", "Walk", "Word",
]

BUFFER_LATENCY = 2
"""Cycles from a read event of a buffer to its word: the memory's register and one behind it."""

TABLE_LATENCY = 2
"""Cycles from an index of a table to its entry: the memory's register and one behind it."""

LOAD_LATENCY = 2
"""Cycles from an address of a memory to its word where there is time: its register and one behind it."""

STORE_LATENCY = 1
"""Cycles from a store to the first load of the word."""

MINIMUM_LINE = 4
"""Shortest delay line in memory: two words, the memory's register and one behind it."""


class PipelineError(SluiceError):
    """A pipeline that cannot be built."""


@dataclass(frozen=True)
class Level:
    """One loop of a walk: `trips` iterations. A step from iteration c to the next (inner loops start over) comes `gap`
    cycles after the event before it and advances the address by ``deltas[c % len(deltas)]``."""

    trips: int
    gap: int
    deltas: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if self.trips < 2 or self.gap < 1 or not self.deltas:
            raise PipelineError(f"a loop of {self.trips} iterations with {self.gap} cycles from one to the next, "
                                "which needs at least 2 iterations and 1 cycle")


@dataclass(frozen=True)
class Walk:
    """Events: the first in cycle `start`, then as `levels` (innermost first) say. Addresses begin at `origin`, modulo
    `size`."""

    start: int
    levels: tuple[Level, ...] = ()
    size: int = 1
    origin: int = 0

    def __post_init__(self) -> None:
        if self.start < 0:
            raise PipelineError(f"the first event of a walk is in cycle {self.start}, before the pipeline begins")
        if not 0 <= self.origin < self.size or any(not 0 <= d < self.size for lv in self.levels for d in lv.deltas):
            raise PipelineError(f"a walk has addresses outside 0..{self.size - 1}")

    @property
    def count(self) -> int:
        """Number of events."""
        return prod(level.trips for level in self.levels)

    @property
    def last(self) -> int:
        """Cycle of the last event."""
        return self.start + sum((level.trips - 1) * period for level, period in zip(self.levels, self.periods,
                                                                                    strict=True))

    @property
    def periods(self) -> tuple[int, ...]:
        """Cycles from one iteration of each loop to the next."""
        found, span = [], 0
        for level in self.levels:
            found.append(level.gap + span)
            span += (level.trips - 1) * found[-1]
        return tuple(found)

    def next_event(self, cycle: int) -> WalkEvent | None:
        """The first event in `cycle` or later."""
        rest, counters = max(0, cycle - self.start), []
        if cycle > self.last:
            return None
        for level, period in reversed(tuple(zip(self.levels, self.periods, strict=True))):
            count = min(level.trips - 1, rest // period)
            rest -= count * period
            counters.append(count)
        counters = self._stepped(counters[::-1]) if rest else counters[::-1]
        time = self.start + sum(c * period for c, period in zip(counters, self.periods, strict=True))
        return WalkEvent(time, self._address(counters), tuple(counters))

    def _stepped(self, counters: list[int]) -> list[int]:
        """The iteration after that of `counters`."""
        place = next(k for k, level in enumerate(self.levels) if counters[k] < level.trips - 1)
        return [0] * place + [counters[place] + 1] + counters[place + 1:]

    def _address(self, counters: Sequence[int]) -> int:
        """The address in an iteration."""
        address, around = self.origin, 0
        for level, count in zip(self.levels, counters, strict=True):
            address += _advance(level, count) + count * around
            around += _advance(level, level.trips - 1) + (level.trips - 1) * around
        return address % self.size

    def events(self) -> tuple[np.ndarray, np.ndarray]:
        """Cycles and addresses of all events, in order: what the hardware does, in numbers."""
        steps, advances = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for level in self.levels:
            deltas = np.resize(np.array(level.deltas, np.int64), level.trips - 1)
            steps = _around(steps, np.full(level.trips - 1, level.gap, np.int64))
            advances = _around(advances, deltas)
        times = self.start + np.concatenate([[0], np.cumsum(steps)])
        return times, (self.origin + np.concatenate([[0], np.cumsum(advances)])) % self.size


def _around(inner: np.ndarray, between: np.ndarray) -> np.ndarray:
    """The steps `inner` as many times as there are iterations, with those `between` iterations in between."""
    rows = np.concatenate([np.broadcast_to(inner, (len(between), len(inner))), between[:, None]], axis=1)
    return np.concatenate([rows.ravel(), inner])


def _advance(level: Level, count: int) -> int:
    """What the first `count` steps of a loop add to the address."""
    whole, rest = divmod(count, len(level.deltas))
    return whole * sum(level.deltas) + sum(level.deltas[:rest])


class WalkEvent(NamedTuple):
    """An event of a walk: its cycle, its address, and the iteration of each loop, innermost first."""

    time: int
    address: int
    counters: tuple[int, ...]


@dataclass(frozen=True)
class Tap:
    """The value that cell number `cell` had `cycles` cycles ago."""

    cell: int
    cycles: int = 0


@dataclass(frozen=True)
class InputCell:
    """The next word of an input stream, taken in the cycles of `walk`; anything in others."""

    name: str
    word: Word
    walk: Walk


@dataclass(frozen=True)
class ConstantCell:
    """`value`, always."""

    value: int
    word: Word


@dataclass(frozen=True)
class CounterCell:
    """The address of `walk` as a word, from an event until the next."""

    word: Word
    walk: Walk


@dataclass(frozen=True)
class OperatorCell:
    """Operation `op` of `hw.ops`, or ``cast``, or ``table`` (`value`: number of the table).

    `words` are the operands' types by the program, whose width counts for shifts and partial products; the cells
    themselves may be narrower. The result is there `latency` cycles after the operands, constants included. With more
    than one cycle there is a register before the operation, too. A table always has `TABLE_LATENCY`: raises
    `PipelineError` for another one.
    """

    op: str
    operands: tuple[Tap, ...]
    words: tuple[Word, ...]
    word: Word
    latency: int = 0
    value: int = 0

    def __post_init__(self) -> None:
        if self.op == "table" and self.latency != TABLE_LATENCY:
            raise PipelineError(f"a table takes {TABLE_LATENCY} cycles, not {self.latency}")


@dataclass(frozen=True)
class LoadCell:
    """Word `index` of memory number `memory`, `latency` cycles later: 1, or 2 with a register behind the memory's.
    `after` are what the load comes after (results of stores), which costs no hardware; they are there `forwarded`
    cycles after the index: with 1 the load sees stores of its own cycle, with 2 those of the next one, too
    (`MemorySpec.forwarded`). With `walk`, whose events are those of `index`, an index outside of the memory is
    reported."""

    memory: int
    index: Tap
    after: tuple[Tap, ...]
    word: Word
    latency: int = LOAD_LATENCY
    walk: Walk | None = None
    forwarded: int = 0

    def __post_init__(self) -> None:
        if self.latency not in (1, LOAD_LATENCY):
            raise PipelineError(f"a load takes 1 or {LOAD_LATENCY} cycles, not {self.latency}")
        if not 0 <= self.forwarded <= self.latency:
            raise PipelineError(f"a load of {self.latency} cycles does not see stores {self.forwarded} cycles on")

    @property
    def operands(self) -> tuple[Tap, ...]:
        """All that it needs."""
        return self.index, *self.after


@dataclass(frozen=True)
class StoreCell:
    """In cycles of events of `walk` with `enable`, a bit, `value` becomes word `index` of memory number `memory`, which
    loads see from the next cycle on. The value of the cell is `enable`, `STORE_LATENCY` cycles later. `after` are what
    the store comes after. `trap`: an index outside of the memory is reported."""

    memory: int
    index: Tap
    value: Tap
    enable: Tap
    after: tuple[Tap, ...]
    walk: Walk
    trap: bool = False

    @property
    def word(self) -> Word:
        """Its value is a bit."""
        return Word(1, False)

    @property
    def latency(self) -> int:
        """Cycles to its value."""
        return STORE_LATENCY

    @property
    def operands(self) -> tuple[Tap, ...]:
        """All that it needs."""
        return self.index, self.value, self.enable, *self.after


@dataclass(frozen=True)
class LineCell:
    """A delay line in memory: what `source` was `cycles` (at least `MINIMUM_LINE`) cycles ago."""

    source: Tap
    word: Word
    cycles: int

    def __post_init__(self) -> None:
        if self.cycles < MINIMUM_LINE:
            raise PipelineError(f"a delay line in memory has at least {MINIMUM_LINE} cycles, not {self.cycles}")

    @property
    def depth(self) -> int:
        """Words of memory: one more than are alive, so that no address is read and written in one cycle."""
        return self.cycles - BUFFER_LATENCY + 1


@dataclass(frozen=True)
class BufferCell:
    """A memory of `depth` words. An event of `write` stores `source` of its cycle; the word of an event of `read` is
    there `BUFFER_LATENCY` cycles later and stays until that of the next. No address is read in a cycle in which it is
    written. Addresses are those of the walks, whose `size` is `depth`.
    """

    source: Tap
    word: Word
    depth: int
    write: Walk
    read: Walk

    def __post_init__(self) -> None:
        if not self.depth == self.write.size == self.read.size:
            raise PipelineError(f"a buffer of {self.depth} words has walks over {self.write.size} and {self.read.size}")


@dataclass(frozen=True)
class MergeCell:
    """The value of the first of two `sources` in cycles of events of `select` with an address below `cut`, that of the
    second in cycles of its other events; anything in between. Sources may be later cells (Liu 2023, section 4.3:
    initialise, update)."""

    sources: tuple[Tap, Tap]
    word: Word
    select: Walk
    cut: int

    def __post_init__(self) -> None:
        if not 0 < self.cut < self.select.size:
            raise PipelineError(f"a merge that changes over at address {self.cut} of 0..{self.select.size - 1} always "
                                "takes the same value")


@dataclass(frozen=True)
class OutputCell:
    """The operand is given to an output stream in the cycles of `walk`."""

    name: str
    operand: Tap
    word: Word
    walk: Walk


@dataclass(frozen=True)
class Exit:
    """A loop that ends early. The first `looks` events of `walk` look whether all `flags` are zero. In the cycle after
    the one that is the `quiet`-th to find them so, the pipeline counts as in cycle `target`: that cycle's events are
    the same, and the next cycle is ``target + 1``. `target` comes after all these events, a whole number of steps of
    the loop after the cycle behind each.

    The innermost loop of `walk` is the loop that ends. With others around it, it does so in each of their iterations;
    `target` is that of the first ones, and `walk` has events behind it.
    """

    flags: tuple[Tap, ...]
    walk: Walk
    looks: int
    quiet: int
    target: int

    def __post_init__(self) -> None:
        last = self.walk.start + (self.looks - 1) * self.gap
        if self.quiet < 1 or not self.flags or last >= self.target:
            raise PipelineError(f"a loop ends after {self.quiet} events, with cycle {self.target} as the next")
        if (self.target - 1 - self.walk.start) % self.gap:
            raise PipelineError(f"a loop that ends goes on in cycle {self.target}, in the middle of a step")
        if self.around and self.walk.levels[0].trips <= (self.target - self.walk.start) // self.gap + 1:
            raise PipelineError(f"a loop inside others has ended before cycle {self.target}, in which it is to end")

    @property
    def gap(self) -> int:
        """Cycles from one look to the next."""
        return self.walk.levels[0].gap if self.walk.levels else 1

    @property
    def around(self) -> tuple[tuple[int, int], ...]:
        """Trips, and cycles from one iteration to the next, of the loops around it, innermost first."""
        levels = zip(self.walk.levels[1:], self.walk.periods[1:], strict=True)
        return tuple((level.trips, cycles) for level, cycles in levels)

    @property
    def most_saved(self) -> int:
        """Cycles of a run that it saves at most."""
        event = self.walk.start + (self.quiet - 1) * self.gap
        return (self.target - event - 1) * prod(trips for trips, _ in self.around)


ComputedCell = OperatorCell | LoadCell | StoreCell
"""Cells whose value follows from their operands, `operand_delays` cycles later."""

Cell = InputCell | ConstantCell | CounterCell | ComputedCell | LineCell | BufferCell | MergeCell | OutputCell


def operands(cell: Cell) -> Sequence[Tap]:
    """What a cell uses."""
    match cell:
        case OperatorCell() | LoadCell() | StoreCell():
            return cell.operands
        case LineCell() | BufferCell():
            return (cell.source,)
        case MergeCell():
            return cell.sources
        case OutputCell():
            return (cell.operand,)
    return ()


def operand_delays(cell: ComputedCell) -> Sequence[int]:
    """Cycles from each operand of a cell to its value."""
    if isinstance(cell, LoadCell):
        return (cell.latency, *(cell.latency - cell.forwarded for _ in cell.after))
    return (cell.latency,) * len(cell.operands)


def _at_once(cell: Cell) -> Sequence[int]:
    """Cells whose values of the same cycle the cell's value depends on."""
    if isinstance(cell, LineCell | BufferCell) or (isinstance(cell, ComputedCell) and cell.latency):
        return ()
    return [tap.cell for tap in operands(cell) if not tap.cycles]


@dataclass(frozen=True)
class PipelineSpec:
    """A pipeline. Cells come after those that they use; the sources of merges may come later, if there is a register
    on the way back. `memories`: those that data address. `labels`: what each cell belongs to, or none at all. `exit`:
    the loop that ends early.
    Raises `PipelineError` if that is not so, or without an output."""

    name: str
    cells: tuple[Cell, ...]
    tables: tuple[tuple[int, ...], ...] = ()
    labels: tuple[Label, ...] = ()
    memories: tuple[MemorySpec, ...] = ()
    exit: Exit | None = None

    def __post_init__(self) -> None:
        if self.labels and len(self.labels) != len(self.cells):
            raise PipelineError(f"pipeline {self.name} has {len(self.cells)} cells and {len(self.labels)} labels")
        for number, cell in enumerate(self.cells):
            end = len(self.cells) if isinstance(cell, MergeCell) else number
            for tap in operands(cell):
                if not 0 <= tap.cell < end or tap.cycles < 0:
                    raise PipelineError(f"cell {number} of pipeline {self.name} uses {tap}, which is no earlier cell")
        try:
            TopologicalSorter({k: _at_once(cell) for k, cell in enumerate(self.cells)}).prepare()
        except CycleError as error:
            cells = ", ".join(map(str, error.args[1][:-1]))
            raise PipelineError(f"pipeline {self.name} has a loop without a register: cells {cells}") from None
        if not self.outputs:
            raise PipelineError(f"pipeline {self.name} has no output")
        for number, cell in enumerate(self.cells):
            if isinstance(cell, LoadCell | StoreCell) and not 0 <= cell.memory < len(self.memories):
                raise PipelineError(f"cell {number} of pipeline {self.name} accesses memory {cell.memory} of "
                                    f"{len(self.memories)}")
            if isinstance(cell, LoadCell) and cell.forwarded != self.memories[cell.memory].forwarded:
                raise PipelineError(f"cell {number} of pipeline {self.name} sees stores {cell.forwarded} cycles on, "
                                    f"its memory {self.memories[cell.memory].forwarded} cycles on")

    def label(self, number: int) -> Label:
        """What cell number `number` is called."""
        return self.labels[number] if self.labels else Label("cell")

    @property
    def inputs(self) -> tuple[InputCell, ...]:
        """Input streams."""
        return tuple(cell for cell in self.cells if isinstance(cell, InputCell))

    @property
    def outputs(self) -> tuple[OutputCell, ...]:
        """Output streams."""
        return tuple(cell for cell in self.cells if isinstance(cell, OutputCell))

    @property
    def ends(self) -> tuple[Walk, ...]:
        """The events that a run waits for: words of the output streams, and stores that may end it with an error."""
        return (*(cell.walk for cell in self.outputs),
                *(cell.walk for cell in self.cells if isinstance(cell, StoreCell) and cell.trap))

    @property
    def traps(self) -> bool:
        """Whether some access may be outside of its memory."""
        return any((isinstance(cell, LoadCell) and cell.walk is not None) or (isinstance(cell, StoreCell) and cell.trap)
                   for cell in self.cells)

    @property
    def cycles(self) -> int:
        """Unstalled cycles of a run, at most."""
        return 1 + max(walk.last for walk in self.ends)

    @property
    def least_cycles(self) -> int:
        """Unstalled cycles of a run, at least."""
        return self.cycles - (self.exit.most_saved if self.exit else 0)
