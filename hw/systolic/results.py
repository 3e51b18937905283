"""Where results are completed: accumulators with their queue, in a PE or at the east edge."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.lib.taps import Taps
from hw.systolic.accumulator import Accumulator, neutral_word
from hw.systolic.buffers import Queue
from hw.systolic.bundles import Bundles, field, part_of
from hw.systolic.partial_sums import PartialSums
from hw.systolic.spec import ArraySpec

__all__ = ["Results", "rested"]


def rested(m: Module, spec: ArraySpec, start: Signal) -> Value:
    """Whether the step before, which began with `start`, is `ArraySpec.interval` cycles ago."""
    cycles = spec.interval
    if cycles == 1:
        return Const(1, 1)
    wait = Signal(range(cycles))
    with m.If(start):
        m.d.sync += wait.eq(cycles - 1)
    with m.Elif(wait != 0):
        m.d.sync += wait.eq(wait - 1)
    return wait == 0


class Results(wiring.Component):
    """Accumulators and the queue of their results, which has room for a tile, so that steps never wait for another PE.

    Ports: `control` (fields of `Bundles.control`) of a step that starts when `start` is high; only while `ready`.
    `value`, which is combined, comes `latency` cycles later, and `initial` one cycle before. `o`: results;
    `push`: one has been completed. The owner keeps steps `ArraySpec.interval` cycles apart.
    """

    def __init__(self, spec: ArraySpec, latency: int):
        self._spec, self._latency = spec, latency
        self._control = data.StructLayout(Bundles(spec).control or {"nothing": 1})
        bits = spec.word_bits(spec.result)
        super().__init__({
            "start": In(1), "ready": Out(1), "control": In(self._control), "initial": In(bits), "value": In(bits),
            "o": Out(stream.Signature(bits)), "push": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, bits = self._spec.result.words, len(self.value)
        m.submodules.queue = queue = Queue(bits, words)
        connect(m, queue.o, flipped(self.o))
        m.d.comb += [queue.push.eq(self.push), queue.data.eq(self._total(m))]
        self._room(m, queue.o.valid & queue.o.ready)
        return m

    def _room(self, m: Module, pop: Value) -> None:
        """Steps that complete a result wait for a place in the queue; `begin` waits for all of them."""
        words = self._spec.result.words
        room = Signal(range(words + 2), init=words)  # a cycle late: few signals have a say in whether there is any
        some, several, empty = Signal(init=1), Signal(init=int(words > 1)), Signal(init=1)  # at least 1, 2; all
        last = field(self.control, "last", default=1)
        if self._spec.result.parts > 1:
            last &= part_of(self._spec, self.control.entry).all()
        take, given, took, got = (Signal(name=name) for name in ("take", "given", "took", "got"))
        m.d.comb += [take.eq(self.start & last), given.eq(pop), self.ready.eq(some | ~last)]

        def is_now(number: int) -> Value:
            return Mux(took == got, room == number, Mux(took, room == number + 1, room == number - 1))

        m.d.sync += [
            took.eq(take), got.eq(given), room.eq(room + got - took), some.eq(several | given | (some & ~take)),
            several.eq(Mux(given, take & several | ~take & some, several & ~(take & is_now(2)))),
            empty.eq(~take & Mux(given, is_now(words - 1), empty)),
        ]
        if not self._spec.result.double_buffered:
            m.d.comb += self.ready.eq((some | ~last) & (empty | ~self.control.begin))

    def _total(self, m: Module) -> Value:
        """What goes into the queue, in the cycle of the value."""
        taps = Taps(m, Value.cast(1))
        if self._spec.result.combine is None:
            m.d.comb += self.push.eq(taps.delayed(self.start, self._latency, "valid"))
            return self.value
        m.submodules.accumulator = accumulator = Accumulator(self._spec)
        step = accumulator.step
        fields = {"valid": Value.cast(self.start)} | {
            name: field(self.control, name) for name in ("first", "last", "entry")}
        m.d.comb += [step[name].eq(taps.delayed(value, self._latency - 1, name)) for name, value in fields.items()]
        # An update ends when its entry may be read again.
        updates, entry = (taps.delayed(step[name], self._spec.result.latency, f"updated_{name}")
                          for name in ("valid", "entry"))
        again = updates & (entry == taps.delayed(fields["entry"], self._latency - 2, "entry"))
        m.d.sync += accumulator.again.eq(again)
        initial: Value = self.initial
        m.d.comb += accumulator.value.eq(self.value)
        if self._spec.result.parts > 1:
            nothing = Const(neutral_word(self._spec), len(initial))
            initial = Mux(part_of(self._spec, step.entry).any(), nothing, initial)
            m.submodules.parts = parts = PartialSums(self._spec)
            m.d.comb += [parts.push.eq(accumulator.push), parts.data.eq(accumulator.data)]
            complete, total = parts.complete, parts.total
        else:
            complete, total = accumulator.push, accumulator.data
        m.d.comb += [accumulator.initial.eq(initial), self.push.eq(complete)]
        return total


