"""Outputs that are read out of a memory, several elements at a time.

A statement that only copies words of a memory to an output moves one element per cycle, whatever the port of main
memory takes. Here it loads neighbours at the same time, from a copy of the memory each, and writes them as one wide
element: in main memory that is the same bytes, as elements lie there one after the other with the first one lowest.
"""

from __future__ import annotations

from collections.abc import Iterator as Iterating
from dataclasses import replace
from math import gcd, prod

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Read, fold, postorder, with_children
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int
from compiler.passes.arrays.packed_arrays import WIDTHS, PackedArrays, group_map, packed_array, packed_value

__all__ = ["pack_drains"]

_MOST = 4
"""Most copies of a memory that this may take."""


def pack_drains(program: Program, bits: int) -> tuple[Program, PackedArrays] | None:
    """`program` with outputs of up to `bits` bits, and how to read them; None if it has none that could be."""
    found = dict(_drains(program, bits))
    if not found:
        return None
    arrays = tuple(packed_array(array, found[array.name][1]) if array.name in found else array
                   for array in program.arrays)
    packed = {statement.name: factor for statement, factor in found.values()}
    order = isl.UnionMap.empty(program.order.get_space().params())
    statements = []
    for statement in program.statements:
        own = program.order_of(statement.name)
        if statement.name in packed:
            factor = packed[statement.name]
            own = _first_of(statement, factor).apply_range(own)
            statement = _packed(statement, factor)
        statements.append(statement)
        order = order.union(isl.UnionMap.from_map(own.intersect_domain(statement.domain)))
    after = replace(program, arrays=arrays, statements=tuple(statements), order=order)
    return after, PackedArrays(program, {name: factor for name, (_, factor) in found.items()})


def _drains(program: Program, bits: int) -> Iterating[tuple[str, tuple[Statement, int]]]:
    """(output, (statement that reads it out, elements at a time)) where that is more than one."""
    for array in program.outputs:
        writers = [s for s in program.statements if s.write.array == array.name]
        read = any(access.array == array.name for s in program.statements for access in s.reads)
        if len(writers) == 1 and not read and isinstance(array.type, Int) and array.type.width in WIDTHS \
                and array.shape and _is_drain(program, writers[0], array):
            factor = gcd(array.shape[-1], bits // array.type.width, _MOST)
            if factor > 1:
                yield array.name, (writers[0], factor)


def _is_drain(program: Program, statement: Statement, array: Array) -> bool:
    """Whether a statement copies a memory to whole rows of an array, at places that its iterators say, and reads
    nothing but what it waits for."""
    value, box = statement.value, statement.box()
    if not isinstance(value, Load) or box is None or not statement.iterators:
        return False
    if any(isinstance(node, Read | Load) for node in postorder(value.index)) or not all(
            isinstance(token, Read) for token in value.after):
        return False
    if any(prod(program.array(read.array).shape) > 1 for read in statement.reads):
        return False
    return box[statement.iterators[-1]] == (0, array.shape[-1] - 1) and _along_rows(statement)


def _along_rows(statement: Statement) -> bool:
    """Whether the innermost iterator is the last subscript of what a statement writes, and in no other."""
    function = isl.PwMultiAff.from_map(statement.write.map.intersect_domain(statement.domain))
    forms = [affine_form(function.get_pw_aff(k)) for k in range(function.dim(isl.dim_type.out))]
    innermost = [form and form[0][-1] for form in forms]
    return innermost == [0] * (len(forms) - 1) + [1] and forms[-1] is not None and not any(
        (*forms[-1][0][:-1], forms[-1][1]))


def _first_of(statement: Statement, factor: int) -> isl.Map:
    """{group of instances -> the first instance in it}."""
    names = [f"i{k}" for k in range(len(statement.iterators))]
    first = [*names[:-1], f"{factor} * {names[-1]}"]
    return isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> {statement.name}[{', '.join(first)}] }}")


def _packed(statement: Statement, factor: int) -> Statement:
    """`statement` for groups of `factor` instances."""
    first = _first_of(statement, factor)
    domain = first.intersect_range(statement.domain).domain()
    for number, name in enumerate(statement.iterators):
        domain = domain.set_dim_name(isl.dim_type.set, number, name)
    reads = tuple(replace(read, map=first.apply_range(read.map)) for read in statement.reads)
    value = statement.value
    assert isinstance(value, Load) and isinstance(value.type, Int)
    width = value.type.width
    words = {k: Cast(_load(statement, value, factor, k), Int(width, False)) for k in range(factor)}
    return replace(statement, domain=domain, reads=reads, write=_write(statement, first, factor),
                   value=packed_value(words, width, factor))


def _load(statement: Statement, value: Load, factor: int, number: int) -> Load:
    """The load of instance `number` of a group."""
    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Iterator) and node.name == statement.iterators[-1]:
            return Apply("add", (Apply("mul", (node, Const(factor, node.type)), node.type),
                                 Const(number, node.type)), node.type)
        return with_children(node, parts)

    return replace(value, index=fold(value.index, step))


def _write(statement: Statement, first: isl.Map, factor: int) -> Access:
    """Where the wide elements go."""
    write = statement.write
    group = group_map(write.array, write.map.dim(isl.dim_type.out), factor)
    return replace(write, map=first.apply_range(write.map).apply_range(group).coalesce())
