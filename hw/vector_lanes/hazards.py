"""The interlock: a wavefront is issued when everything that it reads has been written, exact to the byte.

A wavefront that is issued writes a fixed number of cycles later; an accumulated row some cycles after that. Behind the
point of issue is a delay line of what is still to be written. A wavefront is compared with it one cycle before it
could be issued, against where each entry will be by then; so at issue only bits are looked at. Liu 2012, section
2.2.1, has the bubbles that this makes, and 6.1.4 asks for better detection than by whole instructions.
"""

from __future__ import annotations

from collections.abc import Iterator

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.wires import wire
from hw.vector_lanes.core_layouts import wave_layout
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Interlock", "pending_layout"]


def pending_layout(spec: VectorSpec) -> data.StructLayout:
    """A write to come: of a wavefront's results (`writes`), or of an accumulated row or floating-point results
    (`sums`), which are later."""
    return data.StructLayout({
        "writes": 1, "sums": 1, "address": spec.address_bits, "bytes": spec.row_bytes.bit_length(), "end": 1,
    })


def touches(m: Module, address: Value, count: Value, other: Value, other_count: Value) -> Value:
    """Whether `count` >= 1 bytes from `address` on and `other_count` >= 1 bytes from `other` on have one in common.

    One carry chain for the distance; of what is left, only the low bits are compared with the counts.
    """
    low = len(count)
    distance = wire(m, "distance", (address - other)[: max(len(address), low) + 1])
    near, below = distance[:low], distance[low:]
    after = ~below.any() & (near < other_count)
    before = below.all() & (near > (-count)[:low])
    return after | before


class Interlock(wiring.Component):
    """Takes wavefronts and issues them, one per cycle or after bubbles.

    `lag` cycles after the cycle of issue the results are written (`sum_lag` > `lag`: row sums); what is issued more
    than that later may read them. `pause` forbids an issue in this cycle. `issued` says that `issue` starts in this
    cycle: its read addresses belong to it. `writes`: results leave in this cycle, to `write_address`;
    `retired` pulses when an instruction is finished. `hazard`: a wavefront waits in this cycle. `idle`: nothing is
    here or still to be written.
    """

    def __init__(self, spec: VectorSpec, lag: int, sum_lag: int) -> None:
        self.spec, self.lag, self.sum_lag = spec, lag, sum_lag
        wave = wave_layout(spec)
        super().__init__({
            "wave": In(stream.Signature(wave)), "pause": In(1), "issued": Out(1), "issue": Out(wave),
            "writes": Out(1), "write_address": Out(spec.address_bits), "retired": Out(1), "hazard": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, valid = self.issue, Signal()
        layout = pending_layout(self.spec)
        line: list[data.View] = [Signal(layout, name=f"pending{place}") for place in range(self.sum_lag)]
        entering = Signal(layout)
        early, late = held.d_used, self.issued & held.accumulates & held.last
        if self.spec.floats:
            early, late = held.d_used & ~held.late, late | (self.issued & held.d_used & held.late)
        m.d.comb += [
            entering.writes.eq(self.issued & early), entering.end.eq(self.issued & held.end),
            entering.sums.eq(late),
            entering.address.eq(held.d_address), entering.bytes.eq(held.d_bytes),
        ]
        m.d.sync += [place.eq(before) for place, before in zip(line, [entering, *line], strict=False)]
        free = self._conflicts(m, [entering, *line])
        slot_taken = line[self.sum_lag - self.lag - 1].sums & early
        m.d.comb += [
            self.issued.eq(valid & free & ~slot_taken & ~self.pause),
            self.hazard.eq(valid & ~self.issued), self.wave.ready.eq(~valid | self.issued),
            self.write_address.eq(Mux(line[-1].sums, line[-1].address, line[self.lag - 1].address)),
            self.writes.eq(line[-1].sums | line[self.lag - 1].writes), self.retired.eq(line[-1].end),
        ]
        with m.If(self.wave.ready):
            m.d.sync += [valid.eq(self.wave.valid), held.eq(self.wave.payload)]
        return m

    def _conflicts(self, m: Module, line: list[data.View]) -> Value:
        """Compare the next wavefront with all that is to be written; returns whether the held one is free to go.

        Entry 0 of `line` enters in this cycle; by the time the next wavefront could be issued, each is one further.
        Bit i of `waits` forbids an issue for i + 1 cycles.
        """
        waits = Signal(self.sum_lag)
        found = Signal(self.sum_lag)
        conflicts: list[list[Value]] = [[] for _ in range(self.sum_lag)]
        for place, pending in enumerate(line[: self.sum_lag]):
            for remaining, conflict in self._compare(m, place, pending):
                conflicts[remaining - 1].append(conflict)
        m.d.comb += found.eq(Cat(Cat(conflict).any() for conflict in conflicts))
        m.d.sync += waits.eq(Mux(self.wave.ready, found, waits >> 1))
        return ~waits.any()

    def _compare(self, m: Module, place: int, pending: data.View) -> Iterator[tuple[int, Value]]:
        """Conflicts with one pending write, each with the cycles for which it forbids an issue."""
        wave = self.wave.payload
        target = (pending.address, pending.bytes)
        sources = ((wave.a_used, wave.a_address, wave.a_bytes), (wave.b_used, wave.b_address, wave.b_bytes))
        meets = Cat(used & touches(m, address, count, *target) for used, address, count in sources)
        reads = wire(m, "reads", meets.any())
        if place < self.lag:
            yield self.lag - place, pending.writes & reads
        yield self.sum_lag - place, pending.sums & reads
        if place < self.sum_lag - self.lag:
            early = wave.d_used & ~wave.late if self.spec.floats else wave.d_used
            overtakes = early & touches(m, wave.d_address, wave.d_bytes, *target)
            yield self.sum_lag - self.lag - place, pending.sums & overtakes
