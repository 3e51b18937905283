"""From tokens of the line to requests that are whole."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.crc import CRC32_INITIAL, crc32_step
from hw.link.protocol import CRC_BYTES, REQUEST_HEADER, RESIDUE
from hw.link.slip import TOKEN

__all__ = ["REQUEST", "FrameReceiver"]

REQUEST = data.StructLayout({"sequence": 8, "operation": 8, "length": 16, "address": 32})
"""The header of a request."""


class FrameReceiver(wiring.Component):
    """Stores what a request carries in the buffer of `payload` bytes, and gives its header once the checksum is right.
    Other frames, and those with more than the buffer holds, leave no trace but in the buffer.

    Ports:
        tokens: what comes from the line; none is taken while a request waits.
        request: the header of a whole request. carried: how many bytes came with it, valid with it.
        store, place, byte: a byte for the buffer.
        damaged: a frame ended that is no request (one cycle).
    """

    def __init__(self, payload: int):
        self._payload = payload
        super().__init__({
            "tokens": In(stream.Signature(TOKEN)),
            "request": Out(stream.Signature(REQUEST)),
            "carried": Out(range(payload + 1)),
            "store": Out(1),
            "place": Out(range(payload)),
            "byte": Out(8),
            "damaged": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        least = REQUEST_HEADER + CRC_BYTES
        count, crc, header = Signal(range(self._payload + least + 2)), Signal(32, init=CRC32_INITIAL), Signal(64)
        taken, token = Signal(), self.tokens.payload
        whole = Signal()
        m.d.comb += [
            self.tokens.ready.eq(~self.request.valid),
            taken.eq(self.tokens.valid & self.tokens.ready),
            self.request.payload.eq(header),
            self.byte.eq(token.byte),
            self.place.eq(count - REQUEST_HEADER),
            self.store.eq(taken & ~token.end & (count >= REQUEST_HEADER) & (count < REQUEST_HEADER + self._payload)),
            whole.eq((count >= least) & (count <= self._payload + least) & (crc == RESIDUE)),
            self.damaged.eq(taken & token.end & (count != 0) & ~whole),
        ]
        with m.If(taken & token.end):
            m.d.sync += [count.eq(0), crc.eq(CRC32_INITIAL), self.request.valid.eq(whole),
                         self.carried.eq(count - least)]
        with m.Elif(taken):
            m.d.sync += crc.eq(crc32_step(crc, token.byte))
            with m.If(count <= self._payload + least):
                m.d.sync += count.eq(count + 1)
            with m.If(count < REQUEST_HEADER):
                m.d.sync += header.eq(Cat(header[8:], token.byte))
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += self.request.valid.eq(0)
        return m
