"""Which values of a pipeline anything takes: a merge that starts a loop has one in each of its iterations, of which all
but the first are for nothing."""

from __future__ import annotations

from collections import defaultdict

from compiler.bind.fpga.quiet_values import DEEPEST
from hw.pipeline.spec import (
    BufferCell,
    Cell,
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

__all__ = ["Uses"]


class Uses:
    """What takes the values of `spec`, in runs of all iterations; those of cell `flag` are always looked at."""

    def __init__(self, spec: PipelineSpec, flag: int):
        self._spec, self._flag = spec, flag
        self._users: defaultdict[int, list[tuple[int, int, Tap]]] = defaultdict(list)
        for number, cell in enumerate(spec.cells):
            for place, tap in enumerate(operands(cell)):
                self._users[tap.cell].append((number, place, tap))
        self._known: dict[tuple[int, int], bool] = {}

    def are_there(self, number: int, cycle: int, deep: int = 0) -> bool:
        """Whether what cell `number` is in a cycle may be stored, given away or kept, or decides about that."""
        place = number, cycle
        if place not in self._known:
            self._known[place] = number == self._flag or deep >= DEEPEST or any(
                self._takes(user, operand, cycle + tap.cycles, deep) for user, operand, tap in self._users[number])
        return self._known[place]

    def _takes(self, number: int, place: int, cycle: int, deep: int) -> bool:
        """Whether a cell takes its operand number `place` in a cycle for something."""
        cell = self._spec.cells[number]
        match cell:
            case MergeCell():
                event = cell.select.next_event(cycle)
                return event is not None and event.time == cycle and (event.address >= cell.cut) == bool(place)
            case OperatorCell():
                return self.are_there(number, cycle + operand_delays(cell)[place], deep + 1)
            case LineCell():
                return self.are_there(number, cycle + cell.cycles, deep + 1)
            case LoadCell() | StoreCell() if not _happens(cell.walk, cycle):
                return self.are_there(number, cycle + operand_delays(cell)[place], deep + 1)
        return _takes_then(cell, cycle)


def _takes_then(cell: Cell, cycle: int) -> bool:
    """Whether a cell that keeps or gives away its operands does so in a cycle."""
    match cell:
        case BufferCell():
            return _happens(cell.write, cycle)
        case OutputCell():
            return _happens(cell.walk, cycle)
    return True


def _happens(walk: Walk | None, cycle: int) -> bool:
    event = None if walk is None else walk.next_event(cycle)
    return event is not None and event.time == cycle
