"""What a statement's expression is on operand vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.ir.evaluate import TableIndexError, evaluate
from compiler.ir.expr import Const, postorder
from compiler.ir.floating import decode, to_words
from compiler.ir.program import Program, Statement
from compiler.ir.types import BFLOAT16, Float, Int, Type
from compiler.sched.verify import ValidationError
from compiler.sched.verify.samples import SampleWords

__all__ = ["expected_values", "with_numbers"]

_NUMBERS = {0x0000, 0x8000, 0x0001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0}
"""bfloat16 zeros, subnormal and least normal numbers, one, the largest, infinities and what is no number."""


def expected_values(program: Program, statement: Statement, vectors: Mapping[int, np.ndarray],
                    classes: Mapping[int, int]) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """The expression's values, and the operands, as words, on those vectors that look nothing up outside a table.

    `vectors` holds one column per class of reads, in the narrowest of their types; each read has the same word in its
    own type. Memories hold `SampleWords`. Raises `ValidationError` if no vector stays within the tables.
    """
    memories = SampleWords(program)
    tables = {table.name: table for table in program.tables}
    types = [program.array(read.array).type for read in statement.reads]
    keep = {k: v.astype(object) if _wide(types[k]) else v for k, v in vectors.items()}

    def read(columns: Mapping[int, np.ndarray], k: int) -> np.ndarray:
        type_, column = types[k], columns[classes[k]]
        if isinstance(type_, Float):
            return decode(type_, column)
        return type_.wrap(column) if isinstance(type_, Int) else column

    while True:
        try:
            chosen = keep
            result = evaluate(statement.value, lambda k, chosen=chosen: read(chosen, k), {}, tables, memories)
            result = to_words(statement.value.type, np.asarray(result))
            return keep, result.astype(object if result.dtype == object else np.int64)
        except TableIndexError as error:
            keep = {k: np.delete(v, error.positions) for k, v in keep.items()}
            if any(not v.size for v in keep.values()):
                raise ValidationError(f"{statement}: no operands stay within its tables") from None


def with_numbers(statement: Statement, types: Mapping[int, Int],
                 columns: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """The vectors, and where the statement has floating-point numbers some more, of its constants and their
    neighbours, infinities and the like: all operands the same one, and different ones."""
    found = {node.value for node in postorder(statement.value) if isinstance(node, Const) and node.type == BFLOAT16}
    if not any(isinstance(node.type, Float) for node in postorder(statement.value)):
        return dict(columns)
    numbers = np.array(sorted(found | {word ^ 1 for word in found} | _NUMBERS), np.int64)
    more = {k: np.concatenate([numbers, np.roll(numbers, 1 + place)]) for place, k in enumerate(columns)}
    return {k: np.concatenate([column, types[k].wrap(more[k])]) for k, column in columns.items()}


def _wide(type_: Type) -> bool:
    return isinstance(type_, Int) and type_.width > 31
