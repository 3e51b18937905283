"""The east edge of an array with a reduction in space: partial results are combined down the edge, and over tiles."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.lib.taps import Taps
from hw.systolic.accumulator import combine_words, neutral_word, start_word
from hw.systolic.buffers import SumQueue, step_queue
from hw.systolic.bundles import Bundles, result_beat
from hw.systolic.compute import Compute
from hw.systolic.pe import partial_result
from hw.systolic.results import Results, rested
from hw.systolic.spec import ArraySpec

__all__ = ["EdgeAccumulator", "EdgeSum"]


class EdgeSum(wiring.Component):
    """Combines the partial results of a row with those of the rows above, for reductions over both axes.

    Ports: `head`, a constant: the uppermost row. `west` (steps of the row's last PE), `sum_w` (its partial results),
    `north`, `south`: steps from above and to below, with `sum_n` and `sum_o`.
    """

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        self._bundles = bundles = Bundles(spec)
        super().__init__({
            "head": In(1), "west": In(stream.Signature(bundles.east)), "sum_w": In(partial_result(spec)),
            "north": In(stream.Signature(bundles.edge)), "sum_n": In(partial_result(spec)),
            "south": Out(stream.Signature(bundles.edge)), "sum_o": Out(partial_result(spec)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cycles = self._spec.result.latency
        m.submodules.west_steps = west = step_queue(self._bundles.east, cycles)
        m.submodules.north_steps = north = step_queue(self._bundles.edge, cycles)
        connect(m, flipped(self.west), west.i)
        connect(m, flipped(self.north), north.i)
        start, now = Signal(), Signal()
        m.d.comb += [
            start.eq(west.o.valid & (self.head | north.o.valid) & self.south.ready),
            west.o.ready.eq(start), north.o.ready.eq(start), self.south.valid.eq(start),
            *(self.south.p[name].eq(west.o.p[name]) for name in self._bundles.control),
            now.eq(Taps(m, Value.cast(1)).delayed(start, Compute(self._spec).latency, "valid")),
        ]
        heads = []
        for name, partial in (("row", self.sum_w), ("above", self.sum_n)):
            m.submodules[name] = queue = SumQueue(len(partial.data), cycles)
            m.d.comb += [queue.push.eq(partial.valid), queue.data.eq(partial.data), queue.pop.eq(now)]
            heads.append(queue.head)
        above = Mux(self.head, Const(neutral_word(self._spec), len(heads[1])), heads[1])
        m.d.comb += [
            self.sum_o.valid.eq(Taps(m, Value.cast(1)).delayed(now, cycles, "summed")),
            self.sum_o.data.eq(combine_words(m, self._spec, "sum", heads[0], above)),
        ]
        return m


class EdgeAccumulator(wiring.Component):
    """Accumulates the partial results of a row (or of the whole array) over steps and tiles.

    Ports: `i` (steps, of layout `Bundles.east` from a row, `Bundles.edge` from the edge if `below`), `sum_i` (their
    partial results), `o` (results, each a round of its own), `completed`: one has been completed.
    """

    def __init__(self, spec: ArraySpec, *, below: bool):
        self._spec = spec
        self._bundles = bundles = Bundles(spec)
        self._step = bundles.edge if below else bundles.east
        super().__init__({
            "i": In(stream.Signature(self._step)), "sum_i": In(partial_result(spec)),
            "o": Out(stream.Signature(result_beat(spec.word_bits(spec.result)))), "completed": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        latency = Compute(self._spec).latency
        cycles = self._spec.result.latency
        m.submodules.steps = steps = step_queue(self._step, cycles)
        m.submodules.sums = sums = SumQueue(len(self.sum_i.data), cycles)
        m.submodules.results = results = Results(self._spec, latency)
        connect(m, flipped(self.i), steps.i)
        start = Signal()
        m.d.comb += [
            self.o.p.data.eq(results.o.payload), self.o.p.end.eq(1), self.o.valid.eq(results.o.valid),
            results.o.ready.eq(self.o.ready),
            start.eq(steps.o.valid & results.ready & rested(m, self._spec, start)), steps.o.ready.eq(start),
            results.start.eq(start),
            *(results.control[name].eq(steps.o.p[name]) for name in self._bundles.control),
            sums.push.eq(self.sum_i.valid), sums.data.eq(self.sum_i.data),
            sums.pop.eq(Taps(m, Value.cast(1)).delayed(start, latency, "valid")),
            results.value.eq(sums.head), results.initial.eq(self._first()),
            self.completed.eq(results.push),
        ]
        return m

    def _first(self) -> int:
        """What is combined with a result's first partial result, which begins with initial values if there are some."""
        initial = any(operand.initial for operand in self._spec.operands)
        return neutral_word(self._spec) if initial else start_word(self._spec)
