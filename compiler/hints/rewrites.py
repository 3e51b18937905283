"""Programs as a hint advises to write them, to see whether they are accepted and faster."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import product
from math import prod

import islpy as isl

from compiler.analysis.accesses import iterators_of
from compiler.ir.expr import Const, Expr, Iterator, Read, apply, converted, fold, with_children
from compiler.ir.program import Access, Program, Statement
from compiler.passes.recurrence.shorten_recurrences import Reduction, reduction

__all__ = ["columns_read", "transpose_array", "unroll_window", "window_loops"]

_MOST_TERMS = 64
"""Of a sum that is written as one expression."""


def window_loops(program: Program, statement: Statement) -> tuple[str, ...]:
    """The innermost loops over a small window that `statement` accumulates, if there are any."""
    box, one = statement.box(), reduction(program, statement)
    if box is None or one is None:
        return ()
    names = statement.iterators[max(iterators_of(statement.write), default=-1) + 1:]
    extents = [box[name][1] - box[name][0] + 1 for name in names]
    return tuple(names) if 1 < prod(extents) <= _MOST_TERMS and len(names) < len(statement.iterators) else ()


def unroll_window(program: Program, name: str) -> Program:
    """`program` whose statement `name` adds up its window in one expression."""
    statement, loops = program.statement(name), window_loops(program, program.statement(name))
    one, box = reduction(program, statement), statement.box()
    assert one is not None and box is not None
    points = list(product(*(range(box[n][0], box[n][1] + 1) for n in loops)))
    count = len(statement.iterators) - len(loops)
    unrolled = _unrolled(program, statement, one, loops, points)
    time = _time(_at(program.order_of(name), count, points[0], name), count)
    order = program.order.subtract(isl.UnionMap.from_map(program.order_of(name))).union(isl.UnionMap.from_map(time))
    return replace(program, order=order,
                   statements=tuple(unrolled if s.name == name else s for s in program.statements))


def _unrolled(program: Program, statement: Statement, one: Reduction, loops: tuple[str, ...],
              points: list[tuple[int, ...]]) -> Statement:
    count, name = len(statement.iterators) - len(loops), statement.name
    kind = program.array(statement.write.array).type
    reads = [_fixed(statement.reads[one.read], count, points[0], name)]
    others = [k for k, access in enumerate(statement.reads) if access.array != statement.write.array]
    value: Expr = Read(0, kind)
    for point in points:
        numbers = {k: len(reads) + n for n, k in enumerate(others)}
        value = converted(apply(one.op, value, _term(one.body, dict(zip(loops, point, strict=True)), numbers)), kind)
        reads += [_fixed(statement.reads[k], count, point, name) for k in others]
    domain = statement.domain.project_out(isl.dim_type.set, count, len(loops)).set_tuple_name(name)
    return replace(statement, iterators=statement.iterators[:count], domain=domain, reads=tuple(reads), value=value,
                   write=_fixed(statement.write, count, points[0], name))


def _term(body: Expr, values: dict[str, int], numbers: dict[int, int]) -> Expr:
    """`body` at one point of the window, with other `numbers` of its reads."""
    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Read):
            return replace(node, index=numbers[node.index])
        if isinstance(node, Iterator) and node.name in values:
            return converted(Const(values[node.name], node.type), node.type)
        return with_children(node, parts)

    return fold(body, step)


def _fixed(access: Access, count: int, point: tuple[int, ...], name: str) -> Access:
    return replace(access, map=_at(access.map, count, point, name))


def _at(relation: isl.Map, count: int, point: tuple[int, ...], name: str) -> isl.Map:
    """`relation` where the dimensions from number `count` on have the values of `point`, without them."""
    fixed = reduce(lambda r, v: r.fix_val(isl.dim_type.in_, count + v[0], isl.Val(v[1])), enumerate(point), relation)
    return fixed.project_out(isl.dim_type.in_, count, len(point)).set_tuple_name(isl.dim_type.in_, name)


def _time(order: isl.Map, count: int) -> isl.Map:
    """A place in the order with `count` loops around it, of as many dimensions as before."""
    kept = 2 * count + 1
    rest = order.dim(isl.dim_type.out) - kept
    shorter = order.project_out(isl.dim_type.out, kept, rest).add_dims(isl.dim_type.out, rest)
    return reduce(lambda r, k: r.fix_val(isl.dim_type.out, kept + k, isl.Val(0)), range(rest), shorter)


def columns_read(program: Program) -> list[tuple[Statement, Access]]:
    """Reads of inputs that go down columns: the innermost loop that they follow moves along no row."""
    found = []
    for statement in program.statements:
        for access in statement.reads:
            array = program.array(access.array)
            if array.role == "input" and len(array.shape) > 1 and _down_columns(statement, access):
                found.append((statement, access))
    return found


def _down_columns(statement: Statement, access: Access) -> bool:
    box = statement.box() or {}
    ends = [box.get(name, (0, 1)) for name in statement.iterators]
    moving = [k for k in iterators_of(access) if ends[k][0] != ends[k][1]]
    if not moving:
        return False
    last = access.map.dim(isl.dim_type.out) - 1
    row = access.map.project_out(isl.dim_type.out, 0, last)
    return not row.involves_dims(isl.dim_type.in_, moving[-1], 1)


def transpose_array(program: Program, name: str) -> Program:
    """`program` whose array `name` is stored with its last two dimensions exchanged."""
    array = program.array(name)
    shape = (*array.shape[:-2], array.shape[-1], array.shape[-2])

    def exchanged(access: Access) -> Access:
        if access.array != name:
            return access
        names = [f"a{k}" for k in range(len(shape))]
        after = [*names[:-2], names[-1], names[-2]]
        swap = isl.Map(f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(after)}] }}")
        return replace(access, map=access.map.apply_range(swap))

    statements = tuple(replace(s, reads=tuple(map(exchanged, s.reads)), write=exchanged(s.write))
                       for s in program.statements)
    arrays = tuple(replace(a, shape=shape) if a.name == name else a for a in program.arrays)
    return replace(program, arrays=arrays, statements=statements)
