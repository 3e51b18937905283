"""Expressions in which equal subexpressions are one object, so that `id` tells whether two are equal."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from compiler.ir.expr import Apply, Cast, Expr, Load, Lookup, Store, fold, with_children

__all__ = ["interned"]


def interned(expr: Expr) -> Expr:
    """`expr` with equal subexpressions shared, in time linear in the number of its distinct nodes."""
    known: dict[Hashable, Expr] = {}

    def step(node: Expr, parts: list[Expr]) -> Expr:
        match node:
            case Apply(op, _, type_):
                key: Hashable = (op, type_, *map(id, parts))
                made: Expr = replace(node, args=tuple(parts))
            case Cast(_, type_):
                key, made = (type_, id(parts[0])), replace(node, arg=parts[0])
            case Lookup(table, _, type_):
                key, made = (table, type_, id(parts[0])), replace(node, index=parts[0])
            case Load(memory, _, _, _) | Store(memory, _, _, _, _):
                key, made = (memory, *map(id, parts)), with_children(node, parts)
            case _:
                key, made = node, node
        return known.setdefault((type(node), key), made)

    return fold(expr, step)
