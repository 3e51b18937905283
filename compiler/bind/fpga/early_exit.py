"""Loops that end when the data say so: where a pipeline may leave out the rest of one.

The schedule lets a loop make all its iterations, of which those after its end change nothing. Once a flag of the
program is zero for good and the registers have settled, the state of the pipeline is the same in every iteration
(`compiler.bind.fpga.quiet_values`), but for its walks. So these can count as if the loop were at its end
(`hw.pipeline.spec.Exit`): all that is stored, given away or taken afterwards is what it would be after all iterations.
That is proven on the finished cells: every value of the loop that later cycles look at must be quiet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import networkx as nx
import numpy as np

from compiler.analysis.port_nests import LoopSum
from compiler.bind.fpga.after_loop import AfterLoop, all_walks
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.quiet_values import Loop, QuietValues
from compiler.bind.jumps import Jumps
from compiler.bind.terms import Term
from compiler.ir.program import Statement
from hw.pipeline.nested_walk import Around, loop_starts
from hw.pipeline.spec import (
    BufferCell,
    Cell,
    ConstantCell,
    Exit,
    InputCell,
    Level,
    LoadCell,
    OutputCell,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
)
from hw.pipeline.system import SystemSpec

__all__ = ["EarlyExit", "find_exit", "with_exit"]

_MARGIN = 4
"""Cycles after its last event in which the value of a cell with a memory may still change."""


_MOST_PHASES = 128
"""Values of an iteration that may say together that a loop ends."""

_MOST_STARTS = 1 << 14
"""Iterations of the loops around one that are looked at one by one."""

_MOST_EVENTS = 1 << 20
"""Events of a walk that are looked at one by one."""

_MOST_KINDS = 32
"""Ways in which a pipeline may go on behind a loop."""


class _NotQuiet(Exception):
    """Why a loop makes all its iterations."""


@dataclass(frozen=True)
class EarlyExit:
    """The loop around `statement` ends early. Its `phases` values in iteration number `first` are the first that are
    looked at, in the first event of the exit's walk; the loop makes `trips` iterations at most."""

    statement: Statement
    first: int
    trips: int
    phases: int
    exit: Exit

    def jumps(self, values: np.ndarray) -> Jumps | None:
        """Where a run goes on earlier if the statement's instances have `values`; None if it makes all iterations."""
        on = (values.reshape(-1, self.trips, self.phases) != 0).any(axis=2)
        rows = on[:, self.first:self.first + self.exit.looks]
        ended = np.where(rows.all(axis=-1), self.exit.looks, (~rows).argmax(axis=1))
        gaps = self.exit.gap * np.maximum(0, self.exit.looks - self.exit.quiet + 1 - ended)
        return Jumps.of(loop_starts(self.exit.around) + self.exit.target + 1, gaps)

    def __str__(self) -> str:
        """Which loop, and how much later than its last iteration."""
        cycles = (self.exit.quiet - 1) * self.exit.gap + 2
        values = "its value is" if self.phases == 1 else f"{self.phases} values are"
        times = f", {prod(trips for trips, _ in self.exit.around)} times" if self.exit.around else ""
        return f"the loop of {self.statement}, {cycles} cycles after {values} zero{times}"


def find_exit(built: BuiltPipeline) -> EarlyExit | str:
    """The loop of a pipeline that ends early; else the reason why one makes all its iterations, empty if there is none
    that could end."""
    reason = ""
    flags = (flag for flag in _flags(built) if QuietValues(built.spec, flag.whole, flag.cell, flag.cycles).is_final())
    for flag in sorted(flags, key=lambda flag: (-flag.length, built.spec.cells[flag.cell].word.width)):
        try:
            return _Proof(built.spec, flag).exit()
        except _NotQuiet as error:
            reason = f"{flag.statement} says when its loop ends, but {error}"
    return reason


def with_exit(system: SystemSpec, found: EarlyExit | str) -> SystemSpec:
    """`system` whose loop ends early, if one can."""
    if isinstance(found, str):
        return system
    return replace(system, pipeline=replace(system.pipeline, exit=found.exit))


@dataclass(frozen=True)
class _Flag:
    """Cell number `cell` has the values of a statement in a loop of `trips` iterations of `period` cycles, in the first
    iterations of those `around` it: in the first one in `cycles`."""

    statement: Statement
    cell: int
    cycles: tuple[int, ...]
    period: int
    trips: int
    around: Around

    @property
    def first(self) -> int:
        """Cycle of the first value."""
        return self.cycles[0]

    @property
    def last(self) -> int:
        """Cycle of the last iteration's first value."""
        return self.first + (self.trips - 1) * self.period

    @property
    def length(self) -> int:
        """Cycles of all its iterations, in all of those around it."""
        return self.trips * self.period * prod(trips for trips, _ in self.around)

    @property
    def whole(self) -> Loop:
        """The loop from its second iteration to its last."""
        return Loop(self.period, self.first + self.period, self.last, self.around)


