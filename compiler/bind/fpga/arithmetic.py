"""Whether the operators of a pipeline compute a statement's expression: compared on corner and random operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compiler.analysis.instance_budget import count_instances
from compiler.analysis.points import some_points
from compiler.analysis.sample_operands import UnknownMemories, mixed, operand_columns, repeat_entries, wrap_lookups
from compiler.bind.fpga.fanin import Leaf, resolved
from compiler.bind.fpga.formats import tapped_word
from compiler.bind.word_formats import contains_all, number_of, type_of
from compiler.ir.evaluate import evaluate, storage
from compiler.ir.expr import Apply, Cast, Read
from compiler.ir.floating import from_words, to_words
from compiler.ir.points import contains
from compiler.ir.program import Program, Statement
from compiler.ir.types import BIT, Float, Type
from compiler.sched.verify import ValidationError
from hw.dataflow.floating import is_floating
from hw.ops import operation
from hw.pipeline.spec import ComputedCell, ConstantCell, OperatorCell, PipelineSpec, StoreCell, Word, operand_delays

__all__ = ["check_arithmetic", "compute_floats"]

_ITERATIONS = 256
"""Instances that are tried of a statement without reads."""


def check_arithmetic(program: Program, statement: Statement, spec: PipelineSpec, root: int,
                     operands: Mapping[Leaf, int | str], same: Sequence[int]) -> None:
    """Raise `ValidationError` if cell `root` is not the value of `statement`.

    `operands`: which read (a number) or iterator (a name) each leaf is. ``same[k]``: the first read that always sees
    the same value as read k.
    """
    if not isinstance(spec.cells[root], ComputedCell):
        return
    reads, iterators = _operands(program, statement, same)
    types = [program.array(read.array).type for read in statement.reads]
    words = [_words(type_, column) for type_, column in zip(types, reads, strict=True)]
    values = {leaf: _counted(spec.cells[leaf.cell].word, iterators[what]) if isinstance(what, str) else words[what]
              for leaf, what in operands.items()}
    value, tables = wrap_lookups(statement.value, program.tables)
    meant = evaluate(value, lambda k: reads[k], iterators, tables, UnknownMemories(program))
    actual = _Machine(spec, values, {leaf.cell: "" for leaf in values}).value(Leaf(root, 0))
    wrong = np.flatnonzero(np.asarray(_words(statement.value.type, meant) != actual))
    if len(wrong):
        given = ", ".join(str(column[wrong[0] % len(column)]) for column in reads)
        raise ValidationError(f"{statement}: the operators compute another value from ({given}) than the expression")


def _operands(program: Program, statement: Statement,
              same: Sequence[int]) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Columns of values for the reads, and for the iterators of instances, half of them without a closed guard. Where
    one leaves open what a read delivers, that is something else than what another one does."""
    types = [program.array(read.array).type for read in statement.reads]
    asked = [statement.domain.intersect(read.map.domain()) for read in statement.reads]
    columns = operand_columns(types)
    count = len(columns[0]) if columns else _ITERATIONS
    smallest = min(asked, key=count_instances, default=statement.domain)
    points = np.concatenate([some_points(part, count // 2 + 1) for part in (smallest, statement.domain)])
    points = np.random.default_rng(0).permutation(points)[:count]
    iterators = {name: points[:, k] for k, name in enumerate(statement.iterators)}
    reads = []
    for k, type_ in enumerate(types):
        open_ = asked[k].is_equal(statement.domain) or contains(asked[k], list(points.T), count)
        reads.append(np.where(open_, columns[same[k]], columns[k]).astype(storage(type_)))
    return reads, iterators


def _counted(word: Word, values: np.ndarray) -> np.ndarray:
    """Values of an iterator as the word of a counter has them."""
    return np.asarray(type_of(word).wrap(values))


def _words(type_: Type, values: np.ndarray) -> np.ndarray:
    """Values as the bits that cells have; integers as they are."""
    return to_words(type_, values).astype(object) if isinstance(type_, Float) else values


class _Machine:
    """Values of cells by what `hw.pipeline.spec` says about them. `values` are those of the leaves, whose cells are the
    keys of `carries`."""

    def __init__(self, spec: PipelineSpec, values: Mapping[Leaf, np.ndarray], carries: Mapping[int, str]):
        self.spec, self.carries = spec, carries
        self._known: dict[Leaf, np.ndarray] = dict(values)

    def value(self, place: Leaf) -> np.ndarray:
        """The value of a cell, some cycles before the result."""
        pending = [place]
        while pending:
            top = pending[-1]
            missing = [leaf for leaf in self._operands(top) if leaf not in self._known]
            if top in self._known or not missing:
                self._known[top] = self._known[top] if top in self._known else self._new(top)
                pending.pop()
            else:
                pending += missing
        return self._known[place]

    def _operands(self, place: Leaf) -> list[Leaf]:
        cell = self.spec.cells[place.cell]
        if not isinstance(cell, ComputedCell):
            return []
        taps = [resolved(self.spec, tap, self.carries) for tap in cell.operands]
        return [Leaf(tap.cell, place.cycles + tap.cycles + delay)
                for tap, delay in zip(taps, operand_delays(cell), strict=True)]

    def _new(self, place: Leaf) -> np.ndarray:
        cell = self.spec.cells[place.cell]
        if isinstance(cell, ConstantCell):
            return np.array([cell.value], object)
        assert isinstance(cell, ComputedCell)
        arguments = [self._known[leaf] for leaf in self._operands(place)]
        return np.asarray(type_of(cell.word).wrap(self._result(cell, arguments)))

    def _result(self, cell: ComputedCell, arguments: list[np.ndarray]) -> np.ndarray:
        if not isinstance(cell, OperatorCell):
            return mixed(cell.memory, isinstance(cell, StoreCell), arguments)
        if is_floating(cell.op, (cell.word, *cell.words)):
            return compute_floats(cell, arguments)
        if cell.op == "cast":
            return arguments[0].astype(object)
        if cell.op == "table":
            table = np.array(repeat_entries(self.spec.tables[cell.value]), object)
            return table[(arguments[0] & (len(table) - 1)).astype(np.int64)]
        self._check_width(cell)
        width = 1 if cell.op == "lut3" else max(word.width for word in cell.words)
        return operation(cell.op).evaluate(width, *(a.astype(object) for a in arguments))

    def _check_width(self, cell: OperatorCell) -> None:
        """An operand's declared type holds all values of what it is taken from."""
        for tap, word in zip(cell.operands, cell.words, strict=True):
            given = tapped_word(self.spec, tap)
            if not contains_all(word, given):
                raise ValidationError(f"operator '{cell.op}' takes {type_of(given)} as {type_of(word)}")


def compute_floats(cell: OperatorCell, arguments: Sequence[np.ndarray]) -> np.ndarray:
    """The bits of an operation on floating-point numbers, by the interpreter's meaning of it."""
    types = [number_of(word) for word in cell.words]
    values = [from_words(type_, np.asarray(column)).astype(storage(type_))
              for type_, column in zip(types, arguments, strict=True)]
    parts = tuple(Read(k, type_) for k, type_ in enumerate(types))
    type_ = BIT if cell.word.width == 1 else number_of(cell.word)
    value = Cast(parts[0], type_) if cell.op == "cast" else Apply(cell.op, parts, type_)
    return _words(type_, evaluate(value, values.__getitem__, {}, {})).astype(object)
