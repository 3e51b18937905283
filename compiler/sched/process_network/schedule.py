"""The global schedule of a network: one time vector for every firing, with loops of producers and consumers aligned.

Seed 003 takes the fused schedule as given (equations 5.1 and 5.2); here it is computed. It starts from an anchor: the
component of the dependence graph with the most firings (transfers do not count) in the program's order (also without
the levels that only put loops after each other) or in the order of isl's scheduler, or the busiest statement alone.
Going outward from it, a statement that feeds nodes already placed fires as late as their first use of its value allows,
one that is fed fires as early as its last operand allows, and one in between either way. The time of these extreme
instances is a piecewise affine function; its pieces, extended to the whole domain, are the candidates, also moved by a
few steps. Where none is legal the statement runs in a phase of its own, before or after everything else. Of the legal
results the one with the fewest different times comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import islpy as isl
import networkx as nx

from compiler.ir.program import Program, Statement
from compiler.sched.affine import maps, pieces
from compiler.sched.dependences import Dependence
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.transfers import is_sink, is_source

__all__ = ["Times", "align", "alignments", "check_legal", "firing_order", "program_times"]

_MOST_STEPS = 4
"""Steps by which a statement's times are moved if that lets it run together with the others."""

Times = Mapping[str, isl.Map]
"""Statement name -> {statement[iterators] -> [time]}: one space of times for all."""


def program_times(program: Program) -> dict[str, isl.Map]:
    """The program's own order as a schedule; legal, and nothing is fused that the program does not fuse."""
    return {s.name: program.order_of(s.name).intersect_domain(s.domain) for s in program.statements}


def align(program: Program, dependences: tuple[Dependence, ...], movable: Callable[[Statement], bool],
          sizes: int = 0) -> Times:
    """The first of `alignments`."""
    return alignments(program, dependences, movable, sizes)[0]


def alignments(program: Program, dependences: tuple[Dependence, ...],
               movable: Callable[[Statement], bool], sizes: int = 0) -> list[Times]:
    """Legal schedules in which the statements run together as far as affine times allow, those with the fewest times
    first; at least one.

    A statement that is not `movable` fires in the order of its iterators, lexicographically. The first `sizes`
    dimensions of the program's order, which no value crosses, stay the outermost ones.
    """
    original = program_times(program)
    length = 2 * max(time.dim(isl.dim_type.out) for time in original.values())
    original = {name: _padded(time, length) for name, time in original.items()}
    found: list[Times] = []
    for anchor, early in _anchors(program, dependences, original, sizes):
        alignment = _Alignment(program, dependences, original, movable, early, sizes, times=dict(anchor))
        try:
            times = _shortened(alignment.run(), sizes)
            check_legal(program, dependences, times)
        except NetworkError:
            continue
        if not any(_same(times, other) for other in found):
            found.append(times)
    if not found:
        times = _shortened(original, sizes)
        check_legal(program, dependences, times)
        return [times]
    return sorted(found, key=_count)


def _same(times: Times, others: Times) -> bool:
    return all(time.get_space().is_equal(others[name].get_space()) and time.plain_is_equal(others[name])
               for name, time in times.items())


def _count(times: Times) -> int:
    """Different times at which something fires."""
    total = isl.UnionSet("{ }")
    for time in times.values():
        total = total.union(isl.UnionSet.from_set(time.range()))
    return sum(part.count_val().to_python() for part in _sets(total.coalesce()))


def _sets(union: isl.UnionSet) -> list[isl.Set]:
    found: list[isl.Set] = []
    union.foreach_set(found.append)
    return found


