"""Whether times are legal: no value is used before it is there, and no statement has two instances at one time."""

from __future__ import annotations

import islpy as isl
import networkx as nx

from compiler.analysis.dependences import Dependence
from compiler.ir.program import Program
from compiler.sched.process_network.access_order import ORDER
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.instances import Flows, Times

__all__ = ["check_legal", "firing_order", "fits"]


def check_legal(program: Program, dependences: tuple[Dependence, ...], times: Times) -> None:
    """Raise `NetworkError` unless `times` fires every statement at most once per time and no value is used too early.

    At equal times nodes fire in dependence order (`firing_order`); a cycle among them is an error. The message
    names the dependence and a pair of instances.
    """
    for statement in program.statements:
        if not times[statement.name].intersect_domain(statement.domain).is_injective():
            raise NetworkError(f"{statement}: the schedule fires two instances at one time: {times[statement.name]}")
    for dependence in dependences:
        wrong = too_early(dependence, times)
        if not wrong.is_empty():
            sink = program.statement(dependence.sink)
            pair = str(wrong.sample()).removeprefix("{ ").removesuffix(" }")
            if dependence.read == ORDER:
                raise NetworkError(f"{sink}: the schedule changes the order of its accesses to '{dependence.array}': "
                                   f"{pair}")
            raise NetworkError(f"{sink.label(sink.reads[dependence.read])}: the schedule reads '{dependence.array}' "
                               f"of '{dependence.source}' before it is written: {pair}")
    firing_order(program, dependences, times)


def firing_order(program: Program, dependences: tuple[Dependence, ...], times: Times) -> tuple[str, ...]:
    """Names of all statements in the order in which they fire within one time, producers first, else in program order.
    Raises `NetworkError` if they wait for each other."""
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


def too_early(dependence: Dependence, times: Times) -> isl.Map:
    """Pairs (reading instance -> writing instance) that the schedule has in the wrong order."""
    space = times[dependence.sink].range().get_space()
    order = isl.Map.lex_lt if dependence.source != dependence.sink else isl.Map.lex_le
    wrong = order(space).apply_domain(times[dependence.sink].reverse())
    return dependence.relation.intersect(wrong.apply_range(times[dependence.source].reverse()))


def _at_one_time(dependence: Dependence, times: Times) -> isl.Map:
    return _timed(dependence, times).intersect(isl.Map.identity(times[dependence.sink].range().get_space()
                                                                .map_from_set()))


def fits(dependences: tuple[Dependence, ...], times: Times, flows: Flows) -> bool:
    """Whether all `dependences` hold, and the statements of `times` do not wait for each other within one time."""
    few = flows.vectors.few
    if not all(flows.hold(d, times) if few else too_early(d, times).is_empty() for d in dependences):
        return False
    graph: nx.DiGraph = nx.DiGraph()
    for d in dependences:
        if d.source != d.sink and (flows.meet(d, times) if few else not _at_one_time(d, times).is_empty()):
            graph.add_edge(d.source, d.sink)
    return nx.is_directed_acyclic_graph(graph)
