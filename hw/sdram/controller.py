"""Issues commands to an SDRAM chip."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.sdram.banks import Banks
from hw.sdram.chip import SdramChip, SdramCycles, SdramError
from hw.sdram.pins import SdramPins

__all__ = ["SdramController", "access_layout", "refresh_interval"]

_REFRESHES = 8
"""Before the first access."""
_ALL = 1 << 10
"""Address line that closes the rows of all banks."""
_TURN = 2
"""Cycles from the last read data to written data: one in which nobody drives the lines."""
_PADS = 1
"""Cycles that the registers of the pads add to the latency of a read: out and in, less the half period each."""
_COMMANDS = {"nothing": 0b000, "open": 0b100, "read": 0b010, "write": 0b011, "close": 0b101, "refresh": 0b110,
             "mode": 0b111}
"""RAS, CAS, WE, active high."""


def access_layout(chip: SdramChip, data_width: int) -> data.StructLayout:
    """A beat of `data_width` bits: `index` counts beats from the beginning of memory; `data` and `strobe` (bytes that
    change) are for a `write`."""
    words = data_width // chip.data_bits
    index = chip.bank_bits + chip.row_bits + chip.column_bits - (words.bit_length() - 1)
    return data.StructLayout({"write": 1, "index": index, "data": data_width, "strobe": data_width // 8})


def refresh_interval(cycles: SdramCycles, words: int) -> int:
    """Cycles from one refresh to the wish for the next: as many fewer than the chip allows as one may have to wait for
    the beat of so many words that is in work, and for all rows to be closed."""
    close = max(cycles.ras, cycles.wr) + cycles.rp
    access = close + cycles.rc + cycles.rrd + cycles.rcd + cycles.latency + _TURN + words
    return cycles.refresh - access - close - 4


class SdramController(wiring.Component):
    """Reads and writes beats of `data_width` bits, a multiple of the chip's by a power of two; in a row that is open,
    one word of the chip per cycle without pauses. A row stays open until another one of its bank is needed, or a
    refresh. Successive rows of memory are in successive banks.

    Ports:
        access: what to do, see `access_layout`; taken in order.
        read: the beat that was read, valid for one cycle; it cannot wait. The first one comes `latency` + 2 + words
            of a beat cycles after its command.
        pins: of the chip.

    Raises `SdramError` for another width, and for times that leave no room between refreshes.
    """

    def __init__(self, chip: SdramChip, cycles: SdramCycles, data_width: int):
        words = data_width // chip.data_bits
        if data_width % chip.data_bits or words & (words - 1) or words == 0:
            raise SdramError(f"SDRAM {chip.name} of {chip.data_bits} bits serves a bus of a multiple of that by a "
                             f"power of two, not of {data_width} bits")
        self._chip, self._cycles, self._words = chip, cycles, words
        self._interval = refresh_interval(cycles, words)
        if self._interval < cycles.rfc + words:
            raise SdramError(f"SDRAM {chip.name} has no time for beats of {data_width} bits between refreshes: take a "
                             "faster clock")
        super().__init__({
            "access": In(stream.Signature(access_layout(chip, data_width))),
            "read": Out(data.StructLayout({"valid": 1, "data": data_width})),
            "pins": Out(SdramPins(chip)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._banks = Banks(self._chip, self._cycles)
        m.submodules.banks = self._banks
        self._command = Signal(3)
        self._last = Signal()
        self._held, self._beat = Signal(), Signal(self.access.payload.shape())
        self._due = self._refresh_timer(m)
        m.d.comb += [self.pins.cke.eq(1), self.pins.cs.eq(1)]
        m.d.comb += Cat(self.pins.we, self.pins.cas, self.pins.ras).eq(self._command)
        with m.FSM() as fsm:
            self._start(m)
            self._refresh(m)
            with m.State("WORK"):
                self._work(m)
        self._take(m, fsm.ongoing("WORK") | fsm.ongoing("REFRESHING"))
        self._return(m)
        return m

    # What to do next.

    def _take(self, m: Module, working: Value) -> None:
        """The next beat, unless a refresh is due: that waits for no more than the beat in work."""
        m.d.comb += self.access.ready.eq((~self._held | self._last) & ~self._due & working)
        with m.If(self.access.valid & self.access.ready):
            m.d.sync += [self._held.eq(1), self._beat.eq(self.access.payload)]
        with m.Elif(self._last):
            m.d.sync += self._held.eq(0)

    def _refresh_timer(self, m: Module) -> Signal:
        left, due = Signal(range(self._interval + 1)), Signal()
        with m.If(self._command == _COMMANDS["refresh"]):
            m.d.sync += [left.eq(self._interval), due.eq(0)]
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), due.eq(left == 1)]
        return due

    def _pause(self, m: Module, name: str, cycles: int, follow: str) -> None:
        """A state after a command: what follows may come so many cycles after that, and two at least."""
        last = max(0, cycles - 2)
        left = Signal(range(max(2, last + 1)), init=last, name=f"{name.lower()}_left")
        with m.State(name):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.sync += left.eq(last)
                m.next = follow

    def _issue(self, m: Module, command: str, address: Any = 0) -> None:
        m.d.comb += [self._command.eq(_COMMANDS[command]), self.pins.a.eq(address)]

    def _start(self, m: Module) -> None:
        """After power-on: close all, refresh a few times, set the mode (bursts of one word)."""
        cycles, count = self._cycles, Signal(range(_REFRESHES))
        self._pause(m, "STARTUP", cycles.startup, "CLOSE")
        with m.State("CLOSE"):
            self._issue(m, "close", _ALL)
            m.next = "CLOSING"
        self._pause(m, "CLOSING", cycles.rp, "FIRST")
        with m.State("FIRST"):
            self._issue(m, "refresh")
            m.next = "FIRST-REFRESH"
        self._pause(m, "FIRST-REFRESH", cycles.rfc, "AGAIN")
        with m.State("AGAIN"):
            m.d.sync += count.eq(count + 1)
            m.next = "FIRST"
            with m.If(count == _REFRESHES - 1):
                m.next = "MODE"
        with m.State("MODE"):
            self._issue(m, "mode", cycles.latency << 4)
            m.next = "SETTING"
        self._pause(m, "SETTING", cycles.mrd, "WORK")

    def _refresh(self, m: Module) -> None:
        banks = self._banks
        with m.State("REFRESH"):
            with m.If(banks.all_closed & banks.may_refresh):
                self._issue(m, "refresh")
                m.next = "REFRESHING"
            with m.Elif(~banks.all_closed & banks.may_close_all):
                self._issue(m, "close", _ALL)
                m.d.comb += banks.closed_all.eq(1)
        self._pause(m, "REFRESHING", self._cycles.rfc, "WORK")

    # Beats.

    def _work(self, m: Module) -> None:
        """Open the beat's row, then a word in each cycle."""
        banks, word = self._banks, Signal(range(max(2, self._words)))
        column, row = self._address(m, word)
        turned = self._turned(m)
        may = banks.hit & banks.may_access & Mux(self._beat.write, turned, 1)
        with m.If(~self._held & self._due):
            m.next = "REFRESH"
        with m.Elif(self._held & may):
            self._issue(m, "read", column)
            with m.If(self._beat.write):
                self._issue(m, "write", column)
            m.d.comb += [banks.written.eq(self._beat.write), self._last.eq(word == self._words - 1)]
            m.d.sync += word.eq(Mux(self._last, 0, word + 1))
        with m.Elif(self._held & ~banks.is_open & banks.may_open):
            self._issue(m, "open", row)
            m.d.comb += banks.opened.eq(1)
        with m.Elif(self._held & banks.is_open & ~banks.hit & banks.may_close):
            self._issue(m, "close")
            m.d.comb += banks.closed.eq(1)
        writing = self._command == _COMMANDS["write"]
        m.d.comb += [
            self.pins.dq_o.eq(self._beat.data.word_select(word, self._chip.data_bits)),
            self.pins.dq_enable.eq(writing),
            self.pins.dqm.eq(Mux(writing, ~self._beat.strobe.word_select(word, self._chip.data_bits // 8), 0)),
        ]

    def _address(self, m: Module, word: Signal) -> tuple[Value, Value]:
        """Column and row of the word; its bank goes to `_banks` and to the chip."""
        chip, words = self._chip, self._words.bit_length() - 1
        address = Cat(word[:words], self._beat.index)
        bank = address[chip.column_bits :][: chip.bank_bits]
        row = address[chip.column_bits + chip.bank_bits :]
        m.d.comb += [self._banks.bank.eq(bank), self._banks.row.eq(row), self.pins.ba.eq(bank)]
        return address[: chip.column_bits], row

    def _turned(self, m: Module) -> Value:
        """No read data is on the lines when a write comes now."""
        left = Signal(range(self._cycles.latency + _TURN))
        with m.If(self._command == _COMMANDS["read"]):
            m.d.sync += left.eq(self._cycles.latency + _TURN - 1)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return left == 0

    def _return(self, m: Module) -> None:
        """Words that were read, put together."""
        reading, whole = (Signal(self._cycles.latency + _PADS, name=name) for name in ("reading", "whole"))
        beat = Signal(len(self.read.data))
        m.d.sync += [
            reading.eq(Cat(self._command == _COMMANDS["read"], reading)),
            whole.eq(Cat(self._last, whole)),
            self.read.valid.eq(reading[-1] & whole[-1]),
        ]
        with m.If(reading[-1]):
            m.d.sync += beat.eq(Cat(beat, self.pins.dq_i)[self._chip.data_bits :])
        m.d.comb += self.read.data.eq(beat)
