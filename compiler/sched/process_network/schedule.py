"""The global schedule of a network: one time vector for every firing, with loops of producers and consumers aligned.

Seed 003 takes the fused schedule as given (equations 5.1 and 5.2); here it is computed. The component of the dependence
graph with the most firings keeps the program's order. Going outward from it, a statement that feeds nodes already
placed fires as late as their first use of its value allows, one that is fed fires as early as its last operand allows.
The time of these extreme instances is a piecewise affine function; its pieces, extended to the whole domain, are the
candidates. Where none is legal the statement runs in a phase of its own, before or after everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import islpy as isl
import networkx as nx

from compiler.ir.program import Program, Statement
from compiler.sched.affine import pieces
from compiler.sched.dependences import Dependence
from compiler.sched.process_network.errors import NetworkError

__all__ = ["Times", "align", "check_legal", "firing_order", "program_times"]

Times = Mapping[str, isl.Map]
"""Statement name -> {statement[iterators] -> [time]}: one space of times for all."""


def program_times(program: Program) -> dict[str, isl.Map]:
    """The program's own order as a schedule; legal, and nothing is fused that the program does not fuse."""
    return {s.name: program.order_of(s.name).intersect_domain(s.domain) for s in program.statements}


def align(program: Program, dependences: tuple[Dependence, ...], movable: Callable[[Statement], bool]) -> Times:
    """A legal schedule in which the statements run together as far as affine times allow.

    A statement that is not `movable` fires in the order of its iterators, lexicographically.
    """
    original = program_times(program)
    try:
        times = _shortened(_Alignment(program, dependences, original, movable).run())
        check_legal(program, dependences, times)
    except NetworkError:
        times = _shortened(original)
        check_legal(program, dependences, times)
    return times


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


def firing_order(program: Program, dependences: tuple[Dependence, ...], times: Times) -> tuple[str, ...]:
    """Statement names in the order in which they fire within one time, producers first, else in program order."""
    graph: nx.DiGraph = nx.DiGraph()
    names = [s.name for s in program.statements]
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


@dataclass
class _Alignment:
    program: Program
    dependences: tuple[Dependence, ...]
    original: dict[str, isl.Map]
    movable: Callable[[Statement], bool]
    times: dict[str, isl.Map] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)

    def run(self) -> dict[str, isl.Map]:
        anchor, graph = self._anchor()
        self.times = {name: self.original[name] for name in anchor}
        while waiting := [s for s in self.program.statements if s.name not in self.times]:
            statement = next((s for s in waiting if self._placed_neighbours(s.name)), waiting[0])
            self._place(statement, graph)
        return {name: _phased(time, self.phases.get(name, 1)) for name, time in self.times.items()}

    def _anchor(self) -> tuple[set[str], nx.DiGraph]:
        """The component with the most firings, and the dependence graph."""
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(self.original)
        graph.add_edges_from((d.source, d.sink) for d in self.dependences)
        counts = {s.name: s.domain.count_val().to_python() for s in self.program.statements}
        components = list(nx.strongly_connected_components(graph))
        return max(components, key=lambda c: (sum(counts[n] for n in c), len(c))), graph

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
        for _, function in found:
            yield isl.Map.from_multi_aff(function).intersect_domain(statement.domain)

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
        if uses is not None:
            return uses.lexmin()
        return None if latest is None else latest.lexmax()

    def _fits(self, statement: Statement, candidate: isl.Map) -> bool:
        if not candidate.is_injective() or not (self.movable(statement) or _monotone(statement, candidate)):
            return False
        times = self.times | {statement.name: candidate}
        near = [d for d in self.dependences if statement.name in (d.source, d.sink)
                and d.source in times and d.sink in times and not {d.source, d.sink} & set(self.phases)]
        return all(_too_early(d, times).is_empty() for d in near)


def _monotone(statement: Statement, times: isl.Map) -> bool:
    """Whether instances fire in lexicographic order of their iterators."""
    later = isl.Map.lex_lt(statement.domain.get_space()).intersect_domain(statement.domain)
    later = later.intersect_range(statement.domain).apply_domain(times).apply_range(times)
    return later.is_subset(isl.Map.lex_lt(times.range().get_space()))


def _phased(time: isl.Map, phase: int) -> isl.Map:
    return time.insert_dims(isl.dim_type.out, 0, 1).fix_val(isl.dim_type.out, 0, isl.Val(phase))


def _shortened(times: Times) -> dict[str, isl.Map]:
    """Without the time dimensions that have one value for all firings; at least one dimension stays."""
    ranges = [time.range() for time in times.values()]
    count = ranges[0].dim(isl.dim_type.set)
    result = dict(times)
    for dim in reversed(range(count)):
        bounds = {bound.to_python() for r in ranges for bound in (r.dim_min_val(dim), r.dim_max_val(dim))}
        if len(bounds) == 1 and next(iter(result.values())).dim(isl.dim_type.out) > 1:
            result = {name: time.project_out(isl.dim_type.out, dim, 1) for name, time in result.items()}
    return result
