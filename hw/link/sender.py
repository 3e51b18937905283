"""From responses to tokens of the line."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.crc import CRC32_INITIAL, crc32_step
from hw.link.protocol import CRC_BYTES, RESPONSE_HEADER
from hw.link.slip import TOKEN

__all__ = ["RESPONSE", "FrameSender"]

RESPONSE = data.StructLayout({"sequence": 8, "status": 8, "length": 16})
"""The header of a response."""


class FrameSender(wiring.Component):
    """Sends a response: a delimiter, the header, `length` bytes of the buffer, the checksum, a delimiter; a byte every
    two cycles at most.

    Ports:
        response: what to send; taken when all of it has been sent.
        place, byte: reads the buffer of `payload` bytes; the byte comes a cycle later.
        tokens: what goes to the line.
    """

    def __init__(self, payload: int):
        super().__init__({
            "response": In(stream.Signature(RESPONSE)),
            "place": Out(range(payload)),
            "byte": In(8),
            "tokens": Out(stream.Signature(TOKEN)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, crc = Signal(17), Signal(32, init=CRC32_INITIAL)
        token, sent, content = self.tokens.payload, Signal(), RESPONSE_HEADER + self.response.p.length
        header = self.response.payload.as_value()
        m.d.comb += [self.place.eq(count - RESPONSE_HEADER), sent.eq(self.tokens.valid & self.tokens.ready)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [count.eq(0), crc.eq(CRC32_INITIAL)]
                m.d.comb += [self.tokens.valid.eq(self.response.valid), token.end.eq(1)]
                with m.If(sent):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.next = "BYTE"
            with m.State("BYTE"):
                checked = count >= content
                byte = Mux(count < RESPONSE_HEADER, header.word_select(count[:2], 8), self.byte)
                m.d.comb += [
                    self.tokens.valid.eq(1),
                    token.byte.eq(Mux(checked, ~crc[:8], byte)),
                ]
                with m.If(sent):
                    m.d.sync += [count.eq(count + 1), crc.eq(Mux(checked, crc >> 8, crc32_step(crc, byte)))]
                    m.next = "FETCH"
                    with m.If(count == content + CRC_BYTES - 1):
                        m.next = "END"
            with m.State("END"):
                m.d.comb += [self.tokens.valid.eq(1), token.end.eq(1), self.response.ready.eq(self.tokens.ready)]
                with m.If(sent):
                    m.next = "IDLE"
        return m