def check_legal(program: Program, dependences: tuple[Dependence, ...], times: Times) -> None:
    """Raise `NetworkError` unless `times` fires every statement at most once per time and no value is used too early.

    At equal times nodes fire in dependence order (`firing_order`); a cycle among them is an error. The message
    names the dependence and a pair of instances.
    """
    for statement in program.statements:
        if not times[statement.name].intersect_domain(statement.domain).is_injective():
            raise NetworkError(f"{statement}: the schedule fires two instances at one time: {times[statement.name]}")
    for dependence in dependences:
        wrong = _too_early(dependence, times)
        if not wrong.is_empty():
            sink = program.statement(dependence.sink)
            pair = str(wrong.sample()).removeprefix("{ ").removesuffix(" }")
            raise NetworkError(f"{sink.label(sink.reads[dependence.read])}: the schedule reads '{dependence.array}' "
                               f"of '{dependence.source}' before it is written: {pair}")
    firing_order(program, dependences, times)


def firing_order(program: Program, dependences: tuple[Dependence, ...], times: Times,
                 statements: list[str] | None = None) -> tuple[str, ...]:
    """Names of the `statements` (all, if None) in the order in which they fire within one time, producers first, else
    in program order. Raises `NetworkError` if they wait for each other."""
    graph: nx.DiGraph = nx.DiGraph()
    names = statements or [s.name for s in program.statements]
    graph.add_nodes_from(names)
    for d in dependences:
        if d.source != d.sink and not _at_one_time(d, times).is_empty():
            graph.add_edge(d.source, d.sink)
    try:
        return tuple(nx.lexicographical_topological_sort(graph, key=names.index))
    except nx.NetworkXUnfeasible:
        cycle = " -> ".join(source for source, _ in nx.find_cycle(graph))
        raise NetworkError(f"the schedule fires nodes that wait for each other at one time: {cycle}") from None


def _timed(dependence: Dependence, times: Times) -> isl.Map:
    """{time of the read -> time of the write}."""
    return dependence.relation.apply_domain(times[dependence.sink]).apply_range(times[dependence.source])


def _too_early(dependence: Dependence, times: Times) -> isl.Map:
    """Pairs (reading instance -> writing instance) that the schedule has in the wrong order."""
    space = times[dependence.sink].range().get_space()
    order = isl.Map.lex_lt if dependence.source != dependence.sink else isl.Map.lex_le
    wrong = order(space).apply_domain(times[dependence.sink].reverse())
    return dependence.relation.intersect(wrong.apply_range(times[dependence.source].reverse()))


def _at_one_time(dependence: Dependence, times: Times) -> isl.Map:
    return _timed(dependence, times).intersect(isl.Map.identity(times[dependence.sink].range().get_space()
                                                                .map_from_set()))


def _anchors(program: Program, dependences: tuple[Dependence, ...],
             original: dict[str, isl.Map], sizes: int) -> Iterator[tuple[dict[str, isl.Map], bool]]:
    """(statements with times to start from, whether statements between two neighbours fire early)."""
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(original)
    graph.add_edges_from((d.source, d.sink) for d in dependences)
    counts = {s.name: s.domain.count_val().to_python() for s in program.statements}
    components = list(nx.strongly_connected_components(graph))
    moves = {s.name for s in program.statements if is_source(program, s) or is_sink(program, s)}
    chosen = max(components, key=lambda c: (not c <= moves, sum(counts[n] for n in c), len(c)))
    whole = {s.name: original[s.name] for s in program.statements if s.name in chosen}
    inner = tuple(d for d in dependences if d.source in whole and d.sink in whole)
    yield from ((whole, early) for early in (False, True))
    if len(whole) > 1:
        busiest = max(whole, key=counts.__getitem__)
        yield from (({busiest: original[busiest]}, early) for early in (False, True))
        yield _without_sequence(program, inner, whole), False
        yield _without_sequence(program, inner, _by_isl(program, inner, whole, sizes)), False


