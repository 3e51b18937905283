"""Reads of what closed guards only kept, from the instance that computed it.

Behind a closed guard a statement stores what its element held (`compiler.passes.normalize.predication`), so the last
instance that wrote an element often only kept it. Where such an instance comes shortly before the reader, the value has
little time to come back, although it was there long before. `expand_arrays` gives such reads the instance that computed
the value: the array gets an element for every value that is ever written to it (Liu 2023, section 5.6, gives these no
more storage than what is live), and every read the element of the value that it means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import islpy as isl
import networkx as nx

from compiler.analysis.accesses import same_elements
from compiler.analysis.affine import pieces
from compiler.analysis.dependences import flow, last_writers
from compiler.analysis.preserved_values import computing
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement

__all__ = ["BEHIND_GUARDS", "PredicatedReads", "expand_arrays", "has_undefined_reads"]


class PredicatedReads(NamedTuple):
    """What reads deliver whose statement is behind a guard: `everywhere`, also where it is closed, or nothing there; of
    the last instance that wrote the element, or of the one that `computed` its value."""

    everywhere: bool = False
    computed: bool = True


BEHIND_GUARDS = PredicatedReads(), PredicatedReads(computed=False), PredicatedReads(everywhere=True, computed=False)
"""What is tried, mostly fastest first."""

_LONG = 64
"""Iterations in which every value comes back, whatever is computed."""

Sources = Mapping[str, isl.Map]
"""By statement: {instance that reads -> the instance whose value it sees}."""


def has_undefined_reads(program: Program) -> bool:
    """Whether guards leave it open what some reads deliver."""
    return any(not s.domain.is_subset(read.map.domain()) for s in program.statements for read in s.reads)


def expand_arrays(program: Program, everywhere: bool = False) -> Program:
    """`program` with every intermediate array as an array of values of which that brings values back sooner.

    `everywhere`: what reads deliver behind closed guards goes on as in front of them, where there are such values.
    """
    for array in program.arrays:
        if array.role == "intermediate":
            program = _with_sources(program, array, everywhere)
    return program


def _with_sources(program: Program, array: Array, everywhere: bool) -> Program:
    """`program` with an element of `array` for every value, if reads profit from that."""
    writers = [s for s in program.statements if s.write.array == array.name]
    fresh = {s.name: computing(program, s) for s in writers}
    if all(s.domain.is_subset(fresh[s.name]) for s in writers):
        return program
    reads = [(s, k) for s in program.statements for k, read in enumerate(s.reads) if read.array == array.name]
    seen = {(s.name, k): _last(program, s, k) for s, k in reads}
    before = dict(seen)
    component = _components(program)
    for s, k in reads:
        back = any(component[s.name] == component[name] for name in seen[s.name, k])
        if back and not same_elements(s.reads[k], s.write, s.domain):
            seen[s.name, k] = _sooner(program, s, k, writers, fresh, seen[s.name, k])
    if seen == before:
        return program
    if everywhere:
        seen = {(s.name, k): _everywhere(program, s, seen[s.name, k]) for s, k in reads}
    return _by_values(program, array, writers, seen)


def _last(program: Program, statement: Statement, read: int) -> Sources:
    """What a read sees: the last instances that wrote its elements."""
    return {d.source: d.relation for d in flow(program) if (d.sink, d.read) == (statement.name, read)}


def _components(program: Program) -> dict[str, int]:
    """For every statement the number of its recurrence: statements that see values of each other have the same."""
    graph = nx.DiGraph((d.source, d.sink) for d in flow(program))
    graph.add_nodes_from(s.name for s in program.statements)
    return {name: number for number, members in enumerate(nx.strongly_connected_components(graph)) for name in members}


def _sooner(program: Program, statement: Statement, read: int, writers: Sequence[Statement],
            fresh: Mapping[str, isl.Set], last: Sources) -> Sources:
    """The instances that computed the values of a read, where the last ones that wrote them leave less time and these
    more; else those."""
    access = statement.reads[read]
    wanted = access.map.intersect_domain(statement.domain)
    found = last_writers(program, statement, wanted, [replace(w, domain=fresh[w.name]) for w in writers])
    covered = isl.Set.empty(wanted.domain().get_space())
    for relation in found.values():
        covered = covered.union(relation.domain())
    wait = _wait(program, statement, last)
    sooner = wait < _LONG and wanted.domain().is_subset(covered) and _wait(program, statement, found) > wait
    return found if sooner else last


def _everywhere(program: Program, statement: Statement, sources: Sources) -> Sources:
    """The sources of a read with values for all instances of `statement`, where these are there as early."""
    asked = isl.Set.empty(statement.domain.get_space())
    for relation in sources.values():
        asked = asked.union(relation.domain())
    left, found = statement.domain, dict[str, isl.Map]()
    for name, relation in sources.items():
        functions = pieces(relation)
        domain = relation.domain().gist(asked).intersect(statement.domain)
        found[name] = isl.Map.from_multi_aff(functions[0][1]).intersect_domain(domain)
        if len(functions) > 1 or not domain.is_subset(left) or not _there(program, statement, name, found[name]):
            return sources
        left = left.subtract(domain)
    return found if left.is_empty() else sources


def _there(program: Program, statement: Statement, writer: str, relation: isl.Map) -> bool:
    """Whether all instances that `relation` gives exist, and are before those that see their values."""
    before = program.order_of(writer).lex_lt_map(program.order_of(statement.name)).reverse()
    return relation.range().is_subset(program.statement(writer).domain) and relation.is_subset(before)


def _wait(program: Program, statement: Statement, sources: Sources) -> int:
    """The fewest iterations from computing a value to reading it, all loops of the program taken together."""
    steps = _steps(program)
    found = _LONG
    for name, relation in sources.items():
        times = relation.apply_domain(program.order_of(statement.name)).apply_range(program.order_of(name)).deltas()
        back = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(times.get_space()))
        for position, step in enumerate(steps):
            back = back.set_coefficient_val(isl.dim_type.in_, position, isl.Val(-step))
        found = min(found, times.min_val(back).to_python())
    return found


def _steps(program: Program) -> list[int]:
    """Iterations from one step of each dimension of time to the next."""
    times = [program.order_of(s.name).intersect_domain(s.domain).range() for s in program.statements]
    steps = [1]
    for position in reversed(range(1, times[0].dim(isl.dim_type.set))):
        first = min(t.dim_min_val(position).to_python() for t in times)
        last = max(t.dim_max_val(position).to_python() for t in times)
        steps.insert(0, steps[0] * (last - first + 1))
    return steps


def _by_values(program: Program, array: Array, writers: Sequence[Statement],
               seen: Mapping[tuple[str, int], Sources]) -> Program:
    """`program` with an array of values in place of `array`: writer, and its iterators counted from their first."""
    depth = max(len(w.iterators) for w in writers)
    lows = {w.name: [w.domain.dim_min_val(k).to_python() for k in range(len(w.iterators))] for w in writers}
    sizes = [max(_trips(w, k) for w in writers) for k in range(depth)]
    name = fresh_name(f"{array.name}_values", program.names)
    values = replace(array, name=name, shape=(len(writers), *sizes))
    places = {w.name: _place(w, number, lows[w.name], name, depth) for number, w in enumerate(writers)}

    def access(statement: Statement, k: int, read: Access) -> Access:
        if read.array != array.name:
            return read
        parts = [relation.apply_range(places[w]) for w, relation in seen[statement.name, k].items()]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.union(part)
        return replace(read, array=name, map=whole.coalesce())

    def changed(statement: Statement) -> Statement:
        reads = tuple(access(statement, k, read) for k, read in enumerate(statement.reads))
        write = statement.write
        if write.array == array.name:
            write = replace(write, array=name, map=places[statement.name].intersect_domain(statement.domain))
        return replace(statement, reads=reads, write=write)

    arrays = tuple(values if a.name == array.name else a for a in program.arrays)
    return replace(program, arrays=arrays, statements=tuple(map(changed, program.statements)))


def _trips(writer: Statement, k: int) -> int:
    if k >= len(writer.iterators):
        return 1
    return writer.domain.dim_max_val(k).to_python() - writer.domain.dim_min_val(k).to_python() + 1


def _place(writer: Statement, number: int, low: Sequence[int], array: str, depth: int) -> isl.Map:
    """{instance of a writer -> the element of its value}."""
    steps = [f"{name} - {first}" for name, first in zip(writer.iterators, low, strict=True)]
    there = [str(number), *steps, *["0"] * (depth - len(steps))]
    return isl.Map(f"{{ {writer.name}[{', '.join(writer.iterators)}] -> {array}[{', '.join(there)}] }}")
