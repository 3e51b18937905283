"""The global schedule of a network: one time vector for every firing, with loops of producers and consumers aligned.

Bok 2018 takes the fused schedule as given (equations 5.1 and 5.2); here it is computed. It starts from an anchor: the
component of the dependence graph with the most firings (transfers do not count) in the program's order (also without
the levels that only put loops after each other, and with loops pipelined) or in the order of isl's scheduler, or the
busiest statement alone.
Going outward from it, a statement that feeds nodes already placed fires as late as their first use of its value allows,
one that is fed fires as early as its last operand allows, and one in between either way. The time of these extreme
instances is a piecewise affine function; its pieces, extended to the whole domain, are the candidates, also moved by
the least vector that is legal. So are the statement's own loops in the places of the loops that are there (`shifts`);
what adds the fewest times is taken. Where none is legal the statement runs in a phase of its own, before or after
everything else. Of the legal results the one with the fewest different times comes first. Of more than
200 000 firings times are counted with symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import islpy as isl
import networkx as nx

from compiler.analysis.affine import padded, pieces
from compiler.analysis.dependences import Dependence
from compiler.analysis.instance_budget import count_instances, includes
from compiler.ir.program import Program, Statement
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.hyperplanes import planes, without_copies
from compiler.sched.process_network.instances import Flows, Times, Vectors
from compiler.sched.process_network.legality import check_legal, firing_order, too_early
from compiler.sched.process_network.seed_schedules import among, anchors, program_times, waves, without_sequence
from compiler.sched.process_network.shifts import beside, shifts
from compiler.sched.process_network.taken import Taken
from compiler.sched.process_network.transfers import is_sink, is_source

__all__ = ["Times", "align", "alignments", "check_legal", "firing_order", "program_times"]


def align(program: Program, dependences: tuple[Dependence, ...], movable: Callable[[Statement], bool],
          sizes: int = 0) -> Times:
    """The first of `alignments`."""
    return alignments(program, dependences, movable, sizes)[0][1]


def alignments(program: Program, dependences: tuple[Dependence, ...], movable: Callable[[Statement], bool],
               sizes: int = 0, *, levels: bool = False) -> list[tuple[int, Times]]:
    """Legal schedules in which the statements run together as far as affine times allow, with the number of different
    times in each, those with the fewest first; at least one.

    A statement that is not `movable` fires in the order of its iterators, lexicographically. The first `sizes`
    dimensions of the program's order, which no value crosses, stay the outermost ones. `levels`: start from `waves`;
    maybe there are none then.
    """
    original = program_times(program)
    length = 2 * max(time.dim(isl.dim_type.out) for time in original.values())
    original = {name: padded(time, length) for name, time in original.items()}
    found: list[Times] = []
    vectors = Vectors(program)
    flows = Flows(program, dependences, vectors)
    if levels and not vectors.few:
        return []
    apart = without_copies(program, dependences) if levels else ([], ())
    tried: list[tuple[Times, bool]] = []
    starts = (waves(program, apart, original, sizes, flows) if levels else
              anchors(program, dependences, original, sizes, flows))
    for anchor, early in starts:
        if any(early == other and anchor.keys() == times.keys() and _same(anchor, times) for times, other in tried):
            continue
        tried.append((anchor, early))
        alignment = _Alignment(program, dependences, original, movable, flows, apart, early, sizes,
                               times=dict(anchor))
        try:
            times = _shortened(alignment.run(), sizes)
            check_legal(program, dependences, times)
        except NetworkError:
            continue
        if not any(_same(times, other) for other in found):
            found.append(times)
    if not found and not levels:
        found = [_shortened(original, sizes)]
        check_legal(program, dependences, found[0])
    return sorted(((vectors.different(times), times) for times in found), key=lambda entry: entry[0])


def _same(times: Times, others: Times) -> bool:
    return all(time.get_space().is_equal(others[name].get_space()) and time.plain_is_equal(others[name])
               for name, time in times.items())


@dataclass
class _Alignment:
    """`times`: the anchor at first, then all statements. `levels`: statements that may be put into levels, and the flow
    between them."""

    program: Program
    dependences: tuple[Dependence, ...]
    original: dict[str, isl.Map]
    movable: Callable[[Statement], bool]
    flows: Flows
    levels: tuple[list[str], tuple[Dependence, ...]]
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
            self._place(min(near, key=lambda s: self._turn(s, graph)), graph)
        for statement in self.program.statements:
            if is_source(self.program, statement) and statement.name not in self.phases:
                self._improve(statement, graph)
        return {name: _phased(time, self.phases.get(name, 1), self.sizes) for name, time in self.times.items()}

    def _turn(self, statement: Statement, graph: nx.DiGraph) -> tuple[int, int, int]:
        """Transfers are placed after all else that they serve; what other statements stand between goes after them; of
        equal ones the one that fires most comes first."""
        transfer = 2 * is_sink(self.program, statement) + is_source(self.program, statement)
        firings = count_instances(statement.domain)
        if transfer:
            return transfer, 0, -firings
        before, after = nx.ancestors(graph, statement.name), nx.descendants(graph, statement.name)
        own = before & after
        between = {n for n in before - own if n not in self.times and nx.ancestors(graph, n) & set(self.times)}
        between |= {n for n in after - own if n not in self.times and nx.descendants(graph, n) & set(self.times)}
        return 0, len(between), -firings

    def _improve(self, statement: Statement, graph: nx.DiGraph) -> None:
        """Other times for `statement`, which was placed when others were not, if there are fewer in all then."""
        before = {statement.name: self.times.pop(statement.name)}
        main = Taken(self.flows.vectors, self._main())
        found = self._best(statement, graph) or before
        new, old = (main.added(times) for times in (found, before))
        self.times |= found if new < old else before

    def _placed_neighbours(self, name: str) -> list[Dependence]:
        return [d for d in self.dependences
                if (d.source == name and d.sink in self.times) or (d.sink == name and d.source in self.times)]

    def _place(self, statement: Statement, graph: nx.DiGraph) -> None:
        name = statement.name
        if found := self._best(statement, graph):
            self.times |= found
            return
        feeds = any(d.source == name and d.sink in self.times for d in self.dependences)
        side = nx.ancestors(graph, name) if feeds else nx.descendants(graph, name)
        for other in sorted({name, *side} - {n for n in self.times if n not in self.phases}):
            self.times[other] = self.original[other]
            self.phases[other] = 0 if feeds else 2

    def _best(self, statement: Statement, graph: nx.DiGraph) -> dict[str, isl.Map]:
        """Times for `statement`, or for all statements of its component, with which there are the fewest in all; empty
        if that is none fewer than with a phase of their own."""
        inside = _component(graph, statement.name)
        own = {n: self.original[n] for n in inside if n not in self.times}
        main = Taken(self.flows.vectors, self._main())
        best: dict[str, isl.Map] = {}
        ticks = self.flows.vectors.different(own)
        free = max(0, ticks - main.count)
        arranged = self._arranged(own)
        if len(arranged) == len(own) == 1 and (found := self._aligned(statement)) is not None:
            best = {statement.name: found}
            ticks = main.added(best)
        for times in arranged:
            for place in beside(times, self._main(), self.flows, self.sizes):
                if ticks <= free:
                    return best
                added = main.added_at(place, times)
                if added < ticks and self._fit(moved := place.times(times)):
                    best, ticks = moved, added
        if not best and len(own) > 1 and (found := self._aligned(statement)) is not None:
            return {statement.name: found}
        return best

    def _aligned(self, statement: Statement) -> isl.Map | None:
        """Times at which `statement` fires when its values are used, or its operands are there: those with the fewest
        in all, or the first in a program with many instances."""
        main = Taken(self.flows.vectors, self._main())
        best, least = None, count_instances(statement.domain) + 1
        for candidate in self._candidates(statement):
            times = {statement.name: candidate}
            added = main.added(times)
            if added < least and self._fit(times):
                best, least = candidate, added
                if not added:
                    break
        return best

    def _arranged(self, own: dict[str, isl.Map]) -> list[dict[str, isl.Map]]:
        """Orders of statements that are placed together: by levels, if these are wanted, and as in the program."""
        names, flows = self.levels
        some = {name: time for name, time in own.items() if name in names}
        inner = among(flows, some)
        found = planes(some, inner, self.sizes, self.flows)[:1] if inner else []
        whole = among(self.dependences, own)
        return [*(without_sequence(inner, times, self.sizes, self.flows) for times in found),
                without_sequence(whole, own, self.sizes, self.flows)]

    def _main(self) -> dict[str, isl.Map]:
        """What is placed and not in a phase of its own."""
        return {name: time for name, time in self.times.items() if name not in self.phases}

    def _candidates(self, statement: Statement) -> Iterator[isl.Map]:
        """Times for `statement`, the most promising first."""
        extreme = self._extreme(statement.name)
        if extreme is None:
            return
        if includes(extreme.domain(), statement.domain):
            yield extreme
        found = sorted(pieces(extreme), key=lambda piece: -count_instances(piece[0]))
        whole = [isl.Map.from_multi_aff(function).intersect_domain(statement.domain) for _, function in found]
        # A piece for every other instance has no whole numbers as times of the rest.
        whole = [candidate for candidate in whole if includes(candidate.domain(), statement.domain)]
        yield from whole
        for candidate in whole:
            own = {statement.name: candidate}
            have = {statement.name: self.flows.vectors.of(statement.name, own)} if self.flows.vectors.few else {}
            for place in shifts(own, self._main(), self.flows, self.sizes):
                yield place.learnt(own, have, self.flows)[statement.name]

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

    def _fit(self, added: dict[str, isl.Map]) -> bool:
        """Whether the statements of `added` may have these times."""
        times = self.times | added
        if not all(self._allowed(name, time) for name, time in added.items()):
            return False
        near = tuple(d for d in self.dependences if {d.source, d.sink} & set(added)
                     and d.source in times and d.sink in times and not {d.source, d.sink} & set(self.phases))
        few = self.flows.vectors.few
        return all(self.flows.hold(d, times) if few else too_early(d, times).is_empty() for d in near)

    def _allowed(self, name: str, time: isl.Map) -> bool:
        statement, vectors = self.program.statement(name), self.flows.vectors
        injective = (vectors.different({name: time}) == vectors.points(name).count if vectors.few else
                     time.is_injective())
        return injective and (self.movable(statement) or _monotone(statement, time))


def _component(graph: nx.DiGraph, name: str) -> list[str]:
    """Statements that the statement feeds and is fed by, itself among them, in a fixed order."""
    return sorted({name, *(nx.ancestors(graph, name) & nx.descendants(graph, name))})


def _monotone(statement: Statement, times: isl.Map) -> bool:
    """Whether instances fire in lexicographic order of their iterators."""
    later = isl.Map.lex_lt(statement.domain.get_space()).intersect_domain(statement.domain)
    later = later.intersect_range(statement.domain).apply_domain(times).apply_range(times)
    return later.is_subset(isl.Map.lex_lt(times.range().get_space()))


def _phased(time: isl.Map, phase: int, place: int) -> isl.Map:
    """`time` with the number of a phase as dimension `place`."""
    return time.insert_dims(isl.dim_type.out, place, 1).fix_val(isl.dim_type.out, place, isl.Val(phase))


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
