"""Accesses outside of memories: proven not to be, trapped, wrapped around, or left to the user."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from compiler.ir.constant_division import remainder
from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Store, fold, postorder, with_children
from compiler.ir.narrow import array_ranges, iterator_ranges, table_ranges
from compiler.ir.program import Memory, Program, Statement
from compiler.ir.ranges import Range, value_range
from compiler.ir.types import Int, ProgramError

__all__ = ["BOUNDS_CHECKS", "BoundsCheck", "with_bounds"]

BoundsCheck = Literal["trap", "wrap", "assume"]
"""What becomes of an index that may be outside: the run ends with an error, it counts modulo the size, nothing."""

BOUNDS_CHECKS: tuple[str, ...] = get_args(BoundsCheck)


def with_bounds(program: Program, check: BoundsCheck = "trap") -> Program:
    """`program`, whose memories with accesses that are not known to be inside are treated as `check` says. Raises
    `ProgramError` for an access that is always outside."""
    if not program.memories:
        return program
    arrays = array_ranges(program)
    doubtful: set[str] = set()
    for statement in program.statements:
        doubtful |= _doubtful(program, statement, arrays)
    if check == "wrap":
        statements = tuple(replace(s, value=_wrapped(s.value, program, doubtful)) for s in program.statements)
        return replace(program, statements=statements, memories=tuple(replace(m, trap=False) for m in program.memories))
    traps = doubtful if check == "trap" else set()
    return replace(program, memories=tuple(replace(m, trap=m.name in traps) for m in program.memories))


def _doubtful(program: Program, statement: Statement, arrays: dict[str, Range]) -> set[str]:
    """Memories with an access of `statement` that may be outside."""
    reads = [arrays[access.array] for access in statement.reads]
    iterators, tables = iterator_ranges(statement), table_ranges(program)
    ranges: dict[int, Range] = {}

    def step(node: Expr, parts: list[Range]) -> Range:
        ranges[id(node)] = value_range(node, parts, reads, iterators, tables)
        return ranges[id(node)]

    fold(statement.value, step)
    found: set[str] = set()
    for node in postorder(statement.value):
        if isinstance(node, Load | Store):
            memory, (low, high) = program.memory(node.memory), ranges[id(node.index)]
            _check_possible(statement, memory, low, high)
            if low < 0 or high >= memory.words:
                found.add(node.memory)
    return found


def _check_possible(statement: Statement, memory: Memory, low: int, high: int) -> None:
    if high < 0 or low >= memory.words:
        raise ProgramError(f"{statement}: index {low if low == high else f'{low}..{high}'} is outside "
                           f"'{memory.label}' of {memory.words} elements")


def _wrapped(value: Expr, program: Program, doubtful: set[str]) -> Expr:
    """`value` with every index of the memories `doubtful` modulo their size."""

    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Load | Store) and node.memory in doubtful:
            parts = [_modulo(parts[0], program.memory(node.memory).words), *parts[1:]]
        return with_children(node, parts)

    return fold(value, step)


def _modulo(index: Expr, words: int) -> Expr:
    """The index modulo a number of words, of an index without sign."""
    assert isinstance(index.type, Int)
    type = Int(max(index.type.width, words.bit_length()), signed=False)
    index = Cast(index, type)
    if words & (words - 1) == 0:
        return Apply("and", (index, Const(words - 1, type)), type)
    return remainder(index, words)
