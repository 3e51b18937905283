"""Statements on triangles and other domains that no box holds, on the box around them behind a guard.

Static schedules count in loops of constant bounds. `predicate_statement` lets a statement run over the whole box around
its domain: beside the domain it stores what its element held before, so no other statement sees a difference. The guard
compares iterators, whose values come on streams of their own (`compiler.passes.arrays.iterator_tables`). In a sum it
stands before the term that is added, not behind the sum, so the way back to the next term stays as short as it was.

What an element held before may be nothing: arrays whose elements would be read before they are written are set to zero
at the start, by a statement of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

import islpy as isl

from compiler.analysis.accesses import same_elements
from compiler.analysis.affine import extremes
from compiler.analysis.dependences import uninitialized_reads
from compiler.analysis.domain_predicate import WidePredicate, membership
from compiler.ir.expr import (
    Apply,
    Cast,
    Const,
    Expr,
    Load,
    Read,
    Store,
    apply,
    converted,
    fold,
    mentions,
    select,
    with_children,
)
from compiler.ir.memory_order import stores
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import BIT, Int, Type
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, order_of_places, places
from compiler.passes.normalize.domain_padding import PaddedProgram, extent, moved, on_box
from compiler.passes.normalize.index_set_splitting import few_boxes

__all__ = ["predicate_domains", "predicate_statement"]


def predicate_domains(program: Program, everywhere: bool = False) -> PaddedProgram | None:
    """`program` with the statements on boxes behind guards whose domain is none, nor a few boxes; None if there are
    none, or if its order is not made of loops.

    Behind a closed guard only the statement's own element is read, and inputs; `everywhere`: all else is, too, whatever
    it is there. Statements that share units have to stay alike and are left.
    """
    shared = {name for group in program.shared for name in group}
    ragged = [s for s in program.statements
              if s.name not in shared and s.box() is None and (stores(s) or few_boxes(s.domain) is None)]
    if not ragged:
        return None
    try:
        where = places(program)
    except TransformError:
        return None
    bounds = _loop_bounds(program, where)
    found: dict[str, Statement] = {}
    for statement in ragged:
        whole = _whole(program, where, statement, bounds[statement.name])
        if whole is None:
            return None
        chosen = predicate_statement(statement, whole, program.array(statement.write.array).type)
        found[statement.name] = chosen if everywhere else _asked_only(program, statement, chosen)
    return _with_room(program, found)


_MORE = 1.5
"""How many times as many instances a statement may get only to write a whole array."""


def _whole(program: Program, where: Mapping[str, Place], statement: Statement,
           bounds: Sequence[tuple[int, int]]) -> Statement | None:
    """The statement on the box of its loops, or a little larger where it then writes all elements of its array, and
    shares no loop: what it stores and what it leaves then come from one place. None if it cannot be on a box."""
    array = program.array(statement.write.array)
    mine = where[statement.name].positions[0]
    if any(place.positions[0] == mine for name, place in where.items() if name != statement.name):
        return on_box(statement, bounds)
    larger = list(bounds)
    for position, iterator in enumerate(_walked(statement)):
        if iterator is not None:
            larger[iterator] = min(larger[iterator][0], 0), max(larger[iterator][1], array.shape[position] - 1)
    whole = on_box(statement, larger)
    if whole is not None and _instances(larger) <= _MORE * _instances(bounds) and all(
            extent(a, [whole]) == ((0,) * len(a.shape), a.shape) for a in program.arrays):
        return whole
    return on_box(statement, bounds)


def _walked(statement: Statement) -> list[int | None]:
    """For each dimension of the written array the iterator that is its index, None if it is anything else."""
    found: list[int | None] = []
    for position in range(statement.write.map.dim(isl.dim_type.out)):
        equal = [k for k in range(len(statement.iterators)) if statement.write.map.is_subset(
            statement.write.map.equate(isl.dim_type.in_, k, isl.dim_type.out, position))]
        found.append(equal[0] if equal else None)
    return found


def _instances(bounds: Sequence[tuple[int, int]]) -> int:
    return prod(high - low + 1 for low, high in bounds)


def _loop_bounds(program: Program, where: Mapping[str, Place]) -> dict[str, list[tuple[int, int]]]:
    """First and last value of every iterator of every statement, those of its loop: of all statements inside of that.

    Values that statements of one loop body pass to each other then come from the same iterations throughout.
    """
    loops: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    times = {s.name: _times(s, where[s.name]) for s in program.statements}
    for name, spans in times.items():
        for depth, span in enumerate(spans):
            loops.setdefault(where[name].positions[: depth + 1], []).append(span)
    found: dict[str, list[tuple[int, int]]] = {}
    for s in program.statements:
        found[s.name] = [(s.domain.dim_min_val(k).to_python(), s.domain.dim_max_val(k).to_python())
                         for k in range(len(s.iterators))]
        for k, (first, _) in enumerate(times[s.name]):
            shift, span = first - found[s.name][k][0], loops[where[s.name].positions[: k + 1]]
            found[s.name][k] = min(low for low, _ in span) - shift, max(high for _, high in span) - shift
    return found


def _times(statement: Statement, place: Place) -> list[tuple[int, int]]:
    """First and last time of every loop of a statement; none where loops are anything else than the iterators in their
    order, but for constants (`compiler.passes.normalize.loop_normalization`)."""
    walked = [place.iterator(depth) for depth in range(len(place.loops))]
    slopes = [loop.get_coefficient_val(isl.dim_type.in_, k) for k, loop in enumerate(place.loops)
              if walked[k] == k and not loop.dim(isl.dim_type.div)]
    if walked != list(range(len(statement.iterators))) or [slope.to_python() for slope in slopes] != [1] * len(walked):
        return []
    return [extremes(statement.domain, loop) for loop in place.loops]


def _with_room(program: Program, found: Mapping[str, Statement]) -> PaddedProgram | None:
    """`program` with these statements, on arrays that hold all that they touch."""
    statements = tuple(found.get(s.name, s) for s in program.statements)
    extents = {array.name: extent(array, statements) for array in program.arrays}
    fronts = {name: tuple(-k for k in first) for name, (first, _) in extents.items() if any(first)}
    arrays = tuple(replace(array, shape=extents[array.name][1]) for array in program.arrays)
    growth = PaddedProgram(program, program, fronts, guarded=frozenset(found))
    after = _at_times_of_their_own(replace(program, arrays=arrays,
                                           statements=tuple(moved(growth, s) for s in statements)))
    early = uninitialized_reads(after)
    after = cleared(after, early) if early else after
    clearing = {s.name for s in after.statements} - {s.name for s in program.statements}
    return replace(growth, after=after, clearing=frozenset(clearing))


def _at_times_of_their_own(program: Program) -> Program:
    """`program` with statements one after the other that stood at one place, as both sides of C's ``?:`` do."""
    where = places(program)
    together: dict[tuple[int, ...], list[str]] = {}
    for name, place in where.items():
        together.setdefault(place.positions, []).append(name)
    for positions, names in together.items():
        depth = len(positions) - 1
        for name, place in where.items() if len(names) > 1 else ():
            if len(place.positions) > depth and place.positions[:depth] == positions[:depth]:
                turn = names.index(name) if name in names else 0
                where[name] = place.moved(depth, len(names) * place.positions[depth] + turn)
    return replace(program, order=order_of_places(program.statements, where))


