"""Translation validation of kernels with many ticks: that of `compiler.bind.dataflow.validate`, by relations.

The kernel's own description is read back as sets and functions of the counters. What a channel delivers is not followed
word by word: for every operand, the firing whose value it has to be is known from the program, and each kind of channel
delivers exactly that if a few sets are empty and a few counts are right. A word that is passed on is right if the
firing that passes it on is an earlier one for which the program names the same value. All counts are exact
(`compiler.analysis.counting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import islpy as isl

from compiler.analysis.dependences import Dependence
from compiler.analysis.walks import Walk
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.validate_nodes import iterators_used
from compiler.bind.dataflow.word_ticks import levels, ticks_between
from compiler.ir.program import Program
from compiler.ir.relations import coordinates
from hw.dataflow.spec import Affine, ChannelSpec, Counter, KernelSpec, Piece, Predicate

__all__ = ["SymbolicValidation"]

_MEMORY_LATENCY = 2
"""Ticks from writing a queue or a memory until the word can be read."""

_OUT = isl.dim_type.out


class SymbolicValidation:
    """The checks of a kernel without run-time sizes. Raises `UncountedError` where counting does not succeed."""

    def __init__(self, kernel: KernelSpec, program: Program, times: Mapping[str, isl.Map]) -> None:
        self.kernel, self.program, self.times = kernel, program, times
        self.clock = Walk(_vectors(kernel.counters))
        if self.clock.count != kernel.ticks:
            self._fail(f"its counters take {self.clock.count} ticks, not {kernel.ticks}")
        self.numbers = {node.name: k for k, node in enumerate(kernel.nodes)}
        self.fires = [self._where(node.fires) for node in kernel.nodes]
        self.walks = [Walk(fired) for fired in self.fires]
        self.reached: dict[ChannelSpec, int] = {}

    def _fail(self, text: str) -> None:
        raise DataflowError(f"kernel {self.kernel.name}: {text}")

    def _where(self, predicate: Predicate) -> isl.Set:
        return _holds(predicate, len(self.kernel.counters)).intersect(self.clock.points).coalesce()

    def firings(self, number: int) -> None:
        """A node has to fire exactly when its statement has an instance."""
        name = self.kernel.nodes[number].name
        time = self.times[name].intersect_domain(self.program.statement(name).domain)
        if not time.range().is_subset(self.clock.points):
            self._fail("its counters leave out a time at which a node fires")
        if not time.is_injective() or not time.range().is_equal(self.fires[number]):
            self._fail(f"node {name} does not fire at the times of its statement")

    def indices(self, number: int) -> None:
        """An index has to be the value of its iterator in every firing."""
        node = self.kernel.nodes[number]
        if not node.indices:
            return
        statement = self.program.statement(node.name)
        back = self.times[node.name].intersect_domain(statement.domain).reverse()
        for place, name in iterators_used(self.kernel, node, statement).items():
            at = statement.iterators.index(name)
            value = back.project_out(_OUT, at + 1, len(statement.iterators) - at - 1).project_out(_OUT, 0, at)
            value = value.reset_tuple_id(_OUT) if value.has_tuple_id(_OUT) else value
            found = _function(node.indices[place], len(self.kernel.counters)).intersect_domain(self.fires[number])
            if not value.is_equal(found):
                self._fail(f"index {place} of node {node.name} is not '{name}'")

    # Operands.

    def operand(self, sink: str, read: int, dependences: Sequence[Dependence]) -> None:
        """Each word of an operand has to be the one that `dependences`, those of the operand, name."""
        number = self.numbers[sink]
        wanted = {d.source: isl.Map.empty(self.clock.points.get_space().map_from_set()) for d in dependences}
        for d in dependences:
            timed = d.relation.apply_domain(self.times[d.sink]).apply_range(self.times[d.source])
            wanted[d.source] = wanted[d.source].union(timed).coalesce()
        left = self.fires[number]
        sources = self.kernel.nodes[number].reads[read].sources
        for source in sources:
            chosen = left if source is sources[-1] else left.intersect(self._where(source.select)).coalesce()
            left = left.subtract(chosen).coalesce()
            if not chosen.is_empty():
                self._delivered(sink, read, self.kernel.channels[source.channel], chosen, wanted)

    def _delivered(self, sink: str, read: int, channel: ChannelSpec, chosen: isl.Set,
                   wanted: Mapping[str, isl.Map]) -> None:
        """The words that firings `chosen` of `sink` take from `channel` are the `wanted` ones."""
        giver = self.kernel.nodes[channel.source].name
        here = {name: relation.intersect_domain(chosen) for name, relation in wanted.items()}
        if channel.operand is None:
            for name, relation in here.items():
                if name != giver and not relation.is_empty():
                    self._wrong(sink, read, name, relation)
            self._kept(channel, here.get(giver), sink, read, giver, chosen)
            return
        if channel.operand != read or giver != sink:
            self._fail(f"channel {channel.name} passes on another operand")
        same = [relation.apply_range(wanted[name].reverse()) for name, relation in here.items()]
        later = isl.Map.lex_gt(chosen.get_space()).intersect_range(self._pushes(channel))
        passed = same[0]
        for other in same[1:]:
            passed = passed.union(other)
        self._kept(channel, passed.intersect(later).lexmax().coalesce(), sink, read, next(iter(wanted)), chosen)

    def _wrong(self, sink: str, read: int, source: str, relation: isl.Map) -> None:
        """A witness of the readers in `relation`."""
        back = self.times[sink].intersect_domain(self.program.statement(sink).domain).reverse()
        instance = ", ".join(map(str, coordinates(relation.domain().apply(back).sample_point())))
        self._fail(f"{sink}[{instance}] gets a word that is not the one of '{source}' for its operand {read}")

    def _kept(self, channel: ChannelSpec, words: isl.Map | None, sink: str, read: int, source: str,
              chosen: isl.Set) -> None:
        """`channel` delivers `words` {firing that takes -> firing that gives} to all firings `chosen`."""
        if words is None or not chosen.is_subset(words.domain()):
            self._fail(f"{sink}: operand {read} is read from channel {channel.name} when it has no word of '{source}'")
            return
        check: dict[str, Callable[[ChannelSpec, isl.Map], bool]] = {
            "delay": self._delay, "line": self._line, "register": self._register, "fifo": self._queue,
            "reorder": self._memory}
        if not check[channel.kind](channel, words):
            self._wrong(sink, read, source, words)

    def _pushes(self, channel: ChannelSpec) -> isl.Set:
        """When words are written, by the counters of the giving node."""
        if channel.kind in ("delay", "line"):
            return self.fires[channel.source]
        return self._where(channel.push)

    def _delay(self, channel: ChannelSpec, words: isl.Map) -> bool:
        ticks = channel.depth + channel.written - channel.read
        return ticks_between(words, self.clock) == (-ticks, -ticks)

    def _written(self, channel: ChannelSpec, words: isl.Map) -> isl.Set:
        """The pushes; words have to be among them, and what is read has to be popped."""
        pushes = self._where(channel.push)
        if not pushes.is_subset(self.fires[channel.source]):
            self._fail(f"channel {channel.name} is written when its node is idle")
        if not words.range().is_subset(pushes):
            self._fail(f"channel {channel.name} is read before it is written")
        if not words.domain().is_subset(self._where(channel.pop)):
            self._fail(f"channel {channel.name} is read when it has no word")
        return pushes

    def _between(self, channel: ChannelSpec, words: isl.Map, pushes: isl.Set, latency: int) -> isl.Map:
        """{firing that gives a word -> a later push that can be read `latency` ticks later when the word is}. Fails if
        a word itself cannot."""
        ahead = channel.read - channel.written - latency
        if ticks_between(words, self.clock)[1] > ahead:
            self._fail(f"channel {channel.name} is read before it is written")
        givers = words.reverse()
        reads = givers.apply_range(self.clock.shift(ahead))
        late = givers.domain().subtract(reads.domain())
        space = pushes.get_space()
        after = isl.Map.lex_lt(space).intersect_domain(givers.domain()).intersect_range(pushes)
        found = after.intersect(reads.apply_range(isl.Map.lex_ge(space)))
        return found if late.is_empty() else found.union(after.intersect_domain(late))

    def _register(self, channel: ChannelSpec, words: isl.Map) -> bool:
        """No other word is written between; words can be read the tick after."""
        return self._between(channel, words, self._written(channel, words), 1).is_empty()

    def _queue(self, channel: ChannelSpec, words: isl.Map) -> bool:
        """Words are all that is written, in the same order, are there in time, and have room."""
        pushes, pops = self._written(channel, words), self._where(channel.pop)
        written, read = Walk(pushes), Walk(pops)
        if written.count != read.count:
            self._fail(f"channel {channel.name} takes {written.count} words and gives {read.count}")
        if ticks_between(words, self.clock)[1] > channel.read - channel.written - _MEMORY_LATENCY:
            self._fail(f"channel {channel.name} runs empty")
        level = levels(written, read, self.clock, channel.read - channel.written)
        if level > channel.depth:
            self._fail(f"channel {channel.name} of {channel.depth} words overflows; it needs {level}")
        later = isl.Map.lex_lt(pops.get_space())
        pairs = later.intersect_domain(pops).intersect_range(pops).apply_domain(words).apply_range(words)
        return words.domain().is_equal(pops) and words.range().is_equal(pushes) and pairs.is_subset(later)

    def _memory(self, channel: ChannelSpec, words: isl.Map) -> bool:
        """Words are read from the places that they are written to, and nothing else is written there between."""
        dims, places = len(self.kernel.counters), 1 << (channel.depth - 1).bit_length()
        pushes = self._written(channel, words)
        write, read = (_function(pieces, dims) for pieces in (channel.write_address, channel.read_address))
        other = isl.Set(f"{{ [x] : x mod {places} != 0 }}")
        steps = words.apply_domain(read.intersect_domain(words.domain())).apply_range(write).deltas()
        if not steps.is_disjoint(other):
            self._fail(f"channel {channel.name} reads a place that is not written")
        between = self._between(channel, words, pushes, _MEMORY_LATENCY)
        return between.apply_domain(write).apply_range(write).deltas().is_subset(other)

    # Lines.

    def _line(self, channel: ChannelSpec, words: isl.Map) -> bool:
        """As many firings of the source have gone as the line has places up to here, and the words have come."""
        reach = self._reach(channel)
        if not self._arrived(channel, words):
            self._fail(f"channel {channel.name} is read before its word has come")
        return self.walks[channel.source].between(words) == (-reach, -reach)

    def _arrived(self, part: ChannelSpec, words: isl.Map) -> bool:
        """Whether `words` are at the end of a part of a line when they are read, in ticks that may not be firings:
        where it steps they are; what waits in a queue, or goes through, has to have come."""
        if not part.queued and part.depth:
            return True
        if not part.queued and part.after is not None:
            return self._arrived(self.kernel.channels[part.after], words)
        taken = words.apply_range(self.walks[part.source].shift(self._reach(part) - part.ahead))
        latest = part.left - part.written - _MEMORY_LATENCY * part.queued
        return words.domain().is_subset(taken.domain()) and ticks_between(taken, self.clock)[1] <= latest

    def _reach(self, part: ChannelSpec) -> int:
        """How many firings of the source ago the words at the end of a part were given; each part is checked once."""
        if part not in self.reached:
            before = 0
            if part.after is not None:
                earlier = self.kernel.channels[part.after]
                if (earlier.kind, earlier.source, earlier.operand, earlier.left) != \
                        ("line", part.source, part.operand, part.written):
                    self._fail(f"channel {part.name} does not go on from {earlier.name}")
                before = self._reach(earlier)
            self._part(part)
            self.reached[part] = before + part.ahead
        return self.reached[part]

    def _part(self, part: ChannelSpec) -> None:
        """A part has to take and to give a word in every firing, within the run, in as many places as it has."""
        fired = self.walks[part.source]
        if not self._where(part.push).is_equal(fired.points):
            self._fail(f"channel {part.name} is not written in every firing")
        most = part.ahead
        if part.queued:
            if self._early(part, fired) or self._end(fired) + part.left >= self.clock.count + self.kernel.depth:
                self._fail(f"channel {part.name} runs empty")
            most = max(most, levels(fired, fired, self.clock, part.left - part.written) + part.ahead)
        if most > part.depth or (part.depth > most and not part.queued):
            self._fail(f"channel {part.name} of {part.depth} words overflows; it needs {most}")

    def _early(self, part: ChannelSpec, fired: Walk) -> bool:
        """Whether a word is given before it can be."""
        if part.ahead >= fired.count:
            return False
        gap = ticks_between(fired.shift(part.ahead), self.clock)[0]
        return gap + part.left < part.written + _MEMORY_LATENCY

    def _end(self, fired: Walk) -> int:
        """The tick of the last firing."""
        ends = isl.Map.from_domain_and_range(self.clock.points.lexmin(), fired.points.lexmax())
        return ticks_between(ends, self.clock)[0]

    @cached_property
    def names(self) -> list[str]:
        """Nodes, in order."""
        return [node.name for node in self.kernel.nodes]


# The description as sets and functions of the counters.

def _names(dims: int) -> str:
    return f"[{', '.join(f'c{k}' for k in range(dims))}]"


def _text(function: Affine) -> str:
    parts = [f"{c} * c{k}" for k, c in enumerate(function.coefficients) if c]
    parts += [f"{floor.weight} * floor(({_text(floor.inner)}) / {floor.divisor})" for floor in function.floors]
    return " + ".join([*parts, str(function.constant)])


def _holds(predicate: Predicate, dims: int) -> isl.Set:
    cases = [" and ".join([f"{_text(row.value)} {'=' if row.equality else '>='} 0" for row in case] or ["true"])
             for case in predicate]
    return isl.Set(f"{{ {_names(dims)} : {' or '.join(f'({case})' for case in cases) or 'false'} }}")


def _function(pieces: Sequence[Piece], dims: int) -> isl.Map:
    """{counters -> value}, the first piece that holds; the last one's predicate is not looked at."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, dims)
    left, total = isl.Set.universe(space), isl.Map.empty(space.map_from_set().drop_dims(_OUT, 0, dims)
                                                         .add_dims(_OUT, 1))
    for number, (where, value) in enumerate(pieces):
        here = left if number == len(pieces) - 1 else left.intersect(_holds(where, dims))
        total = total.union(isl.Map(f"{{ {_names(dims)} -> [{_text(value)}] }}").intersect_domain(here))
        left = left.subtract(here)
    return total.coalesce()


def _vectors(counters: Sequence[Counter]) -> isl.Set:
    """All vectors that the counters step through."""
    found = isl.Set("{ [] }")
    for dims, counter in enumerate(counters):
        low, high = (_function(bound, dims) for bound in (counter.low, counter.high))
        values = low.apply_range(isl.Map("{ [l] -> [x] : x >= l }"))
        values = values.intersect(high.apply_range(isl.Map("{ [h] -> [x] : x <= h }")))
        found = values.intersect_domain(found).wrap().flatten().coalesce()
    return found
