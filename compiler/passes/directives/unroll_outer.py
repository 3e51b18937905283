"""The directive that gives every iteration of an outer loop statements of its own: unroll_outer."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.analysis.boxes import extents
from compiler.analysis.dependences import Dependence, DependenceError, agree, flow
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.rewrite import chosen

__all__ = ["unroll_outer", "unroll_outer_script"]

_MOST = 64
"""Statements that a loop may become."""

_FEW = 8
"""Iterations up to which a loop that carries values is unrolled by a compiler."""


def unroll_outer(program: Program, iterator: str) -> Program:
    """Every iteration of the loop as statements of its own, in the same order: the steps of a time loop side by side,
    each on units of its own. The statements keep the iterator, which has one value in each.

    Raises `TransformError` for more than 64 statements.
    """
    picked = chosen(program, (iterator,), None)
    count = sum(extents(s.domain)[s.iterators.index(iterator)] for s in picked)
    if count > _MOST:
        raise TransformError(f"the loop over '{iterator}' would become {count} statements; at most {_MOST} are allowed")
    found: list[Statement] = []
    order = isl.UnionMap.empty(program.order.get_space().params())
    for statement in program.statements:
        times = program.order_of(statement.name)
        made = [statement] if statement not in picked else _iterations(program, statement, iterator)
        found += made
        for single in made:
            order = order.union(isl.UnionMap.from_map(times.set_tuple_name(isl.dim_type.in_, single.name)))
    return replace(program, statements=tuple(found), order=order, shared=())


def _iterations(program: Program, statement: Statement, iterator: str) -> list[Statement]:
    number = statement.iterators.index(iterator)
    low = statement.domain.dim_min_val(number).to_python()
    found = []
    for value in range(low, low + extents(statement.domain)[number]):
        name = fresh_name(f"{statement.name}_{value}".replace("-", "m"), (s.name for s in program.statements))
        domain = statement.domain.fix_val(isl.dim_type.set, number, isl.Val(value)).set_tuple_name(name)
        found.append(replace(statement, name=name, domain=domain, reads=tuple(_of(r, name) for r in statement.reads),
                             write=_of(statement.write, name)))
    return [single for single in found if not single.domain.is_empty()]


def _of(access: Access, statement: str) -> Access:
    return replace(access, map=access.map.set_tuple_name(isl.dim_type.in_, statement))


def unroll_outer_script(program: Program) -> str:
    """The directive for an outermost loop of few iterations from one to the next of which values are carried; "" if
    there is none."""
    try:
        names = dict.fromkeys(name for d in flow(program) if (name := _carrying(program, d)) is not None)
    except DependenceError:
        return ""
    for name in names:
        around = [s for s in program.statements if name in s.iterators]
        if all(s.iterators[0] == name and 2 <= extents(s.domain)[0] <= _FEW for s in around):
            return f"unroll_outer({name})"
    return ""


def _carrying(program: Program, dependence: Dependence) -> str | None:
    """The outermost iterator of two statements, if one sees values of another iteration of the other."""
    first = {program.statement(name).iterators[:1] for name in (dependence.source, dependence.sink)}
    if len(first) > 1 or first == {()} or agree(dependence.relation, 0, 0):
        return None
    return first.pop()[0]
