"""The mask: the wavefronts that have an active element, and which elements these are.

Only active wavefronts are stored, one after the other, each with its number; so a masked instruction that goes through
the store spends no cycle on the others. Liu 2012, chapter 6, lists conditional execution as missing.
"""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.spec import VectorSpec

__all__ = ["MaskUnit"]


class MaskUnit(wiring.Component):
    """Stores the mask, and offers its active wavefronts in a circle.

    Reading: `number` and `bits` (W, by byte) are an active wavefront, `last` the last of them; `next` goes on to the
    following one, which is there a cycle later; after the last comes the first. `empty`: there is none. `ready`: no
    mask setup is under way.

    Setup: `begin` pulses when the sequencer starts one. `issued` and `issued_end` come with each of its wavefronts
    (number `issued_number`) and with the last one; `test` (W bits) follows `lag` cycles later. A setup under the mask
    may read it meanwhile: what it writes is never ahead of what it reads. `waves`: active wavefronts.
    """

    def __init__(self, spec: VectorSpec, lag: int) -> None:
        self.spec, self.lag = spec, lag
        self._number = range(spec.mask_waves)
        super().__init__({
            "number": Out(self._number), "bits": Out(spec.row_bytes), "last": Out(1), "empty": Out(1), "ready": Out(1),
            "next": In(1), "begin": In(1), "issued": In(1), "issued_end": In(1), "issued_number": In(self._number),
            "test": In(spec.row_bytes), "waves": Out(range(spec.mask_waves + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = data.StructLayout({"number": len(self.number), "bits": self.spec.row_bytes})
        memory = Memory(shape=layout, depth=self.spec.mask_waves, init=[])
        m.submodules.memory = memory
        read, write = memory.read_port(), memory.write_port()
        tested, ends, number = self._delayed(m)
        filled, busy = Signal(range(self.spec.mask_waves + 1)), Signal(3)
        total = Signal.like(filled)
        m.d.comb += [
            write.en.eq(tested & self.test.any()), write.addr.eq(filled), write.data.number.eq(number),
            write.data.bits.eq(self.test), total.eq(filled + write.en), self.ready.eq(busy == 0),
        ]
        with m.If(tested):
            m.d.sync += filled.eq(Mux(ends, 0, total))
        with m.If(tested & ends):
            m.d.sync += self.waves.eq(total)
        # Two cycles more, in which the first wavefront of the new mask is read, and taken out of the memory.
        with m.If(self.begin):
            m.d.sync += busy.eq(0b111)
        with m.Elif((tested & ends) | ~busy[2]):
            m.d.sync += busy.eq(busy >> 1)
        self._offer(m, read, tested & ends, busy == 1)
        return m

    def _delayed(self, m: Module) -> tuple[Value, Value, Value]:
        """What was issued `lag` cycles ago."""
        stages: list[Value] = [Cat(self.issued, self.issued & self.issued_end, self.issued_number)]
        for stage in range(self.lag):
            stages.append(Signal(len(stages[0]), name=f"issued{stage}"))
            m.d.sync += stages[-1].eq(stages[-2])
        final = stages[-1]
        return final[0], final[1], final[2:]

    def _offer(self, m: Module, read: ReadPort, restart: Value, fill: Value) -> None:
        """From registers: behind the memory, little time of a cycle is left. It shows the wavefront after the one that
        is offered; after `restart` the first one, which `fill` offers."""
        shown, following = Signal(self._number), Signal(self._number)
        goes_on, is_last = Signal(), Signal()
        m.d.comb += [
            goes_on.eq(self.next | fill), is_last.eq(shown + 1 == self.waves), self.empty.eq(self.waves == 0),
            following.eq(Mux(restart, 0, Mux(goes_on, Mux(is_last, 0, shown + 1), shown))),
            read.addr.eq(following), read.en.eq(1),
        ]
        m.d.sync += shown.eq(following)
        with m.If(goes_on):
            m.d.sync += [self.number.eq(read.data.number), self.bits.eq(read.data.bits), self.last.eq(is_last)]
