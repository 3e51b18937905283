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

__all__ = ["LANDED", "QuietValues"]

LANDED = 3
"""Ticks after which what is stored is in a memory, for all loads."""

_INDEX = Word(64, True)
"""A format that holds every index."""


Operands = Callable[[int], Term | None]
"""An operand of a node, by number; None if it is not known."""

Loads = Callable[[Operator, Term], Term | None]
"""What an operator loads at an index."""


class QuietValues:
    """The values of a kernel's nodes in the loop of `window`, once node number `flag`, which fires in its tick number
    `phase`, has given zero. Iteration 0 is the one in which it does; `waiting` more are made."""

    def __init__(self, facts: KernelFacts, window: Window, flag: int, phase: int, waiting: int):
        self.facts, self.window, self.flag, self.phase, self.waiting = facts, window, flag, phase, waiting
        self.kernel, self.terms = facts.kernel, Terms()
        self._known: dict[tuple[int, int], list[Term | None]] = {}
        self._off: dict[int, int | None] = {}

    def is_final(self) -> bool:
        """Whether the flag stays zero."""
        found = self.value(self.flag, None, self.window.period + self.phase)
        return found is not None and found.number == 0

    def _row(self, tick: int) -> int:
        """A tick of the window in which the same happens as in tick `tick` of these iterations."""
        return self.window.start + tick % self.window.period

    def value(self, number: int, operand: int | None, tick: int) -> Term | None:
        """A node's result, or one of its operands, of the firing in a tick of these iterations."""
        node = self.kernel.nodes[number]
        if tick < 0 or not self.facts.holds(node.fires, self._row(tick)) or node.kind != "compute":
            return self.terms.term(("any", number, operand, tick), self.word(number, operand))
        if operand is not None:
            return self._operand(number, operand, tick)
        if (number, tick) == (self.flag, self.phase):
            return self.terms.constant(0, node.operators[-1].word)
        return self.results(number, tick)[-1]

    def results(self, number: int, tick: int) -> list[Term | None]:
        """The results of a node's operators, of the firing in a tick of these iterations."""
        place = number, tick
        if place not in self._known:
            self._known[place] = self.evaluate(number, tick, lambda k: self._operand(number, k, tick),
                                               lambda operator, index: self._load(number, operator, index, tick))
        return self._known[place]

    def evaluate(self, number: int, tick: int, operand: Operands, load: Loads) -> list[Term | None]:
        """The results of the operators of a node that fires in a tick, of its operands and of what memories hold."""
        found: list[Term | None] = []
        for operator in self.kernel.nodes[number].operators:
            if operator.op == "index":
                found.append(self.terms.term(("index", number, operator.value, tick), _INDEX))
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
        if channel.kind != "delay":
            return self.terms.term(("operand", number, operand, tick), channel.word)
        return self.value(channel.source, channel.operand, tick - lag)

    def source(self, number: int, operand: int, tick: int) -> tuple[ChannelSpec, int]:
        """The channel that gives an operand in a tick of the whole run, and how many ticks before its source fires.
        Raises `NotQuiet` if it fires later."""
        node = self.kernel.nodes[number]
        read = node.reads[operand]
        chosen = next((s for s in read.sources[:-1] if self.facts.holds(s.select, tick)), read.sources[-1])
        channel = self.kernel.channels[chosen.channel]
        source = self.kernel.nodes[channel.source]
        given = source.latency if channel.operand is None else source.reads[channel.operand].offset
        lag = channel.depth + source.delay + given - node.delay - read.offset
        if channel.kind == "delay" and lag < 0:
            raise NotQuiet(f"{name_of(node)} takes words of later iterations")
        return channel, lag

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
