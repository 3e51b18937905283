"""Where schedules start from: times for the statements that fire most, with which all others are aligned.

`anchors` keep the order of the program, pipeline its loops, or take the order of isl's scheduler. `waves` put instances
that wait for each other far apart, so that deep operators stay busy: the outer dimensions number levels, and the
instances of one level do not wait for each other. Copies take no time, so what they pass on counts as read from where
it comes from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import islpy as isl
import networkx as nx

from compiler.analysis.affine import maps, padded
from compiler.analysis.dependences import Dependence
from compiler.analysis.instance_budget import count_instances
from compiler.analysis.isl_effort import EffortError, bounded_operations
from compiler.ir.program import Program
from compiler.ir.relations import united
from compiler.sched.process_network.hyperplanes import deepest, planes
from compiler.sched.process_network.instances import Flows, Times
from compiler.sched.process_network.legality import fits
from compiler.sched.process_network.transfers import is_sink, is_source

__all__ = ["Anchors", "among", "anchors", "overlapped", "program_times", "waves", "without_sequence"]

_STEPS = {isl.schedule_algorithm.ISL: 100_000, isl.schedule_algorithm.FEAUTRIER: 1_000_000}
"""Steps that isl's scheduler may take. Its own algorithm takes less than a third of them for dozens of statements, but
minutes beyond them where large coefficients come up."""

_MOST_PIECES = 64
"""Convex pieces of dependences up to which isl's own algorithm brings the ends of all of them near each other: for each
it looks for the bound of a distance, all together, and with more its coefficients grow beyond what its steps say."""


def program_times(program: Program) -> dict[str, isl.Map]:
    """The program's own order as a schedule; legal, and nothing is fused that the program does not fuse."""
    return {s.name: program.order_of(s.name).intersect_domain(s.domain) for s in program.statements}


Anchors = Iterator[tuple[dict[str, isl.Map], bool]]
"""(statements with times to start from, whether statements between two neighbours fire early)."""


def anchors(program: Program, dependences: tuple[Dependence, ...], original: dict[str, isl.Map], sizes: int,
            flows: Flows) -> Anchors:
    """The busiest component in the order of the program, with loops pipelined, in the order of isl's scheduler, or its
    busiest statement alone."""
    counts = {s.name: count_instances(s.domain) for s in program.statements}
    chosen = _busiest(program, dependences, counts)
    whole = {name: original[name] for name in original if name in chosen}
    yield from ((whole, early) for early in (False, True))
    if len(whole) > 1:
        busiest = max(whole, key=counts.__getitem__)
        yield from (({busiest: original[busiest]}, early) for early in (False, True))
        inner = among(dependences, whole)
        yield without_sequence(inner, whole, sizes, flows), False
        yield overlapped(inner, whole, sizes, flows), False
        for times in _by_isl(program, inner, whole, sizes):
            yield without_sequence(inner, times, sizes, flows), False


def waves(program: Program, apart: tuple[list[str], tuple[Dependence, ...]], original: dict[str, isl.Map], sizes: int,
          flows: Flows) -> Anchors:
    """Levels of the busiest component, of those of its statements that are in the most loops, and of all statements: by
    isl's form of Feautrier's scheduler, and by planes. `apart`: statements that are no copies, and the flow between
    them (`without_copies`)."""
    counts = {s.name: count_instances(s.domain) for s in program.statements}
    moves = [s.name for s in program.statements if is_source(program, s) or is_sink(program, s)]
    computing, direct = apart
    found = [{n for n in computing if n in _busiest(program, flows.dependences, counts)}, {*computing} - {*moves}]
    for chosen in [names for k, names in enumerate(found) if names and names not in found[:k]]:
        whole = {name: original[name] for name in original if name in chosen}
        inner = among(direct, whole)
        for times in (*_by_isl(program, inner, whole, sizes, isl.schedule_algorithm.FEAUTRIER),
                      *planes(whole, inner, sizes, flows)):
            if next(iter(times.values())).dim(isl.dim_type.out) == next(iter(whole.values())).dim(isl.dim_type.out):
                yield without_sequence(inner, times, sizes, flows), False
        deep, through = deepest(whole, inner, sizes, flows)
        for times in planes({name: whole[name] for name in deep}, through, sizes, flows) if deep else ():
            yield without_sequence(through, times, sizes, flows), False


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


def without_sequence(dependences: tuple[Dependence, ...], times: dict[str, isl.Map], sizes: int,
                     flows: Flows) -> dict[str, isl.Map]:
    """`times` with every dimension 0 that only puts statements after each other, if that is legal; innermost first, the
    first `sizes` stay."""
    for dim in reversed(range(sizes, next(iter(times.values())).dim(isl.dim_type.out))):
        if any(_stages(times, dim)):
            merged = _moved(times, list(times), 0, (dim, dim), flows)
            if fits(dependences, merged, flows):
                times = merged
    return times


def overlapped(dependences: tuple[Dependence, ...], times: dict[str, isl.Map], sizes: int,
               flows: Flows) -> dict[str, isl.Map]:
    """`times` in which statements that follow each other in a loop run side by side, each in the same iteration as the
    one before it or, where that is not legal or takes more times, in the next one (loops are pipelined); innermost
    loops first."""
    for dim in reversed(range(sizes, next(iter(times.values())).dim(isl.dim_type.out))):
        outer = next((d for d in reversed(range(sizes, dim)) if not _stages(times, d)), None)
        if outer is not None and len(_stages(times, dim)) > 1:
            times = _side_by_side(dependences, times, (dim, outer), flows) or times
    return times


