"""Functions of single elements on their way between main memory and the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.spec import Word
from hw.dma.register_slice import Skid
from hw.labels import Label
from hw.lib.taps import Taps
from hw.systolic.formats import find_format
from hw.systolic.spec import ArraySpec, Conversion, OperandSpec, ResultSpec

__all__ = ["Elementwise", "conversion_latency", "elementwise"]


class Elementwise(wiring.Component):
    """What a beat's elements become, all of them at once: a pipeline through which a beat passes per cycle.

    `beat`: layout of the beats that come, with ``data`` of elements `given`, and other fields, which stay what they
    are. Elements that leave are of word `wanted`. Ports: `i`, `o` (streams); for each of `extras`, words of elements
    that belong to those of the same beat, `extra_K` (stream of as many of them). Latency: that of the function, a
    register behind it and a register slice (`conversion_latency`).
    """

    def __init__(self, form: str, conversion: Conversion, beat: data.StructLayout, given: Word, wanted: Word,
                 extras: Sequence[Word] = ()):
        self._format = find_format(form)
        self._body = self._format.schedule(conversion.body)
        self._depth = self._body[-1].done + 1
        self._wanted = wanted
        self._count = beat["data"].width // given.width
        self._others = [name for name in beat.members if name != "data"]
        after = data.StructLayout(dict(beat.members) | {"data": self._count * wanted.width})
        self._words = [given, *extras]
        others = {f"extra_{k}": In(stream.Signature(data.StructLayout({"data": self._count * word.width})))
                  for k, word in enumerate(extras)}
        super().__init__({"i": In(stream.Signature(beat)), "o": Out(stream.Signature(after)), **others})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slice = last = Skid(self.o.p.shape())
        en = Signal()
        taps = Taps(m, en)
        sources = self._sources
        come = Cat(source.valid for source in sources).all()
        m.d.comb += [en.eq(last.i.ready | ~last.i.valid), *(source.ready.eq(en & come) for source in sources)]
        m.d.comb += [last.i.valid.eq(taps.delayed(come, self._depth, "valid")),
                     last.i.p.data.eq(taps.delayed(self._elements(m, taps), 1, "data"))]
        for name in self._others:
            m.d.comb += last.i.p[name].eq(taps.delayed(Value.cast(self.i.p[name]), self._depth, name))
        connect(m, last.o, flipped(self.o))
        return m

    @property
    def _sources(self) -> list[Any]:
        """The streams that come."""
        return [self.i, *(getattr(self, f"extra_{k}") for k in range(len(self._words) - 1))]

    def _elements(self, m: Module, taps: Taps) -> Signal:
        """The elements' values, a cycle before they leave."""
        found = Signal(self._count * self._wanted.width)
        for k in range(self._count):
            elements: list[Value] = []
            for n, (word, source) in enumerate(zip(self._words, self._sources, strict=True)):
                elements.append(Signal(word.shape, name=f"element{k}_{n}"))
                m.d.comb += elements[n].eq(source.p.data[k * word.width : (k + 1) * word.width])
            value = Signal(self._wanted.shape, name=f"value{k}")
            m.d.comb += [
                value.eq(self._format.build(m, taps, Label(f"function{k}"), self._body, elements)),
                found[k * self._wanted.width : (k + 1) * self._wanted.width].eq(value),
            ]
        return found


def elementwise(spec: ArraySpec, part: OperandSpec | ResultSpec, beat: data.StructLayout) -> Elementwise:
    """The conversion of `part`, for beats of layout `beat`."""
    assert part.conversion is not None
    kept, word = part.in_memory.word, part.word
    if isinstance(part, OperandSpec):
        return Elementwise(spec.format, part.conversion, beat, kept, word)
    return Elementwise(spec.format, part.conversion, beat, word, kept, [extra.word for extra in spec.extras])


def conversion_latency(spec: ArraySpec, part: OperandSpec | ResultSpec) -> int:
    """Cycles that a conversion adds to the way of a beat; 0 if `part` has none."""
    if part.conversion is None:
        return 0
    return find_format(spec.format).schedule(part.conversion.body)[-1].done + 2
