"""The data path of the scratchpad DMA engine: words of one alignment into words of another, one per cycle.

Rows follow each other without a gap. A row costs as many cycles as it has words in the source or in the target,
whichever is more. It costs another one if both are the same number and the row begins in a lower lane of the target
than of the source, but the next row does not: the last word of such a row comes entirely from the word taken before,
and goes out while the first word of the next row of that kind comes in.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.packing import rotate_bytes
from hw.dma.scratchpad_spec import ScratchpadDmaSpec

__all__ = ["Realigner", "RowPlanner", "Skid", "Spare"]


class Skid(wiring.Component):
    """Two places for a stream, so that no path leads through: ports `input` and `output`, latency one cycle."""

    def __init__(self, shape: Any):
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spare, full = Signal.like(Value.cast(self.input.payload)), Signal()
        room = ~self.output.valid | self.output.ready
        m.d.comb += self.input.ready.eq(~full)
        with m.If(room):
            m.d.sync += [self.output.valid.eq(full | self.input.valid), full.eq(0)]
            m.d.sync += Value.cast(self.output.payload).eq(Mux(full, spare, self.input.payload))
        with m.Elif(self.input.valid & ~full):
            m.d.sync += [spare.eq(self.input.payload), full.eq(1)]
        return m


class Spare(wiring.Component):
    """A spare place for a stream, so that `input` is ready out of a register; what comes goes on in the same cycle."""

    def __init__(self, shape: Any):
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        came, leaves = Value.cast(self.input.payload), Value.cast(self.output.payload)
        spare, full = Signal.like(came), Signal()
        m.d.comb += [
            self.input.ready.eq(~full), self.output.valid.eq(full | self.input.valid),
            leaves.eq(Mux(full, spare, came)),
        ]
        m.d.sync += full.eq(self.output.valid & ~self.output.ready)
        with m.If(~full):
            m.d.sync += spare.eq(came)
        return m


class RowPlanner(wiring.Component):
    """Turns rows into steps of the data path, one per cycle, the first one three cycles after its row.

    Ports: `row` (stream of `spec.move`), `step` (stream of `spec.step`, from registers).
    """

    def __init__(self, spec: ScratchpadDmaSpec, target_bits: int):
        self.spec = spec
        self._target_bits = target_bits
        super().__init__({
            "row": In(stream.Signature(spec.move(target_bits))),
            "step": Out(stream.Signature(spec.step(target_bits))),
        })
        lane = spec.lane_bits
        self._plan = data.StructLayout({
            "rotate": lane, "wraps": 1, "left": spec.address_bits + 2 - lane, "unit": target_bits - lane, "low": lane,
            "high": lane, "tail": 1, "last": 1,
        })
        self._tail = data.StructLayout({"unit": target_bits - lane, "low": lane, "high": lane, "last": 1})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        following, plan = stream.Signature(self._plan).create(), Signal(self._plan)
        tail, tail_due = Signal(self._tail), Signal()
        active, silent, take, go, over = Signal(), Signal(), Signal(), Signal(), Signal()
        first = Signal()  # the row's first word has not been taken
        fresh = Signal()  # nothing of the row has been emitted
        self._prepare(m, following)
        m.d.comb += [
            silent.eq(first & plan.wraps),
            take.eq(active & (~tail_due | silent)),
            go.eq((~self.step.valid | self.step.ready) & (active | tail_due)),
            over.eq(go & take & (plan.left == 0)),
            following.ready.eq(~active | over),
        ]
        with m.If(self.step.ready):
            m.d.sync += self.step.valid.eq(0)
        with m.If(go):
            m.d.sync += [self.step.valid.eq(1), self._step(plan, take, silent, fresh, tail, tail_due), tail_due.eq(0)]
            with m.If(take):
                m.d.sync += [first.eq(0), fresh.eq(fresh & silent), plan.left.eq(plan.left - 1),
                             plan.unit.eq(plan.unit + ~silent)]
        with m.If(over):
            m.d.sync += [
                tail_due.eq(plan.tail), tail.unit.eq(plan.unit + ~silent), tail.low.eq(Mux(silent, plan.low, 0)),
                tail.high.eq(plan.high), tail.last.eq(plan.last),
            ]
        with m.If(following.ready):
            m.d.sync += [plan.eq(following.p), active.eq(following.valid), first.eq(1), fresh.eq(1)]
        return m

    def _prepare(self, m: Module, following: Any) -> None:
        """How a row goes, in a register. Its last word is a `tail` if no byte of the source's last word is in it."""
        row, lanes = self.row.p, self.spec.lane_bits
        low, rotate = row.target[:lanes], Signal(lanes)
        high = Signal(lanes)
        m.d.comb += [
            rotate.eq(low - row.source), high.eq(low + row.bytes - 1),
            self.row.ready.eq(~following.valid | following.ready),
        ]
        with m.If(self.row.ready):
            m.d.sync += [
                following.valid.eq(self.row.valid),
                following.p.rotate.eq(rotate), following.p.wraps.eq(low < row.source),
                following.p.left.eq((row.source + row.bytes - 1) >> lanes), following.p.unit.eq(row.target[lanes:]),
                following.p.low.eq(low), following.p.high.eq(high), following.p.tail.eq(high < rotate),
                following.p.last.eq(row.last),
            ]

    def _step(self, plan: data.View, take: Value, silent: Value, fresh: Value, tail: data.View, tail_due: Value) -> Any:
        step, most = self.step.p, self.spec.memory_bytes - 1
        ends = (plan.left == 0) & ~plan.tail
        return [
            step.take.eq(take), step.rotate.eq(plan.rotate), step.emit.eq(tail_due | ~silent), step.whole.eq(tail_due),
            step.unit.eq(Mux(tail_due, tail.unit, plan.unit)),
            step.low.eq(Mux(tail_due, tail.low, Mux(fresh, plan.low, 0))),
            step.high.eq(Mux(tail_due, tail.high, Mux(ends, plan.high, most))),
            step.row_last.eq(tail_due | ends), step.job_last.eq(Mux(tail_due, tail.last, ends & plan.last)),
        ]


