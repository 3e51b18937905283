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

import networkx as nx
import numpy as np

from compiler.bind.fpga.after_loop import AfterLoop, all_walks
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.quiet_values import Loop, QuietValues
from compiler.bind.fpga.start_to_done import Jump
from compiler.bind.terms import Term
from compiler.ir.program import Statement
from hw.pipeline.spec import (
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


class _NotQuiet(Exception):
    """Why a loop makes all its iterations."""


@dataclass(frozen=True)
class EarlyExit:
    """The loop around `statement` ends early. Instance `first` of the statement is the first whose value is looked at,
    in the first event of the exit's walk."""

    statement: Statement
    first: int
    exit: Exit

    def jump(self, values: np.ndarray) -> Jump | None:
        """Where a run goes on earlier if the statement's instances have `values`; None if it makes all iterations."""
        [level] = self.exit.walk.levels
        zeros = np.flatnonzero(values == 0)
        event = self.exit.quiet - 1 + (max(int(zeros[0]) - self.first, 0) if len(zeros) else level.trips)
        return None if event >= level.trips else Jump(self.exit.walk.start + event * level.gap + 1, self.exit.target)

    def __str__(self) -> str:
        """Which loop, and how much later than its last iteration."""
        cycles = (self.exit.quiet - 1) * self.exit.walk.levels[0].gap + 2
        return f"the loop of {self.statement}, {cycles} cycles after its value is zero"


def find_exit(built: BuiltPipeline) -> EarlyExit | str:
    """The loop of a pipeline that ends early; else the reason why one makes all its iterations, empty if there is none
    that could end."""
    reason = ""
    for flag in sorted(_flags(built), key=lambda flag: built.spec.cells[flag.cell].word.width):
        if not QuietValues(built.spec, flag.whole, flag.cell, flag.first % flag.period).is_final():
            continue
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
    """Cell number `cell` has the values of a statement in one loop: the first in cycle `first`, then every `period`."""

    statement: Statement
    cell: int
    first: int
    period: int
    trips: int

    @property
    def last(self) -> int:
        """Cycle of the last value."""
        return self.first + (self.trips - 1) * self.period

    @property
    def whole(self) -> Loop:
        """The loop from its second iteration to its last."""
        return Loop(self.period, self.first + self.period, self.last)


def _flags(built: BuiltPipeline) -> Iterator[_Flag]:
    """What could end a loop: statements of recurrences."""
    program = built.schedule.staged.program
    graph = nx.DiGraph([(d.source, d.sink) for d in built.schedule.dependences])
    around = {name for part in nx.strongly_connected_components(graph) for name in part
              if len(part) > 1 or graph.has_edge(name, name)}
    for name, claim in built.results.items():
        if name not in around or isinstance(built.spec.cells[claim.cell], ConstantCell | StoreCell):
            continue
        clock = built.events.clock(name)
        moving = [clock.tables[k] for k in clock.moving]
        if len(moving) == 1 and len(moving[0]) == clock.count > 2 and len(set(np.diff(moving[0]))) == 1:
            period = int(moving[0][1])
            yield _Flag(program.statement(name), claim.cell, clock.base + claim.shift, period, clock.count)


class _Proof:
    """Whether the loop of `flag` can end early. The flag is looked at in `looks` iterations from number `first` on, the
    first time in cycle `start`."""

    def __init__(self, spec: PipelineSpec, flag: _Flag):
        self.spec, self.flag, period = spec, flag, flag.period
        self.loop = _window(spec, flag)
        self.values = QuietValues(spec, self.loop, flag.cell, flag.first % period)
        self.first = -(-max(0, self.loop.first - flag.first) // period)
        self.start = flag.first + self.first * period + 1
        self.looks = max(0, (self.loop.last - self.start - 1) // period)
        self.target = self.earliest = self.start + 1 + self.looks * period

    def exit(self) -> EarlyExit:
        """The exit. Raises `_NotQuiet`."""
        self._check_loop()
        changed = AfterLoop(self.spec, self.loop, self.target, self.values.terms, self._quiet).changed()
        if changed is not None:
            user, source = map(self._name, changed)
            raise _NotQuiet(f"{user} depends on what {source} computes in every iteration")
        settled = self.values.settled + self.target - self.earliest
        quiet = max(1, 1 - (2 - settled) // self.flag.period)
        if self.looks <= quiet:
            raise _NotQuiet(f"values take {quiet} iterations to settle, and in no more than {self.looks} nothing else "
                            "happens")
        levels = (Level(self.looks, self.flag.period),)
        leave = Exit(Tap(self.flag.cell, 1), Walk(self.start, levels), quiet, self.target)
        return EarlyExit(self.flag.statement, self.first, leave)

    def _quiet(self, cell: int, cycle: int) -> Term | None:
        """What a cell is in a cycle up to `target`, after the loop has ended."""
        found = self.values.at(cell, cycle)
        if found is not None and not isinstance(self.spec.cells[cell], ConstantCell):
            self.earliest = min(self.earliest, cycle)
        return found and found.term

    def _check_loop(self) -> None:
        """Nothing leaves or enters, and nothing is stored or trapped, in iterations that are left out."""
        for number, cell in enumerate(self.spec.cells):
            match cell:
                case InputCell() | OutputCell() if self.loop.has(cell.walk):
                    raise _NotQuiet(f"every iteration moves a word of '{cell.name}' from or to main memory")
                case StoreCell() if self.loop.has(cell.walk) and self.values.is_stored(cell.memory):
                    raise _NotQuiet(f"{self._name(number)} may store afterwards, too")
                case LoadCell() if cell.walk is not None and self.loop.has(cell.walk):
                    if self.values.at_tap(cell.index, self.loop.phase(cell.walk)) is None:
                        raise _NotQuiet(f"{self._name(number)} may read outside of its array afterwards")

    def _name(self, number: int) -> str:
        """What a cell belongs to."""
        label = self.spec.label(number)
        return f"statement '{label.name}'" + (f" ({label.source})" if label.source else "")


def _window(spec: PipelineSpec, flag: _Flag) -> Loop:
    """The cycles in which nothing but the loop happens. Raises `_NotQuiet` if there are none."""
    middle = (flag.first + flag.last) // 2
    around = Loop(flag.period, middle - flag.period, middle + flag.period)
    walks = {walk for cell in spec.cells for walk in all_walks(cell)}
    inside = [walk for walk in walks if around.has(walk)]
    others = sorted((walk.start, walk.last) for walk in walks if not around.has(walk))
    first, last = _widest_gap(others, flag.first, flag.last)
    begun = max([flag.first, *(walk.start for walk in inside)]) + flag.period
    ended = min([flag.last, *(walk.last for walk in inside)]) + flag.period
    loop = Loop(flag.period, max(first, begun) + _MARGIN, min(last, ended) - 1)
    if loop.last - loop.first < flag.period:
        raise _NotQuiet("there are other statements in the same cycles, or loops inside it")
    return loop


def _widest_gap(taken: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    """The two ends between which none of the sorted cycles `taken` are, most of `first` to `last` in between."""
    before, gaps = 0, []
    for start, end in (*taken, (last + 1, last + 1)):
        gaps.append((before, start))
        before = max(before, end)
    return max(gaps, key=lambda gap: min(gap[1], last) - max(gap[0], first))
