"""Programs without the loops over tiles that their authors wrote: counters that follow from those of other loops."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.ir.expr import Iterator, postorder
from compiler.ir.program import Access, Program, Statement

__all__ = ["without_tile_loops"]


def without_tile_loops(program: Program) -> Program:
    """`program` whose statements are not inside loops that only cut others into tiles: no subscript and no expression
    uses their counters, and the other counters tell instances apart. The order of instances stays what it was."""
    order = isl.UnionMap.empty(program.order.get_space().params())
    statements = []
    for statement in program.statements:
        time = program.order_of(statement.name)
        for k in reversed(range(len(statement.iterators))):
            single = statement.domain.dim_min_val(k).eq(statement.domain.dim_max_val(k))
            others = None if single or _used(statement, k) else _others(statement, k)
            if others is not None and others.is_injective():
                time = others.reverse().apply_range(time)
                statement = _without(statement, k, others)
        statements.append(statement)
        order = order.union(isl.UnionMap.from_map(time))
    return replace(program, statements=tuple(statements), order=order)


def _used(statement: Statement, position: int) -> bool:
    name = statement.iterators[position]
    accesses = (*statement.reads, statement.write)
    return any(access.map.involves_dims(isl.dim_type.in_, position, 1) for access in accesses) or any(
        isinstance(node, Iterator) and node.name == name for node in postorder(statement.value))


def _others(statement: Statement, position: int) -> isl.Map:
    """{instance -> instance without iterator number `position`}."""
    names = list(statement.iterators)
    rest = [name for k, name in enumerate(names) if k != position]
    relation = isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> {statement.name}[{', '.join(rest)}] }}")
    return relation.intersect_domain(statement.domain)


def _without(statement: Statement, position: int, others: isl.Map) -> Statement:
    def fewer(access: Access) -> Access:
        relation = access.map.project_out(isl.dim_type.in_, position, 1)
        return replace(access, map=relation.set_tuple_name(isl.dim_type.in_, statement.name))

    names = tuple(name for k, name in enumerate(statement.iterators) if k != position)
    return replace(statement, iterators=names, domain=others.range().coalesce(),
                   reads=tuple(map(fewer, statement.reads)), write=fewer(statement.write))
