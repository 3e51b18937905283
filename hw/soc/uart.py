"""The serial line."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["UartReceiver", "UartTransmitter"]


class UartTransmitter(wiring.Component):
    """Sends bytes as a start bit, eight data bits with the lowest first, and a stop bit.

    data: bytes, queued up to `depth`. divisor: clock cycles per bit; 0 switches the transmitter off, and bytes vanish.
    tx: the line, high when idle. busy: something is queued or being sent.
    """

    def __init__(self, depth: int = 16):
        self._depth = depth
        super().__init__({
            "data": In(stream.Signature(8)),
            "divisor": In(16),
            "tx": Out(1),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFO(width=8, depth=self._depth)
        # `left`: bits of the frame that have not ended; `wait`: cycles that the current one still takes, less 1.
        bits, left, wait = Signal(10, init=~0), Signal(range(11)), Signal(16)
        off = self.divisor == 0
        m.d.comb += [
            queue.w_data.eq(self.data.payload),
            queue.w_en.eq(self.data.valid & ~off),
            self.data.ready.eq(queue.w_rdy | off),
            self.busy.eq(queue.r_rdy | (left != 0)),
            self.tx.eq(bits[0]),
        ]
        with m.If(left == 0):
            m.d.comb += queue.r_en.eq(queue.r_rdy)
            with m.If(queue.r_rdy):
                frame = Cat(Const(0, 1), queue.r_data, Const(1, 1))
                m.d.sync += [bits.eq(frame), left.eq(10), wait.eq(self.divisor - 1)]
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.Else():
            m.d.sync += [bits.eq(Cat(bits[1:], Const(1, 1))), left.eq(left - 1), wait.eq(self.divisor - 1)]
        return m


class UartReceiver(wiring.Component):
    """Receives what `UartTransmitter` sends, from a line of any clock.

    rx: the line. divisor: clock cycles per bit, at least 4; 0 switches the receiver off. data: the bytes, queued up to
    `depth`; a byte that finds the queue full is lost, and so is one whose stop bit is not high.
    """

    def __init__(self, depth: int = 16):
        self._depth = depth
        super().__init__({"rx": In(1), "divisor": In(16), "data": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFO(width=8, depth=self._depth)
        line, before = Signal(), Signal()
        m.submodules.synchronizer = FFSynchronizer(self.rx, line)
        # `left`: bits of the frame that have not been sampled; `wait`: cycles until the next one is.
        bits, left, wait = Signal(9), Signal(range(11)), Signal(16)
        m.d.comb += [
            queue.w_data.eq(bits[1:]),
            self.data.payload.eq(queue.r_data),
            self.data.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.data.ready),
        ]
        m.d.sync += before.eq(line)
        with m.If(left == 0):
            with m.If(before & ~line & (self.divisor != 0)):
                m.d.sync += [left.eq(10), wait.eq(self.divisor >> 1)]
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.Else():
            m.d.sync += [bits.eq(Cat(bits[1:], line)), left.eq(left - 1), wait.eq(self.divisor - 1)]
            with m.If((left == 10) & line):
                m.d.sync += left.eq(0)  # no start bit after all
            m.d.comb += queue.w_en.eq((left == 1) & line)
        return m
