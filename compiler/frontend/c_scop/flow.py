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
    writers = [statement for statement in program.statements if statement.write.array == array]
    reads = [
        (statement, number)
        for statement in program.statements
        for number, access in enumerate(statement.reads)
        if access.array == array
    ]
    if not writers or not reads:
        return [Reach(statement, number, {}, statement.domain) for statement, number in reads]
    try:
        return _all_at_once(program, writers, reads)
    except isl.Error:
        return [_reach(program, statement, number, writers) for statement, number in reads]


def _all_at_once(program: Program, writers: list[Statement], reads: list[tuple[Statement, int]]) -> list[Reach]:
    """As `_reach`, by one analysis of isl, whose time grows with the writes that reads have to look back over only."""
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
    info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(sources).set_schedule_map(order)
    flow: list[isl.Map] = []
    info.compute_flow().get_must_dependence().reverse().coalesce().foreach_map(flow.append)
    found: dict[str, list[isl.Map]] = {tag: [] for tag in tags}
    for relation in flow:
        found[relation.get_tuple_name(isl.dim_type.in_)].append(relation)
    return [_gathered(statement, number, found[tag]) for tag, (statement, number) in zip(tags, reads, strict=True)]


def _gathered(statement: Statement, number: int, relations: list[isl.Map]) -> Reach:
    sources: dict[str, isl.Map] = {}
    missing = statement.domain
    for relation in relations:
        relation = relation.set_tuple_name(isl.dim_type.in_, statement.name)
        sources[relation.get_tuple_name(isl.dim_type.out)] = relation
        missing = missing.subtract(relation.domain())
    return Reach(statement, number, sources, missing.coalesce())


def _reach(program: Program, statement: Statement, number: int, writers: list[Statement]) -> Reach:
    read = statement.reads[number].map.intersect_domain(statement.domain)
    now = program.order_of(statement.name)
    earlier: dict[str, isl.Map] = {}
    last: isl.Map | None = None
    for writer in writers:
        time = program.order_of(writer.name)
        before = now.lex_gt_map(time)
        pairs = read.apply_range(writer.write.map.intersect_domain(writer.domain).reverse()).intersect(before)
        if not pairs.is_empty():
            earlier[writer.name] = pairs
            times = pairs.apply_range(time)
            last = times if last is None else last.union(times)
    if last is None:
        return Reach(statement, number, {}, statement.domain)
    return Reach(statement, number, _sources(program, _latest(last), earlier),
                 statement.domain.subtract(last.domain()).coalesce())


def _latest(times: isl.Map) -> isl.Map:
    """The last of the times that each instance is related to.

    isl's optimisation gives up on a few relations with integer divisions; there, what is earlier than another time of
    the same instance is taken away.
    """
    try:
        return times.detect_equalities().lexmax()
    except isl.Error:
        return times.subtract(times.apply_range(isl.Map.lex_gt(times.range().get_space())))


def _sources(program: Program, last: isl.Map, earlier: dict[str, isl.Map]) -> dict[str, isl.Map]:
    """Of the writes before each read, those at the time `last`."""
    found = {name: pairs.intersect(last.apply_range(program.order_of(name).reverse())).coalesce()
             for name, pairs in earlier.items()}
    return {name: pairs for name, pairs in found.items() if not pairs.is_empty()}