def _flags(built: BuiltPipeline) -> Iterator[_Flag]:
    """What could end a loop: statements of recurrences, each in all the loops around it."""
    program = built.schedule.staged.program
    graph = nx.DiGraph([(d.source, d.sink) for d in built.schedule.dependences])
    around = {name for part in nx.strongly_connected_components(graph) for name in part
              if len(part) > 1 or graph.has_edge(name, name)}
    for name, claim in built.results.items():
        if name in around and not isinstance(built.spec.cells[claim.cell], ConstantCell | StoreCell):
            for times, loops in _nests(built.events.clock(name)):
                (trips, period), *outer = loops
                cycles = tuple((times + claim.shift).tolist())
                yield _Flag(program.statement(name), claim.cell, cycles, period, trips, tuple(outer))


def _nests(clock: LoopSum) -> Iterator[tuple[np.ndarray, list[tuple[int, int]]]]:
    """Every loop of at least three iterations, and those around it, as trips and cycles from one to the next, innermost
    first; with the cycles of its first iteration, of which there may not be too many."""
    loops: list[tuple[int, int]] = []
    for k in reversed(clock.moving):
        steps = np.unique(np.diff(clock.tables[k]))
        if len(steps) != 1 or steps[0] < 1:
            return
        loops.append((len(clock.tables[k]), int(steps[0])))
    times = np.array([clock.base], np.int64)
    for place, (trips, cycles) in enumerate(loops):
        if trips > 2 and times[-1] - times[0] < cycles:
            yield times, loops[place:]
        times = (np.arange(trips)[:, None] * cycles + times).ravel()
        if len(times) > _MOST_PHASES:
            return


