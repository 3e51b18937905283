"""The board's end of the link."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.link.executor import RequestExecutor, system_ports
from hw.link.protocol import LinkSpec, Operation
from hw.link.receiver import FrameReceiver
from hw.link.sender import FrameSender
from hw.link.slip import SlipDecoder, SlipEncoder

__all__ = ["LINK_LIGHTS", "HostLink"]

_WRITES = [operation for operation in Operation if operation.writes]
LINK_LIGHTS = ("greeted", "busy", "damaged")
"""Outputs of a link about itself."""


class HostLink(wiring.Component):
    """Answers requests of the host (`hw.link.protocol`), one at a time: what comes while one is carried out or
    answered waits in front of `received`.

    Ports:
        received, sent: bytes from and to the host.
        memory, registers, irq: see `system_ports`.
        greeted: a host has greeted since reset. busy: a request is carried out or answered. damaged: a frame came
            whose checksum or length was wrong (one cycle).
    """

    def __init__(self, spec: LinkSpec):
        self._spec = spec
        super().__init__({
            "received": In(stream.Signature(8)),
            "sent": Out(stream.Signature(8)),
        } | system_ports(spec) | {name: Out(1) for name in LINK_LIGHTS})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder = decoder = SlipDecoder()
        m.submodules.receiver = receiver = FrameReceiver(self._spec.payload)
        m.submodules.executor = executor = RequestExecutor(self._spec)
        m.submodules.sender = sender = FrameSender(self._spec.payload)
        m.submodules.encoder = encoder = SlipEncoder()
        wiring.connect(m, wiring.flipped(self.received), decoder.encoded)
        wiring.connect(m, decoder.decoded, receiver.tokens)
        wiring.connect(m, sender.tokens, encoder.decoded)
        wiring.connect(m, encoder.encoded, wiring.flipped(self.sent))
        wiring.connect(m, executor.memory, wiring.flipped(self.memory))
        wiring.connect(m, executor.registers, wiring.flipped(self.registers))
        m.d.comb += [executor.request.eq(receiver.request.payload), executor.carried.eq(receiver.carried),
                     executor.irq.eq(self.irq), self.damaged.eq(receiver.damaged), self.busy.eq(receiver.request.valid)]
        self._buffer(m, receiver, executor, sender)
        self._turns(m, receiver, executor, sender)
        return m

    def _buffer(self, m: Module, receiver: FrameReceiver, executor: RequestExecutor, sender: FrameSender) -> None:
        """One buffer for what comes and what goes: the receiver has it until a request is whole, then the executor,
        then the sender."""
        m.submodules.buffer = buffer = Memory(shape=8, depth=self._spec.payload, init=[])
        write, read = buffer.write_port(), buffer.read_port()
        with m.If(receiver.request.valid):
            m.d.comb += [write.addr.eq(executor.place), write.data.eq(executor.byte), write.en.eq(executor.store)]
        with m.Else():
            m.d.comb += [write.addr.eq(receiver.place), write.data.eq(receiver.byte), write.en.eq(receiver.store)]
        m.d.comb += [
            read.addr.eq(Mux(sender.response.valid, sender.place, executor.place)),
            executor.read_byte.eq(read.data),
            sender.byte.eq(read.data),
        ]

    def _turns(self, m: Module, receiver: FrameReceiver, executor: RequestExecutor, sender: FrameSender) -> None:
        """Carry out a request and answer it; a write that was carried out already is answered alone."""
        request = receiver.request.p
        known, last, status = Signal(), Signal(8), Signal(8)
        repeated = Signal()
        m.d.comb += [
            repeated.eq(known & (request.sequence == last) & request.operation.matches(*_WRITES)),
            sender.response.p.sequence.eq(request.sequence),
            sender.response.p.status.eq(status),
        ]
        with m.FSM():
            with m.State("IDLE"), m.If(receiver.request.valid):
                m.d.comb += executor.start.eq(~repeated)
                m.next = "WORK"
                with m.If(repeated):
                    m.d.sync += sender.response.p.length.eq(0)
                    m.next = "ANSWER"
            with m.State("WORK"), m.If(executor.done):
                m.d.sync += [status.eq(executor.status), last.eq(request.sequence), known.eq(1),
                             sender.response.p.length.eq(executor.length)]
                with m.If(request.operation == Operation.GREET):
                    m.d.sync += self.greeted.eq(1)
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += sender.response.valid.eq(1)
                with m.If(sender.response.ready):
                    m.d.comb += receiver.request.ready.eq(1)
                    m.next = "IDLE"