def _without_sequence(program: Program, dependences: tuple[Dependence, ...],
                      times: dict[str, isl.Map]) -> dict[str, isl.Map]:
    """`times` with every dimension 0 that only puts statements after each other, if that is legal; innermost first."""
    for dim in reversed(range(next(iter(times.values())).dim(isl.dim_type.out))):
        if all(time.range().dim_min_val(dim).eq(time.range().dim_max_val(dim)) for time in times.values()):
            merged = {name: time.project_out(isl.dim_type.out, dim, 1).insert_dims(isl.dim_type.out, dim, 1)
                      .fix_val(isl.dim_type.out, dim, isl.Val(0)) for name, time in times.items()}
            if all(_too_early(d, merged).is_empty() for d in dependences) and _ordered(program, dependences, merged):
                times = merged
    return times


def _ordered(program: Program, dependences: tuple[Dependence, ...], times: Times) -> bool:
    try:
        firing_order(program, dependences, times, list(times))
    except NetworkError:
        return False
    return True


def _by_isl(program: Program, dependences: tuple[Dependence, ...], whole: dict[str, isl.Map],
            sizes: int) -> dict[str, isl.Map]:
    """The times that isl's scheduler gives the statements of `whole` (seed 003, section 2.3), padded to their space."""
    domain, needs = isl.UnionSet("{ }"), isl.UnionMap("{ }")
    for name in whole:
        domain = domain.union(isl.UnionSet.from_set(program.statement(name).domain))
    for dependence in dependences:
        needs = needs.union(isl.UnionMap.from_map(dependence.relation.reverse()))
    constraints = isl.ScheduleConstraints.on_domain(domain).set_validity(needs).set_proximity(needs)
    found = {m.get_tuple_name(isl.dim_type.in_): m for m in maps(constraints.compute_schedule().get_map())}
    length = next(iter(whole.values())).dim(isl.dim_type.out)
    if sizes:
        found = {name: _led(time, sizes) for name, time in found.items()}
    return {name: _padded(found[name].intersect_domain(program.statement(name).domain), length) for name in whole}


@dataclass
class _Alignment:
    """`times`: the anchor at first, then all statements."""

    program: Program
    dependences: tuple[Dependence, ...]
    original: dict[str, isl.Map]
    movable: Callable[[Statement], bool]
    early: bool = False
    sizes: int = 0
    times: dict[str, isl.Map] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)

    def run(self) -> dict[str, isl.Map]:
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(self.original)
        graph.add_edges_from((d.source, d.sink) for d in self.dependences)
        while waiting := [s for s in self.program.statements if s.name not in self.times]:
            near = [s for s in waiting if self._placed_neighbours(s.name)] or waiting
            self._place(min(near, key=self._turn), graph)
        return {name: _phased(time, self.phases.get(name, 1), self.sizes) for name, time in self.times.items()}

    def _turn(self, statement: Statement) -> int:
        """Transfers are placed after all else that they serve."""
        return 2 * is_sink(self.program, statement) + is_source(self.program, statement)

    def _placed_neighbours(self, name: str) -> list[Dependence]:
        return [d for d in self.dependences
                if (d.source == name and d.sink in self.times) or (d.sink == name and d.source in self.times)]

    def _place(self, statement: Statement, graph: nx.DiGraph) -> None:
        name = statement.name
        for candidate in self._candidates(statement):
            if self._fits(statement, candidate):
                self.times[name] = candidate
                return
        feeds = any(d.source == name and d.sink in self.times for d in self.dependences)
        side = nx.ancestors(graph, name) if feeds else nx.descendants(graph, name)
        for other in {name, *side} - {n for n in self.times if n not in self.phases}:
            self.times[other] = self.original[other]
            self.phases[other] = 0 if feeds else 2

    def _candidates(self, statement: Statement) -> Iterator[isl.Map]:
        """Times for `statement`, the most promising first."""
        extreme = self._extreme(statement.name)
        if extreme is None:
            return
        if statement.domain.is_subset(extreme.domain()):
            yield extreme
        found = sorted(pieces(extreme), key=lambda piece: -piece[0].count_val().to_python())
        whole = [isl.Map.from_multi_aff(function).intersect_domain(statement.domain) for _, function in found]
        yield from whole
        feeds = any(d.source == statement.name and d.sink in self.times for d in self.dependences)
        for steps in range(1, _MOST_STEPS + 1):
            yield from (_stepped(candidate, -steps if feeds else steps) for candidate in whole)

    def _extreme(self, name: str) -> isl.Map | None:
        """{instance -> time of its first use}, or of its last operand, among the nodes that are placed."""
        uses: isl.Map | None = None
        latest: isl.Map | None = None
        for d in self._placed_neighbours(name):
            if d.source == name:
                timed = d.relation.reverse().apply_range(self.times[d.sink])
                uses = timed if uses is None else uses.union(timed)
            else:
                timed = d.relation.apply_range(self.times[d.source])
                latest = timed if latest is None else latest.union(timed)
        if latest is not None and (uses is None or self.early):
            return latest.lexmax()
        return None if uses is None else uses.lexmin()

    def _fits(self, statement: Statement, candidate: isl.Map) -> bool:
        if not candidate.is_injective() or not (self.movable(statement) or _monotone(statement, candidate)):
            return False
        times = self.times | {statement.name: candidate}
        near = [d for d in self.dependences if statement.name in (d.source, d.sink)
                and d.source in times and d.sink in times and not {d.source, d.sink} & set(self.phases)]
        return all(_too_early(d, times).is_empty() for d in near)