def _stages(times: Times, dim: int) -> dict[int, list[str]]:
    """Statements by their value of dimension `dim`; none if one has several."""
    found: dict[int, list[str]] = {}
    for name, time in times.items():
        fired = time.range()
        if not fired.dim_min_val(dim).eq(fired.dim_max_val(dim)):
            return {}
        found.setdefault(fired.dim_min_val(dim).to_python(), []).append(name)
    return found


def _side_by_side(dependences: tuple[Dependence, ...], times: dict[str, isl.Map], dims: tuple[int, int],
                  flows: Flows) -> dict[str, isl.Map] | None:
    """`times` with 0 in the first of `dims`, statements with greater values there later in the second, if need be; None
    if that is not legal."""
    placed: dict[str, isl.Map] = {}
    later = 0
    for _, names in sorted(_stages(times, dims[0]).items()):
        legal: list[tuple[int, int, dict[str, isl.Map]]] = []
        for step in (later, later + 1):
            tried = placed | _moved(times, names, step, dims, flows)
            if fits(among(dependences, tried), tried, flows):
                legal.append((flows.vectors.different(tried), step, tried))
        if not legal:
            return None
        _, later, placed = min(legal, key=lambda entry: entry[:2])
    return placed


def _moved(times: Times, names: Collection[str], step: int, dims: tuple[int, int], flows: Flows) -> dict[str, isl.Map]:
    """Those of `names` with `step` more in the second of `dims` and 0 in the first."""
    dim, outer = dims
    loops = [f"t{k}" for k in range(next(iter(times.values())).dim(isl.dim_type.out))]
    results = ["0" if k == dim else f"{name} + {step}" if k == outer else name for k, name in enumerate(loops)]
    place = isl.Map(f"{{ [{', '.join(loops)}] -> [{', '.join(results)}] }}")
    found = {name: times[name].apply_range(place) for name in names}
    for name in names if flows.vectors.few else ():
        vectors = flows.vectors.of(name, times).copy()
        vectors[outer] += step
        vectors[dim] = 0
        flows.vectors.learn(name, found[name], vectors)
    return found


def _by_isl(program: Program, dependences: tuple[Dependence, ...], whole: dict[str, isl.Map], sizes: int,
            algorithm: int = isl.schedule_algorithm.ISL) -> Iterator[dict[str, isl.Map]]:
    """The times that isl's scheduler gives the statements of `whole` (Bok 2018, section 2.3), padded to their space;
    none if it takes too many steps for them, or more dimensions than their space has."""
    domain = united(program.statement(name).domain for name in whole)
    near = _near(dependences) if algorithm == isl.schedule_algorithm.ISL else dependences
    constraints = isl.ScheduleConstraints.on_domain(domain).set_validity(_needs(dependences))
    constraints = constraints.set_proximity(_needs(near))
    context = domain.get_ctx()
    usual = context.get_schedule_algorithm()
    context.set_schedule_algorithm(algorithm)
    try:
        with bounded_operations(_steps(algorithm, dependences)):
            schedule = constraints.compute_schedule().get_map()
    except EffortError:
        return
    finally:
        context.set_schedule_algorithm(usual)
    found = {m.get_tuple_name(isl.dim_type.in_): m for m in maps(schedule)}
    length = next(iter(whole.values())).dim(isl.dim_type.out)
    if sizes:
        found = {name: _led(time, sizes) for name, time in found.items()}
    if next(iter(found.values())).dim(isl.dim_type.out) > length:
        return
    yield {name: padded(found[name].intersect_domain(program.statement(name).domain), length) for name in whole}


def _steps(algorithm: int, dependences: tuple[Dependence, ...]) -> int:
    """Steps for so many dependences: isl's own algorithm solves one problem with coefficients for all of their pieces,
    and a step takes as much longer as there are more of them."""
    pieces = sum(len(dependence.relation.get_basic_maps()) for dependence in dependences)
    if algorithm != isl.schedule_algorithm.ISL or pieces <= _MOST_PIECES:
        return _STEPS[algorithm]
    return int(_STEPS[algorithm] * (_MOST_PIECES / pieces) ** 2)


def _near(dependences: tuple[Dependence, ...]) -> tuple[Dependence, ...]:
    """Those whose ends are to be near each other: of many pieces the dependences of one piece, which may have one
    distance everywhere."""
    pieces = [len(dependence.relation.get_basic_maps()) for dependence in dependences]
    if sum(pieces) <= _MOST_PIECES:
        return dependences
    return tuple(dependence for dependence, count in zip(dependences, pieces, strict=True) if count == 1)


def _needs(dependences: tuple[Dependence, ...]) -> isl.UnionMap:
    """{writing instance -> reading one}."""
    needs = isl.UnionMap("{ }")
    for dependence in dependences:
        needs = needs.union(isl.UnionMap.from_map(dependence.relation.reverse()))
    return needs


def _led(time: isl.Map, sizes: int) -> isl.Map:
    """`time` after the first `sizes` iterators."""
    time = time.insert_dims(isl.dim_type.out, 0, sizes)
    for dim in range(sizes):
        time = time.equate(isl.dim_type.in_, dim, isl.dim_type.out, dim)
    return time
