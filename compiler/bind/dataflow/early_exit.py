"""Loops that end when the data say so: where the counters of a kernel may leave out the rest of one.

Every part of a kernel steps a fixed number of ticks after its counters, so what a kernel computes follows from the
vectors of its counters alone. A run in which a counter goes from one iteration straight to a later one gives what all
iterations would if every value that crosses the gap is the same in both. That is proven on the finished kernel: after
a flag of the program is zero a few iterations are computed in terms (`compiler.bind.dataflow.quiet_values`). Then all
that fires behind the gap is computed in terms, too (`compiler.bind.dataflow.after_loop`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np

from compiler.bind.dataflow.after_loop import AfterLoop
from compiler.bind.dataflow.loop_windows import KernelFacts, LoopNest, NotQuiet, Window, name_of
from compiler.bind.dataflow.quiet_values import QuietValues
from compiler.bind.jumps import Jumps
from hw.dataflow.spec import Affine, Constraint, Exit, KernelSpec, Operator, Predicate

__all__ = ["EarlyExit", "find_exit"]

_MOST_WAITING = 8
"""Iterations that values may take to settle."""

_MOST_ENDS = 32
"""Ways in which a kernel may go on behind a loop."""


@dataclass(frozen=True)
class EarlyExit:
    """The loop around statement `statement` (`label`) ends early, in each of the iterations of the loops around it that
    `nest` has: `waiting` iterations after the one in which all its values are zero."""

    statement: str
    label: str
    exit: Exit
    nest: LoopNest
    waiting: int

    def jumps(self, ticks: np.ndarray, values: np.ndarray) -> Jumps | None:
        """What a run leaves out if the statement's instances fire in `ticks` and have `values`; None if it makes all
        iterations."""
        windows, looks, period = self.nest.windows, self.nest.looks, self.nest.windows[0].period
        on = np.zeros(max(int(ticks.max()), *(window.behind for window in windows)) + 1, bool)
        on[ticks] = values != 0
        begun = np.array([window.start for window in windows])
        rows = on[begun[:, None, None] + period * np.arange(looks)[:, None] + np.array(self.nest.phases)].any(axis=2)
        ended = np.where(rows.all(axis=-1), looks, (~rows).argmax(axis=1))
        saved = period * np.maximum(0, looks - 1 - ended - self.waiting)
        return Jumps.of(np.array([window.behind for window in windows]), saved)

    @property
    def most_saved(self) -> int:
        """Ticks of a run that it saves at most."""
        return len(self.nest.windows) * (self.nest.looks - 1 - self.waiting) * self.nest.windows[0].period

    def __str__(self) -> str:
        """Which loop, and how much later."""
        values = "its value is" if len(self.nest.phases) == 1 else f"{len(self.nest.phases)} values are"
        times = f", {len(self.nest.windows)} times" if self.exit.repeats else ""
        return f"the loop of {self.label}, {self.waiting + 1} iterations after {values} zero{times}"


def find_exit(kernel: KernelSpec, label: Callable[[str], str]) -> EarlyExit | str:
    """The loop of a kernel that ends early; else the reason why one makes all its iterations, empty if there is none
    that could end. `label`: what a node is called."""
    flags = _recurrences(kernel)
    if not flags:
        return ""
    try:
        facts = KernelFacts(kernel)
    except NotQuiet:
        return ""
    reason = ""
    found = [(flag, nest) for flag in flags for nest in facts.nests(kernel.nodes[flag].fires)
             if _is_final(facts, nest, flag)]
    for flag, nest in sorted(found, key=lambda entry: -entry[1].ticks):
        trial = _exit(facts, nest, flag, label(kernel.nodes[flag].name))
        if isinstance(trial, EarlyExit):
            return trial
        reason = reason or trial
    return reason


def _is_final(facts: KernelFacts, nest: LoopNest, flag: int) -> bool:
    """Whether a node's values stay zero once they are, in the first window; false if that is not known."""
    try:
        return QuietValues(facts, nest.windows[0], flag, nest.phases, 1).is_final()
    except NotQuiet:
        return False


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


def _exit(facts: KernelFacts, nest: LoopNest, flag: int, label: str) -> EarlyExit | str:
    """The exit with the fewest iterations after the flag is zero, or why there is none."""
    node, period = facts.kernel.nodes[flag], nest.windows[0].period
    ticks = nest.phases[-1] + node.delay + node.latency + 1
    least, reason = ticks // period, ""
    for waiting in range(least, least + _MOST_WAITING):
        if nest.looks <= waiting + 1:
            reason = reason or "the loop has too few iterations"
            break
        try:
            _check(facts, nest, flag, waiting)
        except NotQuiet as error:
            reason = str(error)
            continue
        back = tuple(nest.phases[-1] - phase for phase in nest.phases[-2::-1])
        leave = Exit(flag, _where(facts, nest), _where(facts, nest, nest.phases[-1]), nest.windows[0].level,
                     nest.windows[0].target, max(0, waiting * period - ticks), back, len(nest.windows) > 1)
        return EarlyExit(node.name, label, leave, nest, waiting)
    return f"{label} says when its loop ends, but {reason}"


def _check(facts: KernelFacts, nest: LoopNest, flag: int, waiting: int) -> None:
    """Raise `NotQuiet` unless all windows may be left after as many iterations. Those behind which the same follows are
    looked at once."""
    proven: list[tuple[Window, int]] = []
    for window in nest.windows:
        if any(facts.same(window.start, other.start, window.period) and
               facts.same(window.behind, other.behind, ticks) for other, ticks in proven):
            continue
        if len(proven) == _MOST_ENDS:
            raise NotQuiet("too many different things follow it")
        quiet = QuietValues(facts, window, flag, nest.phases, waiting)
        if not quiet.is_final():
            raise NotQuiet("it may go on in other iterations of the loops around it")
        _check_left_out(quiet)
        proven.append((window, AfterLoop(quiet).check()))


def _check_left_out(quiet: QuietValues) -> None:
    """Raise `NotQuiet` unless no words come or leave, nothing is stored and no other index is looked at in what is left
    out."""
    facts, window, kernel = quiet.facts, quiet.window, quiet.kernel
    for node in kernel.nodes:
        if node.kind != "compute" and facts.phases(node.fires, window):
            raise NotQuiet(f"every iteration moves a word of {name_of(node)} from or to main memory")
    for channel in kernel.channels:
        apart = abs(channel.read - channel.written) <= (quiet.waiting + 1) * window.period
        if channel in quiet.moved and not (apart and facts.turns(channel, window)):
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


def _where(facts: KernelFacts, nest: LoopNest, phase: int | None = None) -> Predicate:
    """The vectors of the iterations before the one that the counter may jump to, or those of one tick of each."""
    counters, [window, *_] = facts.kernel.counters, nest.windows

    def bound(level: int, factor: int, value: int, equal: bool = False) -> Constraint:
        unit = tuple(factor if k == level else 0 for k in range(len(counters)))
        return Constraint(Affine(unit, -factor * value), equal)

    found = [bound(window.level, 1, window.low), bound(window.level, -1, window.target - 1)]
    for level, (low, high) in enumerate(zip(nest.lows, nest.highs, strict=True)):
        if low == high:
            found.append(bound(level, 1, low, equal=True))
        else:
            found += [bound(level, 1, low)] if low > counters[level].minimum else []
            found += [bound(level, -1, high)] if high < counters[level].maximum else []
    if phase is not None and len(nest.phases) > 1:
        inner = facts.columns[:, window.start + phase].tolist()
        found += [bound(level, 1, inner[level], equal=True) for level in range(window.level + 1, len(counters))]
    return (tuple(found),)
