"""A register slice for streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Skid"]


class Skid(wiring.Component):
    """A register slice with room for two; both directions end in registers. Latency one cycle, a word per cycle.

    Ports: `i`, `o` (streams of `shape`).
    """

    def __init__(self, shape: Any):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Words are taken into a free slot whether they are valid or not: then no handshake has to reach their
        # registers, and who takes one only turns a pointer.
        slots = [Signal(self._shape, name=f"slot{k}", reset_less=True) for k in range(2)]
        into, out, full, valid = Signal(), Signal(), Signal(), Signal()
        come, kept = self.i.valid & ~full, valid & ~self.o.ready
        m.d.comb += [
            self.o.payload.eq(Mux(out, Value.cast(slots[1]), Value.cast(slots[0]))), self.o.valid.eq(valid),
            self.i.ready.eq(~full),
        ]
        m.d.sync += [
            into.eq(into ^ come), out.eq(out ^ (valid & self.o.ready)), full.eq(kept & (full | self.i.valid)),
            valid.eq(kept | full | self.i.valid),
        ]
        for k, slot in enumerate(slots):
            with m.If(~full & (into == k)):
                m.d.sync += Value.cast(slot).eq(Value.cast(self.i.payload))
        return m
