"""Accesses whose index is affine in parts of the iterations only: clamped to their array, or something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl

from compiler.ir.program import Access, Statement

__all__ = ["clamped", "divided", "parts_of"]

Shapes = Callable[[str], tuple[int, ...]]
"""Extents of an array by its name."""


def parts_of(access: Access, domain: isl.Set) -> list[tuple[isl.Set, isl.MultiAff]]:
    """Where an access is one affine function of the iterations, and which; the parts are disjoint."""
    found: list[tuple[isl.Set, isl.MultiAff]] = []
    whole = isl.PwMultiAff.from_map(access.map.intersect_domain(domain)).gist(domain)
    whole.foreach_piece(lambda part, value: found.append((part, value)))
    return found


def clamped(access: Access, domain: isl.Set, shape: tuple[int, ...]) -> isl.MultiAff | None:
    """The affine function that an access is the clamped one of, as windows have it that repeat the edge of an image:
    every index that would leave the array is its first or its last one. None if it is no such access, or affine."""
    wanted = access.map.intersect_domain(domain)
    parts = parts_of(access, domain)
    for _, value in parts if len(parts) > 1 else ():
        if _clamp(value, shape, wanted.get_space()).intersect_domain(domain).is_equal(wanted):
            return value
    return None


def _clamp(value: isl.MultiAff, shape: tuple[int, ...], space: isl.Space) -> isl.Map:
    found = isl.Map.universe(space)
    for axis, extent in enumerate(shape):
        index = isl.PwAff.from_aff(value.get_aff(axis))
        low, high = (isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(index.get_domain_space()))
                                        .add_constant_val(isl.Val(n))) for n in (0, extent - 1))
        inside = isl.Map.from_pw_aff(index.max(low).min(high))
        found = found.intersect(_along(inside, axis, space))
    return found


def _along(index: isl.Map, axis: int, space: isl.Space) -> isl.Map:
    """The map to whole indices that leaves all but one of them open."""
    count = space.dim(isl.dim_type.out)
    index = index.insert_dims(isl.dim_type.out, 1, count - axis - 1).insert_dims(isl.dim_type.out, 0, axis)
    for kind in (isl.dim_type.in_, isl.dim_type.out):
        if space.has_tuple_id(kind):
            index = index.set_tuple_id(kind, space.get_tuple_id(kind))
    return index


def divided(statement: Statement, shapes: Shapes) -> list[Statement]:
    """A statement, or it on the parts of its iterations in which every read is affine or clamped."""
    domains = [statement.domain]
    for access in statement.reads:
        parts = parts_of(access, statement.domain)
        if len(parts) > 1 and clamped(access, statement.domain, shapes(access.array)) is None:
            cut = [domain.intersect(part) for domain in domains for part, _ in parts]
            domains = [domain for domain in cut if not domain.is_empty()]
    return [statement] if len(domains) == 1 else [replace(statement, domain=domain) for domain in domains]
