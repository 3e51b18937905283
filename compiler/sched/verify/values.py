"""Which value a program means by every read and every output element, recomputed from its arrays and its order.

A value is named by where it comes from: the statement instance that computes it, or the element of an input array.
Value-based: the last write before the read (Liu 2023, section 4.2.3).
"""

from __future__ import annotations

from typing import NamedTuple

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.sched.verify.errors import ValidationError
from compiler.sched.verify.relations import first_point, last_writes, maps

__all__ = ["Origins", "Source", "final_origins", "read_origins"]

class Source(NamedTuple):
    """Where values come from: a statement that computes them, or an input array."""

    name: str
    computed: bool

    def __str__(self) -> str:
        return self.name


Origins = dict[Source, isl.Map]
"""By source: the points whose value comes from there, and from which instance or element of it."""


def read_origins(program: Program, statement: Statement, index: int) -> Origins:
    """Origins of read number `index` of every instance of `statement`.

    Raises `ValidationError` for an instance that reads what nothing has written.
    """
    access = statement.reads[index]
    read = access.map.intersect_domain(statement.domain)
    if program.array(access.array).role == "input":
        return {Source(access.array, computed=False): read}
    found = _last_writers(program, access.array, read, _order(program))
    missing = read.domain()
    for relation in found.values():
        missing = missing.subtract(relation.domain())
    if not missing.is_empty():
        raise ValidationError(f"{statement} reads {access.array} before it is written, "
                              f"first at {first_point(missing)}")
    return found


def final_origins(program: Program, array: str) -> Origins:
    """For every statement the elements of `array` whose last value it writes, and by which instance."""
    order = _order(program)
    elements = None
    for statement in program.statements:
        if statement.write.array == array:
            written = statement.write.map.intersect_domain(statement.domain).range()
            elements = written if elements is None else elements.union(written)
    if elements is None:
        return {}
    depth = maps(order)[0].dim(isl.dim_type.out)
    end = isl.Map.from_domain_and_range(elements, isl.Set(f"{{ [{', '.join(['1'] + ['0'] * (depth - 1))}] }}"))
    reads = isl.Map.identity(elements.get_space().map_from_set()).intersect_domain(elements)
    return _last_writers(program, array, reads, order.union(isl.UnionMap.from_map(end)))


def _order(program: Program) -> isl.UnionMap:
    """The order with time vectors of one length, after a leading 0."""
    relations = maps(program.order)
    width = max(relation.dim(isl.dim_type.out) for relation in relations)
    order = isl.UnionMap.empty(program.order.get_space().params())
    for relation in relations:
        names = [f"o{k}" for k in range(relation.dim(isl.dim_type.out))]
        padded = ["0", *names, *["0"] * (width - len(names))]
        lift = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(padded)}] }}")
        order = order.union(isl.UnionMap.from_map(relation.apply_range(lift)))
    return order


def _last_writers(program: Program, array: str, reads: isl.Map, order: isl.UnionMap) -> Origins:
    writes = isl.UnionMap.empty(reads.get_space().params())
    for statement in program.statements:
        if statement.write.array == array:
            write = statement.write.map.intersect_domain(statement.domain)
            writes = writes.union(isl.UnionMap.from_map(write))
    found = last_writes(isl.UnionMap.from_map(reads), writes, order)
    return {Source(relation.get_tuple_name(isl.dim_type.out), computed=True): relation for relation in maps(found)}
