"""Statements without those of their loops that have one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from compiler.analysis.boxes import bounds
from compiler.ir.expr import Const, Expr, Iterator, fold, with_children
from compiler.ir.program import Statement
from compiler.ir.types import Int

__all__ = ["without_loops", "without_unit_loops"]


def without_unit_loops(statement: Statement) -> Statement:
    """`statement` without its loops of one iteration, so that single words are scalars, whatever stands around them."""
    units = {k: low for k, (low, high) in enumerate(bounds(statement.domain)) if low == high}
    return without_loops(statement, units) if units else statement


def without_loops(statement: Statement, values: Mapping[int, int]) -> Statement:
    """`statement` where iterators of some numbers have these values, without the iterators."""
    names = statement.iterators
    domain = statement.domain
    reads, write = [r.map for r in statement.reads], statement.write.map
    for k in sorted(values, reverse=True):
        fixed = isl.Val(values[k])
        domain = domain.fix_val(isl.dim_type.set, k, fixed).project_out(isl.dim_type.set, k, 1)
        reads, write = [r.fix_val(isl.dim_type.in_, k, fixed).project_out(isl.dim_type.in_, k, 1) for r in reads], (
            write.fix_val(isl.dim_type.in_, k, fixed).project_out(isl.dim_type.in_, k, 1))
    numbers = {names[k]: value for k, value in values.items()}
    name = statement.name
    return replace(
        statement, iterators=tuple(n for k, n in enumerate(names) if k not in values),
        domain=domain.set_tuple_name(name),
        reads=tuple(replace(r, map=map_.set_tuple_name(isl.dim_type.in_, name))
                    for r, map_ in zip(statement.reads, reads, strict=True)),
        write=replace(statement.write, map=write.set_tuple_name(isl.dim_type.in_, name)),
        value=fold(statement.value, lambda node, parts: _fixed(node, parts, numbers)))


def _fixed(node: Expr, parts: list[Expr], numbers: Mapping[str, int]) -> Expr:
    if isinstance(node, Iterator) and node.name in numbers:
        assert isinstance(node.type, Int)
        return Const(node.type.wrap(numbers[node.name]), node.type)
    return with_children(node, parts)
