"""Polyhedral process networks: statements as nodes, value flow as channels of known kind and size.

Bok 2018, section 2.5. A network is derived from a `Program` and a global schedule, both of which it keeps; everything
else follows from them, so transforming the program or the schedule and deriving again gives edges, kinds and sizes
that fit (`derive`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import islpy as isl

from compiler.analysis.dependences import Dependence, flow
from compiler.analysis.instance_budget import count_instances
from compiler.ir.expr import Const
from compiler.ir.program import Program, Statement
from compiler.ir.relations import coordinates
from compiler.sched.process_network.access_order import access_order
from compiler.sched.process_network.channels import ChannelKind, Traffic, channel_kind, traffic
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.reuse import Link, links
from compiler.sched.process_network.schedule import Times, align, alignments, check_legal, firing_order
from compiler.sched.process_network.symbolic_traffic import SymbolicTraffic
from compiler.sched.process_network.transfers import is_sink, is_source, stage_transfers

__all__ = ["Edge", "Node", "NodeKind", "ProcessNetwork", "derive", "networks", "node_kind"]


_FAR = 1_000_000
"""A value that only an iterator without bounds has."""

_MOST_PARTS = 4
"""Distances for which a reuse edge may become as many channels instead of one reordering buffer."""


class NodeKind(Enum):
    """What a node does (Bok 2018, sections 6.2.1 and 6.2.5)."""

    INPUT = "input"
    CONSTANT = "constant"
    COMPUTE = "compute"
    OUTPUT = "output"


@dataclass(frozen=True)
class Node:
    """One statement of the network's program. `schedule`: {instance -> time at which it fires}."""

    number: int
    name: str
    kind: NodeKind
    schedule: isl.Map

    @property
    def firings(self) -> int:
        """How often the node fires."""
        return count_instances(self.schedule.domain())


@dataclass(frozen=True)
class Edge(Link):
    """A channel: a `Link` with the kind and the least size, in words, that serve it under the schedule."""

    kind: ChannelKind = ChannelKind.REGISTER
    size: int = 1

    @property
    def name(self) -> str:
        """``source->sink.read``, with ``'`` for reuse and the number of the part if there are; unique in a network."""
        reuse, part = "'" if self.origin == "reuse" else "", f"#{self.part}" if self.part else ""
        return f"{self.source}->{self.sink}.{self.read}{reuse}{part}"

    def __str__(self) -> str:
        words = "word" if self.size == 1 else "words"
        return f"{self.name} ({self.array}): {self.kind.value}, {self.size} {words}"