def predicate_statement(statement: Statement, whole: Statement, type_: Type) -> Statement:
    """`whole`, which is `statement` on a larger domain, as one that stores what its element, of `type_`, held before
    wherever `statement` has no instance."""
    own = next((k for k, read in enumerate(whole.reads) if same_elements(read, whole.write, whole.domain)),
               len(whole.reads))
    reads = whole.reads if own < len(whole.reads) else (*whole.reads, whole.write)
    try:
        guard = membership(statement.domain, whole.domain, whole.iterators)
    except WidePredicate as error:
        raise WidePredicate(f"{statement.label()}: {error}: compute it in a type that does not wrap there, or read it "
                            "from a table") from None
    value = converted(_guarded_accesses(whole.value, guard), type_)
    term = _in_the_sum(value, own, guard)
    chosen = term if term is not None else select(guard, value, Read(own, type_))
    return replace(whole, reads=reads, value=chosen)


def _guarded_accesses(value: Expr, guard: Expr) -> Expr:
    """`value`, whose stores take place where `guard` holds, and whose loads are at index 0 elsewhere."""

    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Load | Store):
            parts[0] = apply("select", guard, parts[0], Const(0, parts[0].type))
        if isinstance(node, Store):
            parts[2] = select(guard, parts[2], Const(0, BIT))
        return with_children(node, parts)

    return fold(value, step)


