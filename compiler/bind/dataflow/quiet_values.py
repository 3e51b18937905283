"""Values of a kernel in terms, in the iterations of a loop after a flag has become zero.

Iterations are computed from anything before; what is the same term in one of them and in the next stays so, as the flag
stays zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.bind.dataflow.loop_windows import KernelFacts, NotQuiet, Window, name_of
from compiler.bind.terms import Term, Terms, simplified
from compiler.bind.word_formats import type_of
from hw.dataflow.spec import ChannelSpec, NodeSpec, Operator
from hw.pipeline.spec import TABLE_LATENCY, OperatorCell, Word

__all__ = ["INDEX", "LANDED", "QuietValues"]

_DEEPEST = 60
"""Nodes in a row, beyond which a value may be any."""

LANDED = 3
"""Ticks after which what is stored is in a memory, for all loads."""

INDEX = Word(64, True)
"""A format that holds every index."""


Operands = Callable[[int], Term | None]
"""An operand of a node, by number; None if it is not known."""

Loads = Callable[[Operator, Term], Term | None]
"""What an operator loads at an index."""

Indices = Callable[[Operator], Term]
"""A function of the counters."""


class QuietValues:
    """The values of a kernel's nodes in the loop of `window`, once node number `flag`, which fires in `phases` of its
    ticks, has given zero in all of these. Iteration 0 is the one in which it does; `waiting` more are made."""

    def __init__(self, facts: KernelFacts, window: Window, flag: int, phases: Sequence[int], waiting: int):
        self.facts, self.window, self.flag, self.phases, self.waiting = facts, window, flag, phases, waiting
        self.kernel, self.terms = facts.kernel, Terms()
        self._known: dict[tuple[int, int], list[Term | None]] = {}
        self._off: dict[int, int | None] = {}
        self._depth = 0
        self.moved = {channel for channel in self.kernel.channels if facts.moves(channel, window)}
        self._turning = {channel for channel in self.moved if facts.turns(channel, window)}

    def is_final(self) -> bool:
        """Whether the flag stays zero."""
        found = (self.value(self.flag, None, self.window.period + phase) for phase in self.phases)
        return all(term is not None and term.number == 0 for term in found)

    def _row(self, tick: int) -> int:
        """A tick of the window in which the same happens as in tick `tick` of these iterations."""
        return self.window.start + tick % self.window.period

    def value(self, number: int, operand: int | None, tick: int) -> Term | None:
        """A node's result, or one of its operands, of the firing in a tick of these iterations."""
        node = self.kernel.nodes[number]
        computed = tick >= 0 and node.kind == "compute" and self._depth < _DEEPEST
        if not computed or not self.facts.holds(node.fires, self._row(tick)):
            return self.terms.term(("any", number, operand, tick), self.word(number, operand))
        self._depth += 1
        found = self._computed(number, operand, tick)
        self._depth -= 1
        return found

    def _computed(self, number: int, operand: int | None, tick: int) -> Term | None:
        if operand is not None:
            return self._operand(number, operand, tick)
        if number == self.flag and tick in self.phases:
            return self.terms.constant(0, self.kernel.nodes[number].operators[-1].word)
        return self.results(number, tick)[-1]

    def results(self, number: int, tick: int) -> list[Term | None]:
        """The results of a node's operators, of the firing in a tick of these iterations."""
        place = number, tick
        if place not in self._known:
            self._known[place] = self.evaluate(number, lambda k: self._operand(number, k, tick),
                                               lambda operator: self._index(number, operator, tick),
                                               lambda operator, index: self._load(number, operator, index, tick))
        return self._known[place]

    def _index(self, number: int, operator: Operator, tick: int) -> Term:
        """A function of the counters, which may be the same in every iteration."""
        steady = self.facts.is_steady(self.kernel.nodes[number].indices[operator.value], self.window.level)
        return self.terms.term(("index", number, operator.value, tick % self.window.period if steady else tick), INDEX)

    def evaluate(self, number: int, operand: Operands, index: Indices, load: Loads) -> list[Term | None]:
        """The results of the operators of a node that fires, of its operands, of the counters and of what memories
        hold."""
        found: list[Term | None] = []
        for operator in self.kernel.nodes[number].operators:
            if operator.op == "index":
                found.append(index(operator))
            else:
                found.append(self._result(self.kernel.nodes[number], operator, found, operand, load))
        return found

    def _result(self, node: NodeSpec, operator: Operator, found: Sequence[Term | None], operand: Operands,
                load: Loads) -> Term | None:
        match operator.op:
            case "read":
                return operand(operator.value)
            case "const":
                return self.terms.constant(int(type_of(operator.word).wrap(operator.value)), operator.word)
            case "load":
                place = found[operator.operands[0]]
                return place and load(operator, place)
            case "store":
                return found[operator.operands[2]]
        words = tuple(node.operators[k].word for k in operator.operands)
        cell = OperatorCell(operator.op, (), words, operator.word, TABLE_LATENCY if operator.op == "table" else 0,
                            operator.value)
        simple = simplified(self.terms, cell, [found[k] for k in operator.operands])
        return simple and simple.term

    def _operand(self, number: int, operand: int, tick: int) -> Term | None:
        channel, lag = self.source(number, operand, self._row(tick))
        if lag is None:
            return self.terms.term(("operand", number, operand, tick), channel.word)
        return self.value(channel.source, channel.operand, tick - lag)

    def source(self, number: int, operand: int, tick: int) -> tuple[ChannelSpec, int | None]:
        """The channel that gives an operand in a tick of the whole run, and how many ticks before its source fires;
        None for what waits in a memory that the loop leaves as it is. Raises `NotQuiet` if it fires later."""
        node = self.kernel.nodes[number]
        read = node.reads[operand]
        chosen = next((s for s in read.sources[:-1] if self.facts.holds(s.select, tick)), read.sources[-1])
        channel = self.kernel.channels[chosen.channel]
        if channel.kind != "delay":
            return channel, self._queue_lag(channel, tick)
        source = self.kernel.nodes[channel.source]
        given = source.latency if channel.operand is None else source.reads[channel.operand].offset
        lag = channel.depth + source.delay + given - node.delay - read.offset
        if lag < 0:
            raise NotQuiet(f"{name_of(node)} takes words of later iterations")
        return channel, lag

    def _queue_lag(self, channel: ChannelSpec, tick: int) -> int | None:
        """How long what a queue gives in a tick has waited, if the loop moves its words. Raises `NotQuiet` if that is
        not known."""
        if channel not in self.moved:
            return None
        lag = self.facts.lag(channel, tick) if channel in self._turning else None
        if lag is None:
            raise NotQuiet(f"every iteration moves a word of the queue {channel.name}")
        return lag

    def _load(self, number: int, operator: Operator, index: Term, tick: int) -> Term | None:
        """A word of a memory, to which nothing may be stored any more."""
        if not self.has_landed(number, operator, tick):
            return self.terms.term(("loaded", number, operator, tick), operator.word)
        return self.terms.term(("load", operator.value, index), operator.word)

    def has_landed(self, number: int, operator: Operator, tick: int) -> bool:
        """Whether all that the loop stores to a memory is there when a node that fires in a tick loads."""
        loads = tick + self.kernel.nodes[number].delay + operator.start
        for node, place in self.kernel.accesses:
            store = self.kernel.nodes[node].operators[place]
            if store.op == "store" and store.value == operator.value:
                off = self.stores_until(node, place)
                if off is None:
                    return False
                if loads < off + self.kernel.nodes[node].delay + store.start + LANDED:
                    return False
        return True

    def stores_until(self, number: int, place: int) -> int | None:
        """The tick from which on a node stores nothing, a whole number of iterations; None if it may store."""
        access = self.kernel.accesses.index((number, place))
        if access not in self._off:
            self._off[access] = None  # while it is looked for: it may store
            self._off[access] = self._first_off(number, place)
        return self._off[access]

    def _first_off(self, number: int, place: int) -> int | None:
        period = self.window.period
        enable = self.kernel.nodes[number].operators[place].operands[2]
        fires = self.facts.phases(self.kernel.nodes[number].fires, self.window)
        for iteration in range(self.waiting + 1):
            found = [self.results(number, iteration * period + t)[enable] for t in fires]
            if all(term is not None and term.number == 0 for term in found):
                return iteration * period
        return None

    def settled(self, value: Callable[[int], Term | None], tick: int) -> Term | None:
        """What is the same from a tick of the iterations on in all that follow; None if it may change."""
        found = value(tick)
        return found if found is not None and found == value(tick + self.window.period) else None

    def word(self, number: int, operand: int | None) -> Word:
        """The format of a node's result, or of one of its operands."""
        node = self.kernel.nodes[number]
        if operand is not None:
            return node.reads[operand].word
        return self.kernel.inputs[node.stream].word if node.kind == "input" else node.operators[-1].word
