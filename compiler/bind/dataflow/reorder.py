"""Which element of an array each word of a stream is: what a host packs and unpacks."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
import numpy as np

from compiler.bind.dataflow.iteration_counters import TickClock
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network import Node, NodeKind, ProcessNetwork

__all__ = ["firing_ticks", "instance_ticks", "memory_array", "stream_elements", "stream_lengths"]


def memory_array(network: ProcessNetwork, node: Node) -> str:
    """The array in main memory that an input or output node moves words of."""
    statement = network.statement(node)
    return statement.reads[0].array if node.kind is NodeKind.INPUT else statement.write.array


def stream_elements(network: ProcessNetwork, node: Node, sizes: Sequence[int] = (),
                    shape: Sequence[int] | None = None) -> np.ndarray:
    """Row-major numbers of the elements that go through the node's stream, in that order: int64 of shape [words].

    In a network with run-time sizes, their values, and the `shape` that the array has for them.
    """
    statement = network.statement(node)
    access = statement.reads[0] if node.kind is NodeKind.INPUT else statement.write
    domain = _sized(statement.domain, sizes)
    if domain.is_empty():
        return np.zeros(0, np.int64)
    count, columns = enumerate_points(domain)
    flat = np.zeros(count, np.int64)
    indices = evaluate_map(access.map, domain, columns, count)[network.sizes :]
    for size, index in zip(shape or network.program.array(access.array).shape, indices, strict=True):
        flat = flat * size + index
    times = evaluate_map(node.schedule, domain, columns, count)
    return flat[np.lexsort([np.broadcast_to(t, count) for t in reversed(times)])]


def firing_ticks(network: ProcessNetwork, node: Node, clock: TickClock, sizes: Sequence[int] = ()) -> np.ndarray:
    """When the node fires, by the counters: ticks of a run, in order, int64 of shape [firings]. In a network with
    run-time sizes, of a run with these."""
    return np.sort(instance_ticks(network, node, clock, sizes))


def instance_ticks(network: ProcessNetwork, node: Node, clock: TickClock, sizes: Sequence[int] = ()) -> np.ndarray:
    """The same in the lexicographic order of the statement's instances."""
    domain = _sized(node.schedule.domain(), sizes)
    count, columns = enumerate_points(domain)
    times = evaluate_map(node.schedule, domain, columns, count)
    ticks = clock.rank(np.stack([np.broadcast_to(t, count) for t in times]))
    return ticks - clock.first_tick(sizes)


def _sized(domain: isl.Set, sizes: Sequence[int]) -> isl.Set:
    """What there is of a domain for these run-time sizes, its outermost dimensions."""
    for dim, value in enumerate(sizes):
        domain = domain.fix_val(isl.dim_type.set, dim, isl.Val(value))
    return domain


def stream_lengths(network: ProcessNetwork, node: Node) -> dict[tuple[int, ...], int]:
    """Words of the node's stream for all values of the run-time sizes; ``{(): words}`` if there are none."""
    if not network.sizes:
        return {(): node.firings}
    count, columns = enumerate_points(network.statement(node).domain)
    points, counts = np.unique(np.stack([np.broadcast_to(c, count) for c in columns[: network.sizes]]), axis=1,
                               return_counts=True)
    return {tuple(point): number for point, number in zip(points.T.tolist(), counts.tolist(), strict=True)}
