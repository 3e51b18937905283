"""Ways of writing sums that come to the same: partial sums in an array of their own, a first term before the loop."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import islpy as isl

from compiler.analysis.affine import maps
from compiler.analysis.dependences import Dependence, flow
from compiler.ir.expr import Const, Expr, Read, converted, postorder, renumbered
from compiler.ir.program import Access, Program, Statement
from compiler.ir.types import Int
from compiler.passes.recurrence.shorten_recurrences import Reduction, neutral, reduction
from compiler.sched.space_time.reuse import subscripts

__all__ = ["plain_accumulations", "same_flows", "same_sums"]

_Relations = dict[tuple[str, int, str], isl.Map]
"""{reader -> writer} by reading statement, number of its read, and writing statement."""


def plain_accumulations(program: Program) -> Program:
    """`program` whose accumulations are ``x = neutral; for … x = x op e`` where they were

    * ``x[0] = …; for k … x[k + 1] = x[k] op e``, with an intermediate array that has a dimension for partial results;
    * ``x = e at k = 0; for k > 0 … x = x op e``, in one loop or before it.

    Same outputs for the same inputs.
    """
    return _with_first_terms(_contracted(program))


# Dimensions for partial results.


def _contracted(program: Program) -> Program:
    """Intermediate arrays without dimensions along which a statement reads one element and writes another, where no
    value is lost."""
    for statement in program.statements:
        array = program.array(statement.write.array)
        for access in statement.reads if array.role == "intermediate" else ():
            if access.array != array.name:
                continue
            pairs = zip(subscripts(statement, access), subscripts(statement, statement.write), strict=True)
            for dimension in reversed([d for d, (read, written) in enumerate(pairs) if read != written]):
                candidate = _without_dimension(program, array.name, dimension)
                if _same(_flows(candidate), _flows(program)):
                    return _contracted(candidate)
    return program


def _same(found: _Relations, wanted: _Relations) -> bool:
    return found.keys() == wanted.keys() and all(relation.is_equal(wanted[key]) for key, relation in found.items())


def _flows(program: Program) -> _Relations:
    return {(d.sink, d.read, d.source): d.relation for d in flow(program)}


def _without_dimension(program: Program, name: str, dimension: int) -> Program:
    def smaller(access: Access) -> Access:
        if access.array != name:
            return access
        return replace(access, map=access.map.project_out(isl.dim_type.out, dimension, 1).set_tuple_name(
            isl.dim_type.out, name))

    arrays = tuple(replace(array, shape=(*array.shape[:dimension], *array.shape[dimension + 1 :]))
                   if array.name == name else array for array in program.arrays)
    statements = tuple(replace(s, reads=tuple(map(smaller, s.reads)), write=smaller(s.write))
                       for s in program.statements)
    return replace(program, arrays=arrays, statements=statements)


# First terms.


def _with_first_terms(program: Program) -> Program:
    for statement in program.statements:
        one = reduction(program, statement)
        if one is None:
            continue
        for dependence in flow(program):
            uses = {(d.sink, d.read) for d in flow(program) if d.source == dependence.source}
            if uses == {(statement.name, one.read)} and dependence.source != statement.name:
                candidate = _with_first_term(program, statement, one, dependence)
                if candidate is not None:
                    return _with_first_terms(candidate)
    return program


def _with_first_term(program: Program, update: Statement, one: Reduction, dependence: Dependence) -> Program | None:
    """`program` in which the source of `dependence` starts from the neutral element and `update` does what it did;
    None if the source's values are no terms of the update."""
    first = program.statement(dependence.source)
    type_ = program.array(update.write.array).type
    assert isinstance(type_, Int), "reductions are of integers"
    own, other = (_in_order(converted(value, type_), s.reads)
                  for value, s in ((one.body, update), (first.value, first)))
    if not other[1] or own[0] != other[0] or [a.array for a in own[1]] != [a.array for a in other[1]] or any(
            program.array(access.array).role != "input" for access in other[1]):
        return None
    same = first.write.map.apply_range(update.write.map.reverse())
    for mine, its in zip(own[1], other[1], strict=True):
        same = same.intersect(its.map.apply_range(mine.map.reverse()))
    same = same.intersect_domain(first.domain)
    added = same.range()
    if not (first.domain.is_subset(same.domain()) and same.is_bijective() and added.is_disjoint(update.domain)
            and added.is_subset(program.order_of(update.name).domain())):
        return None
    start = replace(first, reads=(), value=Const(neutral(one.op, type_), type_))
    larger = replace(update, domain=update.domain.union(added).coalesce())
    changed = {s.name: s for s in (start, larger)}
    found = replace(program, statements=tuple(changed.get(s.name, s) for s in program.statements),
                    order=_before_others(program.order, first.name))
    return found if same_flows(program, found, larger, one.read) else None


def _in_order(value: Expr, reads: tuple[Access, ...]) -> tuple[Expr, list[Access]]:
    """`value` with its reads numbered as they come, and these reads."""
    numbers = list(dict.fromkeys(node.index for node in postorder(value) if isinstance(node, Read)))
    return renumbered(value, numbers.index), [reads[k] for k in numbers]


def _before_others(order: isl.UnionMap, name: str) -> isl.UnionMap:
    """`order`, with the instances of statement `name` before those of others at the same time."""
    found = isl.UnionMap.empty(order.get_space().params())
    for relation in maps(order):
        count = relation.dim(isl.dim_type.out)
        last = int(relation.get_tuple_name(isl.dim_type.in_) != name)
        found = found.union(isl.UnionMap.from_map(
            relation.insert_dims(isl.dim_type.out, count, 1).fix_val(isl.dim_type.out, count, last)))
    return found


# Values.


def same_flows(before: Program, after: Program, update: Statement, own: int) -> bool:
    """Whether all values come from where they came, and go where they went, element by element of what `update`
    accumulates by its read `own`."""
    return _same(_by_element(after, update, own), _by_element(before, update, own))


def same_sums(before: Program, after: Program, update: Statement, own: int) -> bool:
    """Whether all values come from where they came, where `update` may add terms, by its read `own`, also to elements
    that were what they started from."""
    starts = {d.source for d in flow(after) if (d.sink, d.read) == (update.name, own)}
    return _same(*(_by_sum(program, update, own, starts) for program in (after, before)))


def _by_sum(program: Program, update: Statement, own: int, sums: Collection[str]) -> _Relations:
    """Values that others than `update` see; those of statements `sums` together, by element."""
    found: _Relations = {}
    for item in flow(program):
        if (item.sink, item.read) == (update.name, own):
            continue
        key, relation = (item.sink, item.read, item.source), item.relation
        if item.source in sums:
            key = item.sink, item.read, update.name
            relation = relation.apply_range(program.statement(item.source).write.map)
            relation = relation.union(found[key]) if key in found else relation
        found[key] = relation
    return found


def _by_element(program: Program, update: Statement, own: int) -> _Relations:
    found = {}
    for item in flow(program):
        relation = item.relation
        if item.sink == item.source == update.name and item.read == own:
            continue
        if item.sink == update.name and item.read == own:
            relation = relation.apply_domain(update.write.map)
        if item.source == update.name:
            relation = relation.apply_range(update.write.map)
        found[item.sink, item.read, item.source] = relation
    return found
