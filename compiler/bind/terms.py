"""Values of a design's words as terms: constants, what is not known further, operations on terms."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from compiler.bind.word_formats import contains_all, holds, type_of
from hw.dataflow.floating import is_floating
from hw.ops import operation
from hw.pipeline.spec import OperatorCell, Word

__all__ = ["Simplified", "Term", "Terms", "simplified"]


@dataclass(frozen=True, eq=False)
class Term:
    """What a value is, an integer, made by `Terms`: the same term is the same number. `word`: a format that holds
    it."""

    what: tuple[Hashable, ...]
    word: Word

    @property
    def number(self) -> int | None:
        """The number, if it is known."""
        kind, *value = self.what
        return value[0] if kind == "constant" and isinstance(value[0], int) else None


class Terms:
    """All terms, each of them once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, ...], Term] = {}

    def constant(self, value: int, word: Word) -> Term:
        """A number that `word` holds."""
        return self.term(("constant", value), word)

    def term(self, what: tuple[Hashable, ...], word: Word) -> Term:
        """The term that `what` is: its kind, and numbers and terms that it depends on."""
        return self._known.setdefault(what, Term(what, word))


class Simplified(NamedTuple):
    """What an operator computes, and the numbers of the operands that it depends on."""

    term: Term
    used: Sequence[int]


def simplified(made: Terms, cell: OperatorCell, terms: Sequence[Term | None]) -> Simplified | None:
    """The result of an operator, of operands that may be unknown (None); None if it is not known."""
    floating = is_floating(cell.op, (cell.word, *cell.words))
    if cell.op == "select":
        return _selected(made, cell, terms)
    if cell.op == "lut3" and (found := _looked_up(made, terms)) is not None:
        return found
    if not floating and (found := _neutral(made, cell, terms)) is not None:
        return found
    if any(term is None for term in terms):
        return None
    given = [term for term in terms if term is not None]
    numbers = [term.number for term in given]
    every = range(len(terms))
    if cell.op == "cast" and not floating and _fits(given[0], cell.word):
        return Simplified(given[0], every)
    if cell.op != "table" and not floating and None not in numbers:
        return Simplified(made.constant(_computed(cell, [n for n in numbers if n is not None]), cell.word), every)
    return Simplified(made.term((cell.op, cell.words, cell.word, cell.value, *given), cell.word), every)


def _fits(term: Term, word: Word) -> bool:
    """Whether a word holds a term."""
    number = term.number
    return contains_all(word, term.word) if number is None else holds(word, number, number)


def _selected(made: Terms, cell: OperatorCell, terms: Sequence[Term | None]) -> Simplified | None:
    condition, *values = terms
    number = condition and condition.number
    if number is not None:
        chosen = 0 if number else 1
        term = values[chosen]
        return Simplified(term, (0, 1 + chosen)) if term is not None and _fits(term, cell.word) else None
    same = values[0] is not None and values[0] == values[1] and _fits(values[0], cell.word)
    if same and values[0] is not None:
        return Simplified(values[0], (1, 2))
    if condition is None or values[0] is None or values[1] is None:
        return None
    return Simplified(made.term(("select", cell.words, cell.word, condition, *values), cell.word), (0, 1, 2))


def _looked_up(made: Terms, terms: Sequence[Term | None]) -> Simplified | None:
    """A truth table, some of whose bits may be unknown."""
    table, *bits = terms
    if table is None or table.number is None:
        return None
    known = [bit and bit.number for bit in bits]
    choices = [(0, 1) if number is None else (number & 1,) for number in known]
    results = {table.number >> (p + 2 * q + 4 * r) & 1 for p, q, r in product(*choices)}
    used = [0, *(1 + k for k, number in enumerate(known) if number is not None)]
    return Simplified(made.constant(results.pop(), Word(1, False)), used) if len(results) == 1 else None


_ZERO_WINS = ("and", "mul")
_ZERO_ADDS_NOTHING = ("add", "sub", "or", "xor")


def _neutral(made: Terms, cell: OperatorCell, terms: Sequence[Term | None]) -> Simplified | None:
    """A product with zero, or a sum with zero."""
    for place, term in enumerate(terms):
        if term is None or term.number != 0:
            continue
        if cell.op in _ZERO_WINS:
            return Simplified(made.constant(0, cell.word), (place,))
        other = terms[1 - place] if len(terms) == 2 else None
        if cell.op in _ZERO_ADDS_NOTHING and other is not None and _fits(other, cell.word) and \
                (place == 1 or cell.op != "sub"):
            return Simplified(other, (0, 1))
    return None


def _computed(cell: OperatorCell, numbers: Sequence[int]) -> int:
    """The result for numbers."""
    if cell.op == "cast":
        return int(type_of(cell.word).wrap(numbers[0]))
    width = 1 if cell.op == "lut3" else max(word.width for word in cell.words)
    [result] = operation(cell.op).evaluate(width, *(np.array([number], object) for number in numbers))
    return int(type_of(cell.word).wrap(int(result)))
