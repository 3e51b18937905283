"""Programs without temporaries: what a statement computes from inputs alone moves into the statements that use it, and
updates of one element that follow each other in every iteration become one."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.analysis.affine import maps
from compiler.analysis.dependences import Dependence, flow
from compiler.ir.expr import Apply, Expr, Read, converted, fold, postorder, renumbered, with_children
from compiler.ir.program import Access, Program, Statement
from compiler.ir.roots import live_roots
from compiler.sched.space_time.errors import LargeIterationError
from compiler.sched.space_time.reuse import composed

__all__ = ["MOST_OPERATIONS", "without_temporaries"]

MOST_OPERATIONS = 512
"""Operations of one iteration, at most: where every stage of a chain of stencils is computed again for each result,
their number is multiplied from stage to stage."""


def without_temporaries(program: Program) -> Program:
    """`program` with every read of an intermediate array replaced by the expression whose value it sees, where that is
    one statement's, reads inputs only, and contains no iterator; statements whose results nobody reads are gone. The
    same happens to an update ``x = e(x)`` that is followed by ``x = f(x)`` in every iteration: ``x = f(e(x))`` stays.

    Same outputs for the same inputs. Raises `LargeIterationError` for more than `MOST_OPERATIONS` in an iteration.
    """
    while True:
        flows = flow(program)
        for dependence in flows:
            if _movable(program, dependence):
                program = _without_dead(_inlined(program, dependence))
                break
            if _followed(program, dependence, flows):
                inlined = _inlined(program, dependence)
                program = _kept(inlined, tuple(s for s in inlined.statements if s.name != dependence.source))
                break
        else:
            return program


def _followed(program: Program, dependence: Dependence, flows: tuple[Dependence, ...]) -> bool:
    """Whether the source writes what the sink overwrites in the same iteration, and nobody else reads it."""
    source, sink = program.statement(dependence.source), program.statement(dependence.sink)
    if source.name == sink.name or source.iterators != sink.iterators or _iterators(source.value):
        return False
    same = isl.Map.identity(sink.domain.get_space().map_from_set()).intersect_domain(sink.domain)
    same = same.set_tuple_name(isl.dim_type.out, source.name)
    written = [s.write.map.intersect_domain(s.domain).set_tuple_name(isl.dim_type.in_, "instance")
               for s in (source, sink)]
    return (source.write.array == sink.write.array and written[0].is_equal(written[1])
            and dependence.relation.is_equal(same)
            and all(d.sink == sink.name for d in flows if d.source == source.name)
            and sum(access.array == source.write.array for access in sink.reads) == 1
            and all(program.array(access.array).role == "input" or access.array == source.write.array
                    for access in source.reads))


def _movable(program: Program, dependence: Dependence) -> bool:
    source, sink = program.statement(dependence.source), program.statement(dependence.sink)
    if (program.array(dependence.array).role != "intermediate" or _iterators(source.value)
            or not sink.domain.is_subset(dependence.relation.domain())):
        return False
    if all(program.array(access.array).role == "input" for access in source.reads):
        return True
    whole = source.iterators == sink.iterators and dependence.relation.range().is_equal(source.domain)
    return whole and source.name != sink.name and _same_values(program, dependence)


def _same_values(program: Program, dependence: Dependence) -> bool:
    """Whether what the source reads is still there when the sink runs."""
    before = {(d.read, d.source): d.relation for d in flow(program) if d.sink == dependence.source}
    inlined = _inlined(program, dependence)
    first = len(program.statement(dependence.sink).reads) - 1
    after = {(d.read - first, d.source): d.relation for d in flow(inlined)
             if d.sink == dependence.sink and d.read >= first}
    return before.keys() == after.keys() and all(
        dependence.relation.apply_range(relation).is_equal(after[key]) for key, relation in before.items())


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
    value = converted(renumbered(source.value, lambda index: len(kept) + index), type_)
    statement = replace(
        sink, reads=(*(sink.reads[k] for k in kept), *moved),
        value=fold(sink.value, lambda node, parts: _substituted(node, parts, dependence.read, value, numbers)))
    _check_size(program, statement)
    statements = tuple(statement if s.name == sink.name else s for s in program.statements)
    return replace(program, statements=statements)


def _check_size(program: Program, statement: Statement) -> None:
    operations = sum(isinstance(node, Apply) for node in postorder(statement.value))
    if operations > MOST_OPERATIONS:
        raise LargeIterationError(
            f"{statement}: with what its temporaries are computed from, one iteration of program '{program.name}' "
            f"takes over {MOST_OPERATIONS} operations, too many for a processing element; legal are fewer stages of "
            "stencils, or the stages as programs of their own")


def _composed(access: Access, read: Access, source: Statement, relation: isl.Map, sink: Statement) -> Access:
    """`access` of the source's instance whose value the sink reads."""
    exact = relation.apply_range(access.map)
    plain = composed(read.map, source.write.map.reverse(), access.map, domain=sink.domain)
    if plain.is_single_valued() and exact.is_subset(plain):
        return replace(access, map=plain)
    return replace(access, map=isl.Map.from_pw_multi_aff(isl.PwMultiAff.from_map(exact).gist(sink.domain)))


def _substituted(node: Expr, parts: list[Expr], number: int, value: Expr, numbers: dict[int, int]) -> Expr:
    if not isinstance(node, Read):
        return with_children(node, parts)
    if node.index != number:
        return Read(numbers[node.index], node.type)
    return value


def _without_dead(program: Program) -> Program:
    """Statements that write intermediate arrays which nobody reads do not count; arrays that nobody touches neither."""
    roots = live_roots(program)
    while True:
        read = {access.array for s in program.statements for access in s.reads}
        alive = tuple(s for s in program.statements if s.write.array in read or s.name in roots)
        if alive == program.statements:
            break
        program = replace(program, statements=alive)
    return _kept(program, alive)


def _kept(program: Program, alive: tuple[Statement, ...]) -> Program:
    """`program` with these of its statements, and the arrays that they touch."""
    names = {s.name for s in alive}
    touched = {access.array for s in alive for access in (*s.reads, s.write)}
    arrays = tuple(a for a in program.arrays if a.name in touched or a.role != "intermediate")
    order = isl.UnionMap.empty(program.order.get_space().params())
    for relation in maps(program.order):
        if relation.get_tuple_name(isl.dim_type.in_) in names:
            order = order.union(isl.UnionMap.from_map(relation))
    return replace(program, arrays=arrays, statements=alive, order=order)
