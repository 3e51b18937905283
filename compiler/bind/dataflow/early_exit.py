"""Loops that end when the data say so: where the counters of a kernel may leave out the rest of one.

Every part of a kernel steps a fixed number of ticks after its counters, so what a kernel computes follows from the
vectors of its counters alone. A run in which a counter goes from one iteration straight to a later one gives what all
iterations would if every value that crosses the gap is the same in both. That is proven on the finished kernel: after
a flag of the program is zero a few iterations are computed in terms (`compiler.bind.terms`), from anything before;
what is the same term in one of them and in the next stays so, as the flag stays zero. Then all that fires behind the
gap is computed in terms, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from compiler.bind.terms import Term, Terms, simplified
from compiler.bind.word_formats import type_of
from hw.dataflow.affine import predicate_column
from hw.dataflow.counters import counter_columns
from hw.dataflow.spec import Affine, ChannelSpec, Constraint, Exit, KernelSpec, NodeSpec, Operator, Predicate
from hw.pipeline.spec import TABLE_LATENCY, OperatorCell, Word

__all__ = ["EarlyExit", "Jump", "find_exit"]

_MOST_TICKS = 1 << 17
"""Ticks of a kernel that are looked at one by one."""

_MOST_WAITING = 8
"""Iterations that values may take to settle."""

_MOST_FIRINGS = 1 << 14
"""Firings behind the loop that are computed in terms."""

_LANDED = 3
"""Ticks after which what is stored is in a memory, for all loads."""


_INDEX = Word(64, True)
"""A format that holds every index."""


class _NotQuiet(Exception):
    """Why a loop makes all its iterations."""


@dataclass(frozen=True)
class Jump:
    """From tick `tick` of a run with all iterations on, everything is `saved` ticks earlier."""

    tick: int
    saved: int


@dataclass(frozen=True)
class EarlyExit:
    """The loop around statement `statement` (`label`) ends early: `waiting` iterations of `period` ticks after the one
    whose value is zero, of which instance `first` is the first that is looked at, and `looks` are; `tick`: the first
    one behind the loop, in a run with all iterations."""

    statement: str
    label: str
    exit: Exit
    first: int
    looks: int
    period: int
    waiting: int
    tick: int

    def jump(self, values: np.ndarray) -> Jump | None:
        """What a run leaves out if the statement's instances have `values`; None if it makes all iterations."""
        zeros = np.flatnonzero(values[self.first:self.first + self.looks] == 0)
        left = self.looks - 1 - int(zeros[0]) - self.waiting if len(zeros) else 0
        return Jump(self.tick, left * self.period) if left > 0 else None

    @property
    def most_saved(self) -> int:
        """Ticks of a run that it saves at most."""
        return (self.looks - 1 - self.waiting) * self.period

    def __str__(self) -> str:
        return f"the loop of {self.label}, {self.waiting + 1} iterations after its value is zero"


@dataclass(frozen=True)
class _Window:
    """Iterations of counter number `level`, of `period` ticks each, in which the same nodes fire at the same places:
    `count` of them from tick `start`, where the counter is `low`. It may jump to the last or, where that is in the same
    loop, the one behind: that with value `target`."""

    level: int
    start: int
    period: int
    count: int
    low: int
    target: int

    @property
    def behind(self) -> int:
        """The tick of `target`."""
        return self.start + (self.target - self.low) * self.period