def _asked_only(program: Program, statement: Statement, whole: Statement) -> Statement:
    """`whole` with reads of arrays that are no inputs only where `statement` has an instance, but for those of the
    element that it writes: what stands behind a closed guard has no need to be there."""
    inputs = {array.name for array in program.inputs}
    reads = tuple(
        read if read.array in inputs or same_elements(read, whole.write, whole.domain)
        else replace(read, map=read.map.intersect_domain(statement.domain)) for read in whole.reads)
    return replace(whole, reads=reads)


def _in_the_sum(value: Expr, own: int, guard: Expr) -> Expr | None:
    """`value`, which adds to read `own` or subtracts from it, with the guard before what it adds; None if it is no such
    sum of integers. Floating-point numbers have none: nothing that is added keeps the bits of what is no number."""
    match value:
        case Read(index):
            return value if index == own else None
        case Cast(arg, type_) if _holds(type_, arg.type) or _holds(arg.type, type_):
            inner = _in_the_sum(arg, own, guard)
            return None if inner is None else Cast(inner, type_)
        case Apply("add" | "sub" as op, (a, b), Int()):
            if op == "add" and not mentions(a, own):
                a, b = b, a
            inner = None if mentions(b, own) else _in_the_sum(a, own, guard)
            return None if inner is None else apply(op, inner, select(guard, b, Const(0, b.type)))
    return None


def _holds(wide: Type, narrow: Type) -> bool:
    """Whether a value keeps all of its bits in the type `wide`."""
    return isinstance(wide, Int) and isinstance(narrow, Int) and BIT not in (wide, narrow) and (
        wide.width >= narrow.width)


def cleared(program: Program, names: Collection[str]) -> Program:
    """`program` with a statement before all others for each of these arrays, that sets it to zero."""
    where = places(program)
    first = min(place.positions[0] for place in where.values())
    added: list[Statement] = []
    for array in program.arrays:
        if array.name in names:
            first -= 1
            statement = _clearing(array, fresh_name(f"{array.name}_clear", program.names))
            loops = tuple(isl.Aff.var_on_domain(isl.LocalSpace.from_space(statement.domain.get_space()),
                                                isl.dim_type.set, k) for k in range(len(array.shape)))
            where[statement.name] = Place((first, *[0] * len(array.shape)), loops)
            added.append(statement)
    statements = (*added, *program.statements)
    return replace(program, statements=statements, order=order_of_places(statements, where))


def _clearing(array: Array, name: str) -> Statement:
    iterators = tuple(f"i{k}" for k in range(len(array.shape)))
    point = f"{name}[{', '.join(iterators)}]"
    inside = " and ".join(f"0 <= {i} < {size}" for i, size in zip(iterators, array.shape, strict=True))
    domain = isl.Set(f"{{ {point} : {inside or 'true'} }}")
    write = Access(array.name, isl.Map(f"{{ {point} -> {array.name}[{', '.join(iterators)}] }}"))
    return Statement(name, iterators, domain, (), write, Const(0, array.type))
