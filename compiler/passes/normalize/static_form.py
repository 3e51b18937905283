"""Accumulators: outputs that a program builds up step by step, and values that never change.

The array sends every element of an output to main memory once. A program that adds to its output in a reduction loop
(``C[y][x] += A[y][r] * B[r][x]``) is rewritten so that the sums stay in an intermediate array, and a *drain* statement
copies each final value (Liu 2023, section 4.3: initialise, update, drain). The drain has the loops that are left when
the reduction is over, so it runs beside the last step of the reduction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.boxes import box_around
from compiler.analysis.dependences import DependenceError, final_writers, flow
from compiler.ir.expr import Const, Expr, Read, fold, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.verify import verify
from compiler.passes.directives.place import Place, order_of_places, places
from compiler.passes.normalize.index_set_splitting import split_unions

__all__ = ["drain_accumulators", "propagate_constants", "static_form"]


def static_form(program: Program) -> Program:
    """`program` as static schedules take it: domains are boxes where they can be split into such, constants stand where
    they are used, and every element of an output is written once. Raises `DependenceError`."""
    return drain_accumulators(propagate_constants(split_unions(program)))


def drain_accumulators(program: Program) -> Program:
    """`program` with every output that is written more than once per element, or by several statements and read
    again, as an intermediate array and a drain.

    Where the instances that write final values are no boxes, as where a border keeps its values, or where elements are
    not written in an affine order, one drain copies the whole output at the end. Raises `DependenceError` if what is
    written is no box either.
    """
    for array in program.outputs:
        writers = [s for s in program.statements if s.write.array == array.name]
        read = any(access.array == array.name for s in program.statements for access in s.reads)
        if not all(map(_walks_affinely, writers)):
            program = _drained(program, array, whole=True)
        elif not _written_once(writers) or (read and len(writers) > 1):
            program = _drained(program, array)
    return program


def _walks_affinely(writer: Statement) -> bool:
    """Whether what a statement writes is an affine function of its iterators, as a stream to memory needs."""
    written = isl.PwMultiAff.from_map(writer.write.map.intersect_domain(writer.domain))
    return all(affine_form(written.get_pw_aff(k)) is not None for k in range(written.dim(isl.dim_type.out)))


def _written_once(writers: list[Statement]) -> bool:
    written = [s.write.map.intersect_domain(s.domain) for s in writers]
    if not all(access.is_injective() for access in written):
        return False
    ranges = [access.range() for access in written]
    return all(a.is_disjoint(b) for k, a in enumerate(ranges) for b in ranges[:k])


def _drained(program: Program, array: Array, whole: bool = False) -> Program:
    """`program` with `array` computed in an intermediate array of its own and copied at the end; as a `whole` or where
    the final values are no boxes by one statement."""
    sums = replace(array, name=fresh_name(f"{array.name}_sums", program.names), role="intermediate")
    finals = final_writers(program, array.name)
    moved = tuple(_renamed(statement, array.name, sums.name) for statement in program.statements)
    where = places(program)
    drains = []
    if not whole and all(relation.range().coalesce().is_box() for relation in finals.values()):
        for source, relation in finals.items():
            statement = next(s for s in moved if s.name == source)
            name = fresh_name(f"{statement.name}_drain", program.names)
            drain, depth = _drain(statement, relation.range().coalesce(), array.name, name)
            drains.append(drain)
            where = _placed_after(where, statement, drain, depth)
    else:
        drains.append(_whole_drain(program, array, sums, finals))
        end = 1 + max(place.positions[0] for place in where.values())
        where[drains[0].name] = _at(drains[0], (end,), 0)
    statements = (*moved, *drains)
    result = replace(program, arrays=(*program.arrays, sums), statements=statements,
                     order=order_of_places(statements, where))
    verify(result, guarded=True)
    return result


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    def access(one: Access) -> Access:
        if one.array != old:
            return one
        return replace(one, array=new, map=one.map.set_tuple_name(isl.dim_type.out, new))

    return replace(statement, reads=tuple(map(access, statement.reads)), write=access(statement.write))


def _drain(statement: Statement, finals: isl.Set, array: str, name: str) -> tuple[Statement, int]:
    """The statement that copies what the instances `finals` write, and how many loops it shares with `statement`."""
    numbers = range(len(statement.iterators))
    fixed = {k: finals.dim_min_val(k).to_python() for k in numbers
             if finals.dim_min_val(k).eq(finals.dim_max_val(k)) and not _single(statement, k)}
    kept = [k for k in numbers if k not in fixed]
    iterators = tuple(statement.iterators[k] for k in kept)
    values = [str(fixed[k]) if k in fixed else statement.iterators[k] for k in numbers]
    back = isl.Map(f"{{ {name}[{', '.join(iterators)}] -> {statement.name}[{', '.join(values)}] }}")
    domain = finals.apply(back.reverse()).coalesce()
    for position, iterator in enumerate(iterators):
        domain = domain.set_dim_name(isl.dim_type.set, position, iterator)
    element = back.apply_range(statement.write.map).intersect_domain(domain)
    read = Access(statement.write.array, element, statement.write.location)
    write = Access(array, element.set_tuple_name(isl.dim_type.out, array), statement.write.location)
    constant = isinstance(statement.value, Const)
    drain = Statement(name, iterators, domain, () if constant else (read,), write,
                      statement.value if constant else Read(0, statement.value.type), statement.location)
    return drain, min(fixed, default=len(statement.iterators))


def _whole_drain(program: Program, array: Array, sums: Array, finals: Mapping[str, isl.Map]) -> Statement:
    """The statement that copies all elements that are written. Raises `DependenceError`."""
    name = fresh_name(f"{array.name}_drain", program.names)
    elements = isl.Set.empty(next(iter(finals.values())).domain().get_space())
    for relation in finals.values():
        elements = elements.union(relation.domain())
    last = next(s for s in reversed(program.statements) if s.name in finals)
    elements = _joined(elements)
    if not elements.is_box():
        raise DependenceError(f"{last.label(last.write)}: the elements of '{array.name}' that are written are no box, "
                              "which an output has to be")
    iterators = tuple(f"i{k}" for k in range(len(array.shape)))
    domain = elements.set_tuple_name(name)
    for position, iterator in enumerate(iterators):
        domain = domain.set_dim_name(isl.dim_type.set, position, iterator)
    element = isl.Map(f"{{ {name}[{', '.join(iterators)}] -> [{', '.join(iterators)}] }}").intersect_domain(domain)
    read, write = (Access(one.name, element.set_tuple_name(isl.dim_type.out, one.name), last.write.location)
                   for one in (sums, array))
    values = {s.value for s in program.statements if s.name in finals}
    constant = values.pop() if len(values) == 1 else None
    if isinstance(constant, Const):
        return Statement(name, iterators, domain, (), write, constant, last.location)
    return Statement(name, iterators, domain, (read,), write, Read(0, array.type), last.location)


def _joined(elements: isl.Set) -> isl.Set:
    """The same set, as one piece if it is a box in many."""
    hull = box_around(elements)
    return hull if hull.is_subset(elements) else elements.coalesce()


def _single(statement: Statement, number: int) -> bool:
    return statement.domain.dim_min_val(number).eq(statement.domain.dim_max_val(number))


def _placed_after(where: dict[str, Place], statement: Statement, drain: Statement, depth: int) -> dict[str, Place]:
    """Places with `drain` right behind what surrounds `statement` inside its outer `depth` loops."""
    mine = where[statement.name]
    prefix = mine.positions[:depth]
    spread = {
        name: place.moved(depth, 2 * place.positions[depth])
        if place.positions[:depth] == prefix and len(place.positions) > depth else place
        for name, place in where.items()
    }
    return spread | {drain.name: _at(drain, (*prefix, 2 * mine.positions[depth] + 1), depth)}


def _at(drain: Statement, first: tuple[int, ...], depth: int) -> Place:
    """The place behind `first`, inside `depth` loops of others."""
    loops = tuple(_walk(drain, name) for name in drain.iterators)
    return Place((*first, *[0] * (len(loops) - depth)), loops)


def _walk(statement: Statement, iterator: str) -> isl.Aff:
    local = isl.LocalSpace.from_space(statement.domain.get_space())
    return isl.Aff.var_on_domain(local, isl.dim_type.set, statement.iterators.index(iterator))


def propagate_constants(program: Program) -> Program:
    """`program` with reads that always see one constant, which some statement stores, replaced by that constant.

    Not in statements that share units: they have to stay alike.
    """
    constants = {s.name: s.value for s in program.statements if isinstance(s.value, Const)}
    seen: dict[tuple[str, int], set[str]] = {}
    for dependence in flow(program) if constants else ():
        seen.setdefault((dependence.sink, dependence.read), set()).add(dependence.source)
    found = {key: {constants.get(name) for name in sources} for key, sources in seen.items()}
    known = {key: value for key, values in found.items() if len(values) == 1 and (value := values.pop()) is not None}
    if not known:
        return program
    shared = {name for group in program.shared for name in group}
    statements = tuple(_with_constants(s, {k: v for (name, k), v in known.items() if name == s.name})
                       if s.name not in shared else s for s in program.statements)
    return replace(program, statements=statements)


def _with_constants(statement: Statement, known: dict[int, Const]) -> Statement:
    if not known:
        return statement
    kept = [k for k in range(len(statement.reads)) if k not in known]

    def step(node: Expr, arguments: list[Expr]) -> Expr:
        if isinstance(node, Read):
            return known[node.index] if node.index in known else replace(node, index=kept.index(node.index))
        return with_children(node, arguments)

    return replace(statement, reads=tuple(statement.reads[k] for k in kept), value=fold(statement.value, step))
