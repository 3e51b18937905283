"""Walks in hardware: counters that say in which cycles something happens, and at which address."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.pipeline.nested_walk import NestedWalk
from hw.pipeline.spec import Level, Walk

__all__ = ["Walker"]


class Walker(wiring.Component):
    """Carries out `walk` (see `hw.pipeline.spec.Walk`).

    `start` begins a run: the next cycle with `en` is cycle 0. `fire`: there is an event in this cycle, at `address`;
    between events `address` is that of the next. `last`: loops, innermost first, that are in their last iteration.
    `left`: there are events to come. All depend on registers only. With a `target`, a cycle with `jump` and `en` counts
    as cycle number `target`, in which there is an event if there is one in this cycle.

    Inside other loops that is cycle `target` of their first iterations, and one as much later of later
    ones. A `nested` walk is then in the loop that ends, before and afterwards; any other one has no event in the cycles
    that are left out, whose number is `skipped`.
    """

    def __init__(self, walk: Walk, target: int | None = None, nested: NestedWalk | None = None, skipped: int = 0):
        self.walk, self.target, self.nested = nested.walk if nested else walk, target, nested
        self.most_skipped = skipped
        super().__init__({"start": In(1), "en": In(1), "fire": Out(1), "address": Out(range(max(2, walk.size))),
                          "last": Out(max(1, len(self.walk.levels))), "left": Out(1),
                          **({} if target is None else {"jump": In(1)}),
                          **({"skipped": In(range(skipped + 1))} if skipped else {})})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        walk = self.walk
        longest = max([walk.start, *(level.gap - 1 for level in walk.levels)])
        wait = Signal(range(-1, longest + 1))  # cycles until the next event, less 1; below zero: now
        step = Signal()
        counters = [Signal(range(level.trips), name=f"count{k}") for k, level in enumerate(walk.levels)]
        m.d.comb += [self.fire.eq(self.left & wait[-1]), step.eq(self.en & self.fire)]
        with m.If(self.en):
            m.d.sync += wait.eq(wait - 1)
        with m.If(step):
            self._step(m, counters, wait)
        if self.target is not None:
            with m.If(self.en & self.jump):
                if self.most_skipped and not self.nested:
                    m.d.sync += wait.eq(wait - 1 - self.skipped)
                elif self.nested:
                    self._step_on(m, self.nested, self.target + 1, counters, wait)
                else:
                    self._go_on(m, self.target + 1, counters, wait)
        with m.If(self.start):
            m.d.sync += [self.left.eq(1), wait.eq(walk.start - 1), self.address.eq(walk.origin), self.last.eq(0)]
            m.d.sync += [counter.eq(0) for counter in counters]
        return m

    def _go_on(self, m: Module, cycle: int, counters: list[Signal], wait: Signal) -> None:
        """Be in `cycle` next."""
        event = self.walk.next_event(cycle)
        if event is None:
            m.d.sync += self.left.eq(0)
            return
        ends = [count == level.trips - 1 for count, level in zip(event.counters, self.walk.levels, strict=True)]
        m.d.sync += [wait.eq(event.time - cycle - 1), self.address.eq(event.address)]
        m.d.sync += [counter.eq(count) for counter, count in zip(counters, event.counters, strict=True)]
        m.d.sync += [end.eq(value) for end, value in zip(self.last, ends, strict=False)]

    def _step_on(self, m: Module, nested: NestedWalk, cycle: int, counters: list[Signal], wait: Signal) -> None:
        """Be in `cycle` of the loop next, in the same iterations of the loops around it."""
        event = nested.inside.next_event(cycle)
        assert event is not None
        m.d.sync += wait.eq(event.time - cycle - 1)
        for count, level, counter, end in zip(event.counters, nested.inside.levels, counters, self.last, strict=False):
            m.d.sync += [counter.eq(count), end.eq(count == level.trips - 1)]
        if nested.advance != 0:
            m.d.sync += self.address.eq(event.address)

    def _step(self, m: Module, counters: list[Signal], wait: Signal) -> None:
        """Count: the innermost loop that is not at its end steps, those inside it start over."""
        ended: Value = Const(1)
        turns: list[tuple[Value, Level, Signal]] = []
        for level, counter, end in zip(self.walk.levels, counters, self.last, strict=False):
            turn = ended & ~end
            turns.append((turn, level, counter))
            with m.If(turn):
                m.d.sync += [counter.eq(counter + 1), end.eq(counter == level.trips - 2)]
            with m.Elif(ended):
                m.d.sync += [counter.eq(0), end.eq(0)]
            ended = ended & end
        self._advance(m, turns, wait)
        with m.If(ended):
            m.d.sync += self.left.eq(0)

    def _advance(self, m: Module, turns: list[tuple[Value, Level, Signal]], wait: Signal) -> None:
        """Gap and address step of the loop whose turn it is."""
        size = self.walk.size
        delta = Signal(range(max(2, size)), name="delta")
        for turn, level, counter in turns:
            with m.If(turn):
                m.d.sync += wait.eq(level.gap - 2)
                m.d.comb += delta.eq(_periodic(level, counter))
        if size > 1:
            total = Signal(range(2 * size), name="total")
            m.d.comb += total.eq(self.address + delta)
            whole = size & (size - 1) == 0
            m.d.sync += self.address.eq(total if whole else Mux(total >= size, total - size, total))


def _periodic(level: Level, counter: Signal) -> Value:
    """``deltas[counter % period]``; where that is no slice of the counter, the table is as long as the loop."""
    period = len(level.deltas)
    if period == 1:
        return Const(level.deltas[0])
    bits = (period - 1).bit_length()
    if period == 1 << bits:
        return Array(Const(delta) for delta in level.deltas)[counter[:bits]]
    return Array(Const(level.deltas[k % period]) for k in range(level.trips))[counter]
