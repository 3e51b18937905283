"""What the scalar core reaches at `PERIPHERAL_BASE`: the serial line, cycle counter, marks and the end of the run."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.soc.data_bus import PERIPHERAL_PORT
from hw.soc.registers import PERIPHERALS
from hw.soc.uart import UartReceiver, UartTransmitter

__all__ = ["Peripherals"]

_ADDRESS_BITS = 12
"""Bits of an address that count; the upper ones of the region must be 0."""


class Peripherals(wiring.Component):
    """Registers of `hw.soc.registers.PERIPHERALS`.

    port, port_data: see `DataBus.peripheral`; a register answers in the cycle of the access, but DRAIN, FINISH and TRAP
    wait for `drained`, and UART for room. unknown: access to a register that does not exist, or to part of a word.

    clear: pulse, a run begins. run: it goes on. cycles, kernel_cycles: clock cycles of the run and between its marks
    (64 bits). finish, trap: pulses at the end of the program. exit_code, trap_cause, trap_pc, trap_value: for the host.
    divisor, tx, rx: see `UartTransmitter` and `UartReceiver`.
    """

    def __init__(self) -> None:
        self._receiver = UartReceiver()
        super().__init__({
            "port": In(PERIPHERAL_PORT),
            "port_data": Out(32),
            "drained": In(1),
            "unknown": Out(1),
            "clear": In(1),
            "run": In(1),
            "finish": Out(1),
            "trap": Out(1),
            **{name: Out(32) for name in ("exit_code", "trap_cause", "trap_pc", "trap_value")},
            "cycles": Out(64),
            "kernel_cycles": Out(64),
            "divisor": In(16),
            "tx": Out(1),
            "rx": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.uart = uart = UartTransmitter()
        m.submodules.receiver = self._receiver
        high, marked = Signal(32), Signal()
        m.d.comb += [
            uart.divisor.eq(self.divisor),
            uart.data.payload.eq(self.port.p.data),
            self.tx.eq(uart.tx),
            self._receiver.rx.eq(self.rx),
            self._receiver.divisor.eq(self.divisor),
        ]
        known = self._decode(m, uart, high, marked)
        part = self.port.p.sel != 0xF
        with m.If(self.port.valid & (~known | part)):
            m.d.comb += [self.unknown.eq(1), self.port.ready.eq(1)]
        m.d.sync += self.cycles.eq(self.cycles + self.run)
        m.d.sync += self.kernel_cycles.eq(self.kernel_cycles + (self.run & marked))
        with m.If(self.clear):
            m.d.sync += [self.cycles.eq(0), self.kernel_cycles.eq(0), marked.eq(0)]
            m.d.sync += [signal.eq(0) for signal in (self.exit_code, self.trap_cause, self.trap_pc, self.trap_value)]
        return m

    def _decode(self, m: Module, uart: UartTransmitter, high: Signal, marked: Signal) -> Signal:
        """One case for each register; the result tells whether there is one."""
        known, done = Signal(), Signal()
        port = self.port
        m.d.comb += done.eq(port.valid & port.ready & (port.p.sel == 0xF))
        cases = {
            "UART": lambda: self._send(m, uart),
            "CYCLE": lambda: self._cycle(m, high, done),
            "CYCLE_HIGH": lambda: self._read(m, high),
            "MARK": lambda: self._write(m, marked, done),
            "DRAIN": lambda: self._drain(m),
            "TRAP_CAUSE": lambda: self._write(m, self.trap_cause, done),
            "TRAP_PC": lambda: self._write(m, self.trap_pc, done),
            "TRAP_VALUE": lambda: self._write(m, self.trap_value, done),
            "TRAP": lambda: self._end(m, self.trap, done),
            "FINISH": lambda: self._end(m, self.finish, done),
            "RECEIVED": lambda: self._receive(m, done),
        }
        address = port.p.address
        with m.If(address[_ADDRESS_BITS:] == 0), m.Switch(address[:_ADDRESS_BITS]):
            for name, serve in cases.items():
                register = PERIPHERALS.register(name)
                with m.Case(register.offset):
                    m.d.comb += known.eq(port.p.write == (register.access == "write"))
                    with m.If(known):
                        serve()
        return known

    def _send(self, m: Module, uart: UartTransmitter) -> None:
        m.d.comb += [uart.data.valid.eq(self.port.valid), self.port.ready.eq(uart.data.ready)]

    def _read(self, m: Module, value: Value) -> None:
        m.d.comb += [self.port_data.eq(value), self.port.ready.eq(1)]

    def _receive(self, m: Module, done: Signal) -> None:
        queue = self._receiver.data
        self._read(m, Cat(queue.payload, queue.valid))
        m.d.comb += queue.ready.eq(done)

    def _cycle(self, m: Module, high: Signal, done: Signal) -> None:
        self._read(m, self.cycles[:32])
        with m.If(done):
            m.d.sync += high.eq(self.cycles[32:])

    def _write(self, m: Module, register: Signal, done: Signal) -> None:
        m.d.comb += self.port.ready.eq(1)
        with m.If(done):
            m.d.sync += register.eq(self.port.p.data)

    def _drain(self, m: Module) -> None:
        m.d.comb += self.port.ready.eq(self.drained)

    def _end(self, m: Module, pulse: Signal, done: Signal) -> None:
        m.d.comb += [self.port.ready.eq(self.drained), pulse.eq(done)]
        with m.If(done):
            m.d.sync += self.exit_code.eq(self.port.p.data)
