"""Turns on shared units: modulo reservation tables for statements that one set of units computes (Liu 2023, section
4.3.3 and figure 4.15).

Statements of a group never execute in one cycle. Each of them keeps its own loops and starts in the first cycle from
which on all its instances fall between those of the others: statements of low rates interleave, dense ones follow each
other. What comes again with every tile is reserved modulo the period.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import networkx as nx
import numpy as np

from compiler.analysis.dependences import Dependence
from compiler.ir.expr import Apply, postorder
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["ReservationConflict", "ReservationTables", "default_slack", "feedback", "instance_cycles"]


class ReservationConflict(SluiceError):
    """Statements that share units need more cycles than a tile has. `bound`: the fewest cycles that could do."""

    def __init__(self, members: tuple[str, ...], statement: str, busy: int, period: int):
        self.bound = busy
        super().__init__(f"{', '.join(members)} cannot share one set of units: '{statement}' finds no free cycle in "
                         f"the modulo reservation table of {period} cycles per tile, of which all of them take {busy}")


def feedback(groups: Iterable[tuple[str, ...]], dependences: Iterable[Dependence],
             carried: frozenset[tuple[str, int, str]]) -> frozenset[tuple[str, int, str]]:
    """Keys of the dependences on the way from a statement to another one that shares its units: units, memories and
    wires that form a loop, whose latency the schedule must leave time for."""
    kept = [d for d in dependences if d.key not in carried]
    graph = nx.DiGraph((d.source, d.sink) for d in kept)
    found: set[tuple[str, int, str]] = set()
    for group in groups:
        members = [name for name in group if name in graph]
        after = set(members).union(*(nx.descendants(graph, name) for name in members))
        before = set(members).union(*(nx.ancestors(graph, name) for name in members))
        found |= {d.key for d in kept if d.source in after and d.sink in before}
    return frozenset(found)


def default_slack(program: Program) -> int:
    """Cycles that a way through shared units and back is expected to take: four for each operation, and 24 for a memory
    and its multiplexers."""
    values = [program.statement(group[0]).value for group in program.shared]
    return 24 + 4 * max((sum(isinstance(node, Apply) for node in postorder(value)) for value in values), default=0)


@dataclass
class ReservationTables:
    """Reservation tables of all groups. `period`: cycles after which everything comes again, None if nothing does.

    `slack`: cycles by which a statement starts later than the values allow that come from its own units (`late`).
    """

    groups: tuple[tuple[str, ...], ...]
    period: int | None
    late: frozenset[tuple[str, int, str]] = frozenset()
    slack: int = 0
    _tables: dict[tuple[str, ...], np.ndarray] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget all reservations."""
        self._tables.clear()

    def wait(self, dependence: Dependence) -> int:
        """Cycles beyond what the dependence itself asks for."""
        return self.slack if dependence.key in self.late else 0

    def place(self, statement: str, offset: int, strides: Mapping[str, int], trips: Mapping[str, int]) -> int:
        """The first offset, `offset` or later, at which a statement finds all its cycles free; they are then taken.

        Raises `ReservationConflict` if there is none.
        """
        group = next((group for group in self.groups if statement in group), None)
        if group is None:
            return offset
        cycles = instance_cycles(strides, trips)
        table = self._tables.get(group)
        if table is None:
            table = np.zeros(self.period or 0, dtype=bool)
        if self.period is None:
            found = self._after(table, cycles + offset)
            table = np.append(table, np.zeros(max(0, int(cycles[-1]) + offset + found + 1 - len(table)), dtype=bool))
        else:
            found = self._between(table, cycles + offset)
            if found is None:
                busy = int(table.sum()) + len(cycles)
                raise ReservationConflict(group, statement, busy, self.period)
        places = cycles + offset + found
        table[places if self.period is None else places % self.period] = True
        self._tables[group] = table
        return offset + found

    @staticmethod
    def _after(table: np.ndarray, cycles: np.ndarray) -> int:
        """The least shift of ascending `cycles` to free places; there are no reservations behind the table's end."""
        for shift in range(max(0, len(table) - int(cycles[0]))):
            inside = cycles[: np.searchsorted(cycles, len(table) - shift)] + shift
            if not table[inside].any():
                return shift
        return max(0, len(table) - int(cycles[0]))

    @staticmethod
    def _between(table: np.ndarray, cycles: np.ndarray) -> int | None:
        """The least shift to free places modulo the table's length; None if there is none."""
        places = cycles % len(table)
        if len(np.unique(places)) < len(places):
            return None
        for shift in range(len(table)):
            if not table[(places + shift) % len(table)].any():
                return shift
        return None


def instance_cycles(strides: Mapping[str, int], trips: Mapping[str, int]) -> np.ndarray:
    """Cycles of all instances of a statement, counted from the first, ascending."""
    cycles = np.zeros(1, dtype=np.int64)
    for name, stride in reversed(list(strides.items())):
        cycles = (np.arange(trips[name])[:, None] * stride + cycles).ravel()
    return np.sort(cycles)
