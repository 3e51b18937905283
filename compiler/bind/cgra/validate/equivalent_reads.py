"""Reads that always see the same word, because one is of a copy of what the other is of.

A statement copies a read if its word is that read's on all operand vectors, however it is written: ``x - x + x`` is a
copy of x, and so is x with another sign; the compiler carries both on one wire. With one operand of up to 16 bits all
values are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import islpy as isl
import numpy as np

from compiler.bind.cgra.validate.operands import expected_values
from compiler.ir.evaluate import word_type
from compiler.ir.expr import Iterator, postorder
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float, Int
from compiler.sched.verify import Origins, operand_vectors, read_origins

__all__ = ["operand_types", "same_origins", "same_values"]

T = TypeVar("T")

_WORD = 0xFFFF
"""The bits of a word, which is what a wire carries and a memory holds, whatever the type."""


def same_values(program: Program, origins: Mapping[int, Origins],
                together: Iterable[Sequence[int]] = ()) -> dict[int, int]:
    """For every read the first one that always sees the same word; `origins` tells where each read's are from. Of reads
    that are proven to come `together`, some may see less than others do: nothing, behind a closed guard."""
    classes = _classes({k: _beyond_copies(program, mine) for k, mine in origins.items()}, same_origins)
    for reads in together:
        joined = {classes[k] for k in reads}
        classes = {k: min(joined) if mine in joined else mine for k, mine in classes.items()}
    return classes


def operand_types(program: Program, statement: Statement, classes: Mapping[int, int]) -> dict[int, Int]:
    """For each class of reads the type that holds its values, of floating-point numbers their bits: the narrowest
    one, since the others are copies of it."""
    found: dict[int, Int] = {}
    for k, representative in classes.items():
        type_ = program.array(statement.reads[k].array).type
        if isinstance(type_, Int | Float):
            type_ = word_type(type_)
            found[representative] = min(found.get(representative, type_), type_, key=lambda t: t.maximum - t.minimum)
    return found


def _beyond_copies(program: Program, origins: Origins, passed: frozenset[str] = frozenset()) -> Origins:
    """The origins of what statements copy in place of the copies; `passed` are those that it is asked for."""
    found: Origins = {}
    for source, relation in origins.items():
        parts = {source: relation}
        follow = source.computed and source.name not in passed
        if follow and (before := _copied(program, program.statement(source.name), passed | {source.name})) is not None:
            parts = {origin: relation.apply_range(part) for origin, part in before.items()}
        for origin, part in parts.items():
            if not part.is_empty():
                found[origin] = found[origin].union(part) if origin in found else part
    return found


def _copied(program: Program, statement: Statement, passed: frozenset[str]) -> Origins | None:
    """Where the values are from that are all that a statement writes; None if it computes."""
    if not statement.reads or not _in_words(program, statement):
        return None
    classes = _classes({k: read.map for k, read in enumerate(statement.reads)}, isl.Map.is_equal)
    types = operand_types(program, statement, classes)
    columns = dict(zip(types, _vectors(list(types.values())), strict=True))
    operands, written = expected_values(program, statement, columns, classes)
    copied = next((k for k, values in operands.items() if np.array_equal(values & _WORD, written & _WORD)), None)
    return None if copied is None else _beyond_copies(program, read_origins(program, statement, copied), passed)


def _in_words(program: Program, statement: Statement) -> bool:
    """Whether a statement computes words from words alone."""
    types = [program.array(access.array).type for access in (*statement.reads, statement.write)]
    return all(isinstance(t, Int | Float) and t.width <= _WORD.bit_length() for t in types) and not any(
        isinstance(node, Iterator) for node in postorder(statement.value))


def _vectors(types: Sequence[Int]) -> list[np.ndarray]:
    if len(types) == 1 and types[0].width <= _WORD.bit_length():
        return [np.arange(types[0].minimum, types[0].maximum + 1, dtype=np.int64)]
    return operand_vectors(types)


def _classes(values: Mapping[int, T], equal: Callable[[T, T], bool]) -> dict[int, int]:
    """For every number the first one of an equal value."""
    classes: dict[int, int] = {}
    for k, mine in values.items():
        same = (j for j in classes.values() if equal(values[j], mine))
        classes[k] = next(same, k)
    return classes


def same_origins(first: Origins, second: Origins) -> bool:
    """Whether all instances see the same values by both."""
    return first.keys() == second.keys() and all(first[name].is_equal(second[name]) for name in first)
