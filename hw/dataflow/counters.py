"""Chains of counters: an inner counter's wrap enables the next outer one.

Bok 2018, algorithm 6.2, with the direction of its listing 5.2 (the printed algorithm has it reversed), and with bounds
that may depend on outer counters, so that triangular loops take no idle ticks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dataflow.affine import evaluate_pieces, piecewise_column, piecewise_value
from hw.dataflow.affine_tables import involved_in_pieces
from hw.dataflow.spec import Counter

__all__ = ["CounterChain", "counter_columns", "counter_vectors"]


class CounterChain(wiring.Component):
    """Ports: `en` steps to the next vector, `load` goes to the first one, which a run has to begin with. `c0`
    (outermost), `c1` ...: the vector, one cycle after `en` or `load`. `wrap0` ...: a step would wrap the counter.
    `last`: the vector is the last one.

    Every counter has a value for all values of the counters outside it. The first `held` counters do not count: they
    take the values of `size0`, `size1` ... with `load`. `skip`, if there is such a `jump` (number of a counter and a
    value above its own): it steps to that value instead of the next.
    """

    def __init__(self, counters: tuple[Counter, ...], held: int = 0, jump: tuple[int, int] | None = None):
        self.counters, self.held, self.jump = counters, held, jump
        self._lows: dict[tuple[int, ...], tuple[Value, list[Value]]] = {}  # with what the key's identities are those of
        super().__init__({
            "en": In(1),
            "load": In(1),
            **{f"size{k}": In(counters[k].shape) for k in range(held)},
            "last": Out(1),
            **({"skip": In(1)} if jump else {}),
            **{f"c{k}": Out(counter.shape) for k, counter in enumerate(counters)},
            **{f"wrap{k}": Out(1) for k in range(len(counters))},
        })

    @property
    def vector(self) -> list[Value]:
        """The counters, outermost first."""
        return [getattr(self, f"c{k}") for k in range(len(self.counters))]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner_wraps: Value = Const(1, 1)
        steps: list[Value] = []
        for k in reversed(range(self.held, len(self.counters))):
            steps.append(inner_wraps)
            wrap = getattr(self, f"wrap{k}")
            at_end = self.vector[k] == piecewise_value(self.counters[k].high, self.vector[:k])
            m.d.comb += wrap.eq(inner_wraps & at_end)
            inner_wraps = wrap
        m.d.comb += self.last.eq(inner_wraps)
        self._advance(m, [*[Const(0, 1)] * self.held, *steps[::-1]])
        return m

    def _advance(self, m: Module, steps: list[Value]) -> None:
        """`steps[k]`: all counters inside number k wrap. Where counters begin depends on those outside them, so what
        follows is computed for every counter that may be the one that steps, and chosen when it is known which is."""
        first = self._starting()
        following = [self._following(k) for k in range(len(self.counters))]
        for k, counter in enumerate(self.counters):
            value = getattr(self, f"c{k}")
            if k < self.held:
                with m.If(self.load):
                    m.d.sync += value.eq(getattr(self, f"size{k}"))
                continue
            restarted: Value = first[k]
            for stepping in range(self.held, k):
                restarted = Mux(getattr(self, f"wrap{stepping}"), restarted, following[stepping][k])
            after = Signal(counter.shape, name=f"after{k}")
            stepped = Mux(steps[k], following[k][k], value)
            m.d.comb += after.eq(Mux(self.load, first[k], Mux(getattr(self, f"wrap{k}"), restarted, stepped)))
            with m.If(self.en | self.load):
                m.d.sync += value.eq(after)

    def _starting(self) -> list[Value]:
        """The first vector."""
        return self._restarted([getattr(self, f"size{k}") for k in range(self.held)])

    def _following(self, stepping: int) -> list[Value]:
        """The vector that follows if counter number `stepping` is the one that steps."""
        value = _fitted(self.vector[stepping] + 1, self.counters[stepping])
        if self.jump and self.jump[0] == stepping:
            value = Mux(self.skip, Const(self.jump[1], self.counters[stepping].shape), value)
        return self._restarted([*self.vector[:stepping], value])

    def _restarted(self, vector: list[Value]) -> list[Value]:
        """All of a vector, of which the counters outside are given; the others begin. Where that depends on the same
        values, it is built once."""
        for k, counter in enumerate(self.counters[len(vector):], len(vector)):
            key = (k, *(id(vector[number]) for number in sorted(involved_in_pieces(counter.low))))
            if key not in self._lows:
                self._lows[key] = _fitted(piecewise_value(counter.low, vector), counter), vector
            vector = [*vector, self._lows[key][0]]
        return vector


def _fitted(value: Value, counter: Counter) -> Value:
    """A value that the counter can have, in its bits."""
    if len(value) <= counter.shape.width:
        return value
    bits = value[: counter.shape.width]
    return bits.as_signed() if counter.shape.signed else bits


def counter_vectors(counters: tuple[Counter, ...]) -> Iterator[tuple[int, ...]]:
    """All vectors in order: the model of `CounterChain`."""
    return _vectors(counters, ())


def _vectors(counters: tuple[Counter, ...], outer: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if len(outer) == len(counters):
        yield outer
        return
    counter = counters[len(outer)]
    low, high = (evaluate_pieces(bound, outer) for bound in (counter.low, counter.high))
    for value in range(low, high + 1):
        yield from _vectors(counters, (*outer, value))


def counter_columns(counters: Sequence[Counter]) -> list[np.ndarray]:
    """`counter_vectors` as one int64 array per counter."""
    columns: list[np.ndarray] = []
    count = 1
    for counter in counters:
        low, high = (piecewise_column(bound, columns, count) for bound in (counter.low, counter.high))
        sizes = high - low + 1
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = [np.repeat(column, sizes) for column in columns]
        count = int(sizes.sum())
        columns.append(np.repeat(low, sizes) + np.arange(count) - starts)
    return columns