class _Facts:
    """What a kernel does in each tick. Raises `_NotQuiet` if there are too many."""

    def __init__(self, kernel: KernelSpec):
        self.kernel = kernel
        if kernel.sizes or kernel.ticks > _MOST_TICKS:
            raise _NotQuiet("sizes are known at run time only, or there are too many ticks")
        self.columns = np.stack(counter_columns(kernel.counters))
        self._bits: dict[Predicate, np.ndarray] = {}
        for node in kernel.nodes:
            self._add(node.fires)
            for read in node.reads:
                for source in read.sources:
                    self._add(source.select)
        for channel in kernel.channels:
            self._add(channel.push)
            self._add(channel.pop)

    def _add(self, predicate: Predicate) -> None:
        if predicate not in self._bits:
            self._bits[predicate] = predicate_column(predicate, list(self.columns), self.ticks)

    @property
    def ticks(self) -> int:
        """Ticks of the counters."""
        return self.columns.shape[1]

    def holds(self, predicate: Predicate, tick: int) -> bool:
        """Whether a predicate holds in a tick."""
        return bool(self._bits[predicate][tick])

    def any(self, predicate: Predicate, start: int, end: int) -> bool:
        """Whether a predicate holds in some of the ticks from `start` to `end`."""
        return bool(self._bits[predicate][start:end].any())

    def count(self, predicate: Predicate, end: int) -> int:
        """In how many ticks before `end` a predicate holds."""
        return int(self._bits[predicate][:end].sum())

    def windows(self) -> Iterator[_Window]:
        """The longest one of every counter."""
        bits = np.stack(list(self._bits.values()))
        for level in range(len(self.columns)):
            outer = self.columns[:level + 1]
            starts = np.flatnonzero(np.append(True, (outer[:, 1:] != outer[:, :-1]).any(axis=0)))
            ends = np.append(starts[1:], self.ticks)
            rows = [(self.columns[:level, s].tobytes(), self.columns[level + 1:, s:e].tobytes(), bits[:, s:e].tobytes())
                    for s, e in zip(starts, ends, strict=True)]
            first, count = _longest_run(rows)
            start, low = int(starts[first]), int(self.columns[level, starts[first]])
            behind = first + count < len(rows) and rows[first + count][0] == rows[first][0]
            if count > 2:
                yield _Window(level, start, int(ends[first] - starts[first]), count, low, low + count - (not behind))


def _longest_run(rows: Sequence[object]) -> tuple[int, int]:
    """Where most equal ones follow each other, and how many."""
    best = 0, 0
    start = 0
    for number, row in enumerate(rows):
        if row != rows[start]:
            start = number
        best = max(best, (number - start + 1, -start))
    return -best[1], best[0]


class _Evaluator:
    """Nodes of a kernel in terms."""

    def __init__(self, kernel: KernelSpec, terms: Terms):
        self.kernel, self.terms = kernel, terms

    def results(self, number: int, operand: Callable[[int], Term | None], index: Callable[[int], Term | None],
                load: Callable[[Operator, Term], Term | None]) -> list[Term | None]:
        """The results of a node's operators, of its operands and indices; `load` says what a memory holds."""
        node, found = self.kernel.nodes[number], list[Term | None]()
        for operator in node.operators:
            found.append(self._result(node, operator, found, operand, index, load))
        return found

    def _result(self, node: NodeSpec, operator: Operator, found: Sequence[Term | None],
                operand: Callable[[int], Term | None], index: Callable[[int], Term | None],
                load: Callable[[Operator, Term], Term | None]) -> Term | None:
        match operator.op:
            case "read":
                return operand(operator.value)
            case "const":
                return self.terms.constant(int(type_of(operator.word).wrap(operator.value)), operator.word)
            case "index":
                return index(operator.value)
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


