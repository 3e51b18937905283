"""Functions of single elements on their way between main memory and the array."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.pipeline import Taps
from hw.dataflow.spec import Word
from hw.systolic.buffers import Skid
from hw.systolic.formats import find_format
from hw.systolic.spec import ArraySpec, Conversion, OperandSpec, ResultSpec

__all__ = ["Elementwise", "conversion_latency", "elementwise"]


class Elementwise(wiring.Component):
    """What a beat's elements become, all of them at once: a pipeline through which a beat passes per cycle.

    `beat`: layout of the beats that come, with ``data`` of elements `given`, and other fields, which stay what they
    are. Elements that leave are of word `wanted`. Ports: `i`, `o` (streams). Latency: that of the function, a register
    behind it and a register slice (`conversion_latency`).
    """

    def __init__(self, form: str, conversion: Conversion, beat: data.StructLayout, given: Word, wanted: Word):
        self._format = find_format(form)
        self._body = self._format.schedule(conversion.body)
        self._depth = self._body[-1].done + 1
        self._given, self._wanted = given, wanted
        self._count = beat["data"].width // given.width
        self._others = [name for name in beat.members if name != "data"]
        after = data.StructLayout(dict(beat.members) | {"data": self._count * wanted.width})
        super().__init__({"i": In(stream.Signature(beat)), "o": Out(stream.Signature(after))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slice = last = Skid(self.o.p.shape())
        en = Signal()
        taps = Taps(m, en)
        m.d.comb += [en.eq(last.i.ready | ~last.i.valid), self.i.ready.eq(en)]
        m.d.comb += [last.i.valid.eq(taps.delayed(self.i.valid, self._depth, "valid")),
                     last.i.p.data.eq(taps.delayed(self._elements(m, taps), 1, "data"))]
        for name in self._others:
            m.d.comb += last.i.p[name].eq(taps.delayed(Value.cast(self.i.p[name]), self._depth, name))
        connect(m, last.o, flipped(self.o))
        return m

    def _elements(self, m: Module, taps: Taps) -> Signal:
        """The elements' values, a cycle before they leave."""
        width = self._given.width
        found = Signal(self._count * self._wanted.width)
        for k in range(self._count):
            element, value = Signal(self._given.shape, name=f"element{k}"), Signal(self._wanted.shape, name=f"value{k}")
            m.d.comb += [
                element.eq(self.i.p.data[k * width : (k + 1) * width]),
                value.eq(self._format.build(m, taps, f"function{k}", self._body, [element])),
                found[k * self._wanted.width : (k + 1) * self._wanted.width].eq(value),
            ]
        return found


def elementwise(spec: ArraySpec, part: OperandSpec | ResultSpec, beat: data.StructLayout) -> Elementwise:
    """The conversion of `part`, for beats of layout `beat`."""
    assert part.conversion is not None
    words = part.in_memory.word, part.word
    given, wanted = words if isinstance(part, OperandSpec) else words[::-1]
    return Elementwise(spec.format, part.conversion, beat, given, wanted)


def conversion_latency(spec: ArraySpec, part: OperandSpec | ResultSpec) -> int:
    """Cycles that a conversion adds to the way of a beat; 0 if `part` has none."""
    if part.conversion is None:
        return 0
    return find_format(spec.format).schedule(part.conversion.body)[-1].done + 2
