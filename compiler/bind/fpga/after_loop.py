"""What a pipeline computes behind a loop that has ended early: whether it is what it would be after all iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from compiler.bind.fpga.quiet_values import DEEPEST, Loop
from compiler.bind.fpga.uses import Uses
from compiler.bind.terms import Term, Terms, simplified
from hw.pipeline.spec import (
    BUFFER_LATENCY,
    BufferCell,
    Cell,
    ComputedCell,
    ConstantCell,
    LineCell,
    LoadCell,
    MergeCell,
    OperatorCell,
    OutputCell,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
    operand_delays,
    operands,
)

__all__ = ["AfterLoop", "all_walks"]


class AfterLoop:
    """The values of `spec` behind cycle `target`, in which `loop` counts as ended, or `shift` cycles later in a later
    iteration of the loops around it. Cell `flag` says whether it goes on. `quiet` says what a cell is in a cycle up to
    `target`, None if it may be something else."""

    def __init__(self, spec: PipelineSpec, loop: Loop, flag: int, target: int, shift: int, terms: Terms,
                 quiet: Callable[[int, int], Term | None]):
        self.spec, self.loop, self._shift, self._terms = spec, loop, shift, terms
        self.target, self._quiet = target + shift, lambda cell, cycle: quiet(cell, cycle - shift)
        self._uses = Uses(spec, flag)
        self._known: dict[tuple[int, int], Term | None] = {}
        self._depth = 0

    def changed(self) -> tuple[int, int] | None:
        """A cell that keeps, stores or gives away what may be something else, and where that comes from; None if there
        is none."""
        for number, cell in enumerate(self.spec.cells):
            for cycle in self._looks(number, cell):
                tap = self._first_unknown(cell, cycle)
                if tap is not None:
                    return number, tap.cell
        return None

    def kinds(self, starts: np.ndarray) -> list[int]:
        """One of each of the iterations, beginning at `starts`, of the loops around this one behind which the same
        events follow."""
        found: list[list[bytes]] = [[] for _ in starts]
        for cell in self.spec.cells:
            for walk in all_walks(cell):
                times, addresses = walk.events()
                picked = addresses < cell.cut if isinstance(cell, MergeCell) else addresses < 0
                ends = (np.searchsorted(times, starts + end + 1) for end in (self.target, self._horizon))
                for kind, start, low, high in zip(found, starts, *ends, strict=True):
                    kind.append((times[low:high] - start).tobytes() + picked[low:high].tobytes())
        chosen = {tuple(kind): int(start) for kind, start in zip(found, starts, strict=True)}
        return list(chosen.values())

    def _is_inside(self, walk: Walk, cycle: int) -> bool:
        """Whether a cycle is not behind the events of a walk in this iteration of the loops around this one."""
        nested = self.loop.nested(walk)
        return nested is not None and cycle <= nested.inside.last + self._shift

    def _is_kept(self, number: int, walk: Walk, cycle: int) -> bool:
        """Whether a merge has to be looked at by itself: it is none of the loop, and something takes its value."""
        return not self._is_inside(walk, cycle) and self._uses.are_there(number, cycle)

    def _looks(self, number: int, cell: Cell) -> Iterator[int]:
        """The cycles behind the loop in which a cell does something with what the loop may have computed."""
        walk = _walk(cell)
        if walk is None:
            return
        event = walk.next_event(self.target + 1)
        while event is not None and event.time <= self._horizon:
            if not isinstance(cell, MergeCell) or self._is_kept(number, walk, event.time):
                yield event.time
            event = walk.next_event(event.time + 1)

    @cached_property
    def _horizon(self) -> int:
        """The last cycle in which something may still come from the loop."""
        back: list[int] = []
        for cell in self.spec.cells:
            delays = operand_delays(cell) if isinstance(cell, ComputedCell) else [
                cell.cycles if isinstance(cell, LineCell) else 0 for _ in operands(cell)]
            direct = () if isinstance(cell, MergeCell | BufferCell) else operands(cell)
            back.append(max([BUFFER_LATENCY, *(back[tap.cell] + tap.cycles + delay
                                               for tap, delay in zip(direct, delays, strict=False))]))
        walks = filter(None, (self.loop.nested(walk) for cell in self.spec.cells for walk in all_walks(cell)))
        return max(walk.inside.last for walk in walks) + self._shift + max(back) + max([0, *_taps(self.spec)])

    def _first_unknown(self, cell: Cell, cycle: int) -> Tap | None:
        """What a cell takes in a cycle that is not known."""
        match cell:
            case StoreCell():
                enable = self._tapped(cell.enable, cycle)
                wanted = (cell.enable, cell.index, cell.value) if enable is None or enable.number != 0 else ()
            case MergeCell():
                wanted = (self._chosen(cell, cycle),)
            case LoadCell():
                wanted = (cell.index,)
            case _:
                wanted = operands(cell)
        return next((tap for tap in wanted if tap is not None and self._tapped(tap, cycle) is None), None)

    def _tapped(self, tap: Tap, cycle: int) -> Term | None:
        return self._value(tap.cell, cycle - tap.cycles)

    def _value(self, number: int, cycle: int) -> Term | None:
        if cycle <= self.target:
            return self._quiet(number, cycle)
        place = number, cycle
        if place not in self._known:
            if self._depth >= DEEPEST:
                return None
            self._depth += 1
            self._known[place] = self._cell(number, self.spec.cells[number], cycle)
            self._depth -= 1
        return self._known[place]

    def _cell(self, number: int, cell: Cell, cycle: int) -> Term | None:
        match cell:
            case ConstantCell():
                return self._quiet(number, cycle)
            case OperatorCell():
                found = simplified(self._terms, cell, self._operands(cell, cycle - cell.latency))
                return found and found.term
            case LoadCell():
                index = self._tapped(cell.index, cycle - cell.latency)
                return index and self._terms.term(("load", number, cycle, index), cell.word)
            case StoreCell():
                return self._tapped(cell.enable, cycle - cell.latency)
            case LineCell():
                return self._tapped(cell.source, cycle - cell.cycles)
            case MergeCell():
                return self._merge(number, cell, cycle)
            case BufferCell() if self.loop.has(cell.write) or self._looked_before(cell, cycle):
                return self._quiet(number, min(cycle, self.target + BUFFER_LATENCY))
            case OutputCell():
                return None
        return self._terms.term(("value", number, cycle), cell.word)

    def _operands(self, cell: OperatorCell, cycle: int) -> list[Term | None]:
        """The operands of an operator; where it selects between some, only the one that it takes, if that is known."""
        if cell.op != "select":
            return [self._tapped(tap, cycle) for tap in cell.operands]
        condition, *others = cell.operands
        asked = self._tapped(condition, cycle)
        number = asked and asked.number
        return [asked, *(self._tapped(tap, cycle) if number is None or bool(number) == (k == 0) else None
                         for k, tap in enumerate(others))]

    def _merge(self, number: int, cell: MergeCell, cycle: int) -> Term | None:
        """Those of other loops are looked at by themselves."""
        chosen = self._chosen(cell, cycle)
        if chosen is None:
            return None
        inside = self._is_inside(cell.select, cycle)
        return self._tapped(chosen, cycle) if inside else self._terms.term(("value", number, cycle), cell.word)

    def _chosen(self, cell: MergeCell, cycle: int) -> Tap | None:
        """The source that a merge takes, None in a cycle in which it is anything."""
        event = cell.select.next_event(cycle)
        return None if event is None or event.time != cycle else cell.sources[event.address >= cell.cut]

    def _looked_before(self, cell: BufferCell, cycle: int) -> bool:
        """Whether a buffer gives what it has read in the loop."""
        event = cell.read.next_event(self.target + 1)
        return self.loop.has(cell.read) and (event is None or event.time > cycle - BUFFER_LATENCY)


def all_walks(cell: Cell) -> tuple[Walk, ...]:
    """The walks of a cell."""
    if isinstance(cell, BufferCell):
        return cell.write, cell.read
    walk = _walk(cell)
    return () if walk is None else (walk,)


def _walk(cell: Cell) -> Walk | None:
    """When a cell takes its operands, or counts, if not always."""
    match cell:
        case BufferCell():
            return cell.write
        case MergeCell():
            return cell.select
        case ConstantCell() | OperatorCell() | LineCell():
            return None
    return cell.walk


def _taps(spec: PipelineSpec) -> list[int]:
    """The delays of all taps."""
    return [tap.cycles for cell in spec.cells for tap in operands(cell)]
