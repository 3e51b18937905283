"""Accumulators: one result, or a memory of them, updated in every cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.labels import Label
from hw.lib.taps import Taps
from hw.systolic.buffers import LUT_RAM_WORDS
from hw.systolic.bundles import Bundles, address_bits
from hw.systolic.formats import find_format
from hw.systolic.spec import ArraySpec

__all__ = ["Accumulator", "combine_words", "neutral_word", "start_word"]


def combine_words(m: Module, spec: ArraySpec, name: str, a: Value, b: Value) -> Value:
    """Two words of the result, combined lane by lane: `ResultSpec.latency` cycles later."""
    result = spec.result
    assert result.combine is not None
    form, bundles = find_format(spec.format), Bundles(spec)
    pairs = zip(bundles.elements(result, a), bundles.elements(result, b), strict=True)
    lanes = list(pairs)[: spec.word_elements(result)]
    labels = [Label(f"{name}{lane}", spec.label.source) for lane in range(len(lanes))]
    return Cat(form.combine(m, label, result.combine, result.word, left, right, result.latency)[: result.word.width]
               for label, (left, right) in zip(labels, lanes, strict=True))


def neutral_word(spec: ArraySpec) -> int:
    """The bits of a word of the result that changes nothing."""
    assert spec.result.combine is not None
    return _in_lanes(spec, find_format(spec.format).neutral(spec.result.combine, spec.result.word))


def start_word(spec: ArraySpec) -> int:
    """The bits of a word of the result that accumulators start from where there are no initial values."""
    assert spec.result.combine is not None
    return _in_lanes(spec, find_format(spec.format).start(spec.result.combine, spec.result.word))


def _in_lanes(spec: ArraySpec, element: int) -> int:
    width = spec.result.word.width
    element &= (1 << width) - 1
    return sum(element << (lane * width) for lane in range(spec.word_elements(spec.result)))


class Accumulator(wiring.Component):
    """`words` accumulators; an update per cycle, of the same one or of different ones. An operation of several cycles
    (`ResultSpec.latency`) makes updates of one entry come later than that after each other.

    Ports: `step` (`valid`, `first`, `last`, `entry`) comes one cycle before the `value` to combine; `initial`, what the
    first step combines it with, and `again`, whether the step with the same entry before it writes in this cycle, come
    with `step`. `push` says that `data` is a result: in the cycle of the `value`, or `ResultSpec.latency` later.
    """

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        bits = spec.word_bits(spec.result)
        self.step_layout = data.StructLayout({"valid": 1, "first": 1, "last": 1,
                                              "entry": max(1, address_bits(spec.result.accumulators))})
        super().__init__({
            "step": In(self.step_layout), "again": In(1), "initial": In(bits), "value": In(bits), "push": Out(1),
            "data": Out(bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        now = Signal(self.step_layout)  # with the value; `late` with the total
        base, total = (Signal(len(self.value), name=name) for name in ("base", "total"))
        m.d.sync += now.eq(self.step)
        delayed = Taps(m, Value.cast(1)).delayed(Value.cast(now), self._spec.result.latency, "late")
        late = data.View(self.step_layout, delayed)
        m.d.comb += [
            total.eq(combine_words(m, self._spec, "sum", base, self.value)), self.push.eq(late.valid & late.last),
            self.data.eq(total),
        ]
        words = self._spec.result.accumulators
        if words == 1:
            with m.If(late.valid):
                m.d.sync += base.eq(total)
            with m.If(self.step.valid & self.step.first):
                m.d.sync += base.eq(self.initial)
            return m
        m.submodules.memory = memory = Memory(shape=len(total), depth=words, init=[])
        writer = memory.write_port()
        m.d.comb += [writer.addr.eq(late.entry), writer.data.eq(total), writer.en.eq(late.valid)]
        step = self.step
        if words <= LUT_RAM_WORDS:
            reader = memory.read_port(domain="comb")
            m.d.comb += reader.addr.eq(step.entry)
            m.d.sync += base.eq(Mux(step.first, self.initial, Mux(self.again, total, reader.data)))
        else:
            reader = memory.read_port(transparent_for=(writer,))
            start = Signal.like(self.initial)
            m.d.sync += start.eq(self.initial)
            m.d.comb += [reader.addr.eq(step.entry), base.eq(Mux(now.first, start, reader.data))]
        return m
