"""Which element of an array each word of a stream is: what a host packs and unpacks."""

from __future__ import annotations

import numpy as np

from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network import Node, NodeKind, ProcessNetwork

__all__ = ["memory_array", "stream_elements"]


def memory_array(network: ProcessNetwork, node: Node) -> str:
    """The array in main memory that an input or output node moves words of."""
    statement = network.statement(node)
    return statement.reads[0].array if node.kind is NodeKind.INPUT else statement.write.array


def stream_elements(network: ProcessNetwork, node: Node) -> np.ndarray:
    """Row-major numbers of the elements that go through the node's stream, in that order: int64 of shape [words]."""
    statement = network.statement(node)
    access = statement.reads[0] if node.kind is NodeKind.INPUT else statement.write
    count, columns = enumerate_points(statement.domain)
    flat = np.zeros(count, np.int64)
    for size, index in zip(network.program.array(access.array).shape,
                           evaluate_map(access.map, statement.domain, columns, count), strict=True):
        flat = flat * size + index
    times = evaluate_map(node.schedule, statement.domain, columns, count)
    return flat[np.lexsort([np.broadcast_to(t, count) for t in reversed(times)])]
