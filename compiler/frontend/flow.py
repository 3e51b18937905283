"""Which assignment every read of a scop sees: exact, by value."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from compiler.ir.last_writes import last_writes
from compiler.ir.program import Program, Statement

__all__ = ["Reach", "reaching_writes"]


@dataclass(frozen=True)
class Reach:
    """Read number `read` of `statement`: `sources` maps its instances to the last writes before them, per statement.

    `missing` are the instances that see what was there before the scop.
    """

    statement: Statement
    read: int
    sources: dict[str, isl.Map]
    missing: isl.Set


def reaching_writes(program: Program, array: str) -> list[Reach]:
    """The sources of all reads of `array`, in the order of the statements."""
    writers = [statement for statement in program.statements if statement.write.array == array]
    reads = [
        (statement, number)
        for statement in program.statements
        for number, access in enumerate(statement.reads)
        if access.array == array
    ]
    if not writers or not reads:
        return [Reach(statement, number, {}, statement.domain) for statement, number in reads]
    sinks, sources, order = isl.UnionMap("{}"), isl.UnionMap("{}"), isl.UnionMap("{}")
    tags = [f"read {k}" for k in range(len(reads))]
    for tag, (statement, number) in zip(tags, reads, strict=True):
        access = statement.reads[number].map.intersect_domain(statement.domain)
        sinks = sinks.union(isl.UnionMap.from_map(access.set_tuple_name(isl.dim_type.in_, tag)))
        time = program.order_of(statement.name).set_tuple_name(isl.dim_type.in_, tag)
        order = order.union(isl.UnionMap.from_map(time))
    for writer in writers:
        sources = sources.union(isl.UnionMap.from_map(writer.write.map.intersect_domain(writer.domain)))
        order = order.union(isl.UnionMap.from_map(program.order_of(writer.name)))
    found: dict[str, list[isl.Map]] = {tag: [] for tag in tags}
    last_writes(sinks, sources, order).foreach_map(lambda m: found[m.get_tuple_name(isl.dim_type.in_)].append(m))
    return [_gathered(statement, number, found[tag]) for tag, (statement, number) in zip(tags, reads, strict=True)]


def _gathered(statement: Statement, number: int, relations: list[isl.Map]) -> Reach:
    sources: dict[str, isl.Map] = {}
    missing = statement.domain
    for relation in relations:
        relation = relation.set_tuple_name(isl.dim_type.in_, statement.name)
        sources[relation.get_tuple_name(isl.dim_type.out)] = relation
        missing = missing.subtract(relation.domain())
    return Reach(statement, number, sources, missing.coalesce())
