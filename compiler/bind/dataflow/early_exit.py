"""Loops that end when the data say so: where the counters of a kernel may leave out the rest of one.

Every part of a kernel steps a fixed number of ticks after its counters, so what a kernel computes follows from the
vectors of its counters alone. A run in which a counter goes from one iteration straight to a later one gives what all
iterations would if every value that crosses the gap is the same in both. That is proven on the finished kernel: after
a flag of the program is zero a few iterations are computed in terms (`compiler.bind.dataflow.quiet_values`). Then all
that fires behind the gap is computed in terms, too (`compiler.bind.dataflow.after_loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from compiler.bind.dataflow.after_loop import AfterLoop
from compiler.bind.dataflow.loop_windows import KernelFacts, NotQuiet, Window, name_of
from compiler.bind.dataflow.quiet_values import QuietValues
from hw.dataflow.spec import Affine, Constraint, Exit, KernelSpec, Operator, Predicate

__all__ = ["EarlyExit", "Jump", "find_exit"]

_MOST_WAITING = 8
"""Iterations that values may take to settle."""


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


def find_exit(kernel: KernelSpec, label: Callable[[str], str | None]) -> EarlyExit | str:
    """The loop of a kernel that ends early; else the reason why one makes all its iterations, empty if there is none
    that could end. `label`: what a node is called; None if it does not fire in the order of its instances."""
    flags = _recurrences(kernel)
    if not flags:
        return ""
    try:
        facts = KernelFacts(kernel)
    except NotQuiet:
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


def _flags(facts: KernelFacts, window: Window, flags: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Those of `flags` that stay zero once they are, and where in each iteration they fire once."""
    for number in flags:
        node = facts.kernel.nodes[number]
        phases = facts.phases(node.fires, window)
        if len(phases) == 1 and QuietValues(facts, window, number, phases[0], 1).is_final():
            yield number, phases[0]


def _exit(facts: KernelFacts, window: Window, flag: int, phase: int, label: str) -> EarlyExit | str:
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
            quiet = QuietValues(facts, window, flag, phase, waiting)
            _check_left_out(quiet)
            AfterLoop(quiet).check()
        except NotQuiet as error:
            reason = str(error)
            continue
        first = facts.count(node.fires, window.start)
        leave = Exit(flag, _where(facts, window), window.level, window.target,
                     max(0, waiting * window.period - ticks))
        return EarlyExit(node.name, label, leave, first, looks, window.period, waiting, window.behind)
    return f"{label} says when its loop ends, but {reason}"


def _check_left_out(quiet: QuietValues) -> None:
    """Raise `NotQuiet` unless no words come or leave, nothing is stored and no other index is looked at in what is left
    out."""
    facts, window, kernel = quiet.facts, quiet.window, quiet.kernel
    for node in kernel.nodes:
        if node.kind != "compute" and facts.phases(node.fires, window):
            raise NotQuiet(f"every iteration moves a word of {name_of(node)} from or to main memory")
    for channel in kernel.channels:
        moves = (channel.push, channel.pop) if channel.kind == "fifo" else (channel.push,)
        if channel.kind != "delay" and any(facts.phases(predicate, window) for predicate in moves):
            raise NotQuiet(f"every iteration moves a word of the queue {channel.name}")
    for number, place in kernel.accesses:
        node, operator = kernel.nodes[number], kernel.nodes[number].operators[place]
        if operator.op == "store" and quiet.stores_until(number, place) is None:
            raise NotQuiet(f"{name_of(node)} may store afterwards, too")
        if operator.op == "load" and kernel.memories[operator.value].trap and not _is_settled(quiet, number, operator):
            raise NotQuiet(f"{name_of(node)} may read outside of its array afterwards")


def _is_settled(quiet: QuietValues, number: int, load: Operator) -> bool:
    """Whether a node loads from the same places in all iterations that are left out."""
    last = quiet.waiting * quiet.window.period
    return all(quiet.settled(lambda tick: quiet.results(number, tick)[load.operands[0]], last + phase) is not None
               for phase in quiet.facts.phases(quiet.kernel.nodes[number].fires, quiet.window))


def _where(facts: KernelFacts, window: Window) -> Predicate:
    """The vectors of the iterations before the one that the counter may jump to."""
    count = len(facts.columns)

    def unit(level: int, factor: int, constant: int) -> Affine:
        return Affine(tuple(factor if k == level else 0 for k in range(count)), constant)

    outer = [Constraint(unit(level, 1, -int(facts.columns[level, window.start])), True)
             for level in range(window.level)]
    inside = (Constraint(unit(window.level, 1, -window.low), False),
              Constraint(unit(window.level, -1, window.target - 1), False))
    return ((*outer, *inside),)
