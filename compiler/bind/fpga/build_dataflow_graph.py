"""From a schedule to the net: operators, reads of other statements' values, merges, streams."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.analysis.dependences import Dependence, recurrences, topological_order
from compiler.analysis.port_nests import linear_sum
from compiler.bind.buffers.unified import UnifiedBuffer
from compiler.bind.fpga.dataflow_graph import Net, Node, Use
from compiler.bind.fpga.errors import ManySources
from compiler.bind.fpga.expressions import Operators, read_label, word_of
from compiler.bind.fpga.instance_trace import Events
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.source_mux import Decision, Leaf, Selection, decide, pieces
from compiler.ir.expr import Const
from compiler.ir.program import Statement
from compiler.sched.static.schedule import Schedule
from hw.pipeline.spec import BUFFER_LATENCY, Word

__all__ = ["NetBuilder"]


@dataclass
class NetBuilder:
    """The net of a schedule. `split`: reads, by statement and number, whose dependences are taken in pieces."""

    schedule: Schedule
    events: Events
    buffers: list[UnifiedBuffer]
    options: Options
    split: frozenset[tuple[str, int]] = frozenset()

    def __post_init__(self) -> None:
        self.net, self.program = Net(), self.schedule.staged.program
        self.tables = [table.name for table in self.program.tables]
        self.memories = [memory.name for memory in self.program.memories]
        self.loads = {f.statement: f.array for f in self.schedule.staged.inputs}
        self.outputs = {f.statement: f.array for f in self.schedule.staged.outputs}
        self.sources: dict[tuple[str, int], list[Dependence]] = {}
        for dependence in self.schedule.dependences:
            read = dependence.sink, dependence.read
            self.sources.setdefault(read, []).extend(pieces(dependence) if read in self.split else [dependence])
        self.carried = recurrences(self.program, self.schedule.dependences)

    def build(self) -> Net:
        """All nodes; merges are connected when all others are there."""
        produced = {buffer.writer.statement: buffer for buffer in self.buffers}
        for name in topological_order(self.program, self.schedule.dependences):
            statement = self.program.statement(name)
            if isinstance(statement.value, Const) and name not in self.outputs:
                continue  # merges take the constant as it is
            self._add(statement)
            for reader in produced[name].readers if name in produced else ():
                if len(self.sources[reader.statement, reader.read]) == 1:
                    leaf = Leaf(reader.dependence, self.events.reads(reader.dependence))
                    self.net.reads[reader.statement, reader.read] = self._use(leaf)
        for node in [node for node in self.net.nodes if node.kind == "merge"]:
            self._connect(node)
        return self.net

    def _connect(self, merge: Node) -> None:
        """Give a merge those of its operands that are no merges; the two of a late read are one."""
        below, above = merge.leaves
        if below is above and below is not None:
            merge.uses = (self._source(below),) * 2
        else:
            merge.uses = tuple(use if leaf is None else self._source(leaf)
                               for use, leaf in zip(merge.uses, merge.leaves, strict=True))

    def _add(self, statement: Statement) -> None:
        """The nodes of a statement, and the stream that it brings or gives."""
        net, name = self.net, statement.name
        if name in self.loads:
            word = self._word(self.loads[name])
            net.results[name] = net.add(Node("input", word, name, name=self.loads[name]))
        else:
            reads = [self._read(statement, k) for k in range(len(statement.reads))]
            net.results[name] = Operators(net, statement, reads, self.tables, self.memories,
                                           self.options).result()
        if name in self.outputs:
            word = net.nodes[net.results[name]].word
            net.add(Node("output", word, name, (Use(net.results[name]),), name=self.outputs[name]))

    def _word(self, array: str) -> Word:
        return word_of(self.program.array(array).type, f"array {array}")

    def _read(self, statement: Statement, read: int) -> Use:
        """A read's use: of what its one producer gave it, or of a merge. Raises `ManySources`."""
        sources = self.sources[statement.name, read]
        if (statement.name, read) not in self.net.reads:
            decision = self._decision(sources)
            if decision is None:
                raise ManySources(f"{read_label(statement, read)} sees values of several statements, in an order that "
                                  "no counters with short tables follow", statement.name)
            self.net.reads[statement.name, read] = self._merge(decision, self._word(sources[0].array))
        return self.net.reads[statement.name, read]

    def _decision(self, sources: list[Dependence]) -> Decision | None:
        """How a read finds its values: of a recurrence, without a memory on the shortest way back, if that is possible;
        None if no counters say so."""
        parts = [part for source in sources for part in self._ways_back(source)]
        found = decide(self.events, parts) if len(parts) > len(sources) else None
        if found is not None:
            return found
        return self._late(sources[0]) if len(sources) == 1 else decide(self.events, sources)

    def _ways_back(self, source: Dependence) -> list[Dependence]:
        """A dependence that leads back after a number of cycles that varies, in pieces if the least one is the same in
        all iterations of its piece: that of an inner loop, beside those of loops around."""
        least, most = self.schedule.distance(source)
        if source.key not in self.carried or least == most:
            return [source]
        parts = pieces(source)
        return parts if (least, least) in map(self.schedule.distance, parts) else [source]

    def _late(self, source: Dependence) -> Decision:
        """A read of one producer that comes later in the net, being behind it in a recurrence: only a merge can have a
        later node as operand, so here is one that always takes the first of two equal ones."""
        leaf = Leaf(source, self.events.reads(source))
        trips = self.events.trips(source.sink)
        always = Selection(linear_sum(0, [0] * len(trips), trips), size=2, cut=1)
        return Decision(always, leaf, leaf)

    def _merge(self, decision: Decision, word: Word) -> Use:
        """The merges of a decision and of those that it leads to; operands that are no merges come later."""
        uses, leaves = [], []
        for side in (decision.below, decision.above):
            uses.append(self._merge(side, word) if isinstance(side, Decision) else Use(-1))
            leaves.append(None if isinstance(side, Decision) else side)
        first = _first(decision).dependence
        return Use(self.net.add_merge(Node("merge", word, first.sink, tuple(uses), read=first.read,
                                           leaves=tuple(leaves), selection=decision.selection)))

    def _source(self, leaf: Leaf) -> Use:
        """An operand of a merge."""
        value = self.program.statement(leaf.dependence.source).value
        if isinstance(value, Const):
            return self.net.constant(value.value, self._word(leaf.dependence.array))
        return self._use(leaf)

    def _use(self, leaf: Leaf) -> Use:
        """The producer's result, some cycles ago, or a port."""
        dependence, reads = leaf
        result = self.net.results[dependence.source]
        least, most = self.events.distance(dependence, reads)
        if least == most:
            return Use(result, least)
        return Use(self.net.add(Node("port", self.net.nodes[result].word, dependence.sink, (Use(result, least),),
                                     read=dependence.read, latency=BUFFER_LATENCY + 1, leaves=(leaf,))))


def _first(decision: Decision | Leaf) -> Leaf:
    return _first(decision.below) if isinstance(decision, Decision) else decision
