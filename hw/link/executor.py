"""Carries out requests on the buses of a system."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.axi import CACHE_NORMAL, INCR, Axi4LiteSignature, Axi4Signature, is_error, offer_write
from hw.link.protocol import GREETING_BYTES, PROGRESS_BYTES, LinkSpec, Operation, Status
from hw.link.receiver import REQUEST

__all__ = ["RequestExecutor", "system_ports"]

_REGISTER_BYTES = 4


def system_ports(spec: LinkSpec) -> dict[str, wiring.Member]:
    """What a link has towards the system: `memory`, manager of main memory; `registers`, manager of the registers;
    `irq`: the design's run has ended (level)."""
    return {
        "memory": Out(Axi4Signature(address_width=32, data_width=spec.data_width, id_width=spec.id_width)),
        "registers": Out(Axi4LiteSignature(address_width=spec.register_bits)),
        "irq": In(1),
    }


class RequestExecutor(wiring.Component):
    """Moves bytes between the buffer and main memory or registers, one beat or register at a time: at most W bytes in
    2W + 4 cycles for a bus of W bytes. No access begins before the whole request was found to be inside the design's
    memory or registers.

    Ports:
        request, carried: of `FrameReceiver`; start: carry it out. done: one cycle at the end, with `status` and, for
            reads, `length`: bytes in the buffer.
        place, read_byte: reads the buffer, a cycle later. store, byte: writes it at `place`.
        memory, registers, irq: see `system_ports`. A poll reads `irq` and the clock cycles since the last write to a
            register.
    """

    def __init__(self, spec: LinkSpec):
        self._spec = spec
        super().__init__({
            "request": In(REQUEST),
            "carried": In(range(spec.payload + 1)),
            "start": In(1),
            "done": Out(1),
            "status": Out(8),
            "length": Out(16),
            "place": Out(range(spec.payload)),
            "read_byte": In(8),
            "store": Out(1),
            "byte": Out(8),
        } | system_ports(spec))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._address, self._left = Signal(32), Signal(16)
        self._word = Signal(max(self._spec.data_width, 8 * _REGISTER_BYTES))
        self._strobe = Signal(len(self._word) // 8)
        self._to_registers = Signal()
        beat = Mux(self._to_registers, _REGISTER_BYTES, self._spec.data_width // 8)
        self._lane = Signal(range(len(self._strobe)))
        self._beat_ends = Signal()
        m.d.comb += [
            self._lane.eq(self._address & (beat - 1)),
            self._beat_ends.eq((self._lane == beat - 1) | (self._left == 1)),
            self.byte.eq(self._word.word_select(self._lane, 8)),
        ]
        self._drive_buses(m)
        progress = self._progress(m)
        with m.FSM():
            self._decide(m)
            self._describe(m, progress)
            self._write(m)
            self._read(m)
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m

    # Decisions.

    def _decide(self, m: Module) -> None:
        """What is wrong with a request, or the state in which it begins."""
        request = self.request
        with m.State("IDLE"), m.If(self.start):
            m.d.sync += [
                self._address.eq(request.address),
                self._left.eq(request.length),
                self.place.eq(0),
                self.length.eq(0),
                self._strobe.eq(0),
                self._to_registers.eq(0),
            ]
            m.next = "DONE"
            with m.Switch(request.operation):
                for operation, size in ((Operation.GREET, GREETING_BYTES), (Operation.POLL, PROGRESS_BYTES)):
                    with m.Case(operation):
                        m.d.sync += [self._left.eq(size), self._address.eq(0)]
                        self._check(m, self.carried != 0, 0, operation.name)
                with m.Case(Operation.READ_MEMORY, Operation.WRITE_MEMORY):
                    self._check_access(m, Operation.WRITE_MEMORY, self._spec.memory_bytes, 1)
                with m.Case(Operation.READ_REGISTERS, Operation.WRITE_REGISTERS):
                    m.d.sync += self._to_registers.eq(1)
                    self._check_access(m, Operation.WRITE_REGISTERS, 1 << self._spec.register_bits, _REGISTER_BYTES)
                with m.Default():
                    m.d.sync += self.status.eq(Status.UNKNOWN)

    def _check_access(self, m: Module, write: Operation, size: int, unit: int) -> None:
        """A request for `size` bytes in whole `unit`s, which is the one or the other of a read and a write."""
        request, writing = self.request, Signal(name=f"is_{write.name.lower()}")
        m.d.comb += writing.eq(request.operation == write)
        uneven = (request.length & (unit - 1)).any() | (request.address & (unit - 1)).any()
        length = (request.length == 0) | (request.length > self._spec.payload) | uneven
        carried = self.carried != Mux(writing, request.length, 0)
        outside = request.address + request.length > size
        with m.If(writing):
            self._check(m, length | carried, outside, "FETCH")
        with m.Else():
            self._check(m, length | carried, outside, "ASK")

    def _check(self, m: Module, length: Value, outside: Value | int, state: str) -> None:
        with m.If(length):
            m.d.sync += self.status.eq(Status.LENGTH)
        with m.Elif(outside):
            m.d.sync += self.status.eq(Status.OUTSIDE)
        with m.Else():
            m.d.sync += self.status.eq(Status.OK)
            m.next = state

    def _describe(self, m: Module, progress: Value) -> None:
        """Answers that come from here."""
        greeting = Const(int.from_bytes(self._spec.greeting.encode(), "little"), 8 * GREETING_BYTES)
        answers = ((Operation.GREET, greeting, GREETING_BYTES), (Operation.POLL, progress, PROGRESS_BYTES))
        for operation, answer, size in answers:
            with m.State(operation.name):
                m.d.comb += [self.store.eq(1), self.byte.eq(answer.word_select(self._address[:5], 8))]
                self._step(m)
                with m.If(self._left == 1):
                    m.d.sync += self.length.eq(size)
                    m.next = "DONE"

    def _progress(self, m: Module) -> Value:
        """`Progress` as it was when the request began. The interrupt of the run before may last a cycle longer than the
        write that starts the next one."""
        cycles, ended, young = Signal(32), Signal(), Signal(2)
        held = Signal(8 * PROGRESS_BYTES)
        with m.If(self.registers.w.valid & self.registers.w.ready):
            m.d.sync += [cycles.eq(0), ended.eq(0), young.eq(3)]
        with m.Elif(~ended):
            m.d.sync += [cycles.eq(cycles + 1), young.eq(Mux(young == 0, 0, young - 1)),
                         ended.eq(self.irq & (young == 0))]
        with m.If(self.start):
            m.d.sync += held.eq(Cat(cycles, ended))
        return held

    # Buses.

    def _drive_buses(self, m: Module) -> None:
        memory, registers = self.memory, self.registers
        beat = Const(self._spec.data_width // 8 - 1, 32)
        for channel in (memory.aw, memory.ar):
            m.d.comb += [
                channel.p.addr.eq(self._address & ~beat),
                channel.p.size.eq((self._spec.data_width // 8).bit_length() - 1),
                channel.p.burst.eq(INCR),
                channel.p.cache.eq(CACHE_NORMAL),
            ]
        m.d.comb += [
            memory.w.p.data.eq(self._word),
            memory.w.p.strb.eq(self._strobe),
            memory.w.p.last.eq(1),
            registers.aw.p.addr.eq(self._address & ~(_REGISTER_BYTES - 1)),
            registers.ar.p.addr.eq(self._address),
            registers.w.p.data.eq(self._word),
            registers.w.p.strb.eq(~0),
        ]

    def _step(self, m: Module) -> None:
        """A byte is done."""
        m.d.sync += [self._address.eq(self._address + 1), self._left.eq(self._left - 1), self.place.eq(self.place + 1)]

    def _fail(self, m: Module) -> None:
        m.d.sync += self.status.eq(Status.BUS)
        m.next = "DONE"

    def _write(self, m: Module) -> None:
        """Bytes of the buffer go into a word, which goes out with the last one that belongs to it."""
        with m.State("FETCH"):
            m.next = "TAKE"
        with m.State("TAKE"):
            m.d.sync += [self._word.word_select(self._lane, 8).eq(self.read_byte),
                         self._strobe.bit_select(self._lane, 1).eq(1)]
            m.next = "FETCH"
            with m.If(self._beat_ends):
                m.next = "WRITE"
            with m.Else():
                self._step(m)
        with m.State("WRITE"):
            for name, bus, chosen in self._buses:
                with m.If(chosen), m.If(offer_write(m, bus, name)):
                    m.next = "WRITTEN"
        with m.State("WRITTEN"):
            valid, payload = self._answer(m, "b")
            with m.If(valid):
                self._step(m)
                m.d.sync += self._strobe.eq(0)
                m.next = "FETCH"
                with m.If(is_error(payload)):
                    self._fail(m)
                with m.Elif(self._left == 1):
                    m.next = "DONE"

    def _read(self, m: Module) -> None:
        """Bytes of a word go into the buffer."""
        with m.State("ASK"):
            for _, bus, chosen in self._buses:
                m.d.comb += bus.ar.valid.eq(chosen)
                with m.If(chosen & bus.ar.ready):
                    m.next = "ANSWER"
        with m.State("ANSWER"):
            valid, response = self._answer(m, "r")
            with m.If(valid):
                m.d.sync += self._word.eq(Mux(self._to_registers, self.registers.r.p.data, self.memory.r.p.data))
                m.next = "PUT"
                with m.If(is_error(response)):
                    self._fail(m)
        with m.State("PUT"):
            m.d.comb += self.store.eq(1)
            self._step(m)
            with m.If(self._left == 1):
                m.d.sync += self.length.eq(self.request.length)
                m.next = "DONE"
            with m.Elif(self._beat_ends):
                m.next = "ASK"

    @property
    def _buses(self) -> list[tuple[str, wiring.PureInterface, Value]]:
        """Name, interface, whether the request is for it."""
        return [("memory", self.memory, ~self._to_registers), ("registers", self.registers, self._to_registers)]

    def _answer(self, m: Module, name: str) -> tuple[Value, Value]:
        """Take an answer; returns whether it is there, and its xRESP."""
        m.d.comb += [getattr(bus, name).ready.eq(chosen) for _, bus, chosen in self._buses]
        registers, memory = getattr(self.registers, name), getattr(self.memory, name)
        return (Mux(self._to_registers, registers.valid, memory.valid),
                Mux(self._to_registers, registers.p.resp, memory.p.resp))
