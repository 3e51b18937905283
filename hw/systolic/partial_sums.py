"""Partial sums of one result, added up when they are complete."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.taps import Taps
from hw.systolic.accumulator import combine_words
from hw.systolic.spec import ArraySpec

__all__ = ["PartialSums"]


class PartialSums(wiring.Component):
    """Combines each `ResultSpec.parts` words that come one after the other, neighbours first: an operation for each
    level of the tree, which a word waits before for its neighbour.

    Ports: `push` with `data`; `complete` with the `total`, ``levels * ResultSpec.latency`` cycles after the last word.
    """

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        bits = spec.word_bits(spec.result)
        super().__init__({"push": In(1), "data": In(bits), "complete": Out(1), "total": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taps = Taps(m, Value.cast(1))
        push, word = self.push, self.data
        for level in range(self._spec.result.levels):
            waits, first = Signal(name=f"waits{level}"), Signal(len(word), name=f"first{level}", reset_less=True)
            pair = Signal(name=f"pair{level}")
            m.d.comb += pair.eq(push & waits)
            m.d.sync += waits.eq(waits ^ push)
            with m.If(push & ~waits):
                m.d.sync += first.eq(word)
            total = Signal(len(word), name=f"total{level}")
            m.d.comb += total.eq(combine_words(m, self._spec, f"parts{level}_", first, word))
            push, word = taps.delayed(pair, self._spec.result.latency), total
        m.d.comb += [self.complete.eq(push), self.total.eq(word)]
        return m
