"""Vector programs: what the compiler makes before there is C, a small typed language that prints, parses and verifies.

A program is a list of statements: settings of the vector unit, vector instructions, transfers, and counted loops
around them. Numbers inside loops may step with the loop counters. From a program come C (`c_code`) and the flat list
of queue entries (`entries`) for the reference machine and the ideal dispatcher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hw.vector_lanes.isa import Control, Entry, Mode

__all__ = ["Affine", "Instruction", "Loop", "MemoryArray", "Note", "Number", "Setting", "Statement", "Transfer",
           "VectorProgram", "at", "entries", "has_stepping_counts", "number", "sampled", "unrolled"]


@dataclass(frozen=True)
class Affine:
    """``base + sum of steps[k] * (counter of the k-th loop around it, outermost first)``."""

    base: int
    steps: tuple[int, ...]


Number = int | Affine


def number(base: int, steps: Sequence[int]) -> Number:
    """A number that steps with loops, plain if it does not."""
    return Affine(base, tuple(steps)) if any(steps) else base


@dataclass(frozen=True)
class Setting:
    """A control operation with up to four numbers: "length" (vl), "rows" (rows, incD, incA, incB), "matrices" (the
    same in 3-D), or "transfer" (steps of scratchpad and memory)."""

    kind: str
    values: tuple[Number, ...]


@dataclass(frozen=True)
class Instruction:
    """A vector instruction: mode word and the operands d, a, b (scratchpad addresses, or a scalar a)."""

    mode: Mode
    d: Number
    a: Number
    b: Number


@dataclass(frozen=True)
class Transfer:
    """`rows` rows of `bytes` between scratchpad address `scratchpad` and byte `offset` of an array in memory."""

    to_host: bool
    scratchpad: Number
    array: str
    offset: Number
    bytes: Number
    rows: Number


@dataclass(frozen=True)
class Note:
    """A remark for readers of the C code."""

    text: str


@dataclass(frozen=True)
class Loop:
    """`body`, `count` times: a number that may step with the loops around it, as that of columns left of a diagonal."""

    count: Number
    body: tuple[Statement, ...]


Statement = Setting | Instruction | Transfer | Note | Loop

SETTING_LENGTHS = {"length": 1, "rows": 4, "matrices": 4, "transfer": 2}


@dataclass(frozen=True)
class MemoryArray:
    """An array in main memory: `role` is input, output, constant or temporary."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @classmethod
    def of(cls, name: str, role: str, shape: tuple[int, ...], dtype: np.dtype) -> MemoryArray:
        """One of elements of `dtype` side by side."""
        return cls(name, role, str(dtype), shape, prod(shape) * dtype.itemsize)


@dataclass(frozen=True)
class VectorProgram:
    """A whole program for machines with `scratchpad` bytes (the code does not depend on the lanes otherwise)."""

    name: str
    scratchpad: int
    arrays: tuple[MemoryArray, ...]
    body: tuple[Statement, ...]

    def array(self, name: str) -> MemoryArray:
        """The array of that name."""
        return next(a for a in self.arrays if a.name == name)

    @property
    def transferred(self) -> frozenset[str]:
        """Names of the arrays that the program moves at all."""
        return frozenset(_transferred(self.body))


def _transferred(body: Sequence[Statement]) -> Iterator[str]:
    for statement in body:
        match statement:
            case Loop():
                yield from _transferred(statement.body)
            case Transfer():
                yield statement.array


def fields_of(statement: Setting | Instruction | Transfer) -> tuple[Number, ...]:
    """The numbers of a statement, in order."""
    match statement:
        case Setting():
            return statement.values
        case Instruction():
            return (statement.d, statement.a, statement.b)
        case Transfer():
            return (statement.scratchpad, statement.offset, statement.bytes, statement.rows)


def with_fields(statement: Statement, values: Sequence[Number]) -> Statement:
    """`statement` with other numbers."""
    match statement:
        case Setting():
            return replace(statement, values=tuple(values))
        case Instruction():
            return replace(statement, d=values[0], a=values[1], b=values[2])
        case Transfer():
            return replace(statement, scratchpad=values[0], offset=values[1], bytes=values[2], rows=values[3])
    raise TypeError(f"{statement} has no numbers")


def at(value: Number, counters: Sequence[int]) -> int:
    """The value of a number in one iteration."""
    if isinstance(value, int):
        return value
    return value.base + sum(s * c for s, c in zip(value.steps, counters, strict=False))


