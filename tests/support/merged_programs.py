"""Several programs as one that computes all of them, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from compiler.ir.expr import Expr, Lookup, fold, with_children
from compiler.ir.program import Access, Program, Statement

__all__ = ["merged"]

_APART = 1000
"""More than a program has statements."""


def merged(programs: Mapping[str, Program]) -> Program:
    """All arrays, tables and statements of `programs`, their names preceded by the program's."""
    parts = [_renamed(f"{name}_", program) for name, program in programs.items()]
    orders = [(number, part.order_of(s.name)) for number, part in enumerate(parts) for s in part.statements]
    width = max(order.dim(isl.dim_type.out) for _, order in orders)
    order = isl.UnionMap.empty(parts[0].order.get_space().params())
    for number, one in orders:
        names = [f"o{k}" for k in range(one.dim(isl.dim_type.out))]
        first = f"{_APART * number} + {names[0]}"
        padded = ", ".join([first, *names[1:], *["0"] * (width - len(names))])
        lift = isl.Map(f"{{ [{', '.join(names)}] -> [{padded}] }}")
        order = order.union(isl.UnionMap.from_map(one.apply_range(lift)))
    return Program("merged", sum((p.arrays for p in parts), ()), sum((p.tables for p in parts), ()),
                   sum((p.statements for p in parts), ()), order)


def _renamed(prefix: str, program: Program) -> Program:
    arrays = tuple(replace(array, name=prefix + array.name) for array in program.arrays)
    tables = tuple(replace(table, name=prefix + table.name) for table in program.tables)
    order = isl.UnionMap.empty(program.order.get_space().params())
    for statement in program.statements:
        part = program.order_of(statement.name).set_tuple_name(isl.dim_type.in_, prefix + statement.name)
        order = order.union(isl.UnionMap.from_map(part))
    return Program(prefix, arrays, tables, tuple(_statement(prefix, s) for s in program.statements), order)


def _statement(prefix: str, statement: Statement) -> Statement:
    def access(old: Access) -> Access:
        relation = old.map.set_tuple_name(isl.dim_type.in_, prefix + statement.name)
        return Access(prefix + old.array, relation.set_tuple_name(isl.dim_type.out, prefix + old.array), old.location)

    return Statement(prefix + statement.name, statement.iterators,
                     statement.domain.set_tuple_name(prefix + statement.name), tuple(map(access, statement.reads)),
                     access(statement.write), _value(prefix, statement.value), statement.location)


def _value(prefix: str, value: Expr) -> Expr:
    def step(node: Expr, parts: list[Expr]) -> Expr:
        made = with_children(node, parts)
        return Lookup(prefix + made.table, made.index, made.type) if isinstance(made, Lookup) else made

    return fold(value, step)
