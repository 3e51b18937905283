"""Statements in the turns of a loop that carries values between them: which need each other, and what from where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from compiler.analysis.boxes import bounds, box_of
from compiler.bind.vector.accumulations import accumulation_of
from compiler.bind.vector.statement_order import is_scan
from compiler.bind.vector.statement_precedence import before, carries, orderings, touching
from compiler.ir.expr import Store
from compiler.ir.program import Access, Array, Program, Statement

__all__ = ["in_time", "meet_in_some", "needs_itself", "read_from_others", "split_by_order", "split_by_sources",
           "unwritten_arrays"]

MOST_SPLITS = 3
"""Times that the first and the last instances are split off of those that have to come in some order."""


def in_time(program: Program, statements: Sequence[Statement]) -> list[Statement]:
    """Statements of one instance each, in order."""
    def time(statement: Statement) -> tuple[int, ...]:
        point = program.order_of(statement.name).intersect_domain(statement.domain).range()
        return tuple(low for low, _ in bounds(point))

    return sorted(statements, key=time)


def meet_in_some(program: Program, first: Statement, second: Statement, agree: isl.Map, times: isl.Set) -> bool:
    """Whether in some turns at `times`, but not in all, instances of two statements touch the same element, which one
    of both writes: computed at once they are not alike in these turns."""
    if not _share_written(first, second):
        return False
    order = program.order_of(second.name)
    own = second.domain.apply(order).intersect(times)
    meets = [pair.range().apply(order).intersect(times) for pair in orderings(program, first, second, agree)]
    met = reduce(isl.Set.union, meets, isl.Set.empty(own.get_space()))
    return not met.is_empty() and not own.is_subset(met.apply(agree))


def _share_written(first: Statement, second: Statement) -> bool:
    """Whether an array that one of two statements writes is one of the other."""
    return first.write.array in {second.write.array, *(read.array for read in second.reads)} or \
        second.write.array in {read.array for read in first.reads}


def needs_itself(program: Program, statement: Statement, agree: isl.Map | None) -> bool:
    """Whether some instance needs another's result, or replaces it, other than in an accumulation, a scan of all
    iterations, or stores, which are done in their order at once."""
    if isinstance(statement.value, Store) or (agree is None and is_scan(program, statement)):
        return False
    return carries(program, statement, agree)


def split_by_sources(program: Program, statements: Sequence[Statement], agree: isl.Map) -> list[Statement]:
    """Each statement in two parts, if there are two: instances that read nothing but what instances that do not agree
    with them have written, and the others. What is accumulated does not count."""
    found: list[Statement] = []
    for statement in statements:
        far = read_from_others(program, statements, statement, agree)
        near = statement.domain.subtract(far).coalesce()
        found += [replace(statement, domain=part) for part in (far, near) if not part.is_empty()]
    return found


def split_by_order(program: Program, statement: Statement, agree: isl.Map) -> list[Statement]:
    """A statement of which instances that agree have to come before others, in parts of which none has such instances:
    those that nothing has to come before, those that have to come before nothing, and in between the same of what is
    left. The statement as it is if there are no such parts, or if all that it needs is accumulated."""
    found = _ordered_parts(program, statement, agree, MOST_SPLITS) if carries(program, statement, agree) else None
    if found is None:
        return [statement]
    pieces = [piece for part in found for piece in part.make_disjoint().get_basic_sets()]
    if any(piece.dim(isl.dim_type.div) for piece in pieces):  # every other instance, say: no box around them is full
        return [statement]
    return [replace(statement, domain=isl.Set.from_basic_set(piece)) for piece in pieces]


def _ordered_parts(program: Program, statement: Statement, agree: isl.Map, splits: int) -> list[isl.Set] | None:
    """The domains of these parts; None if that takes more than so many splits."""
    empty = isl.Set.empty(statement.domain.get_space())
    pairs = list(orderings(program, statement, statement, agree))
    first = reduce(isl.Set.union, (pair.domain() for pair in pairs), empty)
    later = reduce(isl.Set.union, (pair.range() for pair in pairs), empty)
    if first.is_empty():
        return [statement.domain]
    middle = first.intersect(later).coalesce()
    ends = [statement.domain.subtract(later).coalesce(), later.subtract(first).coalesce()]
    if not splits or all(end.is_empty() for end in ends):
        return None
    inner = [] if middle.is_empty() else \
        _ordered_parts(program, replace(statement, domain=middle), agree, splits - 1)
    return None if inner is None else [part for part in (ends[0], *inner, ends[1]) if not part.is_empty()]


def read_from_others(program: Program, sources: Sequence[Statement], statement: Statement, agree: isl.Map) -> isl.Set:
    """The instances of a statement that read nothing but what instances of `sources` that do not agree with them have
    written. What is accumulated does not count."""
    own = accumulation_of(program, statement)
    reads = [read for n, read in enumerate(statement.reads) if own is None or n != own.read]
    near = isl.Set.empty(statement.domain.get_space())
    for other in sources:
        for read in reads:
            near = near.union(_fed(program, other, statement, read, agree))
    return statement.domain.subtract(near).coalesce()


def _fed(program: Program, source: Statement, sink: Statement, read: Access, agree: isl.Map) -> isl.Set:
    """Instances of a statement that read what agreeing instances of another write before them."""
    if source.write.array != read.array:
        return isl.Set.empty(sink.domain.get_space())
    return touching(source, source.write, sink, read).intersect(before(program, source, sink, agree)).range()


def unwritten_arrays(program: Program) -> list[str]:
    """Arrays of which elements are read, or come out, that no statement has written: they are zeros."""
    known = {array.name for array in program.inputs}
    found = {array.name for array in program.outputs if not _covered(program, array)}
    for statement in program.statements:
        for read in statement.reads:
            if read.array not in known and not _is_fed(program, statement, read):
                found.add(read.array)
    return sorted(found)


def _covered(program: Program, array: Array) -> bool:
    """Whether every element of an array is written."""
    writes = [s.write.map.intersect_domain(s.domain).range() for s in program.statements if s.write.array == array.name]
    if not writes:
        return False
    elements = box_of(writes[0].get_space(), [(0, extent - 1) for extent in array.shape])
    for written in writes:
        elements = elements.subtract(written)
    return elements.is_empty()


def _is_fed(program: Program, statement: Statement, read: Access) -> bool:
    """Whether what an access reads has always been written before."""
    rest = statement.domain
    for source in program.statements:
        if source.write.array == read.array:
            pairs = touching(source, source.write, statement, read)
            rest = rest.subtract(pairs.intersect(before(program, source, statement)).range())
    return rest.is_empty()
