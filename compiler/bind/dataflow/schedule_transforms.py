"""Schedules that use the hardware better: lanes side by side, interleaved recurrences, slower data paths.

All three map the times of a legal network and derive it again, so legality is checked and channels fit (Bok 2018,
sections 5.2, 5.5 and 7.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce

import islpy as isl

from compiler.ir.program import Access, Program, Statement
from compiler.sched.process_network import NetworkError, NodeKind, ProcessNetwork, derive

__all__ = ["in_memory_order", "interleaved", "parallel_dimensions", "slowed", "with_lanes"]


def parallel_dimensions(network: ProcessNetwork) -> list[int]:
    """Time dimensions that no value crosses which a node computes for itself, innermost first."""
    count = next(iter(network.times.values())).dim(isl.dim_type.out)
    carried = set()
    for edge, moved in zip(network.edges, network.traffic, strict=True):
        if edge.origin == "flow" and edge.source == edge.sink:
            carried |= {k for k in range(count) if moved.crosses(k)}
    return [k for k in reversed(range(network.sizes, count)) if k not in carried]


def slowed(network: ProcessNetwork) -> ProcessNetwork:
    """The same times, each of which may be several ticks long (the extra innermost counter of section 5.2); the clock
    has to count them, see `tick_clock`."""
    times = {name: time.add_dims(isl.dim_type.out, 1) for name, time in network.times.items()}
    last = next(iter(times.values())).dim(isl.dim_type.out) - 1
    fixed = {n: t.fix_val(isl.dim_type.out, last, isl.Val(0)) for n, t in times.items()}
    return derive(network.program, fixed, sizes=network.sizes)


def interleaved(network: ProcessNetwork, dimension: int, factor: int, listed: int | None = None) -> ProcessNetwork:
    """C-slow: `factor` values of time dimension `dimension` take turns in every step of the dimensions inside it.
    Words come from main memory when they are wanted first, if their places in the turns would be too late.

    Raises `NetworkError` if that breaks a dependence, or if more than `listed` words of an edge would have to be looked
    at.
    """
    count = next(iter(network.times.values())).dim(isl.dim_type.out)
    names = [f"t{k}" for k in range(count)]
    outer = [f"floor({n} / {factor})" if k == dimension else n for k, n in enumerate(names)]
    turn = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(outer)}, {names[dimension]} mod {factor}] }}")
    times = {name: time.apply_range(turn) for name, time in network.times.items()}
    try:
        return derive(network.program, times, sizes=network.sizes, listed=listed)
    except NetworkError:
        return derive(network.program, times | _first_uses(network, times), sizes=network.sizes, listed=listed)


def _first_uses(network: ProcessNetwork, times: Mapping[str, isl.Map]) -> dict[str, isl.Map]:
    """For sources, the earliest time at which anything uses each of their words."""
    found: dict[str, isl.Map] = {}
    for node in network.nodes:
        if node.kind is NodeKind.INPUT:
            source = network.statement(node)
            given = source.write.map.intersect_domain(source.domain)
            uses = [given.apply_range(access.map.intersect_domain(user.domain).reverse()).apply_range(times[user.name])
                    for user in network.program.statements for access in user.reads
                    if access.array == source.write.array]
            found[node.name] = reduce(isl.Map.union, uses).lexmin()
    return found


def with_lanes(network: ProcessNetwork, dimension: int, lanes: int, only: Collection[str] | None = None,
               origin: int = 0) -> ProcessNetwork:
    """`lanes` copies of every node (of those in `only`, if given) that has that much to do at a time: times
    ``origin + lanes * q + r`` of `dimension` become ``origin + q``, in lane r. Raises `NetworkError` if that breaks a
    dependence."""
    count = next(iter(network.times.values())).dim(isl.dim_type.out)
    names = [f"t{k}" for k in range(count)]
    outer = [f"{origin} + floor(({n} - {origin}) / {lanes})" if k == dimension else n for k, n in enumerate(names)]
    fold = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(outer)}] }}")
    program, times = network.program, {}
    statements: list[Statement] = []
    orders = isl.UnionMap.empty(program.order.get_space())
    for statement in program.statements:
        time = network.times[statement.name]
        order = program.order_of(statement.name)
        copies, folded = [statement], time
        if only is None or statement.name in only:
            folded = time.apply_range(fold)
        if not folded.is_injective():
            copies = [c for lane in range(lanes)
                      if (c := _lane(statement, time, dimension, lanes, (origin + lane) % lanes)) is not None]
        for copy in copies:
            statements.append(copy)
            times[copy.name] = _of(copy, folded)
            orders = orders.union(isl.UnionMap.from_map(_of(copy, order)))
    return derive(replace(program, statements=tuple(statements), order=orders), times, sizes=network.sizes)


def _lane(statement: Statement, time: isl.Map, dimension: int, lanes: int, lane: int) -> Statement | None:
    """The part of `statement` whose time in `dimension` is `lane` modulo `lanes`, under a name of its own."""
    count = time.dim(isl.dim_type.out)
    names = [f"t{k}" for k in range(count)]
    chosen = isl.Set(f"{{ [{', '.join(names)}] : {names[dimension]} mod {lanes} = {lane} }}")
    domain = time.intersect_range(chosen).domain().coalesce()
    if domain.is_empty():
        return None
    name = f"{statement.name}_{lane}"
    copy = replace(statement, name=name, domain=domain.set_tuple_name(name))
    return replace(copy, reads=tuple(_moved(copy, a) for a in statement.reads), write=_moved(copy, statement.write))


def _moved(statement: Statement, access: Access) -> Access:
    return replace(access, map=access.map.set_tuple_name(isl.dim_type.in_, statement.name))


def _of(statement: Statement, mapping: isl.Map) -> isl.Map:
    """`mapping` of the statement that `statement` is a part of."""
    return mapping.set_tuple_name(isl.dim_type.in_, statement.name).intersect_domain(statement.domain)


def in_memory_order(network: ProcessNetwork) -> ProcessNetwork:
    """Sources and sinks move words in row-major order of their array: where they do not at the times they have, all of
    them come first, or last."""
    phases: Mapping[NodeKind, int] = {NodeKind.INPUT: 0, NodeKind.OUTPUT: 2}
    moved = {node.name: phases[node.kind] for node in network.nodes
             if node.kind in phases and not _row_major(network.program, network.statement(node), node.schedule)}
    if not moved:
        return network
    length = max(next(iter(network.times.values())).dim(isl.dim_type.out),
                 *(len(network.program.array(_memory(network.program, network.program.statement(name))[0]).shape)
                   for name in moved)) + 1
    times = {}
    for number, (name, time) in enumerate(network.times.items()):
        phase = moved.get(name, 1)
        if name in moved:
            time = _memory(network.program, network.program.statement(name))[1].reset_tuple_id(isl.dim_type.out)
        times[name] = _phased(time, network.sizes, (phase, number if phase != 1 else 0), length)
    return derive(network.program, times, sizes=network.sizes)


def _memory(program: Program, statement: Statement) -> tuple[str, isl.Map]:
    """The array in main memory that a source or sink moves words of, and {instance -> element}."""
    access = statement.write if program.array(statement.write.array).role == "output" else statement.reads[0]
    return access.array, access.map.intersect_domain(statement.domain)


def _row_major(program: Program, statement: Statement, time: isl.Map) -> bool:
    element = _memory(program, statement)[1].reset_tuple_id(isl.dim_type.out)
    space = element.range().get_space()
    later = isl.Map.lex_lt(space).apply_domain(element.reverse()).apply_range(element.reverse())
    return later.apply_domain(time).apply_range(time).is_subset(isl.Map.lex_lt(time.range().get_space()))


def _phased(time: isl.Map, place: int, phase: tuple[int, int], length: int) -> isl.Map:
    """`time` with a phase and the number of the node in it as dimensions `place` and the next, padded with zeros."""
    have = time.dim(isl.dim_type.out)
    time = time.insert_dims(isl.dim_type.out, place, 2).add_dims(isl.dim_type.out, length - have)
    for dim, value in ((place, phase[0]), (place + 1, phase[1]), *((k, 0) for k in range(have + 2, length + 2))):
        time = time.fix_val(isl.dim_type.out, dim, isl.Val(value))
    return time