@dataclass(frozen=True)
class ProcessNetwork:
    """`program`: the staged program, one statement per node. Edges are grouped by sink and read. The first `sizes`
    iterators of all statements and time dimensions are run-time sizes
    (`compiler.sched.process_network.parametric_program`).

    Prints as text; `network.text` serialises, `network.drawing` draws.
    """

    program: Program
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    sizes: int = 0

    def __hash__(self) -> int:
        return hash((self.program, len(self.edges)))

    def node(self, name: str) -> Node:
        """The node called `name`. Raises `NetworkError` with the names there are."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise NetworkError(f"there is no node '{name}'; there are: {', '.join(n.name for n in self.nodes)}")

    @property
    def times(self) -> dict[str, isl.Map]:
        """The schedule of every node."""
        return {node.name: node.schedule for node in self.nodes}

    @cached_property
    def traffic(self) -> tuple[Traffic | SymbolicTraffic, ...]:
        """When the words of every edge are written and read."""
        times = self.times
        return tuple(traffic(edge, times) for edge in self.edges)

    @cached_property
    def busiest(self) -> int:
        """Firings of the node that fires most."""
        return max(node.firings for node in self.nodes)

    def statement(self, node: Node) -> Statement:
        """The statement that `node` runs."""
        return self.program.statement(node.name)

    def __str__(self) -> str:
        nodes = [f"  {n.number} {n.name} ({n.kind.value}), {n.firings} firings: {n.schedule}" for n in self.nodes]
        edges = [f"  {edge}: {edge.relation}" for edge in self.edges]
        return "\n".join([f"network {self.program.name}", "nodes", *nodes, "edges", *edges])


def derive(program: Program, schedule: Times | None = None, *, movable: Callable[[Statement], bool] = lambda _: False,
           sizes: int = 0, listed: int | None = None) -> ProcessNetwork:
    """The process network of `program`, whose host transfers become nodes (`stage_transfers`).

    `schedule` gives the time of every statement of the staged program; without it one is computed (`align`), in which
    statements that are not `movable` keep the order of their own loops. `listed`: most words of an edge that are looked
    at one by one, where they are not counted with symbols (None: as many as programs may have). Raises `NetworkError`
    if there are more, or if `schedule` is not legal, with the dependence, and `DependenceError` if a value is read
    before it is written.
    """
    staged = stage_transfers(program)
    _check_bounded(staged)
    dependences = flow(staged)
    kept = (*dependences, *access_order(staged))
    if schedule is None:
        schedule = align(staged, kept, movable, sizes)
    else:
        schedule = _restricted(staged, schedule)
        check_legal(staged, kept, schedule)
    return _network(staged, dependences, schedule, sizes, listed)


def networks(program: Program, movable: Callable[[Statement], bool] = lambda _: False, sizes: int = 0, *,
             levels: bool = False, wanted: Callable[[int], bool] = lambda _: True) -> Iterator[ProcessNetwork]:
    """The networks of `program` under all the schedules that `alignments` finds, in that order, as long as a network
    with so many different times is `wanted`."""
    staged = stage_transfers(program)
    _check_bounded(staged)
    dependences = flow(staged)
    for times, schedule in alignments(staged, (*dependences, *access_order(staged)), movable, sizes, levels=levels):
        if not wanted(times):
            return
        yield _network(staged, dependences, schedule, sizes)


def _network(staged: Program, dependences: tuple[Dependence, ...], schedule: Times, sizes: int,
             listed: int | None = None) -> ProcessNetwork:
    order = firing_order(staged, dependences, schedule)
    nodes = tuple(
        Node(number, name, node_kind(staged, dependences, staged.statement(name)), schedule[name])
        for number, name in enumerate(order)
    )
    edges = (edge for link in links(dependences, schedule)
             for edge in _channels(link, schedule, order, listed))
    return ProcessNetwork(staged, nodes, tuple(edges), sizes)


def _channels(link: Link, times: Times, order: tuple[str, ...], listed: int | None) -> list[Edge]:
    """`link` with its channel; reuse with several if that spares a reordering buffer: one for each distance, if few."""
    whole = _sized(link, times, order, listed)
    if whole.kind is not ChannelKind.REORDERING or link.origin == "flow":
        return [whole]
    distances = traffic(link, times, listed).few_distances(_MOST_PARTS)
    if distances is None or len(distances) == 1:
        return [whole]
    parts = [replace(link, relation=_at_distance(link, times, distance), part=number)
             for number, distance in enumerate(distances, 1)]
    return [_sized(part, times, order, listed) for part in parts]


def _sized(link: Link, times: Times, order: tuple[str, ...], listed: int | None) -> Edge:
    moved = traffic(link, times, listed)
    size = moved.high_water(read_first=order.index(link.sink) <= order.index(link.source))
    return Edge(**vars(link), kind=channel_kind(link, moved, size), size=size)


def _at_distance(link: Link, times: Times, distance: tuple[int, ...]) -> isl.Map:
    """The part of the relation whose reads come `distance` after the writes."""
    names = [f"t{k}" for k in range(len(distance))]
    later = ", ".join(f"{name} + {step}" for name, step in zip(names, distance, strict=True))
    shift = isl.Map(f"{{ [{', '.join(names)}] -> [{later}] }}")
    return link.relation.intersect(shift.apply_domain(times[link.source].reverse())
                                   .apply_range(times[link.sink].reverse())).coalesce()


def node_kind(program: Program, dependences: tuple[Dependence, ...], statement: Statement) -> NodeKind:
    """The kind of a node: what it reads and writes decides."""
    if is_source(program, statement):
        return NodeKind.INPUT
    if is_sink(program, statement) and not any(d.source == statement.name for d in dependences):
        return NodeKind.OUTPUT
    return NodeKind.CONSTANT if isinstance(statement.value, Const) else NodeKind.COMPUTE


def _check_bounded(program: Program) -> None:
    for statement in program.statements:
        if not statement.domain.is_bounded():
            raise NetworkError(f"{statement}: its domain is not bounded: {_endless(statement)}")


def _endless(statement: Statement) -> str:
    """The iterator that has no last value, and an instance far out."""
    domain = statement.domain
    for number, name in enumerate(statement.iterators):
        for last, far in ((domain.dim_max_val(number), _FAR), (domain.dim_min_val(number), -_FAR)):
            if not last.is_int():
                outside = domain.lower_bound_val if far > 0 else domain.upper_bound_val
                point = outside(isl.dim_type.set, number, isl.Val(far)).sample_point()
                witness = ", ".join(map(str, coordinates(point)))
                side = "greatest" if far > 0 else "least"
                return f"'{name}' has no {side} value, {statement.name}[{witness}] is one of its instances"
    return str(domain)


def _restricted(program: Program, schedule: Times) -> dict[str, isl.Map]:
    for statement in program.statements:
        if statement.name not in schedule or not statement.domain.is_subset(schedule[statement.name].domain()):
            raise NetworkError(f"{statement}: the schedule gives it no time")
    return {s.name: schedule[s.name].intersect_domain(s.domain) for s in program.statements}