class _Proof:
    """Whether the loop of `window` can end early when node number `flag`, which fires in its tick number `phase`, gives
    zero. Iteration 0 is the one in which it does; `waiting` more are made."""

    def __init__(self, facts: _Facts, window: _Window, flag: int, phase: int, waiting: int):
        self.facts, self.window, self.flag, self.phase, self.waiting = facts, window, flag, phase, waiting
        self.kernel, self.terms = facts.kernel, Terms()
        self._evaluator = _Evaluator(self.kernel, self.terms)
        self._inside: dict[tuple[int, int], list[Term | None]] = {}
        self._behind: dict[tuple[int, int], list[Term | None]] = {}
        self._off: dict[int, int | None] = {}

    # Iterations after the flag is zero.

    def is_final(self) -> bool:
        """Whether the flag stays zero."""
        found = self._value(self.flag, None, self.window.period + self.phase)
        return found is not None and found.number == 0

    def _row(self, tick: int) -> int:
        """A tick of the window in which the same happens as in tick `tick` of these iterations."""
        return self.window.start + tick % self.window.period

    def _value(self, number: int, operand: int | None, tick: int) -> Term | None:
        """A node's result, or one of its operands, of the firing in a tick of these iterations."""
        node = self.kernel.nodes[number]
        if tick < 0 or not self.facts.holds(node.fires, self._row(tick)) or node.kind != "compute":
            return self.terms.term(("any", number, operand, tick), self._word(number, operand))
        if operand is not None:
            return self._operand(number, operand, tick)
        if (number, tick) == (self.flag, self.phase):
            return self.terms.constant(0, node.operators[-1].word)
        return self._results(number, tick)[-1]

    def _results(self, number: int, tick: int) -> list[Term | None]:
        place = number, tick
        if place not in self._inside:
            self._inside[place] = self._evaluator.results(
                number, lambda k: self._operand(number, k, tick),
                lambda k: self.terms.term(("index", number, k, tick), _INDEX),
                lambda operator, index: self._load(number, operator, index, tick))
        return self._inside[place]

    def _operand(self, number: int, operand: int, tick: int) -> Term | None:
        channel, lag = self._source(number, operand, self._row(tick))
        if channel.kind != "delay":
            return self.terms.term(("operand", number, operand, tick), channel.word)
        return self._value(channel.source, channel.operand, tick - lag)

    def _source(self, number: int, operand: int, tick: int) -> tuple[ChannelSpec, int]:
        """The channel that gives an operand in a tick of the whole run, and how many ticks before its source fires."""
        node = self.kernel.nodes[number]
        read = node.reads[operand]
        chosen = next((s for s in read.sources[:-1] if self.facts.holds(s.select, tick)), read.sources[-1])
        channel = self.kernel.channels[chosen.channel]
        source = self.kernel.nodes[channel.source]
        given = source.latency if channel.operand is None else source.reads[channel.operand].offset
        lag = channel.depth + source.delay + given - node.delay - read.offset
        if channel.kind == "delay" and lag < 0:
            raise _NotQuiet(f"{_label(node)} takes words of later iterations")
        return channel, lag

    def _load(self, number: int, operator: Operator, index: Term, tick: int) -> Term | None:
        """A word of a memory, to which nothing may be stored any more."""
        if not self._has_landed(number, operator, tick):
            return self.terms.term(("loaded", number, operator, tick), operator.word)
        return self.terms.term(("load", operator.value, index), operator.word)

    def _has_landed(self, number: int, operator: Operator, tick: int) -> bool:
        """Whether all that the loop stores to a memory is there when a node that fires in a tick loads."""
        loads = tick + self.kernel.nodes[number].delay + operator.start
        for node, place in self.kernel.accesses:
            store = self.kernel.nodes[node].operators[place]
            if store.op == "store" and store.value == operator.value:
                off = self._stores_until(node, place)
                if off is None:
                    return False
                if loads < off + self.kernel.nodes[node].delay + store.start + _LANDED:
                    return False
        return True

    def _stores_until(self, number: int, place: int) -> int | None:
        """The tick from which on a node stores nothing, a whole number of iterations; None if it may store."""
        access = self.kernel.accesses.index((number, place))
        if access not in self._off:
            self._off[access] = None  # while it is looked for: it may store
            self._off[access] = self._first_off(number, place)
        return self._off[access]

    def _first_off(self, number: int, place: int) -> int | None:
        period = self.window.period
        enable = self.kernel.nodes[number].operators[place].operands[2]
        fires = [t for t in range(period) if self.facts.holds(self.kernel.nodes[number].fires, self._row(t))]
        for iteration in range(self.waiting + 1):
            found = [self._results(number, iteration * period + t)[enable] for t in fires]
            if all(term is not None and term.number == 0 for term in found):
                return iteration * period
        return None

    # Behind the loop.

    def check(self) -> None:
        """Raise `_NotQuiet` if something behind the loop, or in what is left out, may be something else."""
        self._check_left_out()
        last = tick = 0
        lag = self._longest_lag()
        firings = 0
        while tick <= last + lag and self.window.behind + tick < self.facts.ticks:
            for number, node in enumerate(self.kernel.nodes):
                if self.facts.holds(node.fires, self.window.behind + tick):
                    firings += 1
                    last = last if self._fire(number, node, tick) else tick
            tick += 1
            if firings > _MOST_FIRINGS:
                raise _NotQuiet("too much that follows it depends on its last values")

    def _longest_lag(self) -> int:
        kernel = self.kernel
        most = max(node.delay + node.latency for node in kernel.nodes)
        return most + max((c.depth for c in kernel.channels if c.kind == "delay"), default=0) + _LANDED

    def _check_left_out(self) -> None:
        """No words come or leave, nothing is stored and no other index is looked at in what is left out."""
        window, last = self.window, self.waiting * self.window.period
        for node in self.kernel.nodes:
            if node.kind != "compute" and self.facts.any(node.fires, window.start, window.start + window.period):
                raise _NotQuiet(f"every iteration moves a word of {_label(node)} from or to main memory")
        for channel in self.kernel.channels:
            moves = (channel.push, channel.pop) if channel.kind == "fifo" else (channel.push,)
            if channel.kind != "delay" and any(self.facts.any(p, window.start, window.start + window.period)
                                               for p in moves):
                raise _NotQuiet(f"every iteration moves a word of the queue {channel.name}")
        for number, place in self.kernel.accesses:
            node = self.kernel.nodes[number]
            operator = node.operators[place]
            if operator.op == "store" and self._stores_until(number, place) is None:
                raise _NotQuiet(f"{_label(node)} may store afterwards, too")
            if operator.op == "load" and self.kernel.memories[operator.value].trap:
                for phase in range(window.period):
                    if self.facts.holds(node.fires, window.start + phase) and self._settled(
                            lambda tick, n=number, k=operator.operands[0]: self._results(n, tick)[k],
                            last + phase) is None:
                        raise _NotQuiet(f"{_label(node)} may read outside of its array afterwards")

    def _settled(self, value: Callable[[int], Term | None], tick: int) -> Term | None:
        """What is the same from a tick of the iterations on in all that follow; None if it may change."""
        found = value(tick)
        return found if found is not None and found == value(tick + self.window.period) else None

    def _fire(self, number: int, node: NodeSpec, tick: int) -> bool:
        """Compute what a node gives in a tick behind the loop; whether it is what it would be. Raises `_NotQuiet` for
        what leaves the kernel or is stored, if it is not."""
        if node.kind == "input":
            self._behind[number, tick] = [self.terms.term(("input", number, tick), self._word(number, None))]
            return True
        if node.kind == "output":
            if self._behind_operand(number, 0, tick) is None:
                raise _NotQuiet(f"{_label(node)} depends on what every iteration computes")
            return True
        found = self._evaluator.results(
            number, lambda k: self._behind_operand(number, k, tick),
            lambda k: self.terms.term(("index", number, k, tick), _INDEX),
            lambda operator, index: self._behind_load(number, operator, index, tick))
        self._behind[number, tick] = found
        self._check_accesses(node, found)
        if None in found or any(self._behind_operand(number, k, tick) is None for k in range(len(node.reads))):
            if any(channel.source == number and channel.kind != "delay" for channel in self.kernel.channels):
                raise _NotQuiet(f"{_label(node)} keeps what every iteration computes")
            return False
        return True

    def _word(self, number: int, operand: int | None) -> Word:
        """The format of a node's result, or of one of its operands."""
        node = self.kernel.nodes[number]
        if operand is not None:
            return node.reads[operand].word
        return self.kernel.inputs[node.stream].word if node.kind == "input" else node.operators[-1].word

    def _check_accesses(self, node: NodeSpec, found: Sequence[Term | None]) -> None:
        for operator in node.operators:
            if operator.op == "store":
                enable = found[operator.operands[2]]
                off = enable is not None and enable.number == 0
                if not off and any(found[k] is None for k in operator.operands[:3]):
                    raise _NotQuiet(f"{_label(node)} stores what every iteration computes")
            if operator.op == "load" and self.kernel.memories[operator.value].trap and \
                    found[operator.operands[0]] is None:
                raise _NotQuiet(f"{_label(node)} may read outside of its array afterwards")

    def _behind_operand(self, number: int, operand: int, tick: int) -> Term | None:
        channel, lag = self._source(number, operand, self.window.behind + tick)
        if channel.kind != "delay":
            return self.terms.term(("queue", number, operand, tick), channel.word)  # the loop leaves it as it is
        if lag <= tick:
            return self._given(channel, tick - lag)
        place = (self.waiting + 1) * self.window.period + tick - lag
        return self._settled(lambda t: self._value(channel.source, channel.operand, t), place)

    def _given(self, channel: ChannelSpec, tick: int) -> Term | None:
        if channel.operand is not None:
            return self._behind_operand(channel.source, channel.operand, tick)
        found = self._behind.get((channel.source, tick))
        return found[-1] if found else None

    def _behind_load(self, number: int, operator: Operator, index: Term, tick: int) -> Term | None:
        if not self._has_landed(number, operator, (self.waiting + 1) * self.window.period + tick):
            return None
        return self.terms.term(("load behind", number, operator.value, tick, index), operator.word)