class Realigner(wiring.Component):
    """Does the steps.

    Ports: `step` (stream of `spec.step`), `source` (stream of M bytes), `word` (stream of `spec.word`). Latency two
    cycles. `word` and the readiness of `source` come from registers and `step` alone.
    """

    def __init__(self, spec: ScratchpadDmaSpec, target_bits: int):
        self.spec = spec
        self._step = spec.step(target_bits)
        self._word = spec.word(target_bits)
        super().__init__({
            "step": In(stream.Signature(self._step)),
            "source": In(stream.Signature(spec.data_width)),
            "word": Out(stream.Signature(self._word)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.output = output = Skid(self._word)
        connect(m, output.output, flipped(self.word))
        turned, held = Signal(self.spec.data_width), Signal(self.spec.data_width)
        step, valid, leaves, room, go = Signal(self._step), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            leaves.eq(valid & (~step.emit | output.input.ready)),
            room.eq(~valid | leaves),
            go.eq(self.step.valid & room & (self.source.valid | ~self.step.p.take)),
            self.step.ready.eq(room & (self.source.valid | ~self.step.p.take)),
            self.source.ready.eq(self.step.valid & self.step.p.take & room),
        ]
        arriving = rotate_bytes(m, self.source.payload, self.step.p.rotate, self.spec.memory_bytes)
        with m.If(leaves):
            m.d.sync += valid.eq(0)
            with m.If(step.take):
                m.d.sync += held.eq(turned)
        with m.If(go):
            m.d.sync += [valid.eq(1), step.eq(self.step.p)]
            m.d.sync += turned.eq(arriving)
        m.d.comb += [output.input.valid.eq(valid & step.emit), self._merge(output.input.p, step, turned, held)]
        return m

    def _merge(self, word: data.View, step: data.View, turned: Value, held: Value) -> Any:
        lanes = range(self.spec.memory_bytes)
        older = [step.whole | (step.rotate > lane) for lane in lanes]
        chosen = (Mux(older[lane], held.word_select(lane, 8), turned.word_select(lane, 8)) for lane in lanes)
        return [
            word.data.eq(Cat(chosen)),
            word.strobe.eq(Cat((step.low <= lane) & (step.high >= lane) for lane in lanes)),
            word.unit.eq(step.unit), word.row_last.eq(step.row_last), word.job_last.eq(step.job_last),
        ]
