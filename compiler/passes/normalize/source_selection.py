"""Reads that see values of several statements, on parts of the domain that no boxes are: a read for each, and a select.

Where a static pipeline merges the values of two statements, a counter says whose turn it is. Counters follow boxes of
instances, such as the first iteration of a sum, but not a triangle: the two halves of a symmetric matrix, say, that are
written by two statements and read row by row. `select_sources` makes of such a read one for each statement that writes
what it sees, and selects among them by comparing iterators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import islpy as isl

from compiler.analysis.dependences import flow, recurring
from compiler.analysis.domain_predicate import WidePredicate, membership
from compiler.ir.expr import Const, Expr, Read, apply, fold, postorder, with_children
from compiler.ir.program import Program, Statement

__all__ = ["select_sources"]


def select_sources(program: Program) -> Program:
    """`program` with selected reads where parts of the domain compare iterators with each other; itself if there are
    none. Statements that share units have to stay alike and are left, and those of recurrences, which a select would
    make longer."""
    dependences = flow(program)
    kept = {name for group in program.shared for name in group} | recurring(dependences)
    seen: dict[tuple[str, int], list[_Part]] = {}
    for dependence in dependences:
        value = program.statement(dependence.source).value
        part = _Part(dependence.relation.domain(), value if isinstance(value, Const) else None)
        seen.setdefault((dependence.sink, dependence.read), []).append(part)
    statements = tuple(
        s if s.name in kept else _selected(s, {k: seen.get((s.name, k), []) for k in range(len(s.reads))})
        for s in program.statements)
    return program if statements == program.statements else replace(program, statements=statements)


class _Part(NamedTuple):
    """Instances that see values of one statement; the value if it is a constant."""

    domain: isl.Set
    value: Const | None


def _selected(statement: Statement, parts: Mapping[int, Sequence[_Part]]) -> Statement:
    """The statement with reads selected by `parts` of its domain, for each read, where these need it."""
    values: dict[int, Expr] = {}
    reads = list(statement.reads)
    for number, found in parts.items():
        if all(part.value for part in found) or not _need_comparisons([part.domain for part in found]):
            continue
        *others, last = sorted(found, key=lambda part: part.value is None)
        whole = reduce(isl.Set.union, [part.domain for part in found])
        try:
            conditions = [membership(part.domain, whole, statement.iterators) for part in others]
        except WidePredicate:
            continue
        read, value = statement.reads[number], _read(statement, number)
        reads[number] = replace(read, map=read.map.intersect_domain(last.domain))
        values[number] = value
        for condition, part in zip(conditions, others, strict=True):
            if part.value is None:
                reads.append(replace(read, map=read.map.intersect_domain(part.domain)))
            one = part.value or Read(len(reads) - 1, value.type)
            values[number] = apply("select", condition, one, values[number])
    if not values:
        return statement
    return replace(statement, reads=tuple(reads), value=_substituted(statement.value, values))


def _need_comparisons(domains: Sequence[isl.Set]) -> bool:
    """Whether one of several parts of a domain has a condition on two iterators, which the others do not imply."""
    whole = reduce(isl.Set.union, domains)
    return len(domains) > 1 and any(_compares_iterators(domain.coalesce().gist(whole)) for domain in domains)


def _compares_iterators(domain: isl.Set) -> bool:
    cases: list[isl.BasicSet] = []
    domain.coalesce().foreach_basic_set(cases.append)
    return any(_iterators_of(constraint) > 1 for case in cases for constraint in case.get_constraints())


def _iterators_of(constraint: isl.Constraint) -> int:
    return sum(constraint.involves_dims(isl.dim_type.set, k, 1) for k in range(constraint.dim(isl.dim_type.set)))


def _read(statement: Statement, number: int) -> Expr:
    """A node of the value that is this read."""
    return next(node for node in postorder(statement.value) if isinstance(node, Read) and node.index == number)


def _substituted(value: Expr, values: Mapping[int, Expr]) -> Expr:
    """`value` with expressions in place of reads."""
    def step(node: Expr, parts: list[Expr]) -> Expr:
        return values.get(node.index, node) if isinstance(node, Read) else with_children(node, parts)

    return fold(value, step)