class _Proof:
    """Whether the loop of `flag` can end early. The flag is looked at in `looks` iterations from number `first` on, the
    first time in cycle `start`, when it has all its values."""

    def __init__(self, spec: PipelineSpec, flag: _Flag):
        self.spec, self.flag, period = spec, flag, flag.period
        self.loop = _window(spec, flag)
        self.values = QuietValues(spec, self.loop, flag.cell, flag.cycles)
        self.first = -(-max(0, self.loop.first - flag.first) // period)
        self.start = flag.cycles[-1] + self.first * period + 1
        self.looks = max(0, (self.loop.last - self.start - 1) // period)
        self.target = self.earliest = self.start + 1 + self.looks * period

    def exit(self) -> EarlyExit:
        """The exit. Raises `_NotQuiet`."""
        self._check_loop()
        for shift in self._shifts():
            self._check_after(shift)
        settled = self.values.settled + self.target - self.earliest
        quiet = max(1, 1 - (2 - settled) // self.flag.period)
        if self.looks <= quiet:
            raise _NotQuiet(f"values take {quiet} iterations to settle, and in no more than {self.looks} nothing else "
                            "happens")
        last = self.flag.cycles[-1]
        taps = tuple(Tap(self.flag.cell, 1 + last - cycle) for cycle in self.flag.cycles)
        leave = Exit(taps, self._walk(), self.looks, quiet, self.target)
        return EarlyExit(self.flag.statement, self.first, self.flag.trips, len(self.flag.cycles), leave)

    def _walk(self) -> Walk:
        """When the flag is looked at: with loops around this one, as often as it has values."""
        period, around = self.flag.period, self.flag.around
        trips = self.flag.trips - self.first if around else self.looks
        levels, span = [Level(trips, period)], (trips - 1) * period
        for outer, cycles in around:
            levels.append(Level(outer, cycles - span))
            span += (outer - 1) * cycles
        return Walk(self.start, tuple(levels))

    def _shifts(self) -> list[int]:
        """When iterations of the loops around it begin, after the first one, behind which different things follow."""
        starts = loop_starts(self.flag.around)
        if len(starts) == 1:
            return [0]
        if len(starts) > _MOST_STARTS:
            raise _NotQuiet("it is in too many iterations of other loops")
        kinds = self._after(0).kinds(starts)
        if len(kinds) > _MOST_KINDS:
            raise _NotQuiet("too many different things follow it")
        return kinds

    def _check_after(self, shift: int) -> None:
        """What comes behind the loop in the iteration of the loops around it that begins `shift` cycles after the
        first one."""
        changed = self._after(shift).changed()
        if changed is not None:
            user, source = map(self._name, changed)
            raise _NotQuiet(f"{user} depends on what {source} computes in every iteration")

    def _after(self, shift: int) -> AfterLoop:
        return AfterLoop(self.spec, self.loop, self.flag.cell, self.target, shift, self.values.terms, self._quiet)

    def _quiet(self, cell: int, cycle: int) -> Term | None:
        """What a cell is in a cycle up to `target`, after the loop has ended."""
        found = self.values.at(cell, cycle)
        if found is not None and not isinstance(self.spec.cells[cell], ConstantCell):
            self.earliest = min(self.earliest, cycle)
        return found and found.term

    def _check_loop(self) -> None:
        """Nothing leaves or enters, and nothing is stored or trapped, in iterations that are left out; and addresses
        go on where they would."""
        for number, cell in enumerate(self.spec.cells):
            for walk in filter(None, map(self.loop.nested, all_walks(cell))):
                if walk.advance != 0 and not walk.repeats:
                    raise _NotQuiet(f"{self._name(number)} goes through addresses that no other iteration does")
            match cell:
                case InputCell() | OutputCell() if self.loop.has(cell.walk):
                    raise _NotQuiet(f"every iteration moves a word of '{cell.name}' from or to main memory")
                case StoreCell() if self.loop.has(cell.walk) and self.values.is_stored(cell.memory):
                    raise _NotQuiet(f"{self._name(number)} may store afterwards, too")
                case LoadCell() if cell.walk is not None:
                    if any(self.values.at_tap(cell.index, phase) is None for phase in self.loop.phases(cell.walk)):
                        raise _NotQuiet(f"{self._name(number)} may read outside of its array afterwards")

    def _name(self, number: int) -> str:
        """What a cell belongs to."""
        label = self.spec.label(number)
        return f"statement '{label.name}'" + (f" ({label.source})" if label.source else "")


def _window(spec: PipelineSpec, flag: _Flag) -> Loop:
    """The cycles in which nothing but the loop happens. Raises `_NotQuiet` if there are none."""
    middle = (flag.first + flag.last) // 2
    around = Loop(flag.period, middle - flag.period, middle + flag.period, flag.around)
    walks = {walk for cell in spec.cells for walk in _counting_walks(cell, flag)}
    inside = [nested for walk in walks if (nested := around.nested(walk)) is not None]
    first, last = _widest_gap(_taken([walk for walk in walks if not around.has(walk)], flag), flag.first, flag.last)
    begun = max([flag.first, *(nested.walk.start for nested in inside)]) + flag.period
    ended = min([flag.last, *(nested.inside.last - nested.once.last + nested.walk.start for nested in inside)])
    if flag.around:  # all walks of the loop are still in it when it has been left
        ended = min([ended + flag.period, *(nested.inside.last for nested in inside)]) - flag.period
    loop = Loop(flag.period, max(first, begun) + _MARGIN, min(last, ended + flag.period) - 1, flag.around)
    if loop.last - loop.first < flag.period:
        raise _NotQuiet("there are other statements in the same cycles, or loops inside it")
    return loop


def _counting_walks(cell: Cell, flag: _Flag) -> Iterator[Walk]:
    """The walks of a cell that do something in each event: not those that read the same word of a buffer again, which
    may miss some where all of them are over behind the loop."""
    for walk in all_walks(cell):
        again = isinstance(cell, BufferCell) and walk is cell.read and not any(any(v.deltas) for v in walk.levels)
        if not again or flag.around or walk.last <= flag.last:
            yield walk


def _taken(walks: Sequence[Walk], flag: _Flag) -> list[tuple[int, int]]:
    """Cycles of walks, sorted; with loops around that of `flag`, counted in the iteration in which they are. Raises
    `_NotQuiet` if there are too many."""
    if not flag.around:
        return sorted((walk.start, walk.last) for walk in walks)
    if any(walk.count > _MOST_EVENTS for walk in walks):
        raise _NotQuiet("there is too much around it")
    starts = loop_starts(flag.around)
    times = np.unique(np.concatenate([np.zeros(0, np.int64), *(walk.events()[0] for walk in walks)]))
    within = times - starts[np.maximum(0, np.searchsorted(starts + flag.first, times, side="right") - 1)]
    return [(time, time) for time in np.unique(within).tolist()]


def _widest_gap(taken: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    """The two ends between which none of the sorted cycles `taken` are, most of `first` to `last` in between."""
    before, gaps = 0, []
    for start, end in (*taken, (last + 1, last + 1)):
        gaps.append((before, start))
        before = max(before, end)
    return max(gaps, key=lambda gap: min(gap[1], last) - max(gap[0], first))
