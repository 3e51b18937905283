"""The numbers that the hardware of an array makes: words cut and extended as its description and its modules say.

Everything comes from what is emitted: words and operators of `hw.systolic.spec`, the schedule of the number format,
which makes intermediate words as narrow as their values, and the words of the tree over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from compiler.bind.systolic.number_words import operate_words
from hw.dataflow.floating import is_floating
from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Operator, Word
from hw.ops import Kind, operation
from hw.systolic.compute import Compute
from hw.systolic.formats import find_format
from hw.systolic.spec import ArraySpec, Conversion, OperandSpec

__all__ = ["Arithmetic", "wrap_word"]

_NARROW = 32
"""Bits of words that numpy's integers hold whatever is done with them."""

_PRODUCT = 62
"""Bits of products that they hold."""


class Arithmetic:
    """Columns of numbers, one row for each example, on their way through the array `spec`."""

    def __init__(self, spec: ArraySpec):
        self._spec, self._compute = spec, Compute(spec)

    def operand(self, number: int, elements: np.ndarray) -> np.ndarray:
        """What steps get of `elements` in memory, of stream `number`: after its conversion, if it has one."""
        operand = self._spec.streams[number]
        found = from_memory(operand.in_memory.word, elements)
        return self._passed(operand, self.converted(operand.conversion, [found]))

    def _passed(self, operand: OperandSpec, value: np.ndarray) -> np.ndarray:
        """What accumulators have of a value that they start from: its bits."""
        value = wrap_word(operand.word, value)
        if not operand.initial:
            return value
        return wrap_word(self._spec.result.word, value & ((1 << operand.word.width) - 1))

    def step(self, reads: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        """The word that a step combines with its accumulator; `reads`: the operands, for every lane that it sums."""
        values = [self._run(self._compute.body, lambda n, own=own: own[n]) for own in reads]
        level = 0
        values = [wrap_word(self._compute.lane_word(0), value) for value in values]
        while len(values) > 1:
            level += 1
            word = self._compute.lane_word(level)
            values = [self._pair(word, values[k : k + 2]) for k in range(0, len(values), 2)]
        return wrap_word(self._spec.result.word, values[0])

    def _pair(self, word: Word, pair: Sequence[np.ndarray]) -> np.ndarray:
        parts = [wrap_word(word, part) for part in pair]
        return parts[0] if len(parts) == 1 else self._combine(word, *parts)

    def combined(self, total: np.ndarray, value: np.ndarray) -> np.ndarray:
        """An accumulator after a step; without accumulators what the step gives."""
        word = self._spec.result.word
        if self._spec.result.combine is None:
            return wrap_word(word, value)
        return self._combine(word, wrap_word(word, total), wrap_word(word, value))

    def _combine(self, word: Word, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert self._spec.result.combine is not None
        if word.exponent:
            return operate_words(self._spec.result.combine, (word, word), word, (a, b))
        return wrap_word(word, operation(self._spec.result.combine).evaluate(word.width, a, b))

    @cached_property
    def neutral(self) -> int:
        """What lanes beyond a bound give."""
        result = self._spec.result
        return 0 if result.combine is None else find_format(self._spec.format).neutral(result.combine, result.word)

    @cached_property
    def start(self) -> int:
        """What accumulators start from without an operand for it."""
        result = self._spec.result
        return 0 if result.combine is None else find_format(self._spec.format).start(result.combine, result.word)

    def stored(self, result: np.ndarray, extras: Sequence[np.ndarray]) -> np.ndarray:
        """What is in memory of complete results; `extras`: elements that come with them."""
        spec = self._spec
        first = len(spec.operands)
        others = [self.operand(first + k, elements) for k, elements in enumerate(extras[: len(spec.extras)])]
        found = self.converted(spec.result.conversion, [wrap_word(spec.result.word, result), *others])
        return wrap_word(spec.result.in_memory.word, found)

    def converted(self, conversion: Conversion | None, reads: Sequence[np.ndarray]) -> np.ndarray:
        """The function of an element on its way; without one the first of `reads`."""
        if conversion is None:
            return reads[0]
        return self._run(find_format(self._spec.format).schedule(conversion.body), reads.__getitem__)

    def _run(self, body: Sequence[Operator], read: Callable[[int], np.ndarray]) -> np.ndarray:
        """The value of the last operator of a scheduled body."""
        values: list[np.ndarray] = []
        for step in body:
            arguments = [values[k] for k in step.operands]
            words = [body[k].word for k in step.operands]
            match step.op:
                case _ if is_floating(step.op, (step.word, *words)):
                    value = operate_words(step.op, words, step.word, arguments)
                case "read":
                    value = read(step.value)
                case "const":
                    value = np.array([step.value], object if step.word.width > _NARROW else np.int64)
                case "cast":
                    value = arguments[0]
                case _:
                    if max(step.word.width, sum(body[k].word.width for k in step.operands)) > _PRODUCT:
                        arguments = [argument.astype(object) for argument in arguments]
                    value = operation(step.op).evaluate(_width(body, step), *arguments)
            values.append(wrap_word(step.word, np.asarray(value)))
        return values[-1]


def _width(body: Sequence[Operator], step: Operator) -> int:
    """Bits of the words that an operation works on: of the widest one that comes."""
    kinds = operation(step.op).operands
    words = [body[k].word for k in step.operands][-len(kinds):]
    return max((word.width for word, kind in zip(words, kinds, strict=True) if kind is Kind.WORD), default=1)


def from_memory(word: Word, elements: np.ndarray) -> np.ndarray:
    """The bits of a word out of elements that take as many bytes as it does."""
    size = 8 * element_bytes(word.width)
    return wrap_word(word, _wide(size, elements) & ((1 << size) - 1))


def wrap_word(word: Word, value: np.ndarray) -> np.ndarray:
    """`value` modulo 2**width, by the sign of the word."""
    low = _wide(word.width, value) & ((1 << word.width) - 1)
    return low - ((low >> (word.width - 1)) << word.width) if word.signed else low


def _wide(width: int, value: np.ndarray) -> np.ndarray:
    """`value` as Python's integers if numpy's might overflow."""
    return value.astype(object) if width > _NARROW else value
