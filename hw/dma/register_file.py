"""The AXI4-Lite subordinate that a `RegisterMap` describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4LiteSignature, Response
from hw.dma.registers import Register, RegisterMap, Window

__all__ = ["RegisterFile", "register_layout"]

WORD_BITS = 32


def register_layout(register: Register) -> Shape | data.FlexibleLayout:
    """A register's fields as a 32-bit layout; a plain word if it has none."""
    if not register.fields:
        return Shape(WORD_BITS)
    fields: dict[int | str, data.Field] = {
        field.name: data.Field(field.width, field.low) for field in register.fields
    }
    return data.FlexibleLayout(WORD_BITS, fields)


class RegisterFile(wiring.Component):
    """Registers of `registers`, reached over `bus` (AXI4-Lite, 32-bit data); a transaction takes up to five cycles.

    Each register is a port by its name in lower case, shaped by `register_layout`: an output that holds what the
    host wrote ("write"), an output that is high for one cycle ("pulse"), an input ("read"). Each window W has ports
    `W_index` (input, copy * registers per stride + register) and `W_data` (output, the word one cycle later).

    Writes obey byte strobes. A transaction with an address that has no register, a write to a register that cannot
    be written, gets SLVERR and has no effect.
    """

    def __init__(self, registers: RegisterMap):
        self.registers = registers
        ports = {"bus": In(Axi4LiteSignature(address_width=registers.address_width))}
        for register in registers.registers:
            if register.access != "constant":
                ports[register.name.lower()] = _member(register)
        for window in registers.windows:
            ports[f"{window.name.lower()}_index"] = In(range(_depth(window)))
            ports[f"{window.name.lower()}_data"] = Out(WORD_BITS)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        write, address, word, strobes = self._accept_write(m)
        read, read_address = self._accept_read(m)
        words: list[tuple[Signal, Value]] = []  # of every register and window: whether it is read, and its word
        written = Signal()
        for register in self.registers.registers:
            here = address[2:] == register.offset >> 2
            with m.If(write & here):
                m.d.comb += written.eq(register.access in ("write", "pulse"))
            self._write_register(m, register, write & here, word, strobes)
        for window in self.registers.windows:
            here = self._inside(window, address)
            with m.If(write & here):
                m.d.comb += written.eq(1)
            fetched = self._window_memory(m, window, write & here, address, word, strobes, read_address)
            words.append((self._selected(m, window, self._inside(window, read_address)), fetched))
        for register, value in self._readable():
            words.append((self._selected(m, register, read_address[2:] == register.offset >> 2), value))
        with m.If(write):
            m.d.sync += self.bus.b.p.resp.eq(Mux(written, Response.OKAY, Response.SLVERR))
        with m.If(read):
            known = Cat(selected for selected, _ in words).any()
            m.d.sync += [self.bus.r.p.data.eq(_chosen(words)),
                         self.bus.r.p.resp.eq(Mux(known, Response.OKAY, Response.SLVERR))]
        return m

    def _accept_write(self, m: Module) -> tuple[Signal, Signal, Signal, Signal]:
        """Collect address and data; the first result is high for one cycle in which all of them are there."""
        bus = self.bus
        address, word, strobes = Signal.like(bus.aw.p.addr), Signal(WORD_BITS), Signal(WORD_BITS // 8)
        has_address, has_word, write = Signal(), Signal(), Signal()
        m.d.comb += [
            bus.aw.ready.eq(~has_address),
            bus.w.ready.eq(~has_word),
            write.eq(has_address & has_word & ~bus.b.valid),
        ]
        with m.If(bus.aw.valid & bus.aw.ready):
            m.d.sync += [has_address.eq(1), address.eq(bus.aw.p.addr)]
        with m.If(bus.w.valid & bus.w.ready):
            m.d.sync += [has_word.eq(1), word.eq(bus.w.p.data), strobes.eq(bus.w.p.strb)]
        with m.If(bus.b.ready):
            m.d.sync += bus.b.valid.eq(0)
        with m.If(write):
            m.d.sync += [has_address.eq(0), has_word.eq(0), bus.b.valid.eq(1)]
        return write, address, word, strobes

    def _accept_read(self, m: Module) -> tuple[Signal, Signal]:
        """Take an address, wait two cycles for the windows' words, answer in the cycle of the first result."""
        bus = self.bus
        address = Signal.like(bus.ar.p.addr)
        steps, read = Signal(3), Signal()
        m.d.comb += [bus.ar.ready.eq(~(steps.any() | bus.r.valid)), read.eq(steps[-1])]
        m.d.sync += steps.eq(Cat(bus.ar.valid & bus.ar.ready, steps))
        with m.If(bus.ar.valid & bus.ar.ready):
            m.d.sync += address.eq(bus.ar.p.addr)
        with m.If(bus.r.ready):
            m.d.sync += bus.r.valid.eq(0)
        with m.If(read):
            m.d.sync += bus.r.valid.eq(1)
        return read, address

    def _write_register(self, m: Module, register: Register, write: Value, word: Value, strobes: Value) -> None:
        if register.access == "write":
            port = Value.cast(getattr(self, register.name.lower()))
            for lane in range(len(strobes)):
                with m.If(write & strobes[lane]):
                    m.d.sync += port.word_select(lane, 8).eq(word.word_select(lane, 8))
        elif register.access == "pulse":
            port = Value.cast(getattr(self, register.name.lower()))
            for lane in range(len(strobes)):
                with m.If(write & strobes[lane]):
                    m.d.comb += port.word_select(lane, 8).eq(word.word_select(lane, 8))

    def _selected(self, m: Module, what: Register | Window, here: Value) -> Signal:
        """Whether the address that is read is that of `what`: from a register, while the windows' words are fetched."""
        selected = Signal(name=f"{what.name.lower()}_selected")
        m.d.sync += selected.eq(here)
        return selected

    def _readable(self) -> Iterator[tuple[Register, Value]]:
        for register in self.registers.registers:
            if register.access == "constant":
                yield register, Const(register.reset, WORD_BITS)
            elif register.access == "pulse":
                yield register, Const(0, WORD_BITS)
            else:
                yield register, Value.cast(getattr(self, register.name.lower()))

    def _inside(self, window: Window, address: Value) -> Value:
        """Whether a byte address is that of a register of some copy."""
        last = window.offset + window.stride * window.count
        number = address[2 : (window.stride - 1).bit_length()]
        inside = (address >= window.offset) & (address < last)
        return inside & number.matches(*(register.offset >> 2 for register in window.registers))

    def _window_memory(self, m: Module, window: Window, write: Value, address: Value, word: Value, strobes: Value,
                       read_address: Value) -> Signal:
        """The memory behind a window; returns the word at `read_address`, two cycles later."""
        name = window.name.lower()
        m.submodules[name] = memory = Memory(shape=WORD_BITS, depth=_depth(window), init=[])
        writer, reader, inner = memory.write_port(granularity=8), memory.read_port(), memory.read_port()
        m.d.comb += [
            writer.addr.eq((address - window.offset) >> 2),
            writer.data.eq(word),
            writer.en.eq(Mux(write, strobes, 0)),
            reader.addr.eq((read_address - window.offset) >> 2),
            inner.addr.eq(getattr(self, f"{name}_index")),
            getattr(self, f"{name}_data").eq(inner.data),
        ]
        fetched = Signal(WORD_BITS, name=f"{name}_fetched")
        m.d.sync += fetched.eq(reader.data)
        return fetched


def _chosen(words: Sequence[tuple[Value, Value]]) -> Value:
    """The word that is selected, 0 if none is. At most one is, so that words need no order: synthesis makes far more
    of a switch."""
    return reduce(or_, (Mux(selected, word, 0) for selected, word in words), Const(0, WORD_BITS))


def _member(register: Register) -> wiring.Member:
    layout = register_layout(register)
    if register.access == "read":
        return In(layout)
    init: Any = register.reset
    if register.fields:
        init = {field.name: field.extract(register.reset) for field in register.fields}
    return Out(layout, init=init)  # pyright: ignore[reportCallIssue] (missing in the stubs)


def _depth(window: Window) -> int:
    """Words of the memory behind a window."""
    return window.count * window.stride // 4
