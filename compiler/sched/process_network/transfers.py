"""Host transfers as nodes: every input array comes in through a source statement, every output leaves through a sink.

Bok 2018, section 2.5: transfers are statements of the program, so that the network has nodes for them. Statements that
already do nothing but copy from an input or to an output are taken as they are; for all other uses of such an array
a statement ``Read_ARRAY`` or ``Write_ARRAY`` is inserted, before or after everything else.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import islpy as isl

from compiler.analysis.affine import maps, padded
from compiler.ir.expr import Read
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Type

__all__ = ["is_copy", "is_sink", "is_source", "stage_transfers"]


def stage_transfers(program: Program) -> Program:
    """`program` with all host transfers in statements of their own: sources first, then `program`, then sinks.

    Sources read only the elements that are used, in row-major order; sinks write every element that is written.
    """
    staged = program
    for array in program.inputs:
        if any(array.name == r.array for s in program.statements for r in s.reads) and not _only_sources(staged, array):
            staged = _with_source(staged, array)
    for array in program.outputs:
        if not _only_sinks(staged, array):
            staged = _with_sink(staged, array)
    return staged


def is_copy(statement: Statement) -> bool:
    """Whether the statement stores the only word it reads, unchanged."""
    return len(statement.reads) == 1 and isinstance(statement.value, Read)


def is_source(program: Program, statement: Statement) -> bool:
    """Whether the statement does nothing but fetch one word of an input array, which no other instance fetches."""
    if not is_copy(statement) or program.array(statement.reads[0].array).role != "input":
        return False
    return statement.reads[0].map.intersect_domain(statement.domain).is_injective()


def is_sink(program: Program, statement: Statement) -> bool:
    """Whether the statement does nothing but deliver one word of an output array, which no other instance delivers.
    What it delivers lies in no input or output array: the words of an output that statements read leave otherwise."""
    if not is_copy(statement) or program.array(statement.reads[0].array).role != "intermediate":
        return False
    injective = statement.write.map.intersect_domain(statement.domain).is_injective()
    return program.array(statement.write.array).role == "output" and injective


def _only_sources(program: Program, array: Array) -> bool:
    """Whether all that uses the input `array` are source statements for different elements."""
    users = [s for s in program.statements if any(r.array == array.name for r in s.reads)]
    return all(is_source(program, s) and program.array(s.write.array).role != "output" for s in users) and _disjoint(
        [s.reads[0].map.intersect_domain(s.domain).range() for s in users])


def _only_sinks(program: Program, array: Array) -> bool:
    """Whether all that touches the output `array` are sink statements for different elements."""
    users = [s for s in program.statements if array.name in (s.write.array, *(r.array for r in s.reads))]
    return all(is_sink(program, s) for s in users) and _disjoint(
        [s.write.map.intersect_domain(s.domain).range() for s in users])


def _disjoint(parts: list[isl.Set]) -> bool:
    return all(first.is_disjoint(second) for first, second in combinations(parts, 2))


def _with_source(program: Program, array: Array) -> Program:
    copy = fresh_name(f"{array.name}_words", program.names)
    accesses = [a.map.intersect_domain(s.domain) for s in program.statements for a in s.reads if a.array == array.name]
    name = fresh_name(f"Read_{array.name}", program.names)
    statement = _copy(name, _elements(accesses), (array.name, copy), array.type)
    others = tuple(replace(s, reads=tuple(_renamed(r, array.name, copy) for r in s.reads)) for s in program.statements)
    arrays = (*program.arrays, replace(array, name=copy, role="intermediate"))
    order = _with_time(program, statement, _phases(program)[0] - 1)
    return replace(program, arrays=arrays, statements=(statement, *others), order=order)


def _with_sink(program: Program, array: Array) -> Program:
    copy = fresh_name(f"{array.name}_words", program.names)
    accesses = [s.write.map.intersect_domain(s.domain) for s in program.statements if s.write.array == array.name]
    name = fresh_name(f"Write_{array.name}", program.names)
    statement = _copy(name, _elements(accesses), (copy, array.name), array.type)
    others = tuple(
        replace(s, reads=tuple(_renamed(r, array.name, copy) for r in s.reads),
                write=_renamed(s.write, array.name, copy))
        for s in program.statements
    )
    arrays = (*program.arrays, replace(array, name=copy, role="intermediate"))
    order = _with_time(program, statement, _phases(program)[1] + 1)
    return replace(program, arrays=arrays, statements=(*others, statement), order=order)


def _phases(program: Program) -> tuple[int, int]:
    """First and last value of the outermost time dimension."""
    times = [program.order_of(s.name).intersect_domain(s.domain).range() for s in program.statements]
    first = min(t.dim_min_val(0).to_python() for t in times)
    return first, max(t.dim_max_val(0).to_python() for t in times)


def _with_time(program: Program, statement: Statement, phase: int) -> isl.UnionMap:
    """The order of `program` and, at position `phase` of the outermost level, the loops of `statement`."""
    pieces = maps(program.order)
    length = max(pieces[0].dim(isl.dim_type.out), 2 * len(statement.iterators) + 1)
    own = isl.Map.from_domain(isl.Set.universe(statement.domain.get_space())).add_dims(isl.dim_type.out, length)
    for dim in range(length):
        if dim % 2 and dim // 2 < len(statement.iterators):
            own = own.equate(isl.dim_type.in_, dim // 2, isl.dim_type.out, dim)
        else:
            own = own.fix_val(isl.dim_type.out, dim, isl.Val(0 if dim else phase))
    result = isl.UnionMap.from_map(own)
    for piece in pieces:
        result = result.union(isl.UnionMap.from_map(padded(piece, length)))
    return result


def _elements(accesses: list[isl.Map]) -> isl.Set:
    total = accesses[0].range()
    for access in accesses[1:]:
        total = total.union(access.range())
    return total.coalesce()


def _renamed(access: Access, old: str, new: str) -> Access:
    if access.array != old:
        return access
    return replace(access, array=new, map=access.map.set_tuple_name(isl.dim_type.out, new))


def _copy(name: str, elements: isl.Set, arrays: tuple[str, str], type: Type) -> Statement:
    """``arrays[1][e] = arrays[0][e]`` for all `elements`."""
    names = tuple(f"e{k}" for k in range(elements.dim(isl.dim_type.set)))
    domain = elements.set_tuple_name(name)
    for position, iterator in enumerate(names):
        domain = domain.set_dim_name(isl.dim_type.set, position, iterator)
    same = isl.Map.identity(domain.get_space().map_from_set())
    read, write = (Access(array, same.set_tuple_name(isl.dim_type.out, array)) for array in arrays)
    return Statement(name, names, domain, (read,), write, Read(0, type))