def _stepped(time: isl.Map, steps: int) -> isl.Map:
    """`time` some steps later in the innermost dimension that has several values."""
    fired = time.range()
    count = fired.dim(isl.dim_type.set)
    inner = next((k for k in reversed(range(count)) if not fired.dim_min_val(k).eq(fired.dim_max_val(k))), count - 1)
    names = [f"t{k}" for k in range(count)]
    moved = [f"{name} + {steps}" if k == inner else name for k, name in enumerate(names)]
    return time.apply_range(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}"))


def _monotone(statement: Statement, times: isl.Map) -> bool:
    """Whether instances fire in lexicographic order of their iterators."""
    later = isl.Map.lex_lt(statement.domain.get_space()).intersect_domain(statement.domain)
    later = later.intersect_range(statement.domain).apply_domain(times).apply_range(times)
    return later.is_subset(isl.Map.lex_lt(times.range().get_space()))


def _phased(time: isl.Map, phase: int, place: int) -> isl.Map:
    """`time` with the number of a phase as dimension `place`."""
    return time.insert_dims(isl.dim_type.out, place, 1).fix_val(isl.dim_type.out, place, isl.Val(phase))


def _led(time: isl.Map, sizes: int) -> isl.Map:
    """`time` after the first `sizes` iterators."""
    time = time.insert_dims(isl.dim_type.out, 0, sizes)
    for dim in range(sizes):
        time = time.equate(isl.dim_type.in_, dim, isl.dim_type.out, dim)
    return time


def _padded(time: isl.Map, length: int) -> isl.Map:
    """`time` with zeros up to `length` dimensions."""
    have = time.dim(isl.dim_type.out)
    time = time.add_dims(isl.dim_type.out, max(0, length - have))
    for dim in range(have, length):
        time = time.fix_val(isl.dim_type.out, dim, isl.Val(0))
    return time


def _shortened(times: Times, sizes: int) -> dict[str, isl.Map]:
    """Without the time dimensions that have one value for all firings; at least one beside the `sizes` stays."""
    ranges = [time.range() for time in times.values()]
    count = ranges[0].dim(isl.dim_type.set)
    result = dict(times)
    for dim in reversed(range(sizes, count)):
        bounds = {bound.to_python() for r in ranges for bound in (r.dim_min_val(dim), r.dim_max_val(dim))}
        if len(bounds) == 1 and next(iter(result.values())).dim(isl.dim_type.out) > sizes + 1:
            result = {name: time.project_out(isl.dim_type.out, dim, 1) for name, time in result.items()}
    return result
