"""The global buffer: the banks of all columns, between the burst engines and the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.bank import TILES_BITS, BandCounter, line_bits
from hw.fabric.bank_config import bank_controller
from hw.fabric.bus import BusSignature
from hw.fabric.config import bank_id
from hw.fabric.control import TileClock
from hw.fabric.elastic_bank import build_bank
from hw.fabric.handshakes import handshakes
from hw.fabric.spec import EN_LATENCY, FabricSpec
from hw.lib.configuration import passed_on

__all__ = ["DrainSignature", "FillSignature", "GlobalBuffer"]

CYCLE_BITS = 32


class FillSignature(wiring.Signature):
    """Writes lines of bank number `column`; from the side that writes. One line per cycle."""

    def __init__(self, spec: FabricSpec):
        super().__init__({
            "column": Out(range(spec.bank_slots)),
            "write": Out(1),
            "line": Out(line_bits(spec)),
            "data": Out(spec.glb.bus_width),
        })


class DrainSignature(wiring.Signature):
    """Reads lines of bank number `column`; from the side that reads.

    `data` is there `DRAIN_LATENCY` cycles after `read`, if `column` stays.
    """

    def __init__(self, spec: FabricSpec):
        super().__init__({
            "column": Out(range(spec.bank_slots)),
            "read": Out(1),
            "line": Out(line_bits(spec)),
            "data": In(spec.glb.bus_width),
        })


class GlobalBuffer(wiring.Component):
    """Banks with what decides when they start a tile and who has which band.

    Root (see `RunControl`): `en`: a cycle is issued; `flush`: a run of `tiles` tiles, `period` cycles apart, begins.
    One bit per bank (`FabricSpec.bank_slots`): `enable`, `output`, `blocked`, `left`, `complete`, `overrun`.

    Memory side, one bit per bank: `wanted`, `claim`, `release` (see `BandCounter`), `last`: the band that is claimed is
    a tile's last one; `fill`, `drain`.

    Array side: `i_stream[c]` goes to the array, `o_stream[c]` comes from it, as the ports of `CgraArray` with these
    names; of two banks in a column the first one sends, the second one takes words. Banks see `en` and `flush`
    `EN_LATENCY` cycles after the root, like the tiles. `last_output`: number of the unstalled cycle in which an output
    bank last took a word. `cfg`: the configuration bus.

    `bank` builds one bank.
    """

    def __init__(self, spec: FabricSpec, bank: Callable[[FabricSpec], Any] = build_bank):
        self.spec = spec
        self._build_bank = bank
        self._elastic = spec.protocol == "ready-valid"
        columns, banks, time_width = spec.columns, spec.bank_slots, bank_controller(spec.glb).time_width
        flags = ("enable", "output", "blocked", "left", "complete", "overrun", "wanted")
        super().__init__({
            "cfg": In(BusSignature()),
            "en": In(1),
            "flush": In(1),
            "tiles": In(TILES_BITS),
            "period": In(time_width),
            **{name: Out(banks) for name in flags},
            "claim": In(banks),
            "release": In(banks),
            "last": In(1),
            "fill": In(FillSignature(spec)),
            "drain": In(DrainSignature(spec)),
            "i_stream": Out(spec.width).array(columns),
            "o_stream": In(spec.width).array(columns),
            "last_output": Out(CYCLE_BITS),
            **handshakes(spec),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        en, flush = (_delayed(m, signal, name) for signal, name in ((self.en, "en"), (self.flush, "flush")))
        banks = {number: self._bank(m, number, en, flush) for number in self.spec.bank_numbers}
        lines = [banks[n].drain_data if n in banks else Const(0) for n in range(self.spec.bank_slots)]
        m.d.sync += self.drain.data.eq(Array(lines)[self.drain.column])
        for number in range(self.spec.bank_slots):
            if number not in banks:
                m.d.comb += self.complete[number].eq(1)
        cycle = Signal(CYCLE_BITS)
        with m.If(flush):
            m.d.sync += [cycle.eq(0), self.last_output.eq(0)]
        with m.Elif(en):
            m.d.sync += cycle.eq(cycle + 1)
            with m.If(Cat(bank.stored for bank in banks.values()).any()):
                m.d.sync += self.last_output.eq(cycle)
        return m

    def _bank(self, m: Module, number: int, en: Value, flush: Value) -> Any:
        bank, credits = self._build_bank(self.spec), BandCounter()
        clock, bands = TileClock(len(self.period)), TileClock(len(self.period))
        second, column = divmod(number, self.spec.columns)
        m.submodules[f"bank{number}"] = bank
        m.submodules[f"credits{number}"] = credits
        m.submodules[f"clock{number}"] = clock
        m.submodules[f"bands{number}"] = bands
        m.d.comb += [
            bank.id.eq(bank_id(self.spec, number)),
            *passed_on(self.cfg, bank.i_cfg),
            bank.en.eq(en),
            bank.flush.eq(flush),
            bank.begin.eq(_delayed(m, clock.begin, f"begin{number}")),
            bank.i_word.eq(self.o_stream[column]),
        ]
        if not second:
            m.d.comb += self.i_stream[column].eq(bank.o_word)
        self._connect_root(m, number, bank, clock)
        self._connect_bands(m, number, bank, credits, clock, bands)
        self._connect_memory(m, number, bank, credits)
        if self._elastic:
            self._connect_handshake(m, column, bank, clock)
        return bank

    def _connect_handshake(self, m: Module, column: int, bank: Any, clock: TileClock) -> None:
        m.d.comb += [
            bank.period.eq(self.period),
            bank.more.eq(_delayed(m, clock.left, f"more{column}")),
            bank.i_valid.eq(self.o_stream_valid[column]),
            self.i_stream_ready[column].eq(bank.o_ready),
            self.i_stream_valid[column].eq(bank.o_valid),
            bank.i_ready.eq(self.o_stream_ready[column]),
        ]

    def _connect_root(self, m: Module, number: int, bank: Any, clock: TileClock) -> None:
        m.d.comb += [
            clock.enable.eq(bank.enable),
            clock.first.eq(bank.first),
            clock.period.eq(self.period),
            clock.tiles.eq(self.tiles),
            clock.flush.eq(self.flush),
            clock.step.eq(self.en),
            self.enable[number].eq(bank.enable),
            self.output[number].eq(bank.output),
            self.left[number].eq(clock.left | (bank.unfinished | bank.pending if self._elastic else bank.unfinished)),
            self.overrun[number].eq(bank.overrun),
        ]

    def _connect_bands(self, m: Module, number: int, bank: Any, credits: BandCounter, clock: TileClock,
                       bands: TileClock) -> None:
        """The clock of a tile's bands starts anew where the one of the tiles begins a tile."""
        m.d.comb += [
            bands.enable.eq(clock.begin),
            bands.period.eq(bank.band_cycles),
            bands.tiles.eq(bank.bands),
            bands.flush.eq(self.flush | clock.begin),
            bands.step.eq(self.en),
            credits.start.eq(self.en & bands.due),
            credits.first.eq(clock.due),
            credits.finish.eq(bank.finish),
            self.blocked[number].eq(Mux(self.en, bands.begin, bands.due) & ~credits.ready),
        ]

    def _connect_memory(self, m: Module, number: int, bank: Any, credits: BandCounter) -> None:
        m.d.comb += [
            *(getattr(credits, name).eq(getattr(bank, name)) for name in ("enable", "output", "room", "lag")),
            credits.tiles.eq(self.tiles),
            credits.prepare.eq(self.flush),
            credits.claim.eq(self.claim[number]),
            credits.last.eq(self.last),
            credits.release.eq(self.release[number]),
            self.wanted[number].eq(credits.wanted),
            self.complete[number].eq(credits.complete),
            bank.fill.eq(self.fill.write & (self.fill.column == number)),
            bank.fill_line.eq(self.fill.line),
            bank.fill_data.eq(self.fill.data),
            bank.drain.eq(self.drain.read & (self.drain.column == number)),
            bank.drain_line.eq(self.drain.line),
        ]


def _delayed(m: Module, signal: Value, name: str) -> Value:
    """What was decided at the root, when it arrives at tiles and banks."""
    stages = Signal(EN_LATENCY, name=f"{name}_stages")
    m.d.sync += stages.eq(Cat(signal, stages[:-1]))
    return stages[-1]
