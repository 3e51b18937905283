"""Iterations that are no box, triangles say, or a convolution's at the border of an image: an array goes through the
box around them, and elements that are zero for it make up for those that the program does not have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from compiler.bind.systolic.errors import KernelError
from compiler.ir.program import Access, Program, Statement
from compiler.sched.affine import affine_text
from compiler.sched.space_time import Subscript, reduction, same_flows

__all__ = ["Bound", "Boxed", "boxed", "check_iterations", "used_part"]


@dataclass(frozen=True)
class Bound:
    """``constant + sum(coefficients[d] * subscript d) >= 0``."""

    coefficients: tuple[int, ...]
    constant: int


@dataclass(frozen=True)
class Boxed:
    """`program` with boxes around the iterations of accumulating statements; `iterations`: what they really are, by
    statement, of those that were no boxes."""

    program: Program
    iterations: Mapping[str, isl.Set] = field(default_factory=dict)


def boxed(program: Program) -> Boxed:
    """Put a box around the iterations of every statement that accumulates, where that leaves alone which values others
    see: all updates of an element still follow its first value, and come before its use."""
    found = Boxed(program)
    for statement in program.statements:
        if statement.box() is not None or statement.domain.is_empty() or not statement.domain.is_bounded():
            continue
        around = replace(statement, domain=_around(statement))
        order = program.order_of(statement.name)
        covered = (order, *(access.map for access in (*statement.reads, statement.write)))
        if not all(around.domain.is_subset(relation.domain()) for relation in covered):
            continue
        larger = replace(found.program, statements=tuple(around if s.name == around.name else s
                                                         for s in found.program.statements))
        one = reduction(larger, around)
        if one is not None and same_flows(found.program, larger, around, one.read):
            found = Boxed(larger, {**found.iterations, statement.name: statement.domain})
    return found


def _around(statement: Statement) -> isl.Set:
    domain = isl.Set.universe(statement.domain.get_space())
    for k in range(len(statement.iterators)):
        low, high = statement.domain.dim_min_val(k), statement.domain.dim_max_val(k)
        domain = domain.lower_bound_val(isl.dim_type.set, k, low).upper_bound_val(isl.dim_type.set, k, high)
    return domain


def used_part(access: Access, iterations: isl.Set | None, shape: Sequence[int]) -> tuple[Bound, ...]:
    """Bounds, beyond those of an array of `shape`, of the elements that `access` reads in `iterations`, if these are
    no box; elements outside them are never read."""
    if iterations is None:
        return ()
    seen = access.map.intersect_domain(iterations).range()
    whole = isl.Set.universe(seen.get_space())
    for d, extent in enumerate(shape):
        whole = whole.lower_bound_val(isl.dim_type.set, d, 0).upper_bound_val(isl.dim_type.set, d, extent - 1)
    hull = isl.Set.from_basic_set(seen.remove_divs().simple_hull()).gist(whole).simple_hull()
    found = []
    for constraint in hull.get_constraints():
        form = tuple(constraint.get_coefficient_val(isl.dim_type.set, d).to_python() for d in range(len(shape)))
        constant = constraint.get_constant_val().to_python()
        found.append(Bound(form, constant))
        if constraint.is_equality():
            found.append(Bound(tuple(-c for c in form), -constant))
    return tuple(found)


def check_iterations(update: Statement, iterations: isl.Set | None, free: Collection[str],
                     zeros: Sequence[tuple[Sequence[Subscript], Sequence[int], Sequence[Bound]]]) -> None:
    """Raise `KernelError` unless the box that `update` goes through gives the same results as `iterations` alone, and
    no others.

    `free`: loops that results depend on. `zeros`: of every reference that makes the body neutral where it is zero, its
    subscripts over loops from zero, the extents of its array, and the bounds of what is not zero for the array.
    """
    box = update.box()
    if box is None:
        raise KernelError(f"{update}: its iterations are no box of constant bounds, which a reduction kernel needs")
    if iterations is None:
        return
    names = ", ".join(update.iterators)
    shifted = ", ".join(f"{name} - ({low})" for name, (low, _) in box.items())
    zero = isl.Map(f"{{ {update.name}[{names}] -> [{shifted}] }}")
    own, whole = iterations.apply(zero), update.domain.apply(zero)
    results = isl.Map(f"{{ [{names}] -> [{', '.join(n for n in update.iterators if n in free)}] }}")
    rest = whole.subtract(own)
    for subscripts, shape, bounds in zeros:
        index = [affine_text(zip(s.coefficients, update.iterators, strict=True), s.constant) for s in subscripts]
        inside = [f"0 <= {i} < {extent}" for i, extent in zip(index, shape, strict=True)]
        terms = [f"({i})" for i in index]
        inside += [f"{affine_text(zip(bound.coefficients, terms, strict=True), bound.constant)} >= 0"
                   for bound in bounds]
        rest = rest.intersect(isl.Set(f"{{ [{names}] : {' and '.join(inside)} }}"))
    if not rest.is_empty() or not whole.apply(results).is_subset(own.apply(results)):
        raise KernelError(f"{update}: its iterations are no box of constant bounds, which a reduction kernel needs "
                          "unless zeros in place of elements that it never reads make up for the rest")
