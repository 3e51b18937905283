"""The array as communicating processes with bounded queues: exact timing, and proof that it cannot get stuck.

Cells and chain stages go through fixed sequences of steps; a step takes words from queues and reserves room in queues,
all at once. Whether such a network comes to its end does not depend on timing, so one run that ends proves that every
run does, whatever memory and host do. Every word carries the name of the value that it is, so the same run shows that
every operand is the value that the program means. The model reads nothing but the finished `RecurrenceSpec`:
predicates, counters, wires, depths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.sched.space_time.errors import SpaceTimeError
from hw.dataflow.affine import predicate_column
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import Counter, Predicate
from hw.systolic.recurrence.edges import STAGE_WORDS
from hw.systolic.recurrence.rows import chain_rows
from hw.systolic.recurrence.spec import CellSpec, ChainSpec, QueueSpec, RecurrenceSpec

__all__ = ["Channel", "Firing", "Network", "Step", "Token", "build_network"]

Token = tuple[object, ...]
"""Which value a word is: ("in", stream, number) or ("node", name, coordinates and counters)."""


@dataclass
class Channel:
    """A queue of `depth` words between two processes. Times are cycles. `owner`: place and queue of the cell that it
    belongs to; `load`: number of the chain that it ends at a cell."""

    name: str
    depth: int
    tokens: list[Token] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    reserved: list[int] = field(default_factory=list)
    pops: list[int] = field(default_factory=list)
    owner: tuple[tuple[int, ...], str] | None = None
    load: int | None = None

    @property
    def left(self) -> int:
        """Words inside."""
        return len(self.reserved) - len(self.pops)

    def peak(self) -> int:
        """The most words for which there has been room at one time."""
        gone = np.searchsorted(np.asarray(self.pops) + 1, self.reserved, side="right")
        return int((np.arange(1, len(self.reserved) + 1) - gone).max(initial=0))


@dataclass(frozen=True)
class Firing:
    """A node fires in a step: `operands` are the numbers, among the words that the step has, of what it reads."""

    name: str
    node: int
    operands: tuple[int, ...]
    interval: int


@dataclass(frozen=True)
class Step:
    """One step: channels it takes words from, (channel, cycles later, number of the word) that it gives, nodes that
    fire.

    Words are numbered: first those taken, then the results of the nodes in order.
    """

    takes: tuple[int, ...]
    gives: tuple[tuple[int, int, int], ...]
    nodes: tuple[Firing, ...] = ()
    where: tuple[int, ...] = ()


@dataclass
class _Process:
    name: str
    steps: list[Step]
    start: int = 0
    done: int = 0
    last: int = -1
    rest: dict[int, int] = field(default_factory=dict)


class Network:
    """Processes and channels. `fired`: (node, coordinates and counters, tokens of its operands) of every firing."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self.processes: list[_Process] = []
        self.fired: list[tuple[str, tuple[int, ...], tuple[Token, ...]]] = []
        self.ends: dict[str, list[int]] = {}

    def channel(self, name: str, depth: int) -> int:
        """A new channel."""
        self.channels.append(Channel(name, depth))
        return len(self.channels) - 1

    def filled(self, name: str, tokens: list[Token], ready: list[int]) -> int:
        """A new channel whose words are there at times `ready`, whoever takes them."""
        self.channels.append(Channel(name, len(tokens), tokens, ready, [0] * len(tokens)))
        return len(self.channels) - 1

    def process(self, name: str, steps: list[Step], start: int = 0) -> None:
        """A new process, whose first step is not before cycle `start`."""
        self.processes.append(_Process(name, steps, start))

    def run(self) -> list[str]:
        """Run to the end. Names of processes that are stuck, with the channels that they wait for: none if all is
        well."""
        takers, givers = self._neighbours()
        waiting = deque(range(len(self.processes)))
        queued = set(waiting)
        while waiting:
            number = waiting.popleft()
            queued.discard(number)
            touched: set[int] = set()
            while self._advance(self.processes[number], touched):
                pass
            for other in (*(takers[c] for c in touched if c in takers), *(givers[c] for c in touched if c in givers)):
                if other != number and other not in queued:
                    queued.add(other)
                    waiting.append(other)
        return [f"{p.name} at step {p.done} waits for {self._reason(p)}"
                for p in self.processes if p.done < len(p.steps)]

    def _neighbours(self) -> tuple[dict[int, int], dict[int, int]]:
        takers, givers = {}, {}
        for number, process in enumerate(self.processes):
            for step in process.steps:
                takers |= dict.fromkeys(step.takes, number)
                givers |= {channel: number for channel, _, _ in step.gives}
        return takers, givers

    def _advance(self, process: _Process, touched: set[int]) -> bool:
        """Fire the next step if it can."""
        if process.done == len(process.steps):
            return False
        step = process.steps[process.done]
        time = max(process.last + 1, process.start)
        for number in step.takes:
            channel = self.channels[number]
            if len(channel.pops) >= len(channel.ready):
                return False
            time = max(time, channel.ready[len(channel.pops)])
        for number, _, _ in step.gives:
            channel = self.channels[number]
            full = len(channel.reserved) - channel.depth
            if full >= len(channel.pops):
                return False
            if full >= 0:
                time = max(time, channel.pops[full] + 1)
        for node in step.nodes:
            time = max(time, process.rest.get(node.node, 0))
        self._fire(process, step, time, touched)
        return True

    def _fire(self, process: _Process, step: Step, time: int, touched: set[int]) -> None:
        words: list[Token] = []
        for number in step.takes:
            channel = self.channels[number]
            words.append(channel.tokens[len(channel.pops)])
            channel.pops.append(time)
            touched.add(number)
        for node in step.nodes:
            self.fired.append((node.name, step.where, tuple(words[k] for k in node.operands)))
            words.append(("node", node.name, step.where))
            process.rest[node.node] = time + node.interval
        for number, later, word in step.gives:
            channel = self.channels[number]
            channel.tokens.append(words[word])
            channel.ready.append(time + later + 1)
            channel.reserved.append(time)
            touched.add(number)
        process.last, process.done = time, process.done + 1

    def _reason(self, process: _Process) -> str:
        step = process.steps[process.done]
        for number in step.takes:
            if len(self.channels[number].pops) >= len(self.channels[number].ready):
                return f"a word from {self.channels[number].name}"
        full = (self.channels[number] for number, _, _ in step.gives)
        return next(f"room in {c.name} ({c.depth})" for c in full if len(c.reserved) - c.depth >= len(c.pops))

    @property
    def first(self) -> int:
        """Cycle in which the first word comes in."""
        return min((self.channels[c].pops[0] for c in self.ends["in"] if self.channels[c].pops), default=0)

    @property
    def cycles(self) -> int:
        """From the first word in to the last word out."""
        return max(self.channels[c].reserved[-1] for c in self.ends["out"]) - self.first + 1


