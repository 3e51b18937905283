"""Which values of a pipeline no longer change once a flag has become zero, and from when on: partial evaluation.

In a loop of one iteration in `Loop.period` cycles a value is looked at in one *phase*, a cycle modulo the period. It is
*quiet* if it is the same in that phase of every iteration from some cycles after the flag's first zero on. Values are
terms: constants, the state that merges keep from one iteration to the next, operations on terms. That merges keep
theirs is assumed, and dropped for those whose next value turns out to be another term, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, NamedTuple

from compiler.bind.terms import Term, Terms, simplified
from hw.pipeline.nested_walk import Around, NestedWalk, nested_walk
from hw.pipeline.spec import (
    BUFFER_LATENCY,
    BufferCell,
    ConstantCell,
    CounterCell,
    LineCell,
    LoadCell,
    MergeCell,
    OperatorCell,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
    Word,
)

__all__ = ["DEEPEST", "Loop", "Quiet", "QuietValues"]

DEEPEST = 100
"""Cells in a row, beyond which nothing is known."""


class Quiet(NamedTuple):
    """A value that is `term` in all cycles of its phase from `settled` cycles after the flag's first zero on. If it is
    what a merge keeps, it comes from there `least` to `most` cycles later."""

    term: Term
    settled: int = 0
    least: int = 0
    most: int = 0

    def later(self, cycles: int) -> Quiet:
        """The same, so many cycles later."""
        return Quiet(self.term, self.settled + cycles, self.least + cycles, self.most + cycles)


@dataclass(frozen=True)
class Loop:
    """A loop of a pipeline: an iteration in `period` cycles. In cycles `first` to `last` nothing else happens, all
    walks of the loop are in their second iteration or a later one, and have not ended. With loops `around` it, that is
    so in all of their iterations, and these cycles are those in their first ones."""

    period: int
    first: int
    last: int
    around: Around = ()

    def nested(self, walk: Walk) -> NestedWalk | None:
        """A walk whose events are those of the loop; None for another one."""
        found = nested_walk(walk, self.period, self.around)
        return found if found and walk.start < self.last and found.inside.last > self.first else None

    def has(self, walk: Walk) -> bool:
        """Whether the events of a walk are those of the loop."""
        return self.nested(walk) is not None

    def is_over(self, walk: Walk) -> bool:
        """Whether all events of a walk come before."""
        return walk.last < self.first

    def phases(self, walk: Walk) -> tuple[int, ...]:
        """The phases of the events of a walk of the loop."""
        found = self.nested(walk)
        return () if found is None else tuple((found.once.events()[0] % self.period).tolist())


class QuietValues:
    """The quiet values of the cells of `spec` in `loop`, once cell `flag` has become zero in all of `phases`."""

    def __init__(self, spec: PipelineSpec, loop: Loop, flag: int, phases: Sequence[int]):
        self.spec, self.loop, self._flag = spec, loop, flag
        self._phases = frozenset(phase % loop.period for phase in phases)
        self.terms = Terms()
        self._changing: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], Quiet | None] = {}
        self._open: dict[tuple[int, int], bool] = {}
        self._depth = 0

    def is_final(self) -> bool:
        """Whether the flag stays zero from one iteration to the next."""
        found = (self._settle(lambda phase=phase: self._cell(self._flag, phase)) for phase in sorted(self._phases))
        return all(quiet is not None and quiet.term.number == 0 and quiet.settled <= self.loop.period
                   for quiet in found)

    @property
    def settled(self) -> int:
        """From when on all values that were asked for are what they are, at the latest."""
        return max([0, *(found.settled for found in self._known.values() if found)]) + self.loop.period

    def at(self, cell: int, phase: int) -> Quiet | None:
        """What cell number `cell` is in a phase, None if it may change."""
        return self._settle(lambda: self._value(cell, phase))

    def _settle(self, ask: Callable[[], Any]) -> Any:
        """What `ask` returns under assumptions that hold."""
        while True:
            before = len(self._changing)
            answer = ask()
            if len(self._changing) == before:
                return answer
            self._known.clear()

    def _value(self, cell: int, phase: int) -> Quiet | None:
        phase %= self.loop.period
        place = cell, phase
        if cell == self._flag and phase in self._phases:
            return Quiet(self.terms.constant(0, Word(1, False)))
        if place not in self._known:
            if self._depth >= DEEPEST:
                return None
            self._depth += 1
            found = self._cell(cell, phase)
            self._depth -= 1
            self._known[place] = found
        return self._known[place]

    def at_tap(self, tap: Tap, phase: int) -> Quiet | None:
        """What a tap carries in a phase."""
        return self._settle(lambda: self._tapped(tap, phase))

    def _tapped(self, tap: Tap, phase: int) -> Quiet | None:
        found = self._value(tap.cell, phase - tap.cycles)
        return found and found.later(tap.cycles)

    def _cell(self, number: int, phase: int) -> Quiet | None:
        cell = self.spec.cells[number]
        match cell:
            case ConstantCell():
                return Quiet(self.terms.constant(cell.value, cell.word))
            case OperatorCell():
                return self._operator(cell, phase - cell.latency)
            case LoadCell():
                return self._load(cell, phase - cell.latency)
            case StoreCell():
                enable = self._tapped(cell.enable, phase - cell.latency)
                return enable and enable.later(cell.latency)
            case LineCell():
                found = self._tapped(cell.source, phase - cell.cycles)
                return found and found.later(cell.cycles)
            case BufferCell():
                return self._buffer(number, cell, phase)
            case MergeCell():
                return self._merge(number, cell, phase)
            case CounterCell():
                return self._counter(number, cell, phase)
        return None

    # Operators.

    def _operator(self, cell: OperatorCell, phase: int) -> Quiet | None:
        """The result of an operator whose operands are there in `phase`."""
        operands = self._operands(cell, phase)
        found = simplified(self.terms, cell, [quiet and quiet.term for quiet in operands])
        if found is None:
            return None
        term, used = found
        taken = [quiet for k in used if (quiet := operands[k]) is not None]
        same = [quiet for quiet in taken if quiet.term == term]
        settled = max([0, *(quiet.settled for quiet in taken)])
        ages = [quiet.least for quiet in same], [quiet.most for quiet in same]
        return Quiet(term, settled, min(ages[0], default=0), max(ages[1], default=0)).later(cell.latency)

    def _operands(self, cell: OperatorCell, phase: int) -> list[Quiet | None]:
        """The operands of an operator; where it selects between some, only the one that it takes, if that is known."""
        if cell.op != "select":
            return [self._tapped(tap, phase) for tap in cell.operands]
        condition, *others = cell.operands
        asked = self._tapped(condition, phase)
        number = asked and asked.term.number
        return [asked, *(self._tapped(tap, phase) if number is None or bool(number) == (k == 0) else None
                         for k, tap in enumerate(others))]

    def _load(self, cell: LoadCell, phase: int) -> Quiet | None:
        """A word of a memory that is no longer stored to."""
        index, stored = self._tapped(cell.index, phase), self._last_store(cell.memory)
        if index is None or stored is None:
            return None
        settled = max(index.settled, stored + cell.latency) + cell.latency
        return Quiet(self.terms.term(("load", cell.memory, index.term), cell.word), settled)

    def is_stored(self, memory: int) -> bool:
        """Whether something may be stored to a memory in every iteration."""
        return self._settle(lambda: self._last_store(memory)) is None

    def _last_store(self, memory: int) -> int | None:
        """From when on nothing is stored to a memory, None if something may be."""
        last = 0
        for cell in self.spec.cells:
            if isinstance(cell, StoreCell) and cell.memory == memory:
                for phase in self.loop.phases(cell.walk):
                    enable = self._tapped(cell.enable, phase)
                    if enable is None or enable.term.number != 0:
                        return None
                    last = max(last, enable.settled)
        return last

    def _buffer(self, number: int, cell: BufferCell, phase: int) -> Quiet | None:
        """What is read out of a buffer: always the same word in a phase, or words that are all the same."""
        if self.loop.has(cell.write):
            phases = self.loop.phases(cell.write) if _fills(cell) else ()
            found = self._tapped(cell.source, phases[0]) if len(phases) == 1 else None
            return found and found.later((cell.depth + 1) * self.loop.period + BUFFER_LATENCY)
        read = self.loop.nested(cell.read)
        if read is None:
            return Quiet(self.terms.term(("held", number), cell.word))
        if read.advance != 0:
            return None
        asked = min(self.loop.phases(cell.read), key=lambda event: (phase - BUFFER_LATENCY - event) % self.loop.period)
        return Quiet(self.terms.term(("held", number, asked), cell.word))

    def _counter(self, number: int, cell: CounterCell, phase: int) -> Quiet | None:
        """The address of a walk of the loop that is always the same in a phase, or of one that has no events now."""
        walk = self.loop.nested(cell.walk)
        if walk is None:
            return Quiet(self.terms.term(("held", number), cell.word))
        steady = walk.advance == 0 and phase in self.loop.phases(cell.walk)
        return Quiet(self.terms.term(("held", number, phase), cell.word)) if steady else None

    def _merge(self, number: int, cell: MergeCell, phase: int) -> Quiet | None:
        """What a merge takes in all but its first iterations, or what it has kept."""
        place = number, phase
        chosen = self._chosen(cell, phase)
        if not chosen or place in self._changing:
            return None
        kept = self.terms.term(("kept", *place), cell.word)
        if place in self._open:
            self._open[place] = True
            return Quiet(kept)
        self._open[place] = False
        found = _any_of([self._tapped(tap, phase) for tap in chosen])
        if self._open.pop(place) and (found is None or (found.term, found.least, found.most) != (
                kept, self.loop.period, self.loop.period)):
            self._changing.add(place)
            return None
        return found

    def _chosen(self, cell: MergeCell, phase: int) -> Sequence[Tap]:
        """The sources that a merge may take in a phase of the loop; none if it takes none."""
        walk, phases = self.loop.nested(cell.select), self.loop.phases(cell.select)
        if walk is None or phase not in phases:
            return ()
        if not walk.repeats or walk.advance is None:
            return cell.sources
        times, addresses = walk.once.events()
        time, address = int(times[phases.index(phase)]), int(addresses[phases.index(phase)])
        begun = -(-(self.loop.first - time) // self.loop.period)
        ended = min(walk.loop.trips - 1, (self.loop.last - time) // self.loop.period)
        first, last = (address + k * walk.advance for k in (begun, ended))
        if first // walk.walk.size != last // walk.walk.size:
            return cell.sources
        return [cell.sources[place] for place in sorted({at % walk.walk.size >= cell.cut for at in (first, last)})]


def _any_of(found: Sequence[Quiet | None]) -> Quiet | None:
    """What is one of these, which are all the same."""
    known = [quiet for quiet in found if quiet is not None]
    if len(known) < len(found) or len({quiet.term for quiet in known}) != 1:
        return None
    least, most = min(quiet.least for quiet in known), max(quiet.most for quiet in known)
    return Quiet(known[0].term, max(quiet.settled for quiet in known), least, most)


def _fills(cell: BufferCell) -> bool:
    """Whether a loop stores to all words of a buffer in as many iterations."""
    [delta, *more] = cell.write.levels[0].deltas
    return len(cell.write.levels) == 1 and not more and gcd(delta, cell.depth) == 1
