"""What a kernel computes behind a loop that has ended early: whether it is what it would be after all iterations."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.bind.dataflow.loop_windows import NotQuiet, name_of
from compiler.bind.dataflow.quiet_values import INDEX, LANDED, QuietValues
from compiler.bind.terms import Term
from hw.dataflow.spec import ChannelSpec, NodeSpec, Operator

__all__ = ["AfterLoop"]

_MOST_FIRINGS = 1 << 14
"""Firings behind the loop that are computed in terms."""


class AfterLoop:
    """What fires behind the loop that `quiet` is in, from `Window.behind` on, which comes right after the iterations
    that are made."""

    def __init__(self, quiet: QuietValues):
        self.quiet = quiet
        self._facts, self._window, self._kernel, self._terms = quiet.facts, quiet.window, quiet.kernel, quiet.terms
        self._known: dict[tuple[int, int], list[Term | None]] = {}
        self._taken: dict[tuple[int, int, int], Term | None] = {}

    def check(self) -> int:
        """How many ticks had to be looked at. Raises `NotQuiet` if something that leaves the kernel or is stored may be
        something else."""
        last = tick = 0
        lag = self._longest_lag()
        firings = 0
        while tick <= last + lag and self._window.behind + tick < self._facts.ticks:
            for number, node in enumerate(self._kernel.nodes):
                if self._facts.holds(node.fires, self._window.behind + tick):
                    firings += 1
                    last = last if self._fire(number, node, tick) else tick
            tick += 1
            if firings > _MOST_FIRINGS:
                raise NotQuiet("too much that follows it depends on its last values")
        return tick

    def _longest_lag(self) -> int:
        kernel = self._kernel
        most = max(node.delay + node.latency for node in kernel.nodes)
        waits = [self._facts.longest_lag(c) for c in kernel.channels if c.kind == "delay" or c in self.quiet.moved]
        return most + max(waits, default=0) + LANDED

    def _fire(self, number: int, node: NodeSpec, tick: int) -> bool:
        """Compute what a node gives in a tick behind the loop; whether it is what it would be. Raises `NotQuiet` for
        what leaves the kernel or is stored, if it is not."""
        if node.kind == "input":
            self._known[number, tick] = [self._terms.term(("input", number, tick), self.quiet.word(number, None))]
            return True
        if node.kind == "output":
            if self._operand(number, 0, tick) is None:
                raise NotQuiet(f"{name_of(node)} depends on what every iteration computes")
            return True
        found = self.quiet.evaluate(number, lambda k: self._operand(number, k, tick),
                                    lambda operator: self._index(number, operator, tick),
                                    lambda operator, index: self._load(number, operator, index, tick))
        self._known[number, tick] = found
        self._check_accesses(node, found)
        if None in found or any(self._operand(number, k, tick) is None for k in range(len(node.reads))):
            if any(channel.source == number and channel.kind != "delay" and channel not in self.quiet.moved
                   for channel in self._kernel.channels):
                raise NotQuiet(f"{name_of(node)} keeps what every iteration computes")
            return False
        return True

    def _check_accesses(self, node: NodeSpec, found: Sequence[Term | None]) -> None:
        for operator in node.operators:
            if operator.op == "store":
                enable = found[operator.operands[2]]
                off = enable is not None and enable.number == 0
                if not off and any(found[k] is None for k in operator.operands[:3]):
                    raise NotQuiet(f"{name_of(node)} stores what every iteration computes")
            if operator.op == "load" and self._kernel.memories[operator.value].trap and \
                    found[operator.operands[0]] is None:
                raise NotQuiet(f"{name_of(node)} may read outside of its array afterwards")

    def _operand(self, number: int, operand: int, tick: int) -> Term | None:
        """An operand in a tick, looked for once: later ticks take what earlier ones have found."""
        place = number, operand, tick
        if place not in self._taken:
            self._taken[place] = self._found(number, operand, tick)
        return self._taken[place]

    def _found(self, number: int, operand: int, tick: int) -> Term | None:
        channel, lag = self.quiet.source(number, operand, self._window.behind + tick)
        if lag is None:
            return self._terms.term(("queue", number, operand, tick), channel.word)  # the loop leaves it as it is
        if lag <= tick:
            return self._given(channel, tick - lag)
        place = (self.quiet.waiting + 1) * self._window.period + tick - lag
        if place < 0 and channel.kind != "delay":
            return None  # from before the loop, perhaps: as many words as are left out wait before it
        return self.quiet.settled(lambda t: self.quiet.value(channel.source, channel.operand, t), place)

    def _given(self, channel: ChannelSpec, tick: int) -> Term | None:
        if channel.operand is not None:
            return self._operand(channel.source, channel.operand, tick)
        found = self._known.get((channel.source, tick))
        return found[-1] if found else None

    def _index(self, number: int, operator: Operator, tick: int) -> Term:
        return self._terms.term(("index behind", number, operator.value, tick), INDEX)

    def _load(self, number: int, operator: Operator, index: Term, tick: int) -> Term | None:
        if not self.quiet.has_landed(number, operator, (self.quiet.waiting + 1) * self._window.period + tick):
            return None
        return self._terms.term(("load behind", number, operator.value, tick, index), operator.word)
