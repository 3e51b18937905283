"""Numbers as the words that hardware has: integers as they are, floating-point numbers as their bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.analysis.sample_operands import operand_vectors
from compiler.bind.word_formats import number_of
from compiler.ir.evaluate import evaluate, word_type
from compiler.ir.expr import Expr, Read, apply, converted
from compiler.ir.floating import decode, to_words
from compiler.ir.types import Float, Int
from hw.dataflow.spec import Word

__all__ = ["evaluate_words", "operate_words", "word_columns"]


def word_columns(types: Sequence[Int | Float]) -> list[np.ndarray]:
    """Corners and random words of `types`, equally many of each, as Python's integers."""
    return [column.astype(object) for column in operand_vectors([word_type(type_) for type_ in types])]


def evaluate_words(value: Expr, kind: Int | Float, read: Callable[[int], tuple[Int | Float, np.ndarray]]) -> np.ndarray:
    """The words of `value` as one of type `kind`; `read`: type and words of a read."""
    found = evaluate(converted(value, kind), lambda number: _numbers(*read(number)), {}, {})
    return to_words(kind, found).astype(object) if isinstance(kind, Float) else np.asarray(kind.wrap(found))


def _numbers(kind: Int | Float, words: np.ndarray) -> np.ndarray:
    return decode(kind, words.astype(np.uint64)) if isinstance(kind, Float) else words


def operate_words(op: str, words: Sequence[Word], word: Word, arguments: Sequence[np.ndarray]) -> np.ndarray:
    """Operation `op`, or a ``cast``, on floating-point numbers: the words of its result, of `word`."""
    types = [number_of(one) for one in words]
    reads = [Read(number, type_) for number, type_ in enumerate(types)]
    value = converted(reads[0], number_of(word)) if op == "cast" else apply(op, *reads)
    return evaluate_words(value, number_of(word), lambda number: (types[number], arguments[number]))
