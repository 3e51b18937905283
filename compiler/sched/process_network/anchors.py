"""Where schedules start from: times for the statements that fire most, with which all others are aligned.

`anchors` keep the order of the program, or take the one of isl's scheduler. `waves` put instances that wait for each
other far apart, so that deep operators stay busy: the outer dimensions number levels, and the instances of one level do
not wait for each other. Copies take no time, so what they pass on counts as read from where it comes from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import islpy as isl
import networkx as nx

from compiler.ir.program import Program
from compiler.sched.affine import maps, padded
from compiler.sched.dependences import Dependence
from compiler.sched.process_network.instances import Flows
from compiler.sched.process_network.legal_times import is_ordered, too_early
from compiler.sched.process_network.planes import planes
from compiler.sched.process_network.transfers import is_sink, is_source

__all__ = ["Anchors", "among", "anchors", "program_times", "waves", "without_sequence"]


def program_times(program: Program) -> dict[str, isl.Map]:
    """The program's own order as a schedule; legal, and nothing is fused that the program does not fuse."""
    return {s.name: program.order_of(s.name).intersect_domain(s.domain) for s in program.statements}


Anchors = Iterator[tuple[dict[str, isl.Map], bool]]
"""(statements with times to start from, whether statements between two neighbours fire early)."""


def anchors(program: Program, dependences: tuple[Dependence, ...], original: dict[str, isl.Map],
            sizes: int) -> Anchors:
    """The busiest component in the order of the program, or of isl's scheduler, or its busiest statement alone."""
    counts = {s.name: s.domain.count_val().to_python() for s in program.statements}
    chosen = _busiest(program, dependences, counts)
    whole = {name: original[name] for name in original if name in chosen}
    yield from ((whole, early) for early in (False, True))
    if len(whole) > 1:
        busiest = max(whole, key=counts.__getitem__)
        yield from (({busiest: original[busiest]}, early) for early in (False, True))
        inner = among(dependences, whole)
        yield without_sequence(program, inner, whole), False
        yield without_sequence(program, inner, _by_isl(program, inner, whole, sizes)), False


def waves(program: Program, apart: tuple[list[str], tuple[Dependence, ...]], original: dict[str, isl.Map], sizes: int,
          flows: Flows) -> Anchors:
    """Levels of the busiest component, and of all statements: by isl's form of Feautrier's scheduler, and by planes.
    `apart`: statements that are no copies, and the flow between them (`without_copies`)."""
    counts = {s.name: s.domain.count_val().to_python() for s in program.statements}
    moves = [s.name for s in program.statements if is_source(program, s) or is_sink(program, s)]
    computing, direct = apart
    found = [{n for n in computing if n in _busiest(program, flows.dependences, counts)}, {*computing} - {*moves}]
    for chosen in [names for k, names in enumerate(found) if names and names not in found[:k]]:
        whole = {name: original[name] for name in original if name in chosen}
        inner = among(direct, whole)
        for times in (_by_isl(program, inner, whole, sizes, isl.schedule_algorithm.FEAUTRIER),
                      *planes(whole, inner, sizes, flows)):
            if next(iter(times.values())).dim(isl.dim_type.out) == next(iter(whole.values())).dim(isl.dim_type.out):
                yield without_sequence(program, inner, times), False


def _busiest(program: Program, dependences: tuple[Dependence, ...], counts: dict[str, int]) -> set[str]:
    """The component of the dependence graph that fires most often; transfers do not count."""
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(counts)
    graph.add_edges_from((d.source, d.sink) for d in dependences)
    moves = {s.name for s in program.statements if is_source(program, s) or is_sink(program, s)}
    components = list(nx.strongly_connected_components(graph))
    return max(components, key=lambda c: (not c <= moves, sum(counts[n] for n in c), len(c)))


def among(dependences: tuple[Dependence, ...], names: Collection[str]) -> tuple[Dependence, ...]:
    """Those from and to statements in `names`."""
    return tuple(d for d in dependences if d.source in names and d.sink in names)


def without_sequence(program: Program, dependences: tuple[Dependence, ...],
                     times: dict[str, isl.Map]) -> dict[str, isl.Map]:
    """`times` with every dimension 0 that only puts statements after each other, if that is legal; innermost first."""
    for dim in reversed(range(next(iter(times.values())).dim(isl.dim_type.out))):
        if all(time.range().dim_min_val(dim).eq(time.range().dim_max_val(dim)) for time in times.values()):
            merged = {name: time.project_out(isl.dim_type.out, dim, 1).insert_dims(isl.dim_type.out, dim, 1)
                      .fix_val(isl.dim_type.out, dim, isl.Val(0)) for name, time in times.items()}
            if all(too_early(d, merged).is_empty() for d in dependences) and is_ordered(program, dependences, merged):
                times = merged
    return times


def _by_isl(program: Program, dependences: tuple[Dependence, ...], whole: dict[str, isl.Map], sizes: int,
            algorithm: int = isl.schedule_algorithm.ISL) -> dict[str, isl.Map]:
    """The times that isl's scheduler gives the statements of `whole` (seed 003, section 2.3), padded to their space."""
    domain, needs = isl.UnionSet("{ }"), isl.UnionMap("{ }")
    for name in whole:
        domain = domain.union(isl.UnionSet.from_set(program.statement(name).domain))
    for dependence in dependences:
        needs = needs.union(isl.UnionMap.from_map(dependence.relation.reverse()))
    constraints = isl.ScheduleConstraints.on_domain(domain).set_validity(needs).set_proximity(needs)
    context = domain.get_ctx()
    usual = context.get_schedule_algorithm()
    context.set_schedule_algorithm(algorithm)
    try:
        schedule = constraints.compute_schedule().get_map()
    finally:
        context.set_schedule_algorithm(usual)
    found = {m.get_tuple_name(isl.dim_type.in_): m for m in maps(schedule)}
    length = next(iter(whole.values())).dim(isl.dim_type.out)
    if sizes:
        found = {name: _led(time, sizes) for name, time in found.items()}
    return {name: padded(found[name].intersect_domain(program.statement(name).domain), length) for name in whole}


def _led(time: isl.Map, sizes: int) -> isl.Map:
    """`time` after the first `sizes` iterators."""
    time = time.insert_dims(isl.dim_type.out, 0, sizes)
    for dim in range(sizes):
        time = time.equate(isl.dim_type.in_, dim, isl.dim_type.out, dim)
    return time
