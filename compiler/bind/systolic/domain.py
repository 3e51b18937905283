"""Iterations that are no box, triangles say, or a convolution's at the border of an image: an array goes through the
box around them. Elements that are zero for it make up for terms that the program does not have, and results that it
does not have are not taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from compiler.analysis.accesses import iterators_of
from compiler.analysis.affine import affine_text
from compiler.analysis.boxes import box_around, box_of
from compiler.analysis.dependences import DependenceError, flow
from compiler.bind.systolic.errors import KernelError
from compiler.ir.program import Access, Program, Statement
from compiler.sched.space_time import Subscript, hull, reduction, same_flows, same_sums, subscripts

__all__ = ["Bound", "Boxed", "boxed", "check_iterations", "results_part", "used_part"]


@dataclass(frozen=True)
class Bound:
    """``constant + sum(coefficients[d] * subscript d) >= 0``."""

    coefficients: tuple[int, ...]
    constant: int


@dataclass(frozen=True)
class Boxed:
    """`program` with boxes around the terms of every result of accumulating statements; `iterations`: what they really
    are, by statement, of those that were changed. `wide`: boxes have results to which the program adds nothing."""

    program: Program
    iterations: Mapping[str, isl.Set] = field(default_factory=dict)
    wide: bool = False


def boxed(program: Program, *, wide: bool = False) -> Boxed:
    """Put a box around the iterations of every statement that accumulates, or at least around those of each result,
    where that leaves alone which values others see: all updates of an element still follow its first value, and come
    before its use. `wide`: also around elements that have a first value only."""
    found = Boxed(program, wide=wide)
    for statement in program.statements:
        if statement.box() is not None or statement.domain.is_empty() or not statement.domain.is_bounded():
            continue
        domains = (_beyond(program, statement),) if wide else (box_around(statement.domain), _across(statement))
        offers = (replace(statement, domain=domain) for domain in domains)
        larger = next((offer for offer in offers if _as_good(found.program, offer, wide)), None)
        if larger is not None:
            found = replace(found, program=_with(found.program, larger),
                            iterations={**found.iterations, statement.name: statement.domain})
    return found


def _with(program: Program, statement: Statement) -> Program:
    return replace(program, statements=tuple(statement if s.name == statement.name else s for s in program.statements))


def _as_good(program: Program, around: Statement, wide: bool) -> bool:
    """Whether `around`, in place of the statement of this name, leaves alone which values others see."""
    covered = (program.order_of(around.name), *(access.map for access in (*around.reads, around.write)))
    if not all(around.domain.is_subset(relation.domain()) for relation in covered):
        return False
    larger = _with(program, around)
    one = reduction(larger, around)
    try:
        return one is not None and (same_sums if wide else same_flows)(program, larger, around, one.read)
    except DependenceError:
        return False


def _beyond(program: Program, statement: Statement) -> isl.Set:
    """The box around the iterations, and around what the elements with a first value would have in other loops; the
    iterations as they are if the box has elements without a first value."""
    one = reduction(program, statement)
    starts = {d.source for d in flow(program) if one is not None and (d.sink, d.read) == (statement.name, one.read)}
    begun = isl.Set.empty(statement.write.map.get_space().range())
    for start in (program.statement(name) for name in starts - {statement.name}):
        begun = begun.union(start.write.map.intersect_domain(start.domain).range())
    reached = begun.apply(statement.write.map.reverse())
    moving = iterators_of(statement.write)
    for k, (low, high) in enumerate(hull(statement).values()):
        if k not in moving:
            reached = reached.lower_bound_val(isl.dim_type.set, k, low).upper_bound_val(isl.dim_type.set, k, high)
    if reached.is_empty() or not reached.is_bounded():
        return statement.domain
    box = box_around(statement.domain.union(reached))
    return box if box.apply(statement.write.map).is_subset(begun) else statement.domain


def _across(statement: Statement) -> isl.Set:
    """The results that there are, with all terms that any of them has."""
    moves = [any(s.coefficients[k] for s in subscripts(statement, statement.write))
             for k in range(len(statement.iterators))]
    results = statement.domain
    for k, moving in enumerate(moves):
        if not moving:
            results = results.project_out(isl.dim_type.set, k, 1).insert_dims(isl.dim_type.set, k, 1)
    return results.set_tuple_name(statement.name).intersect(box_around(statement.domain)).coalesce()


def used_part(access: Access, iterations: isl.Set | None, shape: Sequence[int]) -> tuple[Bound, ...]:
    """Bounds, beyond those of an array of `shape`, of the elements that `access` reads in `iterations`, if these are
    no box; elements outside them are never read."""
    if iterations is None:
        return ()
    seen = access.map.intersect_domain(iterations).range()
    whole = box_of(seen.get_space(), [(0, extent - 1) for extent in shape])
    return _bounds(isl.Set.from_basic_set(seen.remove_divs().simple_hull()).gist(whole).simple_hull())


def _bounds(part: isl.BasicSet) -> tuple[Bound, ...]:
    found = []
    for constraint in part.get_constraints():
        form = tuple(constraint.get_coefficient_val(isl.dim_type.set, d).to_python()
                     for d in range(part.dim(isl.dim_type.set)))
        constant = constraint.get_constant_val().to_python()
        found.append(Bound(form, constant))
        if constraint.is_equality():
            found.append(Bound(tuple(-c for c in form), -constant))
    return tuple(found)


def results_part(update: Statement, free: Collection[str]) -> tuple[Bound, ...]:
    """Bounds over the loops of `update`, counted from zero, of the results that it has in the box around its
    iterations: none on loops that are not `free`. Raises `KernelError` if results have no such bounds."""
    if update.box() is not None:
        return ()
    around = box_around(update.domain)
    inside = around.intersect(isl.Set.from_basic_set(update.domain.remove_divs().simple_hull()))
    part = isl.Set.from_basic_set(inside.simple_hull()).gist(around).simple_hull()
    found = _bounds(part)
    names = update.iterators
    if not inside.is_equal(update.domain) or any(
            c for bound in found for c, name in zip(bound.coefficients, names, strict=True) if name not in free):
        raise KernelError(f"{update}: its results are no box, triangle or other part of a box with affine bounds, "
                          "which a reduction kernel needs")
    lows = [low for low, _ in hull(update).values()]
    return tuple(Bound(b.coefficients, b.constant + sum(c * low for c, low in zip(b.coefficients, lows, strict=True)))
                 for b in found)


def check_iterations(update: Statement, iterations: isl.Set | None, free: Collection[str],
                     zeros: Sequence[tuple[Sequence[Subscript], Sequence[int], Sequence[Bound]]], *,
                     wide: bool) -> None:
    """Raise `KernelError` unless what `update` goes through gives the same results as `iterations` alone, and no
    others.

    `free`: loops that results depend on. `zeros`: of every reference that makes the body neutral where it is zero, its
    subscripts over loops from zero, the extents of its array, and the bounds of what is not zero for the array.
    `wide`: as of `Boxed`.
    """
    if iterations is None:
        return
    names = ", ".join(update.iterators)
    shifted = ", ".join(f"{name} - ({low})" for name, (low, _) in hull(update).items())
    zero = isl.Map(f"{{ {update.name}[{names}] -> [{shifted}] }}")
    own, whole = iterations.apply(zero), update.domain.apply(zero)
    results = isl.Map(f"{{ [{names}] -> [{', '.join(n for n in update.iterators if n in free)}] }}")
    rest = whole.subtract(own)
    for index_of, shape, bounds in zeros:
        index = [affine_text(zip(s.coefficients, update.iterators, strict=True), s.constant) for s in index_of]
        inside = [f"0 <= {i} < {extent}" for i, extent in zip(index, shape, strict=True)]
        terms = [f"({i})" for i in index]
        inside += [f"{affine_text(zip(bound.coefficients, terms, strict=True), bound.constant)} >= 0"
                   for bound in bounds]
        rest = rest.intersect(isl.Set(f"{{ [{names}] : {' and '.join(inside)} }}"))
    if not rest.is_empty() or not (wide or whole.apply(results).is_subset(own.apply(results))):
        raise KernelError(f"{update}: its iterations are no box of constant bounds, which a reduction kernel needs "
                          "unless zeros in place of elements that it never reads make up for the rest")
