"""Running a network firing by firing, with channels of limited size: what a size one word too small does.

Two ways to run. `run_scheduled` fires in the order of the schedule, with real values through real queues, and is the
proof that kinds and sizes are right. `run_freely` lets every node fire as soon as its operands are there and its
results have room, each node in its own order; with the sizes that `derive` gives it always ends, because the schedule
is one such run and bounded channels with blocking reads and writes are deterministic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import islpy as isl
import numpy as np

from compiler.ir.evaluate import evaluate, storage
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network.channels import ChannelKind
from compiler.sched.process_network.errors import NetworkError
from compiler.sched.process_network.network import Edge, Node, ProcessNetwork

__all__ = ["NetworkRun", "run_freely", "run_scheduled"]

Point = tuple[int, ...]


@dataclass(frozen=True)
class NetworkRun:
    """Outputs by array name, and the most words that were in each channel (in the order of the network's edges)."""

    outputs: dict[str, np.ndarray]
    high_water: tuple[int, ...]


@dataclass
class _Queue:
    """The words of one edge, in the order of writing, each with the instance that will take it."""

    edge: Edge
    size: int
    takers: dict[Point, Point]
    givers: set[Point]
    words: deque[tuple[Point, np.ndarray]] = field(default_factory=deque)
    peak: int = 0

    def has(self, instance: Point) -> bool:
        """Whether the word for `instance` can be taken now."""
        if self.edge.kind is ChannelKind.REORDERING:
            return any(taker == instance for taker, _ in self.words)
        return bool(self.words)

    def put(self, instance: Point, word: np.ndarray) -> None:
        if len(self.words) >= self.size:
            raise NetworkError(f"channel {self.edge.name} of {self.size} words overflows at "
                               f"{self.edge.source}{list(instance)}")
        self.words.append((self.takers[instance], word))
        self.peak = max(self.peak, len(self.words))

    def take(self, instance: Point) -> np.ndarray:
        if not self.words:
            raise NetworkError(f"channel {self.edge.name} is empty when {self.edge.sink}{list(instance)} reads it")
        position = 0
        if self.edge.kind is ChannelKind.REORDERING:
            position = next(k for k, (taker, _) in enumerate(self.words) if taker == instance)
        taker, word = self.words[position]
        if taker != instance:
            raise NetworkError(f"channel {self.edge.name} has the word of {self.edge.sink}{list(taker)} in front when "
                               f"{self.edge.sink}{list(instance)} reads it: it is no FIFO")
        del self.words[position]
        return word


def _points(domain: isl.Set) -> np.ndarray:
    return _rows(*enumerate_points(domain))


def _image(mapping: isl.Map, domain: isl.Set) -> np.ndarray:
    count, columns = enumerate_points(domain)
    return _rows(count, evaluate_map(mapping, domain, columns, count))


def _rows(count: int, columns: list[np.ndarray]) -> np.ndarray:
    return np.stack([np.broadcast_to(c, count) for c in columns], axis=1) if columns else np.zeros((count, 0), int)


def _tuples(rows: np.ndarray) -> list[Point]:
    return [tuple(row) for row in rows.tolist()]


class _Machine:
    def __init__(self, network: ProcessNetwork, inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> None:
        self.network = network
        self.queues = [self._queue(edge, sizes.get(edge.name, edge.size)) for edge in network.edges]
        program = network.program
        self.memory = {a.name: np.zeros(a.shape, storage(a.type)) for a in program.arrays
                       if a.role != "intermediate"}
        for array in program.inputs:
            self.memory[array.name][...] = np.asarray(inputs[array.name])
        self.tables = {table.name: table for table in program.tables}
        self.instances = {n.name: self._in_order(n) for n in network.nodes}
        self.elements = {n.name: self._memory_elements(n) for n in network.nodes}

    def _queue(self, edge: Edge, size: int) -> _Queue:
        givers = edge.relation.domain()
        pairs = zip(_tuples(_points(givers)), _tuples(_image(edge.relation, givers)), strict=True)
        takers = dict(pairs)
        return _Queue(edge, size, takers, set(takers.values()))

    def _in_order(self, node: Node) -> list[tuple[Point, Point]]:
        """(time, instance) of all firings, in order."""
        domain = self.network.statement(node).domain
        return sorted(zip(_tuples(_image(node.schedule, domain)), _tuples(_points(domain)), strict=True))

    def _memory_elements(self, node: Node) -> dict[str, dict[Point, Point]]:
        """Array in main memory -> instance -> element, for the accesses that are host transfers."""
        statement = self.network.statement(node)
        found: dict[str, dict[Point, Point]] = {}
        for access in (*statement.reads, statement.write):
            if access.array in self.memory:
                elements = _tuples(_image(access.map, statement.domain))
                found[access.array] = dict(zip(_tuples(_points(statement.domain)), elements, strict=True))
        return found

    def ready(self, node: Node, instance: Point) -> bool:
        """Whether `node` can fire: operands there, and room for its results once the operands are gone."""
        inputs = [q for q in self.queues if q.edge.sink == node.name and instance in q.givers]
        if not all(q.has(instance) for q in inputs):
            return False
        outputs = [q for q in self.queues if q.edge.source == node.name and instance in q.takers]
        return all(len(q.words) - (q in inputs) < q.size for q in outputs)

    def fire(self, node: Node, instance: Point) -> None:
        statement = self.network.statement(node)
        taken: dict[int, np.ndarray] = {}
        for queue in self.queues:
            if queue.edge.sink == node.name and instance in queue.givers:
                taken[queue.edge.read] = queue.take(instance)
        elements = self.elements[node.name]
        for number, access in enumerate(statement.reads):
            if number not in taken:
                taken[number] = np.atleast_1d(self.memory[access.array][elements[access.array][instance]])
        iterators = {n: np.array([v]) for n, v in zip(statement.iterators, instance, strict=True)}
        value = evaluate(statement.value, taken.__getitem__, iterators, self.tables)
        if statement.write.array in elements:
            self.memory[statement.write.array][elements[statement.write.array][instance]] = value[0]
        for queue in self.queues:
            if queue.edge.source == node.name and instance in queue.takers:
                queue.put(instance, value if queue.edge.origin == "flow" else taken[queue.edge.read])

    def result(self) -> NetworkRun:
        outputs = {a.name: self.memory[a.name].astype(a.type.dtype) for a in self.network.program.outputs}
        return NetworkRun(outputs, tuple(queue.peak for queue in self.queues))


def run_scheduled(network: ProcessNetwork, inputs: Mapping[str, np.ndarray],
                  sizes: Mapping[str, int] | None = None) -> NetworkRun:
    """Fire in the order of the schedule. `sizes` replaces channel sizes, by the names of edges.

    Raises `NetworkError` if a channel overflows, runs empty, or delivers a word to the wrong firing.
    """
    machine = _Machine(network, inputs, sizes or {})
    numbered = [(time, node.number, instance) for node in network.nodes
                for time, instance in machine.instances[node.name]]
    for _, number, instance in sorted(numbered):
        machine.fire(network.nodes[number], instance)
    return machine.result()


def run_freely(network: ProcessNetwork, inputs: Mapping[str, np.ndarray],
               sizes: Mapping[str, int] | None = None) -> NetworkRun:
    """Fire whatever can fire until all is done. Raises `NetworkError` for a deadlock, naming who waits."""
    machine = _Machine(network, inputs, sizes or {})
    waiting = {node: deque(i for _, i in machine.instances[node.name]) for node in network.nodes}
    progress = True
    while progress:
        progress = False
        for node, instances in waiting.items():
            while instances and machine.ready(node, instances[0]):
                machine.fire(node, instances.popleft())
                progress = True
    stuck = [f"{node.name}{list(instances[0])}" for node, instances in waiting.items() if instances]
    if stuck:
        raise NetworkError(f"deadlock: {', '.join(stuck)} wait for each other")
    return machine.result()
