"""Whether a program on arrays of words computes what the one on wide arrays does."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import islpy as isl
import numpy as np

from compiler.analysis.dependences import flow
from compiler.analysis.points import some_points
from compiler.analysis.sample_operands import VECTORS, operand_vectors, wrap_lookups
from compiler.ir.evaluate import TableIndexError, evaluate
from compiler.ir.expr import Read
from compiler.ir.program import Access, Program, Statement
from compiler.ir.types import Int, Type
from compiler.passes.arrays.split_arrays import SplitArrays
from compiler.sched.verify.errors import ValidationError
from compiler.sched.verify.samples import SampleWords

__all__ = ["check_word_arrays"]


def check_word_arrays(words: SplitArrays) -> None:
    """Raise `ValidationError` unless every statement computes the words of the value that it had, of elements that hold
    those of the same instances: accesses and flow are compared exactly, values on vectors."""
    before, after = words.before, words.after
    names = sorted([*chain.from_iterable(words.statements[s.name] for s in before.statements), *words.kept.values()])
    if names != sorted(s.name for s in after.statements) or before.tables != after.tables:
        raise ValidationError(f"program '{before.name}' on words has other statements")
    for old in before.statements:
        parts = [_computed(words, name) for name in words.statements[old.name]]
        written = words.halves.get(old.write.array, (old.write.array,))
        if [part.write.array for part in parts] != list(written):
            raise ValidationError(f"{old} writes other arrays on words")
        for part in parts:
            _check_accesses(words, old, part)
        _check_values(words, old, parts)
    _check_flow(words)


def _computed(words: SplitArrays, name: str) -> Statement:
    """A statement; one that copies what has waited, with the value and the reads of what computed that."""
    copy = words.after.statement(name)
    if name not in words.kept:
        return copy
    source = words.after.statement(words.kept[name])
    same = isl.Map.identity(source.domain.get_space().map_from_set()).set_tuple_name(isl.dim_type.in_, name)
    seen = {d.source: d.relation for d in flow(words.after) if d.sink == name}
    alone = seen.keys() == {source.name} and seen[source.name].is_equal(same.intersect_domain(copy.domain))
    if not alone or copy.value != Read(0, source.value.type) or len(copy.reads) != 1:
        raise ValidationError(f"{copy} is no copy of what {source} computes")
    reads = tuple(replace(read, map=read.map.set_tuple_name(isl.dim_type.in_, name)) for read in source.reads)
    return replace(copy, reads=reads, value=source.value)


def _half(words: SplitArrays, array: str) -> tuple[str, int | None]:
    """The array whose elements an array of `after` has, and which half, None for whole ones."""
    for name, halves in words.halves.items():
        if array in halves:
            return name, halves.index(array)
    return array, None


def _renamed(access: Access, statement: str, array: str) -> isl.Map:
    return access.map.set_tuple_name(isl.dim_type.in_, statement).set_tuple_name(isl.dim_type.out, array)


def _origin(words: SplitArrays, old: Statement, access: Access) -> int | None:
    """The read of the old statement whose element, or half of it, an access has."""
    array, _ = _half(words, access.array)
    relation = _renamed(access, old.name, array)
    return next((k for k, read in enumerate(old.reads) if read.array == array and read.map.is_equal(relation)), None)


def _check_accesses(words: SplitArrays, old: Statement, new: Statement) -> None:
    array, _ = _half(words, new.write.array)
    same = _renamed(new.write, old.name, array).is_equal(old.write.map) and array == old.write.array
    if not same or not new.domain.set_tuple_name(old.name).is_equal(old.domain):
        raise ValidationError(f"{new} writes other elements than {old}, or has other instances")
    strange = next((read for read in new.reads if _origin(words, old, read) is None), None)
    if strange is not None:
        raise ValidationError(f"{new} reads '{strange.array}' where {old} does not")


def _whole(words: SplitArrays, old: Statement, columns: list[np.ndarray], points: np.ndarray
           ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Operands and points without those that are outside of a memory, and the value of `old`. Raises
    `ValidationError` if all are."""
    types = [_integer(words.before, read) for read in old.reads]
    value, tables = wrap_lookups(old.value, words.before.tables)
    memories = SampleWords(words.before)
    while len(points):
        operands = [_held(column, type) for column, type in zip(columns, types, strict=True)]
        try:
            return columns, points, evaluate(value, operands.__getitem__, _steps(old, points), tables, memories)
        except TableIndexError as error:
            columns = [np.delete(column, error.positions) for column in columns]
            points = np.delete(points, error.positions, axis=0)
    raise ValidationError(f"{old}: no operands stay within its memories")


def _steps(statement: Statement, points: np.ndarray) -> dict[str, np.ndarray]:
    return {name: points[:, k] for k, name in enumerate(statement.iterators)}


def _check_values(words: SplitArrays, old: Statement, parts: list[Statement]) -> None:
    """Every part has its half of the value, on vectors of operands."""
    types = [_integer(words.before, read) for read in old.reads]
    columns = operand_vectors(types)
    points = some_points(old.domain, max((len(column) for column in columns), default=VECTORS))
    mask = (1 << words.width) - 1
    columns, points, whole = _whole(words, old, columns, points)
    steps, tables = _steps(old, points), wrap_lookups(old.value, words.before.tables)[1]
    for number, part in enumerate(parts):
        operands = []
        for read in part.reads:
            origin, (_, half) = _origin(words, old, read), _half(words, read.array)
            assert origin is not None
            column = columns[origin]
            operands.append(column if half is None else (column >> (half * words.width)) & mask)
        found = evaluate(wrap_lookups(part.value, words.after.tables)[0], operands.__getitem__, steps, tables,
                         SampleWords(words.after))
        wanted = np.asarray(whole, dtype=object)
        wanted = wanted if len(parts) == 1 else (wanted >> (number * words.width)) & mask
        wanted, found = np.broadcast_arrays(wanted, np.asarray(found, dtype=object))
        if (wanted != found).any():
            at = int(np.argmax(wanted != found))
            raise ValidationError(f"{part} computes {found[at]} where {old} has {wanted[at]}")


def _held(column: np.ndarray, type_: Int) -> np.ndarray:
    return column if type_.width <= 31 else column.astype(object)


def _integer(program: Program, access: Access) -> Int:
    type_: Type = program.array(access.array).type
    if not isinstance(type_, Int):
        raise ValidationError(f"array '{access.array}' holds {type_}, which has no words")
    return type_


def _check_flow(words: SplitArrays) -> None:
    """Every read sees values of the same instances."""
    wanted = {(d.sink, d.read, d.source): d.relation for d in flow(words.before)}
    back = {part: name for name, parts in words.statements.items() for part in parts}
    back |= {source: back[copy] for copy, source in words.kept.items()}
    for new in (s for s in words.after.statements if s.name not in words.kept):
        old = words.before.statement(back[new.name])
        for number, read in enumerate(new.reads):
            origin = _origin(words, old, read)
            assert origin is not None
            mine = {back[d.source]: d.relation for d in flow(words.after) if (d.sink, d.read) == (new.name, number)}
            theirs = {source: r for (sink, k, source), r in wanted.items() if (sink, k) == (old.name, origin)}
            same = mine.keys() == theirs.keys() and all(
                relation.set_tuple_name(isl.dim_type.in_, old.name).set_tuple_name(isl.dim_type.out, source)
                .is_equal(theirs[source]) for source, relation in mine.items())
            if not same:
                raise ValidationError(f"{new} sees values of '{read.array}' of other instances than {old} does")
