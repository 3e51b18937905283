"""A subordinate's way through a burst of AXI4."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.utils import ceil_log2

from hw.dma.axi import INCR, Axi4Signature, Response

__all__ = ["BeatWalk"]


class BeatWalk:
    """Registers that walk through one burst: its address, beats left, id and why it is refused."""

    def __init__(self, signature: Axi4Signature):
        self.lane_bits = ceil_log2(signature.data_width // 8)
        self.active = Signal()
        self.address = Signal(signature.address_width)
        self.left = Signal(8)
        self.size = Signal(3)
        self.id = Signal(signature.id_width)
        self.refused = Signal()

    def start(self, m: Module, payload: Value) -> None:
        m.d.sync += [
            self.active.eq(1),
            self.address.eq(payload.addr),
            self.left.eq(payload.len),
            self.size.eq(payload.size),
            self.id.eq(payload.id),
            self.refused.eq((payload.burst != INCR) | (payload.size > self.lane_bits)),
        ]

    def step(self, m: Module) -> None:
        """One beat is done: go to the next multiple of the beat's size."""
        step = 1 << self.size[: ceil_log2(self.lane_bits + 1)]
        aligned = self.address & ~(step - 1)
        m.d.sync += [self.address.eq(aligned + step), self.left.eq(self.left - 1)]

    def response(self, words: int) -> Value:
        """xRESP of the beat at `address`."""
        outside = (self.address >> self.lane_bits) >= words
        return Mux(self.refused, Response.SLVERR, Mux(outside, Response.DECERR, Response.OKAY))
