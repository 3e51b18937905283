"""Programs that differ only in sizes, as one program whose outermost iterators are the sizes.

Bok 2018, sections 2.2 and 2.5.2: bounds may be parameters. Every domain, access and order gets the sizes as leading
dimensions, so schedules, channels, counters and predicates become functions of them by the same steps as for numbers.
Nothing is guessed: the common form is compared with the program of every size in the ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from math import prod

import islpy as isl

from compiler.ir.program import Access, Array, Program, Statement
from compiler.sched.process_network.errors import NetworkError

__all__ = ["Ranges", "SizePoint", "family", "size_points"]

Ranges = Mapping[str, tuple[int, int]]
"""Least and greatest value of every size, by name."""

SizePoint = tuple[int, ...]

_MOST = 256


def size_points(ranges: Ranges) -> list[SizePoint]:
    """All combinations of sizes. Raises `NetworkError` for an empty range, a negative size, or more than 256."""
    for name, (low, high) in ranges.items():
        if not 0 <= low <= high:
            raise NetworkError(f"size {name}: {low} to {high} is no range of sizes")
    count = prod(high - low + 1 for low, high in ranges.values())
    if not ranges or count > _MOST:
        raise NetworkError(f"there are {count if ranges else 0} combinations of sizes, not 1 to {_MOST}")
    return list(product(*(range(low, high + 1) for low, high in ranges.values())))


def family(ranges: Ranges, build: Callable[[SizePoint], Program]) -> Program:
    """The programs ``build(point)`` of all `size_points` as one. Its arrays have the sizes as leading dimensions too,
    and the greatest extents. Raises `NetworkError` if two of them differ in more than sizes, naming what differs."""
    programs = {point: build(point) for point in size_points(ranges)}
    last = max(programs)
    for point, program in programs.items():
        _check_alike(ranges, (point, program), (last, programs[last]))
    names = tuple(ranges)
    statements = tuple(_statement(names, programs, s) for s in programs[last].statements)
    order = isl.UnionMap.empty(programs[last].order.get_space())
    for s in statements:
        times = {point: p.order_of(s.name).intersect_domain(p.statement(s.name).domain)
                 for point, p in programs.items()}
        order = order.union(isl.UnionMap.from_map(_common(times, s.domain)))
    arrays = tuple(_array(programs, ranges, array) for array in programs[last].arrays)
    return replace(programs[last], arrays=arrays, statements=statements, order=order)


def _named(ranges: Ranges, point: SizePoint) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(ranges, point, strict=True))


def _check_alike(ranges: Ranges, first: tuple[SizePoint, Program], second: tuple[SizePoint, Program]) -> None:
    (here, program), (there, other) = ((_named(ranges, point), program) for point, program in (first, second))
    for kind in ("statements", "arrays", "tables"):
        mine, its = ([item.name for item in getattr(p, kind)] for p in (program, other))
        if mine != its:
            raise NetworkError(f"program '{program.name}' has other {kind} for {here} ({', '.join(mine)}) than for "
                               f"{there} ({', '.join(its)})")
    for one, two in zip(program.statements, other.statements, strict=True):
        if one.value != two.value or one.iterators != two.iterators:
            raise NetworkError(f"{one}: it computes something else for {here} than for {there}")
        if clash := set(one.iterators) & set(ranges):
            raise NetworkError(f"{one}: its iterator '{clash.pop()}' has the name of a size")
        if [a.array for a in one.reads] != [a.array for a in two.reads]:
            raise NetworkError(f"{one}: it reads other arrays for {here} than for {there}")
    for one, two in zip(program.tables, other.tables, strict=True):
        if one.values != two.values:
            raise NetworkError(f"table {one.name} has other values for {here} than for {there}")


def _array(programs: Mapping[SizePoint, Program], ranges: Ranges, array: Array) -> Array:
    shapes = [p.array(array.name).shape for p in programs.values()]
    extents = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
    return replace(array, shape=(*(high + 1 for _, high in ranges.values()), *extents))


def _statement(names: tuple[str, ...], programs: Mapping[SizePoint, Program], statement: Statement) -> Statement:
    own = {point: program.statement(statement.name) for point, program in programs.items()}
    domain = _common_domain({point: s.domain for point, s in own.items()})
    domain = domain.set_tuple_name(statement.name)
    iterators = (*names, *statement.iterators)
    for position, name in enumerate(iterators):
        domain = domain.set_dim_name(isl.dim_type.set, position, name)

    def access(pick: Callable[[Statement], Access]) -> Access:
        maps = {point: pick(s).map.intersect_domain(s.domain) for point, s in own.items()}
        return replace(pick(statement), map=_common(maps, domain))

    reads = tuple(access(lambda s, k=k: s.reads[k]) for k in range(len(statement.reads)))
    return replace(statement, iterators=iterators, domain=domain, reads=reads, write=access(lambda s: s.write))


def _lifted(domain: isl.Set, point: SizePoint) -> isl.Set:
    """`domain` with leading dimensions that have the values of `point`."""
    name = domain.get_tuple_name()
    domain = domain.insert_dims(isl.dim_type.set, 0, len(point))
    for position, value in enumerate(point):
        domain = domain.fix_val(isl.dim_type.set, position, isl.Val(value))
    return domain.set_tuple_name(name) if name else domain


def _samples(points: list[SizePoint]) -> list[SizePoint]:
    """The corners of the ranges and their neighbours inside."""
    axes = [sorted({values[0], values[min(1, len(values) - 1)], values[-1]})
            for values in (sorted(set(axis)) for axis in zip(*points, strict=True))]
    return list(product(*axes))


def _common_domain(domains: Mapping[SizePoint, isl.Set]) -> isl.Set:
    """The union of the lifted domains, in the form of few affine conditions if there is one."""
    sampled = [_lifted(domains[point], point) for point in _samples(list(domains))]
    hull = isl.Set.from_basic_set(_union(sampled).polyhedral_hull())
    if all(_fixed(hull, point).is_equal(domain.reset_tuple_id()) for point, domain in domains.items()):
        return hull
    return _union([_lifted(domain, point) for point, domain in domains.items()]).coalesce()


def _fixed(lifted: isl.Set, point: SizePoint) -> isl.Set:
    """The part of a lifted set for one size, without the leading dimensions."""
    for position, value in enumerate(point):
        lifted = lifted.fix_val(isl.dim_type.set, position, isl.Val(value))
    return lifted.reset_tuple_id().project_out(isl.dim_type.set, 0, len(point))


def _union(parts: list[isl.Set]) -> isl.Set:
    total = parts[0]
    for part in parts[1:]:
        total = total.union(part)
    return total


def _common(maps: Mapping[SizePoint, isl.Map], domain: isl.Set) -> isl.Map:
    """The lifted maps as one on the lifted `domain`; the sizes lead its results too."""
    lifted = {point: _lifted_map(mapping, point) for point, mapping in maps.items()}
    sampled = _union_map([lifted[point] for point in _samples(list(maps))])
    hull = isl.Map.from_basic_map(sampled.affine_hull()).intersect_domain(domain)
    whole = _union_map(list(lifted.values()))
    if hull.is_single_valued() and whole.is_subset(hull):
        return hull
    return whole.coalesce()


def _union_map(parts: list[isl.Map]) -> isl.Map:
    total = parts[0]
    for part in parts[1:]:
        total = total.union(part)
    return total


def _lifted_map(mapping: isl.Map, point: SizePoint) -> isl.Map:
    names = {kind: mapping.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out)
             if mapping.has_tuple_name(kind)}
    for kind in (isl.dim_type.in_, isl.dim_type.out):
        mapping = mapping.insert_dims(kind, 0, len(point))
        for position, value in enumerate(point):
            mapping = mapping.fix_val(kind, position, isl.Val(value))
    for kind, name in names.items():
        mapping = mapping.set_tuple_name(kind, name)
    return mapping
