"""Between beats of main memory and beats of the chains on the chip."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dataflow.registers import element_bytes
from hw.systolic.bundles import chain_beat, hop_fields, result_beat
from hw.systolic.spec import ArraySpec, OperandSpec, ResultSpec

__all__ = ["FromMemory", "Narrow", "ToMemory", "Widen"]


class Narrow(wiring.Component):
    """Words of `count` times `bits` bits into `count` words, the lowest first; a word per cycle. The register that they
    wait in takes them as they come: behind block RAM it can be that memory's own.

    Ports: `i`, `o`; `drop`, together with the last word of interest taken from `o`: the rest is thrown away.
    """

    def __init__(self, bits: int, count: int):
        self._bits, self._count = bits, count
        super().__init__({"i": In(stream.Signature(bits * count)), "o": Out(stream.Signature(bits)), "drop": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, left = Signal(self._bits * self._count, reset_less=True), Signal(range(self._count + 1))
        place, one = Signal(range(self._count)), Signal()  # one: that many are left
        m.d.comb += [
            self.o.payload.eq(held.word_select(place, self._bits)),
            self.i.ready.eq(~self.o.valid | (self.o.ready & (one | self.drop))),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [held.eq(self.i.payload), left.eq(self._count), place.eq(0), self.o.valid.eq(1),
                         one.eq(self._count == 1)]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += [left.eq(left - 1), place.eq(place + 1), self.o.valid.eq(~one & ~self.drop), one.eq(left == 2)]
        return m


class Widen(wiring.Component):
    """`count` words of `bits` bits into one, the lowest first; fewer if the last of them comes with `flush`."""

    def __init__(self, bits: int, count: int):
        self._bits, self._count = bits, count
        super().__init__({"i": In(stream.Signature(bits)), "flush": In(1), "o": Out(stream.Signature(bits * count))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place, go, full = Signal(range(self._count)), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~self.o.valid | self.o.ready), go.eq(self.i.valid & self.i.ready),
            full.eq(self.flush | (place == self._count - 1)),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(go):
            m.d.sync += [self.o.valid.eq(full), place.eq(Mux(full, 0, place + 1))]
        for k in range(self._count):  # taken whether valid or not: no handshake has to reach so many registers
            with m.If(self.i.ready & (place == k)):
                m.d.sync += self.o.payload[k * self._bits : (k + 1) * self._bits].eq(self.i.payload)
        return m


class FromMemory(wiring.Component):
    """Tiles of an operand as they lie in memory into beats of its chain, before its conversion.

    Ports: `i` (beats of memory), `o` (`chain_beat`).
    """

    def __init__(self, spec: ArraySpec, operand: OperandSpec):
        self._spec, self._operand = spec, operand.in_memory
        super().__init__({"i": In(stream.Signature(spec.bus_bits)),
                          "o": Out(stream.Signature(chain_beat(spec, self._operand)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec, operand = self._spec, self._operand
        bits = 8 * operand.pack * spec.word_bytes(operand)
        last = Signal()
        if bits <= spec.bus_bits:
            m.submodules.narrow = part = Narrow(bits, spec.bus_bits // bits)
            m.d.comb += part.drop.eq(last)
        else:
            m.submodules.widen = part = Widen(spec.bus_bits, bits // spec.bus_bits)
        connect(m, flipped(self.i), part.i)
        m.d.comb += [
            self.o.valid.eq(part.o.valid), part.o.ready.eq(self.o.ready),
            self.o.p.data.eq(_from_bytes(spec, operand, part.o.payload)),
        ]
        self._count(m, last)
        return m

    def _count(self, m: Module, last: Signal) -> None:
        """A beat of every feeder, from the farthest on, then their next ones; `last`: a tile ends."""
        beats = self._spec.feeder_beats(self._operand)
        step, ends = Signal(), Signal(range(beats), name="place", init=beats - 1)
        counters = [(count, Signal(range(count), name=name, init=count - 1))
                    for name, count in hop_fields(self._spec, self._operand).items()]
        m.d.comb += step.eq(self.o.valid & self.o.ready)
        over: Value = Const(1)
        for count, counter in reversed([(beats, ends), *counters]):
            with m.If(step & over):
                m.d.sync += counter.eq(Mux(counter == 0, count - 1, counter - 1))
            over = over & (counter == 0)
        m.d.comb += [last.eq(over), *(self.o.p[counter.name].eq(counter) for count, counter in counters if count > 1)]


class ToMemory(wiring.Component):
    """Beats of results after their conversion into tiles as they lie in memory; up to a beat of memory per cycle.

    Ports: `i` (`result_beat`), `o` (beats of memory).
    """

    def __init__(self, spec: ArraySpec):
        self._spec, self._result = spec, spec.result.in_memory
        bits = spec.result.pack * spec.word_bits(self._result)
        super().__init__({"i": In(stream.Signature(result_beat(bits))), "o": Out(stream.Signature(spec.bus_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec, result = self._spec, self._result
        bits = 8 * result.pack * spec.word_bytes(result)
        if bits < spec.bus_bits:
            m.submodules.widen = part = Widen(bits, spec.bus_bits // bits)
            m.d.comb += part.flush.eq(self._last(m))
        else:
            m.submodules.narrow = part = Narrow(spec.bus_bits, bits // spec.bus_bits)
        m.d.comb += [
            part.i.payload.eq(_to_bytes(spec, result, self.i.p.data)), part.i.valid.eq(self.i.valid),
            self.i.ready.eq(part.i.ready),
        ]
        connect(m, part.o, flipped(self.o))
        return m

    def _last(self, m: Module) -> Value:
        """Last beat of a tile: of the last round."""
        rounds = self._spec.exit_beats
        number, last = Signal(range(rounds)), Signal()
        m.d.comb += last.eq(self.i.p.end & (number == rounds - 1))
        with m.If(self.i.valid & self.i.ready & self.i.p.end):
            m.d.sync += number.eq(Mux(last, 0, number + 1))
        return last


def _from_bytes(spec: ArraySpec, operand: OperandSpec, beat: Value) -> Value:
    """The elements in a beat of `pack` words, without the bits that only memory has."""
    size, element = 8 * spec.word_bytes(operand), 8 * element_bytes(operand.word.width)
    places = [word * size + lane * element for word in range(operand.pack) for lane in
              range(spec.word_elements(operand))]
    return Cat(beat[place : place + operand.word.width] for place in places)


def _to_bytes(spec: ArraySpec, result: ResultSpec, beat: Value) -> Value:
    """The elements of a beat extended to whole bytes, words to their size in memory."""
    width, size = result.word.width, 8 * spec.word_bytes(result)
    element, count = 8 * element_bytes(width), spec.word_elements(result)
    parts: list[Value] = []
    for word in range(result.pack):
        for lane in range(count):
            start = (word * count + lane) * width
            value = beat[start : start + width]
            sign = value[-1] if result.word.signed else Value.cast(0)
            parts += [value, sign.replicate(element - width)]
        parts.append(Value.cast(0).replicate(size - count * element))
    return Cat(parts)
