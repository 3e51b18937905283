"""Delimiters and escapes of frames, a byte per cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.link.protocol import END, ESCAPE, ESCAPED_END, ESCAPED_ESCAPE

__all__ = ["TOKEN", "SlipDecoder", "SlipEncoder"]

TOKEN = data.StructLayout({"byte": 8, "end": 1})
"""A byte of a frame, or (`end`) a delimiter."""


class SlipDecoder(wiring.Component):
    """From bytes of the line (`encoded`) to tokens (`decoded`), no cycle later. What follows an escape and is neither
    of the two escaped bytes stays as it is: the checksum of its frame will be wrong."""

    def __init__(self) -> None:
        super().__init__({"encoded": In(stream.Signature(8)), "decoded": Out(stream.Signature(TOKEN))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        escaped = Signal()
        byte, token = self.encoded.payload, self.decoded.payload
        plain = Mux(byte == ESCAPED_END, END, Mux(byte == ESCAPED_ESCAPE, ESCAPE, byte))
        m.d.comb += [
            token.end.eq(byte == END),
            token.byte.eq(Mux(escaped, plain, byte)),
            self.decoded.valid.eq(self.encoded.valid & (byte != ESCAPE)),
            self.encoded.ready.eq(self.decoded.ready | (byte == ESCAPE)),
        ]
        with m.If(self.encoded.valid & self.encoded.ready):
            m.d.sync += escaped.eq(byte == ESCAPE)
        return m


class SlipEncoder(wiring.Component):
    """From tokens (`decoded`) to bytes of the line (`encoded`), no cycle later; an escaped byte takes two cycles."""

    def __init__(self) -> None:
        super().__init__({"decoded": In(stream.Signature(TOKEN)), "encoded": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        second = Signal()
        token = self.decoded.payload
        special = Signal()
        replaced = Mux(token.byte == END, ESCAPED_END, ESCAPED_ESCAPE)
        m.d.comb += [
            special.eq(~token.end & ((token.byte == END) | (token.byte == ESCAPE))),
            self.encoded.payload.eq(Mux(token.end, END, Mux(second, replaced, Mux(special, ESCAPE, token.byte)))),
            self.encoded.valid.eq(self.decoded.valid),
            self.decoded.ready.eq(self.encoded.ready & (~special | second)),
        ]
        with m.If(self.encoded.valid & self.encoded.ready):
            m.d.sync += second.eq(special & ~second)
        return m
