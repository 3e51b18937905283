"""Several independent inputs at once: copies of a whole program side by side."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.analysis.affine import maps
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.verify import verify
from compiler.passes.directives.errors import TransformError

__all__ = ["batch"]


def batch(program: Program, count: int) -> Program:
    """`program` for `count` inputs: every input and output array gets a first dimension of that size, and every
    statement and intermediate array is there `count` times.

    On hardware that computes statements side by side, a batch of strips of one image (with the rows around them that a
    stencil needs) takes the time of one strip. Raises `TransformError` for a count below one.
    """
    if count < 1:
        raise TransformError(f"a batch has at least one input, not {count}")
    arrays: list[Array] = []
    for array in program.arrays:
        if array.role == "intermediate":
            arrays += [replace(array, name=f"{array.name}_{k}") for k in range(count)]
        else:
            arrays.append(replace(array, shape=(count, *array.shape)))
    statements = tuple(_copied(program, s, k) for k in range(count) for s in program.statements)
    order = isl.UnionMap.empty(program.order.get_space().params())
    for relation in maps(program.order):
        name = relation.get_tuple_name(isl.dim_type.in_)
        for k in range(count):
            moved = relation.set_tuple_name(isl.dim_type.in_, f"{name}_{k}").insert_dims(isl.dim_type.out, 0, 1)
            order = order.union(isl.UnionMap.from_map(moved.fix_val(isl.dim_type.out, 0, isl.Val(k))))
    shared = tuple(tuple(f"{name}_{k}" for name in group) for group in program.shared for k in range(count))
    result = replace(program, arrays=tuple(arrays), statements=statements, order=order, shared=shared)
    verify(result)
    return result


def _copied(program: Program, statement: Statement, number: int) -> Statement:
    name = f"{statement.name}_{number}"
    accesses = [_moved(program, access, name, number) for access in (*statement.reads, statement.write)]
    return replace(statement, name=name, domain=statement.domain.set_tuple_name(name), reads=tuple(accesses[:-1]),
                   write=accesses[-1])


def _moved(program: Program, access: Access, statement: str, number: int) -> Access:
    relation = access.map.set_tuple_name(isl.dim_type.in_, statement)
    if program.array(access.array).role == "intermediate":
        name = f"{access.array}_{number}"
        return replace(access, array=name, map=relation.set_tuple_name(isl.dim_type.out, name))
    relation = relation.insert_dims(isl.dim_type.out, 0, 1).fix_val(isl.dim_type.out, 0, isl.Val(number))
    return replace(access, map=relation.set_tuple_name(isl.dim_type.out, access.array))
