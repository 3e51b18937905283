"""What a statement's expression is on operand vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.ir.evaluate import TableIndexError, evaluate
from compiler.ir.floating import decode, to_words
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float, Int, Type
from compiler.sched.verify import ValidationError
from compiler.sched.verify.samples import SampleWords

__all__ = ["expected_values"]


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


def _wide(type_: Type) -> bool:
    return isinstance(type_, Int) and type_.width > 31