def build_network(spec: RecurrenceSpec) -> Network:
    """The network of an array; words of inputs are there when the chain wants them. Raises `SpaceTimeError` for cells
    that use words they do not have."""
    builder = _Builder(spec)
    builder.build()
    return builder.network


class _Builder:
    def __init__(self, spec: RecurrenceSpec) -> None:
        self.spec = spec
        self.network = Network()
        self.inputs: dict[tuple[int, int], int] = {}
        self.outputs: dict[tuple[int, int], int] = {}
        self.kinds = [_Kind(kind) for kind in spec.kinds]

    def build(self) -> None:
        """Channels for wires, the chains, then the cells."""
        for wire in self.spec.wires:
            source = self.spec.cells[wire.source]
            queue = self.spec.kinds[source.kind].queues[wire.queue]
            channel = self._queue(source.place, queue)
            self.outputs[wire.source, wire.queue] = self.inputs[wire.sink, wire.port] = channel
        self.network.ends = {"in": [self._load(chain) for chain in self.spec.loads],
                             "out": [self._drain(chain) for chain in self.spec.drains]}
        for number in range(len(self.spec.cells)):
            self._cell(number)

    # Cells.

    def _queue(self, place: tuple[int, ...], queue: QueueSpec) -> int:
        number = self.network.channel(f"queue {queue.name} of cell {place}", queue.depth)
        self.network.channels[number].owner = place, queue.name
        return number

    def _cell(self, number: int) -> None:
        placed = self.spec.cells[number]
        kind = self.kinds[placed.kind]
        for k, queue in enumerate(kind.spec.queues):
            if not queue.outside:
                self.outputs[number, k] = self._queue(placed.place, queue)
        steps = []
        for row in kind.rows(placed.place):
            try:
                steps.append(self._step(number, kind, int(row)))
            except KeyError:
                step = kind.vector(int(row))
                raise SpaceTimeError(f"array {self.spec.name}: cell {placed.place} uses a word that it does not have, "
                                     f"in step {step}") from None
        self.network.process(f"cell {placed.place}", steps, start=1)

    def _step(self, number: int, kind: _Kind, row: int) -> Step:
        takes: list[int] = []
        word: dict[int, int] = {}
        late: dict[int, int] = {}
        for k, operand in enumerate(kind.spec.operands):
            chosen = kind.sources[k][row]
            if chosen < 0:
                continue
            source = operand.sources[chosen]
            if source.kind == "node":
                late[k] = source.number
                continue
            if source.kind == "operand":
                known = word if source.number in word else late
                known[k] = known[source.number]
                continue
            channel = (self.inputs if source.kind == "port" else self.outputs)[number, source.number]
            word[k] = len(takes)
            takes.append(channel)
        firings: list[Firing] = []
        results: dict[int, int] = {}
        for k, node in enumerate(kind.spec.nodes):
            if kind.fires[k][row]:
                results[k] = len(takes) + len(firings)
                read = [operand[row] for operand in kind.reads[k]]
                operands = tuple(word[o] if o in word else results[late[o]] for o in read)
                firings.append(Firing(node.name, k, operands, node.interval))
        word |= {k: results[node] for k, node in late.items()}
        words = {"node": results, "operand": word}
        gives = tuple((self.outputs[number, k], queue.delay, words[queue.kind][queue.number])
                      for k, queue in enumerate(kind.spec.queues) if kind.pushes[k][row])
        return Step(tuple(takes), gives, tuple(firings), kind.vector(row))

    # Chains.

    def _load(self, chain: ChainSpec) -> int:
        """A chain into the array; its channel of words from memory."""
        network, stream = self.network, self.spec.inputs[chain.stream]
        memory = network.filled(f"memory of {stream.name}", [("in", chain.stream, k) for k in range(stream.words)],
                                [0] * stream.words)
        rows = chain_rows(self.spec, chain)
        targets = self._targets(chain)
        ends = self._row_ends(chain, rows, f"load {stream.name}")
        if len(rows) > 1:
            entries = {major: ends[major][0] for major in rows}
            first = self._split(f"load {stream.name}", [t[chain.major] for t in targets], entries)
            for major, row in rows.items():
                mine = [t for t in targets if t[chain.major] == major]
                self._row(f"load {stream.name} row {major}", mine, chain, row, ends[major])
        else:
            major, row = next(iter(rows.items()))
            first = self._row(f"load {stream.name}", targets, chain, row, ends[major])
        network.process(f"head of {stream.name}", [Step((memory,), ((first, 0, 0),))] * len(targets), start=1)
        return memory

    def _targets(self, chain: ChainSpec) -> list[tuple[int, ...]]:
        """The cell of every word of a chain, in order."""
        return list(_walk(chain.counters, chain.at, chain.position))

    def _row_ends(self, chain: ChainSpec, rows: dict[int, list[tuple[int, tuple[int, int]]]], name: str
                  ) -> dict[int, list[int]]:
        """Channels at the cells; first of all the row's entry: its own stage if it has several cells."""
        found = {}
        for major, row in rows.items():
            leaves = [self._leaf(chain, leaf, f"{name} for cell {(major, minor)}") for minor, leaf in row]
            entry = self.network.channel(f"{name} row {major}", STAGE_WORDS) if len(row) > 1 else leaves[0]
            found[major] = [entry, *leaves]
        return found

    def _leaf(self, chain: ChainSpec, leaf: tuple[int, int], name: str) -> int:
        self.inputs[leaf] = self.network.channel(name, chain.leaf_words)
        self.network.channels[self.inputs[leaf]].load = chain.stream
        return self.inputs[leaf]

    def _row(self, name: str, targets: Sequence[tuple[int, ...]], chain: ChainSpec,
             row: Sequence[tuple[int, tuple[int, int]]], ends: Sequence[int]) -> int:
        """The stages of one row; where its words go in."""
        if len(row) == 1:
            return ends[0]
        leaves = {minor: channel for (minor, _), channel in zip(row, ends[1:], strict=True)}
        return self._split(name, [t[1 - chain.major] for t in targets], leaves, ends[0])

    def _split(self, name: str, tags: Sequence[int], ends: dict[int, int], first: int | None = None) -> int:
        """Stages that each keep the words of one coordinate; the channel into the first one."""
        network = self.network
        entry = network.channel(f"{name} stage", STAGE_WORDS) if first is None else first
        here = entry
        left = list(tags)
        for place, (coordinate, mine) in enumerate(ends.items()):
            following = network.channel(f"{name} stage", STAGE_WORDS) if place + 1 < len(ends) else mine
            steps = [Step((here,), ((mine if tag == coordinate else following, 0, 0),)) for tag in left]
            network.process(f"{name} stage {coordinate}", steps)
            left = [tag for tag in left if tag != coordinate]
            here = following
        return entry

    def _drain(self, chain: ChainSpec) -> int:
        """A chain out of the array; its channel of words to memory."""
        stream = self.spec.outputs[chain.stream]
        rows = chain_rows(self.spec, chain)
        name = f"drain {stream.name}"
        targets = self._targets(chain)
        ends: dict[int, int] = {}
        for major, row in rows.items():
            leaves = {minor: self._result(leaf) for minor, leaf in row}
            if len(row) == 1:
                ends[major] = next(iter(leaves.values()))
                continue
            if len(rows) == 1:
                tags = [t[1 - chain.major] for t in targets]
            else:
                walk = _walk(chain.row_counters, chain.row_at, (0, chain.row_position))
                tags = [tag for first, tag in walk if first == major]
            ends[major] = self._collect(f"{name} row {major}", tags, leaves)
        if len(rows) > 1:
            return self._sink(self._collect(name, [t[chain.major] for t in targets], ends), len(targets), name)
        return self._sink(next(iter(ends.values())), len(targets), name)

    def _result(self, leaf: tuple[int, int]) -> int:
        placed = self.spec.cells[leaf[0]]
        queue = self.spec.kinds[placed.kind].queues[leaf[1]]
        self.outputs[leaf] = self._queue(placed.place, queue)
        return self.outputs[leaf]

    def _collect(self, name: str, tags: Sequence[int], leaves: dict[int, int]) -> int:
        """Stages that each add the words of one coordinate; the channel after the last one."""
        network = self.network
        before = network.filled(f"{name} slots", [("slot",)] * len(tags), list(range(1, len(tags) + 1)))
        for coordinate, leaf in leaves.items():
            after = network.channel(f"{name} stage {coordinate}", STAGE_WORDS)
            steps = [Step((before, leaf), ((after, 0, 1),)) if tag == coordinate else Step((before,), ((after, 0, 0),))
                     for tag in tags]
            network.process(f"{name} stage {coordinate}", steps)
            before = after
        return before

    def _sink(self, channel: int, words: int, name: str) -> int:
        """The words leave as fast as they come."""
        memory = self.network.channel(f"memory after {name}", words)
        self.network.process(f"{name} writer", [Step((channel,), ((memory, 0, 0),))] * words)
        return memory


