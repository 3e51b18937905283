"""The numbers that words of the hardware stand for."""

from __future__ import annotations

from compiler.ir.types import Float, Int
from hw.dataflow.spec import Word

__all__ = ["contains_all", "holds", "number_of", "type_of"]


def type_of(word: Word) -> Int:
    """The integers that a word has, or those of its bits."""
    return Int(word.width, word.signed)


def number_of(word: Word) -> Int | Float:
    """The numbers that a word has."""
    return Float(word.exponent, word.width - 1 - word.exponent) if word.exponent else type_of(word)


def holds(word: Word, low: int, high: int) -> bool:
    """Whether a word can have all values from `low` to `high`."""
    return type_of(word).contains(low) and type_of(word).contains(high)


def contains_all(word: Word, other: Word) -> bool:
    """Whether a word can have every value of another."""
    if word.exponent or other.exponent:
        return word == other
    return holds(word, type_of(other).minimum, type_of(other).maximum)
