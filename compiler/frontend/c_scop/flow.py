"""Which assignment every read of a scop sees: exact, by value."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

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
    writes = isl.UnionMap("{}")
    for statement in program.statements:
        if statement.write.array == array:
            writes = writes.union(isl.UnionMap.from_map(statement.write.map.intersect_domain(statement.domain)))
    return [
        _reach(program, statement, number, writes)
        for statement in program.statements
        for number, access in enumerate(statement.reads)
        if access.array == array
    ]


def _reach(program: Program, statement: Statement, number: int, writes: isl.UnionMap) -> Reach:
    sink = isl.UnionMap.from_map(statement.reads[number].map.intersect_domain(statement.domain))
    info = isl.UnionAccessInfo.from_sink(sink).set_must_source(writes).set_schedule_map(program.order)
    found: list[isl.Map] = []
    info.compute_flow().get_must_dependence().reverse().foreach_map(found.append)
    missing = statement.domain
    for relation in found:
        missing = missing.subtract(relation.domain())
    sources = {relation.get_tuple_name(isl.dim_type.out): relation.coalesce() for relation in found}
    return Reach(statement, number, sources, missing.coalesce())
