"""Translation validation: the finished kernel description, proven against the program's dependences.

Nothing here knows networks, channels' planners or isl's view of the counters: the kernel's own predicates, depths and
addresses say in which tick each channel is written and read, and that gives for every operand of every firing the
firing whose result arrives. It must be the one that value-based flow names. A queue that would overflow or run empty, a
register or a place in memory that is overwritten too early, a select that picks the wrong channel: all end here. What
nodes compute, and in which ticks and formats, is compared in `compiler.bind.dataflow.validate_nodes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np

from compiler.analysis.counting import UncountedError
from compiler.analysis.dependences import Dependence, flow
from compiler.analysis.instance_budget import require_few
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.validate_memories import validate_access_order
from compiler.bind.dataflow.validate_nodes import iterators_used, validate_nodes
from compiler.bind.dataflow.validate_symbols import SymbolicValidation
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.ir.program import Program
from hw.dataflow.affine import piecewise_column, predicate_column
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import ChannelSpec, Counter, KernelSpec, Piece, Predicate, ReadSpec

__all__ = ["validate_kernel"]

FEW_TICKS = 1 << 15
"""Ticks of a kernel that is looked at tick by tick: that is quicker than relations."""

_MEMORY_LATENCY = 2
"""Ticks from writing a queue or a memory until the word can be read."""


def validate_kernel(kernel: KernelSpec, program: Program, times: Mapping[str, isl.Map]) -> None:
    """Raise `DataflowError` unless every operand of every firing of `kernel` is the value that it is in `program`.

    `program`: one statement per node, by name; `times`: the values of the counters at which each instance fires.
    """
    _outputs(kernel, program)
    validate_nodes(kernel, program)
    validate_access_order(kernel, program, times)
    dependences = flow(program)
    if kernel.ticks > FEW_TICKS and not kernel.sizes:
        try:
            _by_symbols(kernel, program, times, dependences)
            return
        except UncountedError as reason:
            for statement in program.statements:
                require_few(statement.domain, statement.label(), reason, DataflowError)
    _one_by_one(kernel, program, times, dependences)


def _by_symbols(kernel: KernelSpec, program: Program, times: Mapping[str, isl.Map],
                dependences: Sequence[Dependence]) -> None:
    """With relations, however many ticks there are. Raises `UncountedError` where counting does not succeed."""
    check = SymbolicValidation(kernel, program, times)
    for number in range(len(kernel.nodes)):
        check.firings(number)
        check.indices(number)
    operands: dict[tuple[str, int], list[Dependence]] = {}
    for dependence in dependences:
        operands.setdefault((dependence.sink, dependence.read), []).append(dependence)
    for (sink, read), some in operands.items():
        check.operand(sink, read, some)


def _one_by_one(kernel: KernelSpec, program: Program, times: Mapping[str, isl.Map],
                dependences: Sequence[Dependence]) -> None:
    """Every word of every channel."""
    check = _Validation(kernel, program, times)
    for number in range(len(kernel.nodes)):
        check.firings(number)
        check.indices(number)
    for dependence in dependences:
        check.expect(dependence.sink, dependence.read, dependence.source, dependence.relation)


def _outputs(kernel: KernelSpec, program: Program) -> None:
    """What is written to an output array has to leave through a stream."""
    for node in kernel.nodes:
        array = program.statement(node.name).write.array
        if node.kind != "output" and program.array(array).role == "output":
            raise DataflowError(f"kernel {kernel.name}: what node {node.name} writes to '{array}' never leaves")


@dataclass
class _Arrivals:
    """Where the words of one operand come from, per firing of its node: node number, and index of its firing."""

    nodes: np.ndarray
    firings: np.ndarray


class _Validation:
    def __init__(self, kernel: KernelSpec, program: Program, times: Mapping[str, isl.Map]) -> None:
        self.kernel = kernel
        self.program = program
        self.times = times
        self.columns = counter_columns(kernel.counters)
        self.count = len(self.columns[0])
        _, counts = np.unique(np.stack(self.columns)[: len(kernel.sizes)], axis=1, return_counts=True)
        if (ticks := int(counts.max(initial=0)) if kernel.sizes else self.count) != kernel.ticks:
            raise DataflowError(f"kernel {kernel.name}: its counters take {ticks} ticks, not {kernel.ticks}")
        self.numbers = {node.name: k for k, node in enumerate(kernel.nodes)}
        self.fires = [self._ticks(node.fires) for node in kernel.nodes]
        self.arrivals: dict[tuple[int, int], _Arrivals] = {}
        self.reached: dict[ChannelSpec, int] = {}

    def _ticks(self, predicate: Predicate) -> np.ndarray:
        """Ticks whose vectors satisfy `predicate`."""
        return np.flatnonzero(predicate_column(predicate, self.columns, self.count))

    def firings(self, number: int) -> None:
        """A node has to fire exactly when its statement has an instance."""
        node = self.kernel.nodes[number]
        if not np.array_equal(self.fires[number], np.sort(self._instances(node.name))):
            raise DataflowError(f"kernel {self.kernel.name}: node {node.name} does not fire at the times of its "
                                "statement")

    def indices(self, number: int) -> None:
        """An index has to be the value of its iterator in every firing."""
        node = self.kernel.nodes[number]
        if not node.indices:
            return
        statement = self.program.statement(node.name)
        count, columns = enumerate_points(statement.domain)
        ticks = self._tick_of(evaluate_map(self.times[node.name], statement.domain, columns, count), count)
        for place, name in iterators_used(self.kernel, node, statement).items():
            at = [column[ticks] for column in self.columns]
            found = piecewise_column(node.indices[place], at, count)
            if not np.array_equal(np.broadcast_to(found, count), columns[statement.iterators.index(name)]):
                raise DataflowError(f"kernel {self.kernel.name}: index {place} of node {node.name} is not '{name}'")

    def _instances(self, name: str) -> np.ndarray:
        domain = self.program.statement(name).domain
        count, columns = enumerate_points(domain)
        return self._tick_of(evaluate_map(self.times[name], domain, columns, count), count)

    def _tick_of(self, times: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Ticks of the counters' vectors `times`; they have to be vectors of the chain."""
        wanted = _keys(self.kernel.counters, [np.broadcast_to(t, count) for t in times])
        have = _keys(self.kernel.counters, self.columns)
        ticks = np.searchsorted(have, wanted)
        if (have[np.minimum(ticks, self.count - 1)] != wanted).any():
            raise DataflowError(f"kernel {self.kernel.name}: its counters leave out a time at which a node fires")
        return ticks

    def expect(self, sink: str, read: int, source: str, relation: isl.Map) -> None:
        """The operand has to come from the firing that `relation` {reader -> writer} names."""
        domain = relation.domain()
        count, columns = enumerate_points(domain)
        readers = self._tick_of(evaluate_map(self.times[sink], domain, columns, count), count)
        written = relation.apply_range(self.times[source])
        writers = self._tick_of(evaluate_map(written, domain, columns, count), count)
        number = self.numbers[sink]
        found = self._operand(number, read)
        rows = np.searchsorted(self.fires[number], readers)
        wrong = found.nodes[rows] != self.numbers[source]
        place = np.searchsorted(self.fires[self.numbers[source]], writers)
        wrong |= found.firings[rows] != place
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            instance = ", ".join(str(int(np.broadcast_to(c, count)[first])) for c in columns)
            raise DataflowError(f"kernel {self.kernel.name}: {sink}[{instance}] gets a word that is not the one of "
                                f"'{source}' for its operand {read}")

    def _operand(self, number: int, read: int) -> _Arrivals:
        """Where the words of an operand come from; words that are passed on are followed to where they were made."""
        if (number, read) in self.arrivals:
            return self.arrivals[number, read]
        spec = self.kernel.nodes[number].reads[read]
        nodes, firings = (np.full(len(self.fires[number]), -1) for _ in range(2))
        passed = np.zeros(len(nodes), bool)
        for source, rows in self._selected(number, spec):
            channel = self.kernel.channels[source]
            takers, givers = self._pairs(channel)
            where = np.searchsorted(takers, self.fires[number][rows])
            if (where >= len(takers)).any() or (takers[where] != self.fires[number][rows]).any():
                raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} is read when it has no word")
            firings[rows] = givers[where]
            nodes[rows] = channel.source
            passed[rows] = channel.operand is not None
            if channel.operand not in (None, read):
                raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} passes on another operand")
        found = self._followed(number, _Arrivals(nodes, firings), passed)
        self.arrivals[number, read] = found
        return found

    def _followed(self, number: int, found: _Arrivals, passed: np.ndarray) -> _Arrivals:
        """Words of origin "reuse" come from the same operand of an earlier firing of the node; so does what they
        are."""
        nodes, firings = found.nodes.copy(), found.firings.copy()
        origin = np.where(passed, firings, np.arange(len(firings)))
        if (nodes[passed] != number).any() or (origin[passed] >= np.flatnonzero(passed)).any():
            raise DataflowError(f"kernel {self.kernel.name}: a word is passed on before it is there")
        while True:
            further = origin[origin]
            if np.array_equal(further, origin):
                return _Arrivals(nodes[origin], firings[origin])
            origin = further

    def _selected(self, number: int, read: ReadSpec) -> list[tuple[int, np.ndarray]]:
        """(channel, indices of the firings that take their word from it): the first source whose select holds."""
        left = np.ones(len(self.fires[number]), bool)
        columns = [column[self.fires[number]] for column in self.columns]
        found = []
        for source in read.sources:
            last = source is read.sources[-1]
            chosen = left if last else left & predicate_column(source.select, columns, len(left))
            found.append((source.channel, np.flatnonzero(chosen)))
            left = left & ~chosen
        return found

    def _pairs(self, channel: ChannelSpec) -> tuple[np.ndarray, np.ndarray]:
        """For every tick (of the counters) whose vector reads: that tick, and the index of the firing that gave the
        word."""
        giving = self.fires[channel.source]
        if channel.kind == "delay":
            shift = channel.depth + channel.written - channel.read
            return giving + shift, np.arange(len(giving))
        if channel.kind == "line":
            return self._line(channel, giving)
        pushes, pops = self._ticks(channel.push), self._ticks(channel.pop)
        if not np.isin(pushes, giving).all():
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} is written when its node is idle")
        match = {"register": self._register, "fifo": self._queue, "reorder": self._memory}[channel.kind]
        words = match(channel, pushes, pops)
        return pops, np.searchsorted(giving, pushes[words])

    def _line(self, channel: ChannelSpec, giving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The word that is to be given next at the end of the line's parts up to `channel`, for all ticks in which
        there is one."""
        ticks = np.arange(self.count)
        words = np.searchsorted(giving, ticks) - self._reach(channel, giving)
        there = (words >= 0) & (words < len(giving))
        ticks, words = ticks[there], words[there]
        there = self._arrived(channel, giving, ticks, words)
        return ticks[there], words[there]

    def _arrived(self, part: ChannelSpec, giving: np.ndarray, ticks: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Which words are at the end of a part of a line when they are read in ticks that may not be firings: all,
        where it steps; what waits in a queue, or goes through, has to have come."""
        if not part.queued and part.depth:
            return np.ones(len(words), np.bool_)
        if not part.queued and part.after is not None:
            return self._arrived(self._before(part), giving, ticks, words)
        taken = words + self._reach(part, giving) - part.ahead
        come = giving[np.minimum(taken, len(giving) - 1)] + part.written + _MEMORY_LATENCY * part.queued
        return (taken < len(giving)) & (come <= ticks + part.left)

    def _reach(self, part: ChannelSpec, giving: np.ndarray) -> int:
        """How many firings of the source ago the words at the end of a part were given; it and the parts before it are
        checked, once each, whatever the number of reads behind them."""
        if part not in self.reached:
            before = 0 if part.after is None else self._reach(self._before(part), giving)
            self._part(part, giving)
            self.reached[part] = before + part.ahead
        return self.reached[part]

    def _before(self, part: ChannelSpec) -> ChannelSpec:
        """The part of the line that `part` takes its words from."""
        before = self.kernel.channels[part.after or 0]
        same = (before.kind, before.source, before.operand, before.left) == \
            ("line", part.source, part.operand, part.written)
        if not same:
            raise DataflowError(f"kernel {self.kernel.name}: channel {part.name} does not go on from {before.name}")
        return before

    def _part(self, part: ChannelSpec, giving: np.ndarray) -> None:
        """A part has to take and to give a word in every firing, within the run, in as many places as it has."""
        if not np.array_equal(self._ticks(part.push), giving):
            raise DataflowError(f"kernel {self.kernel.name}: channel {part.name} is not written in every firing")
        taken, given = giving + part.written, giving + part.left
        most = part.ahead
        if part.queued:
            early = given[part.ahead :] < taken[: len(taken) - part.ahead] + _MEMORY_LATENCY
            if early.any() or given[-1] >= self.count + self.kernel.depth:
                raise DataflowError(f"kernel {self.kernel.name}: channel {part.name} runs empty")
            gone = np.searchsorted(given, taken, side="right")
            most = max(most, int((np.arange(1, len(taken) + 1) - gone).max()) + part.ahead)
        if most > part.depth or (part.depth > most and not part.queued):
            raise DataflowError(f"kernel {self.kernel.name}: channel {part.name} of {part.depth} words overflows; it "
                                f"needs {most}")

    def _register(self, channel: ChannelSpec, pushes: np.ndarray, pops: np.ndarray) -> np.ndarray:
        """Numbers of the words that are read: the last one written before."""
        words = np.searchsorted(pushes + channel.written, pops + channel.read) - 1
        return self._there(channel, words)

    def _queue(self, channel: ChannelSpec, pushes: np.ndarray, pops: np.ndarray) -> np.ndarray:
        written, read = pushes + channel.written, pops + channel.read
        if len(written) != len(read):
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} takes {len(written)} words and "
                                f"gives {len(read)}")
        if (read < written + _MEMORY_LATENCY).any():
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} runs empty")
        level = np.arange(1, len(written) + 1) - np.searchsorted(read, written, side="right")
        if level.max(initial=0) > channel.depth:
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} of {channel.depth} words "
                                f"overflows; it needs {level.max()}")
        return np.arange(len(written))

    def _memory(self, channel: ChannelSpec, pushes: np.ndarray, pops: np.ndarray) -> np.ndarray:
        """Numbers of the words that are read: the last one written to the place in time."""
        if not len(pushes):
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} is never written")
        places = [self._places(channel, pieces, ticks) for pieces, ticks in ((channel.write_address, pushes),
                                                                             (channel.read_address, pops))]
        written, read = pushes + channel.written, pops + channel.read - _MEMORY_LATENCY
        span = int(max(written.max(), read.max())) + 1
        keys = places[0] * span + written
        order = np.argsort(keys)
        found = np.searchsorted(keys[order], places[1] * span + read, side="right") - 1
        words = self._there(channel, np.where(found >= 0, order[found], -1))
        if (places[0][words] != places[1]).any():
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} reads a place that is not written")
        return words

    def _places(self, channel: ChannelSpec, pieces: Sequence[Piece], ticks: np.ndarray) -> np.ndarray:
        """Addresses at `ticks`, as the hardware cuts them."""
        columns = [column[ticks] for column in self.columns]
        address = piecewise_column(pieces, columns, len(ticks))
        return address % (1 << (channel.depth - 1).bit_length())

    def _there(self, channel: ChannelSpec, words: np.ndarray) -> np.ndarray:
        if (words < 0).any():
            raise DataflowError(f"kernel {self.kernel.name}: channel {channel.name} is read before it is written")
        return words


def _keys(counters: Sequence[Counter], columns: Sequence[np.ndarray]) -> np.ndarray:
    """Vectors as one number each, in their order; values outside a counter's range are told apart too."""
    keys = np.zeros(len(columns[0]), np.int64)
    for counter, column in zip(counters, columns, strict=True):
        if (column < counter.minimum).any() or (column > counter.maximum).any():
            raise DataflowError("a node fires at a time outside the range of a counter")
        keys = keys * (counter.maximum - counter.minimum + 1) + (column - counter.minimum)
    return keys