def find_exit(kernel: KernelSpec, label: Callable[[str], str | None]) -> EarlyExit | str:
    """The loop of a kernel that ends early; else the reason why one makes all its iterations, empty if there is none
    that could end. `label`: what a node is called; None if it does not fire in the order of its instances."""
    flags = _recurrences(kernel)
    if not flags:
        return ""
    try:
        facts = _Facts(kernel)
    except _NotQuiet:
        return ""
    reason = ""
    windows = sorted(facts.windows(), key=lambda w: -w.count * w.period)
    for window in windows:
        for flag, phase in _flags(facts, window, flags):
            name = label(kernel.nodes[flag].name)
            if name is None:
                continue
            found = _exit(facts, window, flag, phase, name)
            if isinstance(found, EarlyExit):
                return found
            reason = reason or found
    return reason


def _recurrences(kernel: KernelSpec) -> list[int]:
    """Nodes that may end a loop, narrow ones first: those that go on from what they have given."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(kernel.nodes)))
    for number, node in enumerate(kernel.nodes):
        for read in node.reads:
            graph.add_edges_from((kernel.channels[s.channel].source, number) for s in read.sources)
    around = {n for part in nx.strongly_connected_components(graph) for n in part
              if len(part) > 1 or graph.has_edge(n, n)}
    last = {n: node.operators[-1] for n, node in enumerate(kernel.nodes) if n in around and node.kind == "compute"}
    return sorted((n for n, operator in last.items() if operator.op != "store" and not operator.word.exponent),
                  key=lambda n: last[n].word.width)


def _flags(facts: _Facts, window: _Window, flags: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Those of `flags` that stay zero once they are, and where in each iteration they fire once."""
    for number in flags:
        node = facts.kernel.nodes[number]
        phases = [t for t in range(window.period) if facts.holds(node.fires, window.start + t)]
        if len(phases) == 1 and _Proof(facts, window, number, phases[0], 1).is_final():
            yield number, phases[0]


