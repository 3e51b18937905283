"""Statements whose names are those of arrays or tables get others, so that no later step can take one for the other."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Program, Statement

__all__ = ["rename_clashing_statements"]


def rename_clashing_statements(program: Program) -> Program:
    """`program` with an underscore (or more) behind the name for every statement that is called as an array or a
    table is; itself if there is none."""
    data = {item.name for item in (*program.arrays, *program.tables)}
    clashing = [s.name for s in program.statements if s.name in data]
    if not clashing:
        return program
    taken, names = set(program.names), {}
    for name in clashing:
        names[name] = fresh_name(name, taken)
        taken.add(names[name])
    return replace(program, statements=tuple(_renamed(s, names.get(s.name, s.name)) for s in program.statements),
                   order=_renamed_order(program, names),
                   shared=tuple(tuple(names.get(n, n) for n in group) for group in program.shared))


def _renamed(statement: Statement, name: str) -> Statement:
    def access(old: Access) -> Access:
        return replace(old, map=old.map.set_tuple_name(isl.dim_type.in_, name))

    return replace(statement, name=name, domain=statement.domain.set_tuple_name(name),
                   reads=tuple(map(access, statement.reads)), write=access(statement.write))


def _renamed_order(program: Program, names: dict[str, str]) -> isl.UnionMap:
    order = isl.UnionMap.empty(program.order.get_space().params())
    for statement in program.statements:
        mine = program.order_of(statement.name)
        renamed = mine.set_tuple_name(isl.dim_type.in_, names.get(statement.name, statement.name))
        order = order.union(isl.UnionMap.from_map(renamed))
    return order
