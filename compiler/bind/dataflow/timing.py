"""When each node fires and how each channel carries its words, in ticks of the hardware.

A node fires a constant number of ticks after the counters show its time. These delays make room for the latencies of
operators and channels: every word has to be there when it is read. Delays can always grow along the flow; around a
recurrence they cannot, so a recurrence that is shorter in ticks than its operators are deep has no solution, and the
program must be interleaved or slowed down (Bok 2018, sections 5.2 and 5.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from compiler.analysis.counting import UncountedError
from compiler.analysis.instance_budget import require_few
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.expressions import Pipeline
from compiler.bind.dataflow.iteration_counters import Idle, TickClock, tick_clock
from compiler.bind.dataflow.word_ticks import CountedTicks, SymbolicTicks, WordTicks
from compiler.sched.process_network import Edge, NodeKind, ProcessNetwork
from compiler.sched.process_network.channels import Traffic, counted_traffic
from compiler.sched.process_network.symbolic_traffic import SymbolicTraffic

__all__ = ["Carried", "Need", "carry", "hardware_offsets", "later_ticks", "node_delays", "settle", "short_recurrence",
           "slowdown", "timing_needs"]

_SLOWEST = 4096


@dataclass(frozen=True)
class Carried:
    """An edge in ticks: when its words are written and read, by the counters.

    `memory`: several words can wait at once, so that one register is not enough. `registers`: that a line of them has
    at least, for paths that end there.
    """

    edge: Edge
    words: WordTicks
    memory: bool = False
    registers: int = 0

    @property
    def least(self) -> int:
        """The shortest way of a word, in ticks."""
        return self.words.least

    @property
    def constant(self) -> bool:
        """Whether all words take the same time."""
        return self.words.constant

    @property
    def in_order(self) -> bool:
        """Whether words are read in the order in which they are written."""
        return self.words.in_order

    @cached_property
    def latency(self) -> int:
        """Ticks that a channel for this edge takes at least; some are memories."""
        if self.constant:
            return self.registers
        return 1 if self.in_order and not self.memory else 2


def carry(network: ProcessNetwork, clock: TickClock, numbers: Iterable[int] | None = None) -> list[Carried]:
    """Edges in ticks: all, or those of these numbers."""
    return [_carried(network.edges[k], _words(network, network.edges[k], network.traffic[k], clock))
            for k in (range(len(network.edges)) if numbers is None else numbers)]


def _carried(edge: Edge, words: WordTicks) -> Carried:
    return Carried(edge, words, memory=not words.constant and not words.single())


def _words(network: ProcessNetwork, edge: Edge, moved: Traffic | SymbolicTraffic, clock: TickClock) -> WordTicks:
    """The words of an edge in ticks. Those that are not counted with symbols are looked at if they are few."""

    def numbers(reason: UncountedError) -> CountedTicks:
        require_few(edge.relation.domain(), f"edge {edge.name}", reason, DataflowError)
        return _counted(counted_traffic(edge, network.times), clock)

    if isinstance(moved, SymbolicTraffic):
        return SymbolicTicks(moved.relation, clock.walk, numbers)
    return _counted(moved, clock)


def _counted(moved: Traffic, clock: TickClock) -> CountedTicks:
    return CountedTicks(clock.rank(moved.written), clock.rank(moved.read))


def later_ticks(network: ProcessNetwork, clock: TickClock, idle: Sequence[Idle],
                carried: Sequence[Carried]) -> Callable[[Sequence[Carried]], list[Carried]]:
    """What makes some of `carried` into what they are when there are `idle` ticks in `clock`; one, everywhere, if
    there are many words."""
    if any(isinstance(item.words, SymbolicTicks) for item in carried):
        numbers = {edge.name: k for k, edge in enumerate(network.edges)}
        padded = tick_clock(network.times.values(), idle=idle[0])
        return lambda items: carry(network, padded, [numbers[item.edge.name] for item in items])
    later = clock.put_off(idle)
    return lambda items: [_carried(item.edge, item.words.put_off(later)) for item in items
                          if isinstance(item.words, CountedTicks)]


class Need(NamedTuple):
    """Node `sink` must be `ticks` later than node `source`; the counters make it `least` later."""

    source: str
    sink: str
    ticks: int
    least: int


def timing_needs(carried: Sequence[Carried], pipelines: Mapping[str, Pipeline]) -> list[Need]:
    """Those of all channels."""
    needs = []
    for item in carried:
        edge = item.edge
        source, sink = pipelines[edge.source], pipelines[edge.sink]
        ready = source.latency if edge.origin == "flow" else source.offsets[edge.read]
        needs.append(Need(edge.source, edge.sink, ready + item.latency - sink.offsets[edge.read], item.least))
    return needs


def node_delays(network: ProcessNetwork, carried: list[Carried], pipelines: dict[str, Pipeline],
                slow: int = 1) -> dict[str, int] | None:
    """The least delays, at least 1 (2 for readers of memories), None if a recurrence is too short.

    `slow`: ticks per time: the counters' distances count that often.
    """
    delays = {node.name: 1 for node in network.nodes}
    for item in carried:
        if item.latency == 2:
            delays[item.edge.sink] = 2
    needs = timing_needs(carried, pipelines)
    for _ in range(len(delays) + 1):
        before = dict(delays)
        for source, sink, need, have in needs:
            delays[sink] = max(delays[sink], delays[source] + need - slow * have)
        if before == delays:
            return _inputs_late(network, delays, needs, slow)
    return None


def short_recurrence(network: ProcessNetwork, carried: list[Carried],
                     pipelines: dict[str, Pipeline]) -> tuple[str, ...]:
    """The nodes of a recurrence whose operators and channels take more ticks than there are from a value to the one
    that needs it; none if there is no such recurrence."""
    delays = {node.name: 1 for node in network.nodes}
    before: dict[str, str] = {}
    grown = ""
    for _ in range(len(delays) + 1):
        grown = ""
        for source, sink, need, have in timing_needs(carried, pipelines):
            if delays[sink] < delays[source] + need - have:
                delays[sink], before[sink], grown = delays[source] + need - have, source, sink
        if not grown:
            return ()
    for _ in delays:  # from anywhere behind the recurrence into it
        grown = before[grown]
    found = [grown]
    while before[found[-1]] != grown:
        found.append(before[found[-1]])
    return tuple(reversed(found))


def _inputs_late(network: ProcessNetwork, delays: dict[str, int], needs: list[Need],
                 slow: int) -> dict[str, int]:
    """Sources fire as late as their readers allow, so that words wait in memory and not in registers."""
    late = dict(delays)
    for node in network.nodes:
        slack = [delays[sink] - need + slow * have for source, sink, need, have in needs if source == node.name]
        if node.kind in (NodeKind.INPUT, NodeKind.CONSTANT) and slack:
            late[node.name] = max(delays[node.name], min(slack))
    return late


def slowdown(network: ProcessNetwork, carried: list[Carried], pipelines: dict[str, Pipeline]) -> int:
    """The least ticks per time for which every recurrence has enough of them."""
    slow = 1
    while node_delays(network, carried, pipelines, slow) is None and slow < _SLOWEST:
        slow += 1
    return slow


def settle(network: ProcessNetwork, carried: list[Carried],
           pipelines: dict[str, Pipeline]) -> tuple[list[Carried], dict[str, int]] | None:
    """Node delays and edges that agree with them: a register whose words would meet becomes a memory. None if a
    recurrence is too short."""
    while True:
        delays = node_delays(network, carried, pipelines)
        if delays is None:
            return None
        settled = [replace(item, memory=item.memory or not (
            item.constant or item.words.single(_extra(item, delays, pipelines)))) for item in carried]
        if all(new.latency == old.latency for new, old in zip(settled, carried, strict=True)):
            return settled, delays
        carried = settled


def _extra(item: Carried, delays: dict[str, int], pipelines: dict[str, Pipeline]) -> int:
    """Ticks by which reads come later against writes than the counters say."""
    written, read = hardware_offsets(item.edge, delays, pipelines)
    return read - written


def hardware_offsets(edge: Edge, delays: dict[str, int], pipelines: dict[str, Pipeline]) -> tuple[int, int]:
    """Ticks from the counters' vector to the writing and to the reading of a word."""
    source, sink = pipelines[edge.source], pipelines[edge.sink]
    ready = source.latency if edge.origin == "flow" else source.offsets[edge.read]
    return delays[edge.source] + ready, delays[edge.sink] + sink.offsets[edge.read]