def _exit(facts: _Facts, window: _Window, flag: int, phase: int, label: str) -> EarlyExit | str:
    """The exit with the fewest iterations after the flag is zero, or why there is none."""
    node = facts.kernel.nodes[flag]
    ticks = phase + node.delay + node.latency + 1
    least, reason = ticks // window.period, ""
    looks = window.target - window.low
    for waiting in range(least, least + _MOST_WAITING):
        if looks <= waiting + 1:
            reason = reason or "the loop has too few iterations"
            break
        try:
            _Proof(facts, window, flag, phase, waiting).check()
        except _NotQuiet as error:
            reason = str(error)
            continue
        first = facts.count(node.fires, window.start)
        leave = Exit(flag, _where(facts, window), window.level, window.target,
                     max(0, waiting * window.period - ticks))
        return EarlyExit(node.name, label, leave, first, looks, window.period, waiting, window.behind)
    return f"{label} says when its loop ends, but {reason}"


def _where(facts: _Facts, window: _Window) -> Predicate:
    """The vectors of the iterations before the one that the counter may jump to."""
    count = len(facts.columns)

    def unit(level: int, factor: int, constant: int) -> Affine:
        return Affine(tuple(factor if k == level else 0 for k in range(count)), constant)

    outer = [Constraint(unit(level, 1, -int(facts.columns[level, window.start])), True)
             for level in range(window.level)]
    inside = (Constraint(unit(window.level, 1, -window.low), False),
              Constraint(unit(window.level, -1, window.target - 1), False))
    return ((*outer, *inside),)


def _label(node: NodeSpec) -> str:
    return f"statement '{node.name}'" + (f" ({node.source})" if node.source else "")
