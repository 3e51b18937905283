"""From a schedule to the pipeline: times of all operators, delays and buffers, streams."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from compiler.analysis.port_nests import LoopSum, constant_sum
from compiler.bind.buffers.unified import UnifiedBuffer, extract_buffers
from compiler.bind.fpga.address_generator_fit import build_walk, fit_levels
from compiler.bind.fpga.build_dataflow_graph import NetBuilder
from compiler.bind.fpga.chaining import chain_recurrences
from compiler.bind.fpga.dataflow_graph import Net, Node, Use
from compiler.bind.fpga.delay_allocation import DelayAllocator, Need, Placed
from compiler.bind.fpga.errors import SlowRecurrence, UnevenWalk
from compiler.bind.fpga.expressions import read_label, word_of
from compiler.bind.fpga.idle_loops import idle_longer
from compiler.bind.fpga.instance_trace import MOST_EVENTS, Events, ReadPart, Reads
from compiler.bind.fpga.nest_fit import fit_nest
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.retime import retime, wait
from compiler.bind.fpga.traces import Idle, Part, Trace
from compiler.sched.static.schedule import Schedule
from hw.labels import Label
from hw.pipeline.spec import (
    BufferCell,
    Cell,
    ConstantCell,
    CounterCell,
    InputCell,
    LineCell,
    LoadCell,
    MemorySpec,
    MergeCell,
    OperatorCell,
    OutputCell,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
    Word,
)

__all__ = ["MOST_LISTED", "BuiltPipeline", "Claim", "Storage", "build_pipeline"]

MOST_LISTED = 1 << 14
"""Instances of a reader up to which its reads are listed if they are no nest."""


@dataclass(frozen=True)
class Claim:
    """Cell number `cell` has the value of an instance of a statement `shift` cycles after its logical cycle."""

    cell: int
    shift: int


@dataclass(frozen=True)
class Storage:
    """What holds the values of a statement: memories, and words in chains of registers."""

    memories: tuple[Placed, ...]
    registers: int

    @property
    def words(self) -> int:
        """All words."""
        return self.registers + sum(memory.words for memory in self.memories)


@dataclass
class BuiltPipeline:
    """The pipeline and what is claimed about it, for the proof: where the values of statements are.

    `storage`: by statement. `diagonal`: reads of several sources tell these apart along diagonals.
    """

    schedule: Schedule
    events: Events
    spec: PipelineSpec
    buffers: list[UnifiedBuffer]
    results: dict[str, Claim]
    storage: dict[str, Storage]
    diagonal: bool = False


def build_pipeline(schedule: Schedule, options: Options, split: Collection[tuple[str, int]] = ()) -> BuiltPipeline:
    """`split`: reads, by statement and number, whose dependences are taken in pieces. Raises `FpgaError` or
    `DependenceError` naming what does not fit."""
    staged, program = schedule.staged, schedule.staged.program
    for array in program.arrays:
        word_of(array.type, f"array {array.name}")
    buffers = extract_buffers(schedule)
    events = Events(schedule)
    net = NetBuilder(schedule, events, buffers, options, frozenset(split)).build()
    names = [s.name for s in program.statements]
    first = {name: schedule.statements[name].offset for name in names}
    paths = chain_recurrences(net, options.clock_mhz)
    try:
        times = retime(net, first, {name: events.last(name) for name in names}, paths)
    except SlowRecurrence as error:
        idling = idle_longer(schedule, net, error.nodes, error.excess, paths)
        label = str(program.statement(error.name))
        raise SlowRecurrence(error.name, label, idling, error.nodes, error.excess, error.latency) from None
    return _Assembly(schedule, options, net, times, events, buffers).build(staged.program.name)


@dataclass
class _Assembly:
    """Cells in the order of the net's nodes; memories follow the node that they delay."""

    schedule: Schedule
    options: Options
    net: Net
    times: list[int]
    events: Events
    buffers: list[UnifiedBuffer]
    cells: list[Cell] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chains = DelayAllocator(self.cells, self.options.register_gap)
        self.users: dict[int, list[tuple[int, int]]] = {}
        for user, operand, use in self.net.edges():
            self.users.setdefault(use.node, []).append((user, operand))
        self.dependences = {(d.sink, d.read): d for d in self.schedule.dependences}

    def build(self, name: str) -> BuiltPipeline:
        """All cells."""
        producers = {node: statement for statement, node in self.net.results.items()}
        storage: dict[str, Storage] = {}
        for number, node in enumerate(self.net.nodes):
            if node.kind != "port":
                self.cells.append(self._cell(number, node))
                self.place[number] = len(self.cells) - 1
                found = self._serve(number, producers.get(number))
                if number in producers:
                    storage[producers[number]] = found
        self._merges()
        tables = tuple(table.values for table in self.schedule.staged.program.tables)
        memories = tuple(MemorySpec(word_of(memory.type, f"memory {memory.name}"), memory.words, memory.trap,
                                    self._forwarded(number), memory.initial)
                         for number, memory in enumerate(self.schedule.staged.program.memories))
        spec = PipelineSpec(name, tuple(self.cells), tables, tuple(self._labels()), memories)
        results = {s: Claim(self.place[node], self.times[node]) for s, node in self.net.results.items()}
        return BuiltPipeline(self.schedule, self.events, spec, self.buffers, results, storage, self._diagonal)

    def _forwarded(self, memory: int) -> int:
        """How many cycles on loads from a memory see stores."""
        return max((node.forwarded for node in self.net.nodes if (node.op, node.value) == ("load", memory)), default=0)

    def _labels(self) -> list[Label]:
        """What each cell belongs to: the statement of its node; memories to that of the values in them."""
        nodes = {cell: self.net.nodes[number] for number, cell in self.place.items()}
        labels: list[Label] = []
        for number, cell in enumerate(self.cells):
            if number in nodes:
                labels.append(self._label(nodes[number]))
            else:
                assert isinstance(cell, LineCell | BufferCell)
                labels.append(labels[cell.source.cell])
        return labels

    def _label(self, node: Node) -> Label:
        if not node.statement:
            return Label("constant")
        name = node.name if node.kind == "input" else node.statement
        return Label(name, self.schedule.staged.program.statement(node.statement).source)

    # Cells.

    def _cell(self, number: int, node: Node) -> Cell:
        match node.kind:
            case "input":
                return InputCell(node.name, node.word, self._walk(number, node))
            case "constant":
                return ConstantCell(node.value, node.word)
            case "counter":
                return CounterCell(node.word, self._walk(number, node))
            case "merge":
                return ConstantCell(0, node.word)  # until all its sources are there
            case "output":
                return OutputCell(node.name, self._taps(number)[0], node.word, self._walk(number, node))
            case _ if node.op in ("load", "store"):
                return self._access(number, node)
        return OperatorCell(node.op, self._taps(number), node.words, node.word, node.latency, node.value)

    def _access(self, number: int, node: Node) -> LoadCell | StoreCell:
        """A load or a store; its events are when its operands are there."""
        taps, trap = self._taps(number), self.schedule.staged.program.memories[node.value].trap
        clock = self.events.clock(node.statement).plus(self.times[number] - node.latency)
        events = constant_sum(0, self.events.trips(node.statement))
        if node.op == "store":
            index, value, enable, *after = taps
            return StoreCell(node.value, index, value, enable, tuple(after), _walk(clock, events, 1), trap)
        return LoadCell(node.value, taps[0], taps[1:], node.word, node.latency,
                        _walk(clock, events, 1) if trap else None, node.forwarded)

    def _taps(self, number: int) -> tuple[Tap, ...]:
        """Where the operands of a node come from."""
        return tuple(Tap(self.place[use.node]) if self.net.is_constant(use) else self.chains.taps[number, place]
                     for place, use in enumerate(self.net.nodes[number].uses))

    @property
    def _diagonal(self) -> bool:
        return any(node.selection is not None and node.selection.diagonal for node in self.net.nodes)

    def _merges(self) -> None:
        """The merges, whose sources may come later than they do."""
        for number, node in enumerate(self.net.nodes):
            if node.kind == "merge":
                self.cells[self.place[number]] = self._merge_cell(number, node)

    def _merge_cell(self, number: int, node: Node) -> MergeCell:
        assert node.selection is not None
        first, second = self._taps(number)
        walk = self._events_walk(number, node, node.selection.values, node.selection.size)
        return MergeCell((first, second), node.word, walk, node.selection.cut)

    def _walk(self, number: int, node: Node) -> Walk:
        """The cycles of a node's statement; addresses are the values of the iterator of a counter."""
        if node.kind == "counter":
            values = self.events.iterator(node.statement, node.name)
            return self._events_walk(number, node, values, 1 << node.word.width)
        return self._events_walk(number, node, constant_sum(0, self.events.trips(node.statement)), 1)

    def _events_walk(self, number: int, node: Node, values: LoopSum | np.ndarray, size: int) -> Walk:
        """The cycles of a node's statement, with addresses."""
        return _walk(self.events.clock(node.statement).plus(self.times[number]), values, size)

    # Delays.

    def _serve(self, number: int, statement: str | None) -> Storage:
        """Taps for all users of a node, and for those of the ports that read it; the words that this takes."""
        before = len(self.chains.placed)
        word, cell = self.net.nodes[number].word, self.place[number]
        users = self.users.get(number, [])
        ports = [user for user, _ in users if self.net.nodes[user].kind == "port"]
        words = None if statement is None else Trace(self.events.own(statement).later(self.times[number]))
        needs = [self._need(number, *user) for user in users if user[0] not in ports]
        streams = self.chains.constant(cell, word, needs, words)
        if ports:
            self.chains.varying(streams, word, [self._port_need(port) for port in ports])
            self._serve_ports(ports, word)
        placed = self.chains.placed[before:]
        cells = [cell, *(item.cell for item in placed)]
        return Storage(tuple(placed), sum(self.chains.registers.get(cell, 0) for cell in cells))

    def _need(self, number: int, user: int, operand: int) -> Need:
        """A use at a constant delay; the words are those that the user's statement reads."""
        delay = wait(self.net, self.times, user, operand)
        words = self._words_read(number, user, operand) if number in self.net.results.values() else None
        return Need((user, operand), words, delay, "")

    def _words_read(self, number: int, user: int, operand: int) -> Trace:
        """The words that a node takes from a statement's result."""
        node = self.net.nodes[user]
        if node.kind == "merge":
            leaf = node.leaves[operand]
            assert leaf is not None
            return self._trace(node.statement, leaf.reads)
        wanted = Use(number, node.uses[operand].distance)
        for (statement, read), use in self.net.reads.items():
            if statement == node.statement and use == wanted:
                return self._trace(statement, self.events.reads(self.dependences[statement, read]))
        return Trace(self.events.own(node.statement))

    def _trace(self, statement: str, reads: Reads) -> Trace:
        """The words that reads of a statement want, in its logical cycles."""
        if reads.nest is not None:
            return Trace(self.events.port(statement, reads.nest, reads.shape))
        count = prod(reads.trips)
        part = (count > MOST_LISTED and reads.onward) or (count > MOST_EVENTS and reads.around) or None
        return self._onward(statement, part, reads.shape) or Trace(
            (self.events.times(statement)[reads.instances], reads.words))

    def _onward(self, statement: str, part: ReadPart | None, shape: tuple[int, ...]) -> Trace | None:
        """The words that a part of a nest wants, going on in the rest of it."""
        if part is None:
            return None
        found = Part(self.events.port(statement, part.nest, shape), part.region).pinned()
        return Trace(found.port, parts=(found,) if found.region is not None else ())

    def _port_need(self, port: int) -> Need:
        node = self.net.nodes[port]
        leaf = node.leaves[0]
        assert leaf is not None
        name = read_label(self.schedule.staged.program.statement(node.statement), node.read)
        trace = self._port_trace(node, leaf.reads, name)
        if trace.nest is None:
            instances, words = leaf.reads.idle()
            trace = replace(trace, idle=Idle(self.events.times(node.statement)[instances], words),
                            onward=self._onward(node.statement, leaf.reads.beyond, leaf.reads.shape))
        return Need((port, 0), trace.later(self.times[port]), None, name, (node.statement, node.read))

    def _port_trace(self, node: Node, reads: Reads, name: str) -> Trace:
        """The words that a port wants. Raises `UnevenWalk` if they are no nest and too many to list."""
        if prod(reads.trips) <= MOST_EVENTS or reads.nest is not None:
            return self._trace(node.statement, reads)
        trace = self._onward(node.statement, reads.beyond, reads.shape)
        if trace is None:
            raise UnevenWalk(f"{name}: it walks what it reads in an order that no counters follow, in more than "
                             f"{MOST_EVENTS} instances", (node.statement, node.read))
        return trace

    def _serve_ports(self, ports: list[int], word: Word) -> None:
        """The users of ports: taps of the chains behind the ports' memories."""
        needs: dict[int, list[Need]] = {}
        for port in ports:
            tap = self.chains.taps[port, 0]
            for user, operand in self.users.get(port, []):
                delay = tap.cycles + wait(self.net, self.times, user, operand)
                needs.setdefault(tap.cell, []).append(Need((user, operand), None, delay, ""))
        for cell, behind in needs.items():
            self.chains.constant(cell, word, behind)


def _walk(clock: LoopSum, values: LoopSum | np.ndarray, size: int) -> Walk:
    """Events in the cycles of `clock`, with addresses."""
    nest = isinstance(values, LoopSum)
    levels = fit_nest(clock, values) if nest else fit_levels(clock.values(), values)
    if levels is None:
        raise AssertionError("the instances of a statement are loops")
    return build_walk(levels, clock.base, size, values.base if nest else int(values[0]))
