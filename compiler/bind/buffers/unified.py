"""Unified buffers: one per array and producer, with a port for each access (Liu 2023, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from compiler.analysis.dependences import Dependence
from compiler.ir.program import Access, Statement
from compiler.sched.static.schedule import Schedule, StatementSchedule

__all__ = ["Port", "ReadPort", "UnifiedBuffer", "extract_buffers"]


@dataclass(frozen=True)
class Port:
    """A port: iteration domain, access map and schedule of the statement that uses it."""

    statement: str
    domain: isl.Set
    access: Access
    schedule: StatementSchedule

    def __str__(self) -> str:
        return f"{self.access.map}  at  {self.schedule}"


@dataclass(frozen=True)
class ReadPort(Port):
    """A port that delivers read number `read` of its statement.

    `distance` is the dependence distance in cycles from the write of a word to this read of it, None if it is not
    the same for all words (Liu 2023, section 5.1.1). `label`: how messages name it.
    """

    read: int
    dependence: Dependence
    distance: int | None
    label: str


@dataclass(frozen=True)
class UnifiedBuffer:
    """All data that `writer` produces into one array, and everybody who reads it. `origin`: who writes it, or
    reads it if it is loaded, as messages say it, with the source line."""

    array: str
    writer: Port
    readers: tuple[ReadPort, ...]
    origin: str = ""

    @property
    def name(self) -> str:
        """Array and producing statement."""
        return f"{self.array}.{self.writer.statement}"

    def __str__(self) -> str:
        lines = [f"buffer {self.array}", f"  write {self.writer}"]
        lines += [f"  read {r}  distance {'varies' if r.distance is None else r.distance}" for r in self.readers]
        return "\n".join(lines)


def extract_buffers(schedule: Schedule) -> list[UnifiedBuffer]:
    """One unified buffer per statement whose values are read, in program order; constants need none.

    A read that sees values of several statements is a reader of each of their buffers.
    """
    program = schedule.staged.program
    buffers = []
    for statement in program.statements:
        mine = [d for d in schedule.timed if d.source == statement.name]
        if mine:
            writer = Port(statement.name, statement.domain, statement.write, schedule.statements[statement.name])
            readers = tuple(_read_port(schedule, d) for d in mine)
            buffers.append(UnifiedBuffer(statement.write.array, writer, readers, _origin(statement, readers)))
    return buffers


def _origin(statement: Statement, readers: Sequence[ReadPort]) -> str:
    if statement.write.location or statement.location:
        return f"written by {statement.label(statement.write)}"
    return f"read by {readers[0].label}"


def _read_port(schedule: Schedule, dependence: Dependence) -> ReadPort:
    statement = schedule.staged.program.statement(dependence.sink)
    low, high = schedule.distance(dependence)
    return ReadPort(statement.name, statement.domain, statement.reads[dependence.read],
                    schedule.statements[statement.name], dependence.read, dependence, low if low == high else None,
                    statement.label(statement.reads[dependence.read]))
