"""Programs without temporaries: what a statement computes from inputs alone moves into the statements that use it."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.ir.expr import Cast, Expr, Read, fold, with_children
from compiler.ir.program import Access, Program, Statement
from compiler.sched.affine import maps
from compiler.sched.dependences import Dependence, flow
from compiler.sched.space_time.reuse import composed

__all__ = ["without_temporaries"]


def without_temporaries(program: Program) -> Program:
    """`program` with every read of an intermediate array replaced by the expression whose value it sees, where that is
    one statement's, reads inputs only, and contains no iterator; statements whose results nobody reads are gone.

    Same outputs for the same inputs.
    """
    while True:
        for dependence in flow(program):
            if _movable(program, dependence):
                program = _without_dead(_inlined(program, dependence))
                break
        else:
            return program


def _movable(program: Program, dependence: Dependence) -> bool:
    source, sink = program.statement(dependence.source), program.statement(dependence.sink)
    return (program.array(dependence.array).role == "intermediate"
            and all(program.array(access.array).role == "input" for access in source.reads)
            and sink.domain.is_subset(dependence.relation.domain())
            and not _iterators(source.value))


def _iterators(value: Expr) -> bool:
    """Whether the value depends on loop counters, whose names belong to their statement."""
    return fold(value, lambda node, parts: any(parts) or type(node).__name__ == "Iterator")


def _inlined(program: Program, dependence: Dependence) -> Program:
    source, sink = program.statement(dependence.source), program.statement(dependence.sink)
    kept = [k for k in range(len(sink.reads)) if k != dependence.read]
    numbers = {old: new for new, old in enumerate(kept)}
    moved = tuple(_composed(access, sink.reads[dependence.read], source, dependence.relation, sink)
                  for access in source.reads)
    type_ = program.array(dependence.array).type
    value = _shifted(source.value, len(kept))
    value = value if value.type == type_ else Cast(value, type_)
    statement = replace(
        sink, reads=(*(sink.reads[k] for k in kept), *moved),
        value=fold(sink.value, lambda node, parts: _substituted(node, parts, dependence.read, value, numbers)))
    statements = tuple(statement if s.name == sink.name else s for s in program.statements)
    return replace(program, statements=statements)


def _composed(access: Access, read: Access, source: Statement, relation: isl.Map, sink: Statement) -> Access:
    """`access` of the source's instance whose value the sink reads."""
    exact = relation.apply_range(access.map)
    plain = composed(read.map, source.write.map.reverse(), access.map, domain=sink.domain)
    if plain.is_single_valued() and exact.is_subset(plain):
        return replace(access, map=plain)
    return replace(access, map=isl.Map.from_pw_multi_aff(isl.PwMultiAff.from_map(exact).gist(sink.domain)))


def _shifted(value: Expr, by: int) -> Expr:
    return fold(value, lambda node, parts: Read(node.index + by, node.type) if isinstance(node, Read)
                else with_children(node, parts))


def _substituted(node: Expr, parts: list[Expr], number: int, value: Expr, numbers: dict[int, int]) -> Expr:
    if not isinstance(node, Read):
        return with_children(node, parts)
    if node.index != number:
        return Read(numbers[node.index], node.type)
    return value


def _without_dead(program: Program) -> Program:
    """Statements that write intermediate arrays which nobody reads do not count; arrays that nobody touches neither."""
    outputs = {array.name for array in program.outputs}
    while True:
        read = {access.array for s in program.statements for access in s.reads} | outputs
        alive = tuple(s for s in program.statements if s.write.array in read)
        if alive == program.statements:
            break
        program = replace(program, statements=alive)
    names = {s.name for s in alive}
    touched = {access.array for s in alive for access in (*s.reads, s.write)}
    arrays = tuple(a for a in program.arrays if a.name in touched or a.role != "intermediate")
    order = isl.UnionMap.empty(program.order.get_space().params())
    for relation in maps(program.order):
        if relation.get_tuple_name(isl.dim_type.in_) in names:
            order = order.union(isl.UnionMap.from_map(relation))
    return replace(program, arrays=arrays, order=order)
