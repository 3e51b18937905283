"""Accesses outside of memories: proven not to be, trapped, wrapped around, or left to the user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, get_args

from compiler.ir.affine_index import iterator_ranges
from compiler.ir.constant_division import remainder
from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Store, fold, postorder, with_children
from compiler.ir.guarded_ranges import guarded_array_ranges, guarded_range
from compiler.ir.narrow import array_ranges, table_ranges
from compiler.ir.program import Memory, Program, Statement
from compiler.ir.ranges import Range, value_range
from compiler.ir.relations import united
from compiler.ir.roots import asserts
from compiler.ir.types import Int, ProgramError

__all__ = ["BOUNDS_CHECKS", "MORE_TRIPS_THAN_ELEMENTS", "BoundsCheck", "doubtful_user", "with_bounds",
           "without_assertions"]

BoundsCheck = Literal["trap", "wrap", "assume"]
"""What becomes of an index that may be outside: the run ends with an error, it counts modulo the size, nothing."""

BOUNDS_CHECKS: tuple[str, ...] = get_args(BoundsCheck)

MORE_TRIPS_THAN_ELEMENTS = "the loop makes more trips than an array has of which each takes an element"
"""What a loop asserts whose trips are bounded by the elements that there are: which holds if no index wraps around."""


def with_bounds(program: Program, check: BoundsCheck = "trap") -> Program:
    """`program`, whose memories with accesses that are not known to be inside are treated as `check` says. Raises
    `ProgramError` for an access that is always outside."""
    if check == "wrap":
        _check_trips(program)
    if check != "trap":
        program = without_assertions(program)
    if not program.memories:
        return program
    arrays = _ranges(program)
    indices = {statement.name: _index_ranges(program, statement, arrays) for statement in program.statements}
    if check == "wrap":
        statements = tuple(_wrapped(s, program, indices[s.name]) for s in program.statements)
        return replace(program, statements=statements, memories=tuple(replace(m, trap=False) for m in program.memories))
    doubtful = {node.memory for statement in program.statements for node in _accesses(statement)
                if not _is_inside(program.memory(node.memory), indices[statement.name][id(node.index)])}
    traps = doubtful if check == "trap" else set()
    return replace(program, memories=tuple(replace(m, trap=m.name in traps) for m in program.memories))


def _check_trips(program: Program) -> None:
    """Raise `ProgramError` for a loop whose trips are known only where indices do not wrap around."""
    for statement in program.statements:
        if any(program.memory(node.memory).assertion == MORE_TRIPS_THAN_ELEMENTS for node in _accesses(statement)):
            raise ProgramError(f"{statement}: with indices that wrap around, the loop may make more trips than the "
                               "array has elements; say how many there are at most, by #pragma sluice max_trips(N) "
                               "before it")


def doubtful_user(program: Program, memory: Memory) -> Statement:
    """A statement that uses `memory` at an index that may be outside; if there is none, the first that uses it."""
    users = [s for s in program.statements if any(node.memory == memory.name for node in _accesses(s))]
    arrays = _ranges(program)
    for statement in users:
        ranges = _index_ranges(program, statement, arrays)
        if not all(_is_inside(memory, ranges[id(node.index)]) for node in _accesses(statement)
                   if node.memory == memory.name):
            return statement
    return users[0]


def without_assertions(program: Program) -> Program:
    """`program` that takes for granted what its assertions say."""
    if not any(memory.assertion for memory in program.memories):
        return program
    gone = {s.write.array for s in program.statements if asserts(program, s)}
    statements = tuple(s for s in program.statements if s.write.array not in gone)
    order = program.order.intersect_domain(united(s.domain for s in statements))
    return replace(program, statements=statements, order=order,
                   arrays=tuple(array for array in program.arrays if array.name not in gone),
                   memories=tuple(memory for memory in program.memories if not memory.assertion))


def _accesses(statement: Statement) -> Iterator[Load | Store]:
    return (node for node in postorder(statement.value) if isinstance(node, Load | Store))


def _is_inside(memory: Memory, index: Range) -> bool:
    return index[0] >= 0 and index[1] < memory.words


def _ranges(program: Program) -> dict[str, Range]:
    """Ranges of arrays, where an access may be outside with what is written under conditions taken into account."""
    arrays = array_ranges(program)
    doubtful = {read.array for statement in program.statements if _is_doubtful(program, statement, arrays)
                for read in statement.reads}
    return guarded_array_ranges(program, arrays, _sources(program, doubtful)) if doubtful else arrays


def _is_doubtful(program: Program, statement: Statement, arrays: dict[str, Range]) -> bool:
    """Whether an access of a statement may be outside."""
    ranges = _index_ranges(program, statement, arrays)
    accessed = [(program.memory(node.memory), ranges[id(node.index)]) for node in _accesses(statement)]
    return any(not memory.assertion and not _is_inside(memory, index) for memory, index in accessed)


def _sources(program: Program, names: set[str]) -> set[str]:
    """Arrays, and all from which they are computed."""
    found = set(names)
    while more := {read.array for s in program.statements if s.write.array in found for read in s.reads} - found:
        found |= more
    return found


def _index_ranges(program: Program, statement: Statement, arrays: dict[str, Range]) -> dict[int, Range]:
    """The range of every node of a statement's value, by its `id`. Raises `ProgramError`."""
    reads = [arrays[access.array] for access in statement.reads]
    iterators, tables = iterator_ranges(statement), table_ranges(program)
    ranges: dict[int, Range] = {}

    def step(node: Expr, parts: list[Range]) -> Range:
        ranges[id(node)] = value_range(node, parts, reads, iterators, tables)
        return ranges[id(node)]

    fold(statement.value, step)
    for node in _accesses(statement):
        memory, index = program.memory(node.memory), node.index
        if not memory.assertion:
            _check_possible(statement, memory, *ranges[id(index)])
            if not _is_inside(memory, ranges[id(index)]):
                ranges[id(index)] = guarded_range(program, statement, index, arrays)
    return ranges


def _check_possible(statement: Statement, memory: Memory, low: int, high: int) -> None:
    if high < 0 or low >= memory.words:
        raise ProgramError(f"{statement}: index {low if low == high else f'{low}..{high}'} is outside "
                           f"'{memory.label}' of {memory.words} elements")


def _wrapped(statement: Statement, program: Program, ranges: dict[int, Range]) -> Statement:
    """`statement`, whose accesses that may be outside take their index modulo the size."""

    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Load | Store):
            memory = program.memory(node.memory)
            if not _is_inside(memory, ranges[id(node.index)]):
                parts = [_modulo(parts[0], memory.words), *parts[1:]]
        return with_children(node, parts)

    return replace(statement, value=fold(statement.value, step))


def _modulo(index: Expr, words: int) -> Expr:
    """The index modulo a number of words, of an index without sign."""
    assert isinstance(index.type, Int)
    type = Int(max(index.type.width, words.bit_length()), signed=False)
    index = Cast(index, type)
    if words & (words - 1) == 0:
        return Apply("and", (index, Const(words - 1, type)), type)
    return remainder(index, words)
