"""Value-based flow dependences: which statement instance produced each value that is read.

Seed 001, section 4.2.3, but by value instead of by memory: a read depends on the last write before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.sched.affine import maps
from hw.errors import SluiceError

__all__ = ["Dependence", "DependenceError", "constant_bounds", "flow", "topological_order"]


class DependenceError(SluiceError):
    """The program's dependences are outside what the caller can schedule, or a value is read before it is written."""


@dataclass(frozen=True)
class Dependence:
    """Reads of one access that see values of one statement.

    `relation` maps instances of the reading statement to the instance of `source` whose value they see.
    """

    sink: str
    read: int
    source: str
    array: str
    relation: isl.Map

    def __str__(self) -> str:
        return f"{self.sink} reads {self.array} of {self.source}: {self.relation}"


def flow(program: Program) -> tuple[Dependence, ...]:
    """All flow dependences between statements of `program`, in program order of the readers.

    Reads of input arrays have none. Raises `DependenceError` if a value is read that nothing has written.
    """
    found: list[Dependence] = []
    for statement in program.statements:
        for index in range(len(statement.reads)):
            found += _flow_of_read(program, statement, index)
    return tuple(found)


def _flow_of_read(program: Program, statement: Statement, index: int) -> list[Dependence]:
    access = statement.reads[index]
    if program.array(access.array).role == "input":
        return []
    sink = access.map.intersect_domain(statement.domain)
    writers = [s for s in program.statements if s.write.array == access.array]
    found = []
    missing = statement.domain
    for source, relation in _last_writers(program, sink, writers).items():
        found.append(Dependence(statement.name, index, source, access.array, relation))
        missing = missing.subtract(relation.domain())
    if not missing.is_empty():
        first = str(missing.lexmin().sample_point()).strip("{ }")
        raise DependenceError(f"{statement.label(access)} reads '{access.array}' before it is written, first at "
                              f"{first}")
    return found


def _last_writers(program: Program, sink: isl.Map, writers: list[Statement]) -> dict[str, isl.Map]:
    writes = isl.UnionMap.empty(sink.get_space().params())
    for writer in writers:
        writes = writes.union(isl.UnionMap.from_map(writer.write.map.intersect_domain(writer.domain)))
    info = isl.UnionAccessInfo.from_sink(isl.UnionMap.from_map(sink)).set_must_source(writes)
    result = info.set_schedule_map(program.order).compute_flow().get_must_dependence().reverse()
    return {m.get_tuple_name(isl.dim_type.out): m.coalesce() for m in maps(result)}


def constant_bounds(statement: Statement) -> dict[str, tuple[int, int]]:
    """First and last value of every iterator. Raises `DependenceError` if the domain is no box of constant bounds."""
    box = statement.box()
    if box is None:
        raise DependenceError(f"{statement}: its iteration domain is not a box of constant bounds, which the array "
                              "target needs")
    return box


def topological_order(program: Program, dependences: tuple[Dependence, ...]) -> list[str]:
    """Statement names, producers before consumers. Raises `DependenceError` for a recurrence."""
    graph: dict[str, list[str]] = {s.name: [] for s in program.statements}
    for dependence in dependences:
        graph[dependence.sink].append(dependence.source)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        cycle = list(dict.fromkeys(error.args[1]))
        statement = program.statement(cycle[0])
        names = ", ".join(cycle)
        raise DependenceError(
            f"{statement}: its value depends on itself (through {names}); "
            "this target's class has no recurrences between statements"
        ) from None
