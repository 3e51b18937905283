"""Statements that do the same in different parts of one nest become one, which needs one set of operators."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.analysis.affine import maps
from compiler.ir.program import Access, Program, Statement

__all__ = ["alike", "merge_equal"]


def merge_equal(program: Program) -> Program:
    """`program` in which statements of equal iterators, accesses and values, on disjoint domains, are one."""
    kept: list[Statement] = []
    renamed: dict[str, str] = {}
    for statement in program.statements:
        partner = next((k for k, other in enumerate(kept) if alike(other, statement)), None)
        if partner is None:
            kept.append(statement)
            continue
        renamed[statement.name] = kept[partner].name
        joined = kept[partner].domain.union(statement.domain.set_tuple_name(kept[partner].name)).coalesce()
        kept[partner] = replace(kept[partner], domain=joined)
    if not renamed:
        return program
    order = isl.UnionMap("{}")
    for piece in maps(program.order):
        name = piece.get_tuple_name(isl.dim_type.in_)
        piece = piece.intersect_domain(program.statement(name).domain)
        order = order.union(isl.UnionMap.from_map(piece.set_tuple_name(isl.dim_type.in_, renamed.get(name, name))))
    return replace(program, statements=tuple(kept), order=order)


def alike(first: Statement, second: Statement) -> bool:
    """Whether two statements have equal iterators, accesses and values, on disjoint domains."""
    same = first.iterators == second.iterators and first.value == second.value
    if not same or len(first.reads) != len(second.reads):
        return False
    pairs = zip((*first.reads, first.write), (*second.reads, second.write), strict=True)
    if not all(_same_access(a, b, first.name) for a, b in pairs):
        return False
    return first.domain.is_disjoint(second.domain.set_tuple_name(first.name))


def _same_access(first: Access, second: Access, name: str) -> bool:
    return first.array == second.array and first.map.is_equal(second.map.set_tuple_name(isl.dim_type.in_, name))
