"""Statements that compute the same from other operands, so that one set of units can serve them in turn.

Two statements are isomorphic if their values are the same expression once the reads are numbered in the order in which
the expression uses them: the same operations, types, constants and tables on operands of the same types (Liu 2023,
section 4.3.3).
"""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.expr import (
    Apply,
    Cast,
    Const,
    Expr,
    Iterator,
    Load,
    Lookup,
    Read,
    Store,
    difference,
    fold,
    with_children,
)
from compiler.ir.program import Program, Statement
from compiler.ir.types import ProgramError

__all__ = ["canonical_value", "check_shared", "first_difference"]


def canonical_value(statement: Statement) -> tuple[Expr, tuple[int, ...]]:
    """The value with its reads numbered in order of use, and the statement's own number of each."""
    order: list[int] = []

    def step(node: Expr, arguments: list[Expr]) -> Expr:
        if isinstance(node, Read):
            if node.index not in order:
                order.append(node.index)
            return replace(node, index=order.index(node.index))
        return with_children(node, arguments)

    value = fold(statement.value, step)
    return value, tuple(order)


def first_difference(first: Statement, second: Statement) -> str | None:
    """Where the values of two statements differ, in words; None if they are isomorphic."""
    unlike = difference(canonical_value(first)[0], canonical_value(second)[0])
    if unlike is None:
        return None
    one, other = unlike
    return f"{_described(one)} in {first}, {_described(other)} in {second}"


def _described(node: Expr) -> str:
    """What a node is, without its operands."""
    match node:
        case Const(value, type_):
            return f"the constant {value} ({type_})"
        case Read(index, type_):
            return f"operand {index + 1} ({type_})"
        case Iterator(name, type_):
            return f"the iterator {name} ({type_})"
        case Apply(op, _, type_):
            return f"the operation {op} ({type_})"
        case Cast(_, type_):
            return f"a conversion to {type_}"
        case Lookup(table, _, type_):
            return f"a look-up in {table} ({type_})"
        case Load(memory, _, _, type_):
            return f"a load from {memory} ({type_})"
        case Store(memory, _, _, _, _):
            return f"a store to {memory}"


def check_shared(program: Program) -> None:
    """Raise `ProgramError` unless every group of `program.shared` names at least two statements, none of them in
    another group, all isomorphic."""
    taken: set[str] = set()
    for group in program.shared:
        if len(group) < 2:
            raise ProgramError(f"units are shared by two statements or more, not by {', '.join(group) or 'none'} alone")
        first = program.statement(group[0])
        for name in group:
            statement = program.statement(name)
            if name in taken:
                raise ProgramError(f"{statement} is to share its units twice")
            taken.add(name)
            difference = first_difference(first, statement)
            if difference is not None:
                raise ProgramError(f"{first} and {statement} cannot share units, for they compute different things: "
                                   f"{difference}")
