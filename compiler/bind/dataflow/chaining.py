"""Operators of short recurrences without registers of their own: their ticks come from their delays.

The operators of the nodes of a recurrence, across channels, are one graph. Those on its loops get no registers, and the
least ticks with which every path fits a period (`compiler.sched.static.chaining`) are their starts. Channels that are
lines of registers get one where the graph needs one there, and where they enter or leave the recurrence; then the nodes
can be put off against each other as all others are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import networkx as nx
import numpy as np

from compiler.bind.dataflow.expressions import Pipeline
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.timing import Carried, timing_needs
from compiler.sched.static.chaining import Stage, long_paths
from hw.dataflow.spec import LOAD_TICKS, STORE_TICKS, Operator
from hw.delays import MEMORY_OUTPUT, operator_delays

__all__ = ["chain_recurrences"]

def chain_recurrences(carried: Sequence[Carried], pipelines: Mapping[str, Pipeline], options: Options,
                      slow: int = 1, idling: Sequence[Carried] | None = None
                      ) -> tuple[list[Carried], dict[str, Pipeline]] | None:
    """`carried` and `pipelines` with the operators of short recurrences chained, but for those whose latency `options`
    set, at `slow` ticks per time; None if they are too short even then. Loads take as many ticks as registers behind
    memories leave paths short, or else one. `idling`: the same edges with the idle ticks that recurrences have then."""
    for load_ticks in reversed(LOAD_TICKS):
        found = _chained((carried, idling or carried), pipelines, options, slow, load_ticks)
        if found is not None or not any(o.op == "load" for line in pipelines.values() for o in line.operators):
            return found
    return None


def _chained(edges: tuple[Sequence[Carried], Sequence[Carried]], pipelines: Mapping[str, Pipeline], options: Options,
             slow: int, load_ticks: int) -> tuple[list[Carried], dict[str, Pipeline]] | None:
    """As `chain_recurrences`, with so many ticks for loads. They see stores that begin in them. `edges`: without and
    with idle ticks."""
    without, carried = edges
    found_carried, found = list(carried), dict(pipelines)
    for members in _short(without, pipelines, slow):
        graph = _OperatorGraph(carried, {name: pipelines[name] for name in members}, options, slow,
                               load_ticks)
        times = graph.times()
        if times is None:
            return None
        found |= graph.pipelines(times)
        for number, item in enumerate(carried):
            found_carried[number] = replace(found_carried[number], registers=max(
                found_carried[number].registers, graph.registers(item, times)))
    return found_carried, found


def _short(carried: Sequence[Carried], pipelines: Mapping[str, Pipeline], slow: int) -> Iterator[Collection[str]]:
    """The nodes of each recurrence that is too short for its operators."""
    needs = timing_needs(carried, pipelines)
    graph: nx.DiGraph[str] = nx.DiGraph((need.source, need.sink) for need in needs)
    for members in nx.strongly_connected_components(graph):
        numbers = {name: number for number, name in enumerate(members)}
        inside = [(numbers[n.source], numbers[n.sink], n.ticks - slow * n.least)
                  for n in needs if {n.source, n.sink} <= members]
        if inside and _least_times(len(members), inside) is None:
            yield members


def _least_times(vertices: int, needs: Sequence[tuple[int, int, int]]) -> list[int] | None:
    """The least times of so many vertices, from 0 on, with which each need (source, sink, ticks in between) is met;
    None if there are none."""
    sources, sinks, ticks = np.array(needs, np.int64).reshape(-1, 3).T
    times = np.zeros(vertices, np.int64)
    for _ in range(vertices + 1):
        before = times.copy()
        np.maximum.at(times, sinks, before[sources] + ticks)
        if (times == before).all():
            return times.tolist()
    return None


class _OperatorGraph:
    """The operators of the nodes in `pipelines`, and channels of memory between them. Vertices are numbered, those of a
    node in a row; an edge (user, ticks) counts the ticks that the schedule leaves besides."""

    def __init__(self, carried: Sequence[Carried], pipelines: Mapping[str, Pipeline], options: Options, slow: int,
                 load_ticks: int):
        self.room = operator_delays().room(options.clock_mhz)
        self.selecting = operator_delays().delay("select", 32)
        self.slow, self.lines = slow, dict(pipelines)
        self.first: dict[str, int] = {}
        self.operators: list[Operator] = []
        for name, line in pipelines.items():
            self.first[name] = len(self.operators)
            self.operators += line.operators
        self.latencies = [operator.latency for operator in self.operators]
        self.edges: list[list[tuple[int, int]]] = [[] for _ in self.operators]
        for name, line in pipelines.items():
            for number, operator in enumerate(line.operators):
                for operand in operator.operands:
                    self.edges[self.first[name] + operand].append((self.first[name] + number, 0))
        self.sources: Counter[int] = Counter()
        for item in carried:
            self._connect(item)
        self.delays = [self._delay(name, number) for name, line in pipelines.items()
                       for number in range(len(line.operators))]
        self.recurring = self._recurring()
        for number, operator in enumerate(self.operators):
            fixed = operator.op in (options.latency or {})
            if number in self.recurring and not fixed and self.delays[number] <= self.room:
                self.latencies[number] = {"load": load_ticks, "store": STORE_TICKS}.get(operator.op, 0)
        self._forward()
        self.needs = self._needs()

    def _forward(self) -> None:
        """What loads of recurrences come after may be there as late as the memory can make up for."""
        for source in self.recurring:
            for place, (user, ticks) in enumerate(self.edges[source]):
                operator = self.operators[user] if user < len(self.operators) else None
                if user in self.recurring and operator is not None and operator.op == "load":
                    index = self._first_of(user) + operator.operands[0]
                    self.edges[source][place] = user, ticks + (self.latencies[user] if source != index else 0)

    def _first_of(self, vertex: int) -> int:
        """The first vertex of the node of an operator."""
        return max(first for first in self.first.values() if first <= vertex)

    def _recurring(self) -> set[int]:
        """Vertices on loops."""
        graph: nx.DiGraph[int] = nx.DiGraph((source, user) for source, row in enumerate(self.edges) for user, _ in row)
        return {number for members in nx.strongly_connected_components(graph)
                if len(members) > 1 or any(graph.has_edge(n, n) for n in members) for number in members}

    # Edges.

    def _connect(self, item: Carried) -> None:
        """The edge of a channel; one that is memory is a vertex in between, which has its registers."""
        ends = self._ends(item)
        if ends is None:
            return
        source, sink = ends
        self.sources[sink] += 1
        if not item.constant:
            self.latencies.append(item.latency)
            self.edges.append([(sink, 0)])
            sink = len(self.edges) - 1
        self.edges[source].append((sink, self.slow * item.least))

    def _ends(self, item: Carried) -> tuple[int, int] | None:
        """What gives a word into a channel and the operator that reads it; None if one of them is not here."""
        edge = item.edge
        if edge.source not in self.lines or edge.sink not in self.lines:
            return None
        sink = self._reader(edge.sink, edge.read)
        if edge.origin == "flow":
            source: int | None = self.first[edge.source] + len(self.lines[edge.source].operators) - 1
        else:
            source = self._reader(edge.source, edge.read)
        return None if source is None or sink is None else (source, sink)

    def _reader(self, name: str, read: int) -> int | None:
        """The operator that takes a read of a node, None if its value is not used."""
        return next((self.first[name] + number for number, operator in enumerate(self.lines[name].operators)
                     if operator.op == "read" and operator.value == read), None)

    def registers(self, item: Carried, times: Sequence[int]) -> int:
        """Registers that a channel which is a line of them has at least."""
        inside = (item.edge.source in self.lines) + (item.edge.sink in self.lines)
        ends = self._ends(item)
        if inside < 2 or ends is None:
            return int(inside == 1)
        return min(1, times[ends[1]] + self.slow * item.least - times[ends[0]])

    # Delays.

    def _delay(self, name: str, number: int) -> float:
        """Nanoseconds through an operator of a node."""
        operators = self.lines[name].operators
        operator = operators[number]
        if operator.op in ("load", "store"):
            return 0.0
        if operator.op == "read":
            more = self.sources[self.first[name] + number] - 1
            return max(0, more) * operator_delays().delay("select", operator.word.width)
        if operator.op == "table":
            bits = operators[operator.operands[0]].word.width
            return bits / 2 * operator_delays().delay("select", operator.word.width)
        taken = [_bits(operators, k) for k in operator.operands if operators[k].op != "const"]
        declared = max((operators[k].word.width for k in operator.operands), default=1)
        width = min(declared, max(taken, default=declared) + (len(taken) > 1))
        if any(operators[k].word.exponent for k in operator.operands):
            return inf
        return operator_delays().delay(operator.op, width, constant=len(taken) < len(operator.operands))

    def _stage(self, number: int) -> Stage:
        latency = self.latencies[number]
        if number >= len(self.operators) or latency > 1 or self.operators[number].op in ("const", "index"):
            return Stage()
        if self.operators[number].op == "store":
            return Stage(self.selecting)
        if self.operators[number].op == "load":
            return Stage(launch=MEMORY_OUTPUT + self.selecting if latency == min(LOAD_TICKS) else 0.0)
        delay = self.delays[number]
        return Stage(delay, 0.0 if latency else delay, through=not latency)

    # Times.

    def _needs(self) -> list[tuple[int, int, int]]:
        """(source, sink, ticks from the one's result to the other's at least)."""
        needs = [(source, sink, self.latencies[sink] - ticks)
                 for source, row in enumerate(self.edges) for sink, ticks in row]
        stages = [self._stage(number) for number in range(len(self.edges))]
        paths = sorted(long_paths(stages, self.edges, self.room))
        return needs + [(source, sink, self.latencies[sink] - distance + 1) for source, sink, distance in paths]

    def times(self) -> list[int] | None:
        """Ticks of all results: those of recurrences as early as possible, what they wait for as late as that allows;
        None if recurrences are too short."""
        least = _least_times(len(self.edges), self.needs)
        if least is None:
            return None
        users: dict[int, list[tuple[int, int]]] = {}
        for source, sink, ticks in self.needs:
            users.setdefault(source, []).append((sink, ticks))
        for number in reversed(range(len(self.operators))):
            if number not in self.recurring and number in users:
                least[number] = min(least[sink] - ticks for sink, ticks in users[number])
        return least

    def pipelines(self, times: Sequence[int]) -> dict[str, Pipeline]:
        """The nodes' operators with these results."""
        return {name: self._pipeline(name, line, times) for name, line in self.lines.items()}

    def _pipeline(self, name: str, line: Pipeline, times: Sequence[int]) -> Pipeline:
        first = self.first[name]
        numbers = range(first, first + len(line.operators))
        starts = [times[k] - self.latencies[k] for k in numbers]
        computed = [start for start, operator in zip(starts, line.operators, strict=True) if operator.op != "const"]
        begin = min(computed or starts)
        operators = tuple(
            replace(operator, latency=self.latencies[k], start=0 if operator.op == "const" else start - begin)
            for operator, k, start in zip(line.operators, numbers, starts, strict=True))
        offsets = [operators[-1].done] * len(line.offsets)
        for operator in operators:
            if operator.op == "read":
                offsets[operator.value] = operator.start
        return Pipeline(operators, tuple(offsets), line.indices)


def _bits(operators: Sequence[Operator], number: int) -> int:
    """Bits of a result that are not the same by a conversion."""
    operator = operators[number]
    if operator.op != "cast":
        return operator.word.width
    return min(operator.word.width, _bits(operators, operator.operands[0]))
