"""Outputs that are read out of a memory: several words of main memory's port at a time.

The node that only copies words of a memory to an output, and the one that gives them away, get lanes of their own: each
has a copy of the memory and a stream, which the host puts together as it does with other lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import islpy as isl

from compiler.bind.dataflow.schedule_transforms import with_lanes
from compiler.ir.expr import Load, Read
from compiler.sched.process_network import NetworkError, Node, NodeKind, ProcessNetwork

__all__ = ["with_drain_lanes"]

_MOST = 4
"""Most copies of a memory that this may take."""


def with_drain_lanes(network: ProcessNetwork, bits: int) -> ProcessNetwork | None:
    """`network` with as many words at a time as `bits` hold wherever outputs are read out of memories; None if they are
    nowhere, or order forbids it."""
    changed = False
    for drain, sink in list(_drains(network)):
        width = network.program.array(network.statement(drain).write.array).type.width
        dimension, first, extent = _innermost(drain)
        lanes = gcd(extent, bits // width, _MOST)
        if lanes > 1 and _innermost(sink) == (dimension, first, extent):
            try:
                network, changed = with_lanes(network, dimension, lanes, (drain.name, sink.name), first), True
            except NetworkError:
                continue
    return network if changed else None


def _drains(network: ProcessNetwork) -> Iterator[tuple[Node, Node]]:
    """(node that copies from a memory, node that gives its words away) of each output that is only read out."""
    for sink in network.nodes:
        if sink.kind is not NodeKind.OUTPUT:
            continue
        sources = {edge.source for edge in network.edges if edge.sink == sink.name and edge.origin == "flow"}
        if len(sources) == 1 and _only_copies(network, drain := network.node(*sources)):
            yield drain, sink


def _only_copies(network: ProcessNetwork, node: Node) -> bool:
    """Whether a node loads at places that its iterators say, which nobody but one sink sees."""
    value = network.statement(node).value
    users = [edge for edge in network.edges if edge.source == node.name and edge.origin == "flow"]
    return isinstance(value, Load) and len({edge.sink for edge in users}) == 1 and all(
        isinstance(token, Read) for token in value.after)


def _innermost(node: Node) -> tuple[int, int, int]:
    """The innermost dimension in which a node's times differ, the first of these and how many they are."""
    times = node.schedule.range()
    for dimension in reversed(range(times.dim(isl.dim_type.set))):
        low, high = (value.to_python() for value in (times.dim_min_val(dimension), times.dim_max_val(dimension)))
        if high > low:
            return dimension, low, high - low + 1
    return 0, 0, 1
