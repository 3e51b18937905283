"""Value-based flow dependences: which statement instance produced each value that is read.

Liu 2023, section 4.2.3, but by value instead of by memory: a read depends on the last write before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from weakref import ref

import islpy as isl
import networkx as nx

from compiler.analysis.affine import maps
from compiler.ir.last_writes import last_writes
from compiler.ir.program import Program, Statement
from hw.errors import SluiceError

__all__ = [
    "Dependence",
    "DependenceError",
    "agree",
    "constant_bounds",
    "final_writers",
    "flow",
    "last_writers",
    "recurrence_members",
    "recurrences",
    "recurring",
    "recurring_around",
    "topological_order",
    "uninitialized_reads",
]


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

    @property
    def key(self) -> tuple[str, int, str]:
        """Sink, number of its read, and source: what tells dependences of one program apart."""
        return self.sink, self.read, self.source

    def __str__(self) -> str:
        return f"{self.sink} reads {self.array} of {self.source}: {self.relation}"


def flow(program: Program) -> tuple[Dependence, ...]:
    """All flow dependences between statements of `program`, in program order of the readers.

    Reads of input arrays have none. Raises `DependenceError` if a value is read that nothing has written.
    """
    number = id(program)
    if number in _KNOWN:
        return _KNOWN[number][1]
    found: list[Dependence] = []
    for statement in program.statements:
        for index in range(len(statement.reads)):
            found += _flow_of_read(program, statement, index)
    _KNOWN[number] = ref(program, lambda _: _KNOWN.pop(number, None)), tuple(found)
    return tuple(found)


_KNOWN: dict[int, tuple[ref[Program], tuple[Dependence, ...]]] = {}
"""Dependences of programs that are still in use, which every stage of a compilation asks for."""


def _flow_of_read(program: Program, statement: Statement, index: int) -> list[Dependence]:
    access = statement.reads[index]
    if program.array(access.array).role == "input":
        return []
    found, missing = _sources_of_read(program, statement, index)
    if not missing.is_empty():
        first = str(missing.lexmin().sample_point()).strip("{ }")
        raise DependenceError(f"{statement.label(access)} reads '{access.array}' before it is written, first at "
                              f"{first}")
    return found


def _sources_of_read(program: Program, statement: Statement, index: int) -> tuple[list[Dependence], isl.Set]:
    """The dependences of a read, and the instances that see nothing."""
    access = statement.reads[index]
    sink = access.map.intersect_domain(statement.domain)
    writers = [s for s in program.statements if s.write.array == access.array]
    found = [Dependence(statement.name, index, source, access.array, relation)
             for source, relation in last_writers(program, statement, sink, writers).items()]
    missing = sink.domain()
    for dependence in found:
        missing = missing.subtract(dependence.relation.domain())
    return found, missing


def last_writers(program: Program, statement: Statement, sink: isl.Map,
                 writers: Sequence[Statement]) -> dict[str, isl.Map]:
    """By writer: {instance of `statement` -> the last instance before it that writes the element that `sink` gives}."""
    return _last_writers(_order(program, [statement, *writers]), sink, writers)


def uninitialized_reads(program: Program) -> frozenset[str]:
    """Arrays that are no inputs, of which an element is read that nothing has written."""
    inputs = {array.name for array in program.inputs}
    return frozenset(access.array for statement in program.statements for index, access in enumerate(statement.reads)
                     if access.array not in inputs and not _sources_of_read(program, statement, index)[1].is_empty())


def _order(program: Program, statements: Sequence[Statement]) -> isl.UnionMap:
    """The order of these statements alone."""
    order = isl.UnionMap.empty(program.order.get_space().params())
    for name in dict.fromkeys(s.name for s in statements):
        order = order.union(isl.UnionMap.from_map(program.order_of(name)))
    return order


def _last_writers(order: isl.UnionMap, sink: isl.Map, writers: Sequence[Statement]) -> dict[str, isl.Map]:
    writes = isl.UnionMap.empty(sink.get_space().params())
    for writer in writers:
        writes = writes.union(isl.UnionMap.from_map(writer.write.map.intersect_domain(writer.domain)))
    result = last_writes(isl.UnionMap.from_map(sink), writes, order)
    return {m.get_tuple_name(isl.dim_type.out): m.coalesce() for m in maps(result)}


def final_writers(program: Program, array: str) -> dict[str, isl.Map]:
    """By statement: {element of `array` -> the instance that writes it last}, for all elements that are written."""
    writers = [s for s in program.statements if s.write.array == array]
    elements = writers[0].write.map.intersect_domain(writers[0].domain).range()
    for writer in writers[1:]:
        elements = elements.union(writer.write.map.intersect_domain(writer.domain).range())
    end = isl.Map.identity(elements.get_space().map_from_set()).intersect_domain(elements)
    relations = maps(program.order)
    order = isl.UnionMap.empty(program.order.get_space().params())
    for relation in relations:
        names = [f"o{k}" for k in range(relation.dim(isl.dim_type.out))]
        earlier = isl.Map(f"{{ [{', '.join(names)}] -> [0, {', '.join(names)}] }}")
        order = order.union(isl.UnionMap.from_map(relation.apply_range(earlier)))
    width = max(relation.dim(isl.dim_type.out) for relation in relations)
    last = isl.Set(f"{{ [{', '.join(['1', *['0'] * width])}] }}")
    order = order.union(isl.UnionMap.from_map(isl.Map.from_domain_and_range(elements, last)))
    return _last_writers(order, end, writers)


def agree(relation: isl.Map, sink: int, source: int) -> bool:
    """Whether instances that see values of others always have the same value of iterator number `sink` as these of
    their iterator number `source`."""
    return relation.is_subset(relation.equate(isl.dim_type.in_, sink, isl.dim_type.out, source))


def constant_bounds(statement: Statement) -> dict[str, tuple[int, int]]:
    """First and last value of every iterator. Raises `DependenceError` if the domain is no box of constant bounds."""
    box = statement.box()
    if box is None:
        raise DependenceError(f"{statement}: its iteration domain is not a box of constant bounds, which a static "
                              "schedule needs")
    return box


def topological_order(program: Program, dependences: tuple[Dependence, ...]) -> list[str]:
    """Statement names, producers before consumers; of a recurrence, in the order of one iteration."""
    graph: dict[str, list[str]] = {s.name: [] for s in program.statements}
    carried = recurrences(program, dependences)
    for dependence in dependences:
        if dependence.key not in carried:
            graph[dependence.sink].append(dependence.source)
    return list(TopologicalSorter(graph).static_order())


def recurring(dependences: Sequence[Dependence]) -> set[str]:
    """Statements that see values of their own, maybe by way of others."""
    return set().union(*recurrence_members(dependences))


def recurrence_members(dependences: Sequence[Dependence]) -> list[frozenset[str]]:
    """The statements that see values of their own, with the others by way of which they do."""
    graph = nx.DiGraph((d.source, d.sink) for d in dependences)
    return [frozenset(component) for component in nx.strongly_connected_components(graph)
            if len(component) > 1 or any(graph.has_edge(name, name) for name in component)]


def recurring_around(dependences: Sequence[Dependence], names: Collection[str]) -> frozenset[str]:
    """The statements of the recurrences that those in `names` belong to; of all recurrences if they belong to none."""
    parts = recurrence_members(dependences)
    around = [part for part in parts if not part.isdisjoint(names)]
    return frozenset().union(*(around or parts))


def recurrences(program: Program, dependences: tuple[Dependence, ...]) -> frozenset[tuple[str, int, str]]:
    """Keys of the dependences that lead back: a statement, maybe by way of others, sees values of its own.

    Of such a cycle these are the dependences whose source comes later in the program text than (or is) their sink:
    the values of an earlier iteration, as of an accumulator (Liu 2023, section 4.3).
    """
    graph = nx.DiGraph((d.source, d.sink) for d in dependences)
    found: set[tuple[str, int, str]] = set()
    for component in nx.strongly_connected_components(graph):
        inside = [d for d in dependences if d.source in component and d.sink in component]
        rank = {name: program.first_time(name) for name in component} if inside else {}
        found |= {d.key for d in inside if rank[d.source] >= rank[d.sink]}
    return frozenset(found)