class _Kind:
    """What a kind of cell does in every step of the box of its places, as columns."""

    def __init__(self, spec: CellSpec) -> None:
        self.spec = spec
        self.columns = counter_columns(spec.counters)
        self.count = len(self.columns[0])
        self.sources = [self._sources(operand.wanted, [s.select for s in operand.sources]) for operand in spec.operands]
        self.fires = [self._when(node.fires) for node in spec.nodes]
        self.reads = [[self._options(options) for options in node.reads] for node in spec.nodes]
        self.pushes = [self._when(queue.push) for queue in spec.queues]

    def _when(self, predicate: Predicate) -> np.ndarray:
        return predicate_column(predicate, self.columns, self.count)

    def _sources(self, wanted: Predicate, selects: Sequence[Predicate]) -> np.ndarray:
        """The number of the source in every step, -1 where none is wanted."""
        chosen = np.full(self.count, len(selects) - 1)
        for number in reversed(range(len(selects) - 1)):
            chosen = np.where(self._when(selects[number]), number, chosen)
        return np.where(self._when(wanted), chosen, -1)

    def _options(self, options: Sequence[tuple[int, Predicate]]) -> np.ndarray:
        """The number of the operand that a read takes in every step."""
        chosen = np.full(self.count, options[-1][0])
        for operand, predicate in reversed(options[:-1]):
            chosen = np.where(self._when(predicate), operand, chosen)
        return chosen

    def rows(self, place: tuple[int, ...]) -> np.ndarray:
        """The steps of one place, in order."""
        mine = np.ones(self.count, bool)
        for column, value in zip(self.columns, place, strict=False):
            mine &= column == value
        return np.flatnonzero(mine)

    def vector(self, row: int) -> tuple[int, ...]:
        """Coordinates and counters of a step."""
        return tuple(int(column[row]) for column in self.columns)


def _walk(counters: tuple[Counter, ...], at: Predicate, position: Sequence[int]) -> Iterator[tuple[int, ...]]:
    columns = counter_columns(counters)
    rows = np.flatnonzero(predicate_column(at, columns, len(columns[0])))
    for row in rows:
        yield tuple(int(columns[k][row]) for k in position)
