"""Programs without the loops over tiles that their authors wrote.

Such a loop either only cuts another one, whose counter goes on from tile to tile, or the two are used as a sum alone,
``4 * outer + inner``: they are one loop then.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import islpy as isl

from compiler.ir.expr import Iterator, postorder
from compiler.ir.program import Access, Program, Statement
from compiler.passes.recurrence.shorten_recurrences import hull
from compiler.sched.space_time.reuse import Subscript, subscripts

__all__ = ["without_tile_loops"]


def without_tile_loops(program: Program) -> Program:
    """`program` whose statements are not inside loops that only cut others into tiles: no subscript and no expression
    uses their counters, and the other counters tell instances apart; or all subscripts use a multiple of them plus the
    counter of another loop. The order of instances stays what it was. Raises `SpaceTimeError` for subscripts that are
    not affine."""
    order = isl.UnionMap.empty(program.order.get_space().params())
    statements = []
    for statement in program.statements:
        time = program.order_of(statement.name)
        for k in reversed(range(len(statement.iterators))):
            single = statement.domain.dim_min_val(k).eq(statement.domain.dim_max_val(k))
            others = None if single or _used(statement, k) else _others(statement, k)
            if others is not None and others.is_injective():
                time = others.reverse().apply_range(time)
                statement = _without(statement, k, others)
        statement, time = _merged(statement, time)
        statements.append(statement)
        order = order.union(isl.UnionMap.from_map(time))
    return replace(program, statements=tuple(statements), order=order)


def _used(statement: Statement, position: int) -> bool:
    accesses = (*statement.reads, statement.write)
    return _named(statement, position) or any(access.map.involves_dims(isl.dim_type.in_, position, 1)
                                              for access in accesses)


def _named(statement: Statement, position: int) -> bool:
    """Whether the value is one of the loop's counter."""
    name = statement.iterators[position]
    return any(isinstance(node, Iterator) and node.name == name for node in postorder(statement.value))


def _others(statement: Statement, position: int) -> isl.Map:
    """{instance -> instance without iterator number `position`}."""
    names = list(statement.iterators)
    rest = [name for k, name in enumerate(names) if k != position]
    relation = isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> {statement.name}[{', '.join(rest)}] }}")
    return relation.intersect_domain(statement.domain)


def _without(statement: Statement, position: int, others: isl.Map) -> Statement:
    def fewer(access: Access) -> Access:
        relation = access.map.project_out(isl.dim_type.in_, position, 1)
        return replace(access, map=relation.set_tuple_name(isl.dim_type.in_, statement.name))

    names = tuple(name for k, name in enumerate(statement.iterators) if k != position)
    return replace(statement, iterators=names, domain=others.range().coalesce(),
                   reads=tuple(map(fewer, statement.reads)), write=fewer(statement.write))


def _merged(statement: Statement, time: isl.Map) -> tuple[Statement, isl.Map]:
    """The statement, and {instance -> time}, with one loop for each pair of loops that are used as a sum alone."""
    rows = [row.coefficients for access in (*statement.reads, statement.write) for row in subscripts(statement, access)]
    box = list(hull(statement).values())
    loops = [k for k, (low, high) in enumerate(box) if low < high and not _named(statement, k)]
    for outer, inner in permutations(loops, 2):
        scale = _scale({(row[outer], row[inner]) for row in rows})
        together = None if scale is None else _together(statement, outer, inner, scale)
        if together is not None and together.is_injective():
            return _merged(_in_one(statement, outer, together), together.reverse().apply_range(time))
    return statement, time


def _scale(pairs: set[tuple[int, int]]) -> int | None:
    """The s such that all subscripts use ``s * outer + inner``, None if they do not; `pairs`: coefficients of both."""
    scales = {a // b if b and a % b == 0 else 0 for a, b in pairs if (a, b) != (0, 0)}
    return scales.pop() or None if len(scales) == 1 else None


def _together(statement: Statement, outer: int, inner: int, scale: int) -> isl.Map:
    """{instance -> instance with the sum in place of the inner loop, and no outer one}."""
    names = list(statement.iterators)
    sums = [f"{scale} * {names[outer]} + {name}" if k == inner else name for k, name in enumerate(names) if k != outer]
    relation = isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> {statement.name}[{', '.join(sums)}] }}")
    return relation.intersect_domain(statement.domain)


def _in_one(statement: Statement, outer: int, together: isl.Map) -> Statement:
    names = tuple(name for k, name in enumerate(statement.iterators) if k != outer)

    def fewer(access: Access) -> Access:
        rows = [_text(row, outer, names) for row in subscripts(statement, access)]
        return replace(access, map=isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> "
                                           f"{access.array}[{', '.join(rows)}] }}"))

    return replace(statement, iterators=names, domain=_plain(together.range()),
                   reads=tuple(map(fewer, statement.reads)), write=fewer(statement.write))


def _text(row: Subscript, outer: int, names: tuple[str, ...]) -> str:
    left = [c for k, c in enumerate(row.coefficients) if k != outer]
    return " + ".join([*(f"{c} * {name}" for c, name in zip(left, names, strict=True)), str(row.constant)])


def _plain(points: isl.Set) -> isl.Set:
    """`points` without the existentially quantified counters of the loops that went, if they are convex."""
    around = isl.Set.from_basic_set(points.simple_hull())
    return around if around.is_equal(points) else points.coalesce()
