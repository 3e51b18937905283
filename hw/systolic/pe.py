"""The processing element."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.lib.taps import Taps
from hw.systolic.accumulator import combine_words, neutral_word, start_word
from hw.systolic.buffers import SumQueue, step_queue
from hw.systolic.bundles import Bundles, chain_beat, field, part_of, result_beat
from hw.systolic.compute import Compute
from hw.systolic.convert import Widen
from hw.systolic.drain import Merge
from hw.systolic.edges import nearer
from hw.systolic.feeder import Feeder, feeder_latency
from hw.systolic.results import Results, rested
from hw.systolic.spec import EAST, INTERIOR, ArraySpec
from hw.technology import technology_of

__all__ = ["ProcessingElement", "partial_result"]


def partial_result(spec: ArraySpec) -> data.StructLayout:
    """A partial result on its way to a neighbour."""
    return data.StructLayout({"valid": 1, "data": spec.word_bits(spec.result)})


class ProcessingElement(wiring.Component):
    """A PE: takes a step when it and its words are there and both neighbours have room, one step per cycle; whatever
    has been started comes out a fixed number of cycles later.

    Ports: `head`, a constant: in the first column. `west`, `east`: steps with the words that go east; `north`, `south`:
    words that go south, if there are such operands. `fill_K`, `next_K`: daisy chain of the `INTERIOR` operand K.
    With a reduction in space `sum_i`, `sum_o` (`partial_result`), else `upstream`, `drain` (results) and `completed`: a
    result has been completed.
    """

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        self._bundles = bundles = Bundles(spec)
        ports = {"head": In(1), "west": In(stream.Signature(bundles.east)), "east": Out(stream.Signature(bundles.east))}
        if bundles.goes_south:
            ports |= {"north": In(stream.Signature(bundles.south)), "south": Out(stream.Signature(bundles.south))}
        for k, operand in bundles.operands(INTERIOR):
            beats = stream.Signature(chain_beat(spec, operand))
            ports |= {f"fill_{k}": In(beats), f"next_{k}": Out(beats)}
        if spec.result.space == "none":
            beats = stream.Signature(result_beat(spec.result.row_pack * spec.word_bits(spec.result)))
            ports |= {"upstream": In(beats), "drain": Out(beats), "completed": Out(1)}
        else:
            ports |= {"sum_i": In(partial_result(spec)), "sum_o": Out(partial_result(spec))}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        start = Signal()
        taps, compute = Taps(m, Value.cast(1)), Compute(self._spec)
        m.submodules.west_steps = west = step_queue(self._bundles.east, self._spec.delay("columns"))
        connect(m, flipped(self.west), west.i)
        reads = self._operands(m, taps, compute.reading, west.o.p, start)
        left = [west.o.p[f"left_{k}"] for k in range(len(self._spec.guards))]
        value = Signal(self._spec.word_bits(self._spec.result))
        m.d.comb += value.eq(compute.build(m, taps, reads, left, technology_of(platform).units(m, taps)))
        initial = next((read for read, o in zip(reads, self._spec.operands, strict=True) if o.initial), None)
        if self._spec.result.space == "none":
            room = self._complete(m, taps, compute, west.o.p, start, value, initial)
        else:
            room = self._pass_sum(m, taps, compute, west.o.p, start, value, initial)
        self._proceed(m, west.o, start, room)
        return m

    def _operands(self, m: Module, taps: Taps, reading: int, step: data.View, start: Signal) -> list[Value]:
        """The words of all operands `reading` cycles after the start."""
        self._full: list[Value] = []
        words: list[Value] = []
        if self._bundles.goes_south:
            m.submodules.north_steps = north = step_queue(self._bundles.south, self._spec.delay("rows"))
            connect(m, flipped(self.north), north.i)
            self._north = north.o
        for k, operand in enumerate(self._spec.operands):
            if operand.direction == INTERIOR:
                word = self._interior(m, k, step, start)
                late = reading - feeder_latency(self._spec, operand)
                words.append(taps.delayed(word, late, f"word_{k}", reset_less=True))
                continue
            source = step if operand.direction == EAST else self._north.p
            word = Signal(self._spec.word_bits(operand), name=f"word_{k}", reset_less=True)
            m.d.sync += word.eq(source[f"data_{k}"])
            words.append(taps.delayed(word, reading - 1, f"word_{k}", reset_less=True))
        return words

    def _interior(self, m: Module, number: int, step: data.View, start: Signal) -> Value:
        feeder = Feeder(self._spec, self._spec.operands[number])
        m.submodules[f"feeder_{number}"] = feeder
        connect(m, flipped(getattr(self, f"fill_{number}")), feeder.fill)
        connect(m, feeder.next, flipped(getattr(self, f"next_{number}")))
        m.d.comb += [
            feeder.read.eq(start), feeder.advance.eq(1), feeder.release.eq(step[f"release_{number}"]),
            feeder.claim.eq(field(step, f"claim_{number}")), feeder.address.eq(field(step, f"address_{number}")),
        ]
        self._full.append(feeder.full)
        return feeder.word

    def _complete(self, m: Module, taps: Taps, compute: Compute, step: data.View, start: Signal, value: Value,
                  initial: Value | None) -> Value:
        """Accumulate here; results go along the row. Returns whether the step can start."""
        m.submodules.results = results = Results(self._spec, compute.latency)
        pack = self._spec.result.row_pack
        m.submodules.merge = merge = Merge(pack * len(value))
        if pack > 1:
            m.submodules.packer = packer = Widen(len(value), pack)
            connect(m, results.o, packer.i)
            connect(m, packer.o, merge.own)
        else:
            connect(m, results.o, merge.own)
        connect(m, flipped(self.upstream), merge.upstream)
        connect(m, merge.o, flipped(self.drain))
        m.d.comb += [merge.head.eq(self.head), results.start.eq(start), results.value.eq(value),
                     self.completed.eq(results.push)]
        m.d.comb += [results.control[name].eq(step[name]) for name in self._bundles.control]
        if self._bundles.accumulates:
            late = None if initial is None else taps.delayed(initial, compute.latency - 1 - compute.reading, "initial")
            m.d.comb += results.initial.eq(start_word(self._spec) if late is None else late)
        return results.ready

    def _pass_sum(self, m: Module, taps: Taps, compute: Compute, step: data.View, start: Signal, value: Value,
                  initial: Value | None) -> Value:
        """Combine with what comes from the west, in the cycle of the value; the sum goes on to the east."""
        cycles = self._spec.result.latency
        m.submodules.sums = sums = SumQueue(len(value), self._spec.delay("columns"))
        now = taps.delayed(start, compute.latency, "valid")
        head: Value = Const(neutral_word(self._spec), len(value))
        if initial is not None:
            begins = step.first
            if self._spec.result.parts > 1:
                begins = Signal()
                m.d.comb += begins.eq(step.first & ~part_of(self._spec, step.entry).any())
            first = taps.delayed(begins, compute.latency, "first")
            head = Mux(first, taps.delayed(initial, compute.latency - compute.reading, "initial"), head)
        m.d.comb += [
            sums.push.eq(self.sum_i.valid), sums.data.eq(self.sum_i.data), sums.pop.eq(now),
            self.sum_o.valid.eq(taps.delayed(now, cycles, "summed")),
            self.sum_o.data.eq(combine_words(m, self._spec, "sum", Mux(self.head, head, sums.head), value)),
        ]
        return Const(1)

    def _proceed(self, m: Module, west: wiring.PureInterface, start: Signal, room: Value) -> None:
        """A step starts when everything is there; it goes on to the neighbours in the same cycle."""
        able = Signal()
        here = west.valid & Cat(self._full).all() & room & self.east.ready & rested(m, self._spec, start)
        m.d.comb += [
            self.east.valid.eq(start), west.ready.eq(start), nearer(self._spec, self.east.p, west.p, "columns"),
            able.eq(here),
        ]
        if not self._bundles.goes_south:
            m.d.comb += start.eq(able)
            return
        m.d.comb += [
            start.eq(able & self._north.valid & self.south.ready), self._north.ready.eq(start),
            self.south.valid.eq(start), self.south.p.eq(self._north.p),
        ]