def unrolled(body: Sequence[Statement], counters: tuple[int, ...] = ()) -> Iterator[Statement]:
    """Every statement in the order of execution, with plain numbers and without loops and notes."""
    for statement in body:
        match statement:
            case Loop():
                for i in range(at(statement.count, counters)):
                    yield from unrolled(statement.body, (*counters, i))
            case Note():
                continue
            case _:
                values = fields_of(statement)
                plain = all(isinstance(v, int) for v in values)
                yield statement if plain else with_fields(statement, [at(v, counters) for v in values])


def sampled(body: Sequence[Statement], counters: tuple[int, ...] = (), times: int = 1) -> Iterator[
        tuple[Statement, int]]:
    """Statements as `unrolled` gives them, each with how many are like it: of a loop whose turns differ in addresses
    only, the first, the second, which stands for others, and the last one are given. So the least and the largest
    address of everything are among them. Of one in which counts of loops step, too, which changes linearly from turn to
    turn, so many turns are given that the sums are right."""
    for statement in body:
        if isinstance(statement, Loop):
            for turn, weight in _sampled_turns(statement, at(statement.count, counters), len(counters)):
                yield from sampled(statement.body, (*counters, turn), times * weight)
        else:
            yield from ((plain, times) for plain in unrolled((statement,), counters))


def _sampled_turns(loop: Loop, count: int, depth: int) -> list[tuple[int, int]]:
    """The turns of a loop inside of `depth` others that stand for all `count` of them, each with how many it stands
    for."""
    if count <= 3 or _varies(loop.body, depth):
        return [(turn, 1) for turn in range(count)]
    if not has_stepping_counts(loop.body, depth):
        return [(0, 1), (1, count - 2), (count - 1, 1)]
    half, odd = divmod(count - 2, 2)
    middle = [(1 + half, 1)] if odd else []
    return [(0, 1), (1, half), *middle, (count - 2, half), (count - 1, 1)] if half else [(n, 1) for n in range(count)]


def has_stepping_counts(body: Sequence[Statement], depth: int) -> bool:
    """Whether the count of a loop steps with the one inside of `depth` others."""
    return any(isinstance(statement, Loop) and (_steps(statement.count, depth) or
                                                has_stepping_counts(statement.body, depth)) for statement in body)


def _steps(value: Number, depth: int) -> bool:
    return isinstance(value, Affine) and depth < len(value.steps) and value.steps[depth] != 0


def _varies(body: Sequence[Statement], depth: int) -> bool:
    """Whether something besides addresses and counts of loops steps with the loop inside of `depth` others: settings,
    or sizes of transfers."""
    for statement in body:
        match statement:
            case Setting(values=sizes):
                varies = any(_steps(size, depth) for size in sizes)
            case Transfer(bytes=size, rows=rows):
                varies = _steps(size, depth) or _steps(rows, depth)
            case Loop(body=inner):
                varies = _varies(inner, depth)
            case _:
                varies = False
        if varies:
            return True
    return False


def entries(program: VectorProgram, addresses: dict[str, int]) -> Iterator[Entry]:
    """Queue entries of the whole program, with the arrays at these addresses."""
    for statement in unrolled(program.body):
        yield from _entries(statement, addresses)


def _entries(statement: Statement, addresses: dict[str, int]) -> Iterator[Entry]:
    match statement:
        case Setting(kind, values):
            numbers = [int(v) for v in values if isinstance(v, int)]
            yield from _settings(kind, numbers)
        case Instruction(mode, int(d), int(a), int(b)):
            yield Entry.vector(mode, d, a, b)
        case Transfer(to_host, int(scratchpad), array, int(offset), int(size), int(rows)):
            control = Control.DMA_TO_HOST if to_host else Control.DMA_TO_VECTOR
            yield Entry.of(control, scratchpad, addresses[array] + offset, size, rows)


def _settings(kind: str, values: list[int]) -> Iterator[Entry]:
    match kind:
        case "length":
            yield Entry.of(Control.SET_VL, values[0])
        case "rows":
            yield Entry.of(Control.SET_2D_ROWS, values[0], values[1])
            yield Entry.of(Control.SET_2D_SOURCES, values[2], values[3])
        case "matrices":
            yield Entry.of(Control.SET_3D_MATS, values[0], values[1])
            yield Entry.of(Control.SET_3D_SOURCES, values[2], values[3])
        case "transfer":
            yield Entry.of(Control.SET_DMA_INC, values[0], values[1])
