"""Memories that begin with a constant in every word, in place of loops that store it.

A statement that stores one constant to all words of a memory before anything else accesses that is not executed: the
memory is said to hold the constant at first (`compiler.ir.program.Memory.initial`), and hardware keeps a bit for what
has been stored since. Nothing waits for the statement then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import islpy as isl

from compiler.ir.affine_index import affine_index
from compiler.ir.expr import Const, Expr, Load, Read, Store, children, fold, postorder, renumbered, with_children
from compiler.ir.memory_order import accesses_memory, last_instances
from compiler.ir.program import Memory, Program, Statement
from compiler.ir.relations import united

__all__ = ["fold_constant_fills"]


def fold_constant_fills(program: Program) -> Program:
    """`program` without statements that fill a memory with a constant first."""
    while (found := next(_fills(program), None)) is not None:
        program = _folded(program, *found)
    return program


def _fills(program: Program) -> Iterator[tuple[Statement, Memory, int]]:
    """(statement, memory, constant) of those that can be left out."""
    for statement in program.statements:
        match statement.value:
            case Store(name, index, Const(word, _), Const(1, _), _) if not statement.reads:
                memory = program.memory(name)
                if memory.initial in (None, word) and _covers(statement, index, memory.words) \
                        and _is_first(program, statement, name) and _only_orders(program, statement):
                    yield statement, memory, word


def _covers(statement: Statement, index: Expr, words: int) -> bool:
    """Whether a statement accesses all words, at `index`."""
    function = affine_index(statement, index)
    if function is None:
        return False
    touched = isl.Map.from_aff(function).intersect_domain(statement.domain).range()
    return isl.Set(f"{{ [w] : 0 <= w < {words} }}").is_subset(touched)


def _is_first(program: Program, statement: Statement, memory: str) -> bool:
    """Whether all instances of a statement come before what others do to a memory."""
    return all(last_instances(program, statement, other).is_empty() for other in program.statements
               if other is not statement and accesses_memory(other.value, memory))


def _only_orders(program: Program, statement: Statement) -> bool:
    """Whether nothing but the order of accesses depends on a statement's result, which no other statement gives."""
    token = statement.write.array
    if program.array(token).role != "intermediate" or any(
            other.write.array == token for other in program.statements if other is not statement):
        return False
    return all(_is_waited_for(other, k) for other in program.statements
               for k, read in enumerate(other.reads) if read.array == token)


def _is_waited_for(statement: Statement, read: int) -> bool:
    """Whether accesses wait for a read of `statement`, which has no other use."""
    def uses(parts: Iterable[Expr]) -> int:
        return sum(isinstance(part, Read) and part.index == read for part in parts)

    nodes = list(postorder(statement.value))
    waits = sum(uses(node.after) for node in nodes if isinstance(node, Load | Store))
    return not uses([statement.value]) and waits == sum(uses(children(node)) for node in nodes)


def _folded(program: Program, fill: Statement, memory: Memory, word: int) -> Program:
    """`program` without `fill`, after which all words of `memory` were `word`."""
    token = fill.write.array
    statements = tuple(_without_token(s, token) for s in program.statements if s is not fill)
    return replace(
        program, statements=statements, order=program.order.intersect_domain(united(s.domain for s in statements)),
        arrays=tuple(array for array in program.arrays if array.name != token),
        memories=tuple(replace(m, initial=word) if m is memory else m for m in program.memories))


def _without_token(statement: Statement, token: str) -> Statement:
    """`statement` with accesses that do not wait for reads of `token`."""
    gone = {k for k, read in enumerate(statement.reads) if read.array == token}
    if not gone:
        return statement

    def step(node: Expr, parts: list[Expr]) -> Expr:
        node = with_children(node, parts)
        if isinstance(node, Load | Store):
            return replace(node, after=tuple(p for p in node.after if not (isinstance(p, Read) and p.index in gone)))
        return node

    kept = [k for k in range(len(statement.reads)) if k not in gone]
    return replace(statement, value=renumbered(fold(statement.value, step), kept.index),
                   reads=tuple(statement.reads[k] for k in kept))
