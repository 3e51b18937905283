"""From a network whose recurrences fit to the kernel's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from compiler.analysis.counting import UncountedError
from compiler.analysis.instance_budget import box_volume, require_few
from compiler.bind.dataflow.addresses import plan_memory
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.expressions import Pipeline, word
from compiler.bind.dataflow.firings import CountedFirings, Firings, SymbolicFirings
from compiler.bind.dataflow.iteration_counters import TickClock
from compiler.bind.dataflow.quasi_affine import piecewise, predicate
from compiler.bind.dataflow.reorder import firing_ticks, stream_lengths
from compiler.bind.dataflow.tapped_lines import with_lines
from compiler.bind.dataflow.timing import Carried, hardware_offsets
from compiler.ir.program import Statement
from compiler.sched.process_network import Node, NodeKind, ProcessNetwork
from compiler.sched.process_network.channels import FEW_WORDS
from hw.dataflow.spec import (
    ChannelSpec,
    KernelSpec,
    MemorySpec,
    NodeSpec,
    Predicate,
    ReadSpec,
    SizeSpec,
    Source,
    StreamSpec,
)

__all__ = ["build_kernel"]

_SPARSE = 16
"""A constant delay of so many ticks is a queue (or a register) instead of a line, if at most half as many words are in
it; shorter ones are a few registers."""


def build_kernel(name: str, network: ProcessNetwork, clock: TickClock, carried: Sequence[Carried],
                 delays: Mapping[str, int], pipelines: Mapping[str, Pipeline], *, sparse: int = _SPARSE) -> KernelSpec:
    """The kernel of `network`; channels are those of its edges, in their order. `sparse`: ticks from which on a delay
    of few words is a queue."""
    builder = _Builder(network, clock, carried, dict(delays), dict(pipelines), sparse)
    return KernelSpec(
        name=name, counters=clock.counters, ticks=clock.most_ticks(network.sizes), sizes=builder.sizes(),
        nodes=tuple(builder.node(node) for node in network.nodes),
        channels=builder.channels(),
        inputs=builder.streams(NodeKind.INPUT), outputs=builder.streams(NodeKind.OUTPUT),
        tables=tuple(table.values for table in network.program.tables),
        memories=tuple(MemorySpec(word(memory.type, f"memory '{memory.label}'"), memory.words, memory.trap,
                                  _forwarded(number, pipelines), memory.initial)
                       for number, memory in enumerate(network.program.memories)),
    )


def _forwarded(memory: int, pipelines: Mapping[str, Pipeline]) -> int:
    """Ticks by which what loads from a memory come after is there later than these begin, at most."""
    late = [line.operators[k].done - operator.start for line in pipelines.values() for operator in line.operators
            if (operator.op, operator.value) == ("load", memory)
            for k in operator.operands[1:] if line.operators[k].op != "const"]
    return max(0, *late) if late else 0


class _Builder:
    def __init__(self, network: ProcessNetwork, clock: TickClock, carried: Sequence[Carried], delays: dict[str, int],
                 pipelines: dict[str, Pipeline], sparse: int) -> None:
        self.sparse = sparse
        self.network = network
        self.clock = clock
        self.carried = carried
        self.delays = delays
        self.pipelines = pipelines
        self.times = network.times
        self.numbers = {node.name: node.number for node in network.nodes}

    def streams(self, kind: NodeKind) -> tuple[StreamSpec, ...]:
        """The streams of all nodes of one kind, in the order of the nodes."""
        return tuple(self._stream(node) for node in self.network.nodes if node.kind is kind)

    def _stream(self, node: Node) -> StreamSpec:
        statement = self.network.statement(node)
        words = max(stream_lengths(self.network, node).values())
        return StreamSpec(node.name, word(statement.value.type, statement.label()), words)

    def sizes(self) -> tuple[SizeSpec, ...]:
        """The run-time sizes: the outermost counters."""
        names = self.network.program.statements[0].iterators[: self.network.sizes]
        return tuple(SizeSpec(name, counter.minimum, counter.maximum)
                     for name, counter in zip(names, self.clock.counters, strict=False))

    def node(self, node: Node) -> NodeSpec:
        statement = self.network.statement(node)
        fires = predicate(node.schedule.range(), self.clock.box)
        delay = self.delays[node.name]
        if node.kind is NodeKind.INPUT:
            return NodeSpec(node.name, "input", delay, fires, stream=self._stream_number(node), source=statement.source)
        reads = tuple(self._read(node, statement, k) for k in range(len(statement.reads)))
        if node.kind is NodeKind.OUTPUT:
            return NodeSpec(node.name, "output", delay, fires, reads, stream=self._stream_number(node),
                            source=statement.source)
        line = self.pipelines[node.name]
        indices = tuple(piecewise(self._iterator(node, statement, name), self.clock.box) for name in line.indices)
        return NodeSpec(node.name, "compute", delay, fires, reads, line.operators, indices,
                        source=statement.source)

    def _stream_number(self, node: Node) -> int:
        return [n.name for n in self.network.nodes if n.kind is node.kind].index(node.name)

    def _iterator(self, node: Node, statement: Statement, name: str) -> isl.Map:
        """{time -> value of the iterator}."""
        back = node.schedule.reverse()
        position = statement.iterators.index(name)
        count = len(statement.iterators)
        back = back.project_out(isl.dim_type.out, position + 1, count - position - 1)
        return back.project_out(isl.dim_type.out, 0, position).reset_tuple_id(isl.dim_type.out)

    def _read(self, node: Node, statement: Statement, number: int) -> ReadSpec:
        """The operand with its sources; a source is selected where its words are taken, given that the node fires."""
        fires = node.schedule.range()
        sources = tuple(
            Source(k, predicate(self._taken(item), fires.intersect(self.clock.box)))
            for k, item in enumerate(self.carried) if (item.edge.sink, item.edge.read) == (node.name, number)
        )
        type = self.network.program.array(statement.reads[number].array).type
        return ReadSpec(word(type, statement.label()), self.pipelines[node.name].offsets[number], sources)

    def _taken(self, item: Carried) -> isl.Set:
        """The times at which the sink takes a word of the edge."""
        return item.edge.relation.range().apply(self.times[item.edge.sink])

    def channels(self) -> tuple[ChannelSpec, ...]:
        """The channel of every edge; reads of one value share a line where that saves words."""
        alone = tuple(self._channel(item) for item in self.carried)
        if self.network.sizes:
            return alone
        return with_lines(alone, self.carried, self._firings)

    def _firings(self, number: int, reason: UncountedError | None) -> tuple[Firings, Predicate]:
        """When node `number` fires by the counters, one by one if there are few points to look at or a `reason` not to
        count with symbols; and the predicate."""
        node = self.network.nodes[number]
        fired = node.schedule.range()
        push = predicate(fired, self.clock.box)
        if reason is not None:
            require_few(node.schedule.domain(), self.network.statement(node).label(), reason, DataflowError)
        if reason is None and box_volume(node.schedule.domain()) > FEW_WORDS:
            return SymbolicFirings(fired, self.clock.walk, self.times), push
        return CountedFirings(firing_ticks(self.network, node, self.clock)), push

    def _channel(self, item: Carried) -> ChannelSpec:
        edge, box = item.edge, self.clock.box
        written, read = hardware_offsets(edge, self.delays, self.pipelines)
        operand = None if edge.origin == "flow" else edge.read
        kind = word(self.network.program.array(edge.array).type, edge.name)
        source = self.numbers[edge.source]
        size = item.words.high_water(read - written)
        distance = item.least + read - written
        if item.constant and not (distance >= self.sparse and 2 * size <= distance):
            return ChannelSpec(edge.name, "delay", kind, source, operand, distance, written, read)
        push = predicate(edge.relation.domain().apply(self.times[edge.source]), box)
        pop = predicate(self._taken(item), box)
        if item.in_order:
            alone = item.words.single(read - written) if item.constant else item.latency == 1
            form = "register" if alone else "fifo"
            return ChannelSpec(edge.name, form, kind, source, operand, max(size, 1), written, read, push, pop)
        depth, store, fetch = plan_memory(self.network, item, read - written, box)
        return ChannelSpec(edge.name, "reorder", kind, source, operand, depth, written, read, push, pop, store, fetch)

