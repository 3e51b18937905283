"""Translation validation of numbers: the words and operators of the emitted hardware against the program's statements,
on corners and random elements.

An accumulator stands for what the program has in its place, cut to the accumulator's word. That has to hold where sums
start, stay so in every step, and be enough for what the program stores in the end. Words in memory have the types of
the program's arrays. Nothing here is taken from the expressions that the hardware was described from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.bind.dataflow.expressions import word
from compiler.bind.systolic.arithmetic import Arithmetic, wrap_word
from compiler.bind.systolic.ends import first_reads, merged_reads, number_type
from compiler.bind.systolic.number_words import evaluate_words, operate_words, word_columns
from compiler.bind.systolic.plan import Plan
from compiler.bind.word_formats import number_of
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float, Int
from compiler.sched.verify import ValidationError
from hw.dataflow.spec import Word
from hw.ops import operation

__all__ = ["Meaning", "validate_numbers"]


@dataclass(frozen=True)
class Meaning:
    """What the hardware has to compute: statement `update` of `program`, whose read ``reads[k]`` operand k is, from
    what statements `starts` store, for statements `stores`. `extras`: by statement and number of a read, which extra
    it is."""

    program: Program
    update: Statement
    reads: tuple[int, ...]
    starts: tuple[Statement, ...]
    stores: tuple[Statement, ...]
    extras: Mapping[tuple[str, int], int]

    def type(self, array: str | None) -> Int | Float:
        """The type of elements of `array`."""
        return number_type(self.program.array(array or ""))

    @property
    def held(self) -> Int | Float:
        """The type of what the update writes."""
        return self.type(self.update.write.array)


def validate_numbers(plan: Plan, meaning: Meaning) -> None:
    """Raise `ValidationError` unless the words and operators of `plan` give what `meaning` says."""
    check = _Numbers(plan, meaning)
    check.words()
    check.steps()
    check.starts()
    check.idle()
    check.stored()


class _Numbers:
    def __init__(self, plan: Plan, meaning: Meaning):
        self._plan, self._spec, self._kernel, self._meaning = plan, plan.spec, plan.kernel, meaning
        self._hardware = Arithmetic(plan.spec)

    def _fail(self, problem: str) -> None:
        raise ValidationError(f"array {self._spec.name}: {problem}")

    # Words.

    def words(self) -> None:
        """Words in memory are elements of the arrays, accumulators have a type that the program has for sums."""
        spec, kernel, meaning = self._spec, self._kernel, self._meaning
        for operand, source in zip(spec.streams, self._plan.sources, strict=True):
            reference = source.reference
            kind = reference.type if reference.array is None else meaning.type(reference.array)
            if operand.in_memory.word != _word(kind):
                self._fail(f"operand {operand.name} has words {_named(operand.in_memory.word)}, the program's elements "
                           f"are {kind}")
            if operand.initial and operand.word != spec.result.word:
                self._fail(f"accumulators of {_named(spec.result.word)} start from words {_named(operand.word)}")
        out = meaning.type(kernel.output)
        sums = {_word(meaning.held), _word(out)}
        if spec.result.word not in sums:
            self._fail(f"accumulators have words {_named(spec.result.word)}, the program's sums are {meaning.held}")
        kept = sums if spec.result.conversion is None else {_word(out)}
        if spec.result.in_memory.word not in kept:
            self._fail(f"results have words {_named(spec.result.in_memory.word)}, elements of '{kernel.output}' are "
                       f"{out}")

    # Steps.

    def steps(self) -> None:
        """A step does to accumulators what the update does, once for every lane that it sums."""
        spec, meaning = self._spec, self._meaning
        update = meaning.update
        kinds = [meaning.type(access.array) for access in update.reads]
        vectors = word_columns(kinds) if kinds else [np.zeros(1, object)]
        reduction = self._kernel.analysis.reductions.get(update.name)
        if reduction is not None:
            total = first_reads(update)[reduction.read]
            vectors[total] = self._sums(vectors[total])
        lanes = 1 if spec.result.vector else spec.lanes
        for shift in range(1 + (lanes > 1)):
            own = [[np.roll(vector, shift * lane) for vector in vectors] for lane in range(lanes)]
            self._step(own)
        sums = self._examples(meaning.held)
        if spec.result.combine is not None and (
                self._hardware.combined(sums, np.array([self._hardware.neutral])) != self._cut(sums)).any():
            self._fail(f"{self._hardware.neutral} is no start of sums with {spec.result.combine}")

    def _step(self, lanes: Sequence[Sequence[np.ndarray]]) -> None:
        """`lanes`: for each lane what the update reads."""
        meaning = self._meaning
        update, firsts = meaning.update, first_reads(meaning.update)
        reduction = self._kernel.analysis.reductions.get(update.name)
        total = lanes[0][firsts[reduction.read]] if reduction else np.zeros(1, object)

        def updated(sums: np.ndarray, vectors: Sequence[np.ndarray]) -> np.ndarray:
            own = None if reduction is None else firsts[reduction.read]
            return self._evaluated(update, [sums if first == own else vectors[first] for first in firsts])

        if self._kernel.reassociated and len(lanes) > 1:
            nothing = np.full(len(total), self._hardware.neutral, object)
            expected = self._combined(meaning.held, total, self._tree([updated(nothing, v) for v in lanes]))
        else:
            expected = total
            for vectors in lanes:
                expected = updated(expected, vectors)
        reads = [[self._hardware.operand(k, vectors[firsts[number]]) for k, number in enumerate(meaning.reads)]
                 for vectors in lanes]
        found = self._hardware.combined(total, self._hardware.step(reads))
        if (found != self._cut(expected)).any():
            self._fail(f"its operators do not compute what {update} does")

    def _tree(self, terms: Sequence[np.ndarray]) -> np.ndarray:
        """The sum of terms, neighbours first."""
        while len(terms) > 1:
            pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
            terms = [pair[0] if len(pair) == 1 else self._combined(self._meaning.held, *pair) for pair in pairs]
        return terms[0]

    def _cut(self, sums: np.ndarray) -> np.ndarray:
        """The accumulator for what the program has in its place."""
        return wrap_word(self._spec.result.word, sums)

    def _sums(self, words: np.ndarray) -> np.ndarray:
        """`words` as accumulators have them: one word for what is no number."""
        held = self._meaning.held
        if not isinstance(held, Float):
            return words
        missing = (words & (1 << held.width - 1) - 1) > held.infinity
        return np.where(missing, held.infinity | 1 << held.mantissa - 1, words)

    def _examples(self, kind: Int | Float) -> np.ndarray:
        """Words of `kind`, of floating-point numbers those of numbers: there is one result that is none."""
        words = word_columns([kind])[0]
        if isinstance(kind, Float):
            words = words[(words & (1 << kind.width - 1) - 1) <= kind.infinity]
        return words

    def _evaluated(self, statement: Statement, reads: Sequence[np.ndarray]) -> np.ndarray:
        """The words that `statement` stores of words `reads`."""
        kinds = [self._meaning.type(access.array) for access in statement.reads]
        return evaluate_words(statement.value, self._meaning.type(statement.write.array),
                              lambda number: (kinds[number], reads[number]))

    # Starts.

    def starts(self) -> None:
        """Accumulators start from the function of an element that the program computes."""
        meaning = self._meaning
        for statement in meaning.starts:
            start = merged_reads(statement)
            if any(name == start.name for name, _ in meaning.extras):
                continue
            if not start.reads:
                self._constant(start)
                continue
            vectors = word_columns([meaning.type(a.array) for a in start.reads])
            expected = self._evaluated(start, vectors)
            if (self._first(vectors[0]) != self._cut(expected)).any():
                self._fail(f"it does not start sums from what {start} computes")

    def idle(self) -> None:
        """Rows that get no initial values of their own start from what changes nothing."""
        spec = self._spec
        if spec.result.space == "both" and any(operand.initial for operand in spec.operands) and (
                self._first(np.array([self._plan.idle])) != self._hardware.neutral).any():
            self._fail("rows without initial values start from something else than what changes nothing")

    def _constant(self, start: Statement) -> None:
        """Accumulators start from the number that `start` stores."""
        initial = self._kernel.initial
        if initial is not None and initial.array is not None:
            return
        expected = self._cut(self._evaluated(start, []))
        found = self._hardware.start if initial is None else self._first(np.array([initial.constant]))
        if (found != expected).any():
            self._fail(f"it does not start sums from what {start} computes")

    def _first(self, elements: np.ndarray) -> np.ndarray:
        """What accumulators start from, for elements in memory."""
        number = next(k for k, operand in enumerate(self._spec.operands) if operand.initial)
        return self._hardware.operand(number, elements)

    # Stores.

    def stored(self) -> None:
        """What the program stores of a result, combined with what the hardware does not start it from, is what the
        hardware stores of the sum: for all extras, and for what the hardware starts sums from although the program adds
        it in the end."""
        kernel, meaning = self._kernel, self._meaning
        held, kind = meaning.held, meaning.type(kernel.output)
        elements = [*kernel.extras, *([] if kernel.initial is None else [kernel.initial])]
        types = [held, *(e.type if e.array is None else meaning.type(e.array) for e in elements)]
        sums, *others = word_columns(types)
        total = sums
        for start in meaning.starts:
            if any(name == start.name for name, _ in meaning.extras):
                total = self._combined(held, self._stored(start, total, others), total)
        found, expected = self._cut(sums), total
        for copy in meaning.stores:
            expected = self._stored(copy, total, others)
            if self._adds(copy):
                found = self._hardware.combined(self._first(others[-1]), found)
        found = self._hardware.stored(found, others)
        if (_cut_to(kind, found) != _cut_to(kind, expected)).any():
            self._fail(f"it does not store of results what {(*meaning.stores, meaning.update)[0]} does")

    def _adds(self, copy: Statement) -> bool:
        """Whether `copy` adds something that accumulators start from."""
        meaning = self._meaning
        return self._spec.result.combine is not None and any(
            access.array != meaning.update.write.array and (copy.name, k) not in meaning.extras
            for k, access in enumerate(copy.reads))

    def _combined(self, kind: Int | Float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Two sums of the program."""
        reduction = self._kernel.analysis.reductions[self._meaning.update.name]
        return combine(reduction.op, kind, first, second)

    def _stored(self, statement: Statement, total: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
        """What it stores for results `total`, extras and then an initial value `others`."""
        meaning = self._meaning

        def read(number: int) -> np.ndarray:
            if statement.reads[number].array == meaning.update.write.array:
                return total
            return others[meaning.extras.get((statement.name, number), len(others) - 1)]

        return self._evaluated(statement, [read(number) for number in range(len(statement.reads))])


def combine(op: str, kind: Int | Float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The words of ``first op second``, wrapped."""
    if isinstance(kind, Float):
        return operate_words(op, [_word(kind)] * 2, _word(kind), (first, second))
    return kind.wrap(operation(op).evaluate(kind.width, first, second))


def _cut_to(kind: Int | Float, words: np.ndarray) -> np.ndarray:
    return words if isinstance(kind, Float) else kind.wrap(words)


def _word(kind: Int | Float) -> Word:
    return word(kind, "the array")


def _named(found: Word) -> str:
    return str(number_of(found))
