"""The global buffer: the banks of all columns, between the burst engines and the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.bank import TILES_BITS, HalfCounter, line_bits
from hw.fabric.bank_config import bank_controller
from hw.fabric.bus import BUS
from hw.fabric.config import EDGE, tile_id
from hw.fabric.control import TileClock
from hw.fabric.elastic_bank import build_bank
from hw.fabric.handshakes import handshakes
from hw.fabric.spec import EN_LATENCY, FabricSpec

__all__ = ["DrainSignature", "FillSignature", "GlobalBuffer"]

CYCLE_BITS = 32


class FillSignature(wiring.Signature):
    """Writes lines of a half of the bank of `column`; from the side that writes. One line per cycle."""

    def __init__(self, spec: FabricSpec):
        super().__init__({
            "column": Out(range(spec.columns)),
            "half": Out(1),
            "write": Out(1),
            "line": Out(line_bits(spec)),
            "data": Out(spec.glb.bus_width),
        })


class DrainSignature(wiring.Signature):
    """Reads lines of a half of the bank of `column`; from the side that reads.

    `data` is there `DRAIN_LATENCY` cycles after `read`, if `column` stays.
    """

    def __init__(self, spec: FabricSpec):
        super().__init__({
            "column": Out(range(spec.columns)),
            "half": Out(1),
            "read": Out(1),
            "line": Out(line_bits(spec)),
            "data": In(spec.glb.bus_width),
        })


class GlobalBuffer(wiring.Component):
    """Banks with what decides when they start a tile and who has which half.

    Root (see `RunControl`): `en`: a cycle is issued; `flush`: a run of `tiles` tiles, `period` cycles apart, begins.
    One bit per column: `enable`, `output`, `blocked`, `left`, `complete`, `overrun`.

    Memory side, one bit per column: `wanted`, `half`, `claim`, `release` (see `HalfCounter`); `fill`, `drain`.

    Array side: `i_stream[c]` goes to the array, `o_stream[c]` comes from it, as the ports of `CgraArray` with these
    names. Banks see `en` and `flush` `EN_LATENCY` cycles after the root, like the tiles. `last_output`: number of the
    unstalled cycle in which an output bank last took a word. `cfg_*`: the configuration bus.

    `bank` builds one bank.
    """

    def __init__(self, spec: FabricSpec, bank: Callable[[FabricSpec], Any] = build_bank):
        self.spec = spec
        self._build_bank = bank
        self._elastic = spec.protocol == "ready-valid"
        columns, time_width = spec.columns, bank_controller(spec.glb).time_width
        flags = ("enable", "output", "blocked", "left", "complete", "overrun", "wanted", "half")
        super().__init__({
            **{f"cfg_{name}": In(width) for name, width in BUS.items()},
            "en": In(1),
            "flush": In(1),
            "tiles": In(TILES_BITS),
            "period": In(time_width),
            **{name: Out(columns) for name in flags},
            "claim": In(columns),
            "release": In(columns),
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
        banks = {column: self._column(m, column, en, flush) for column in self.spec.bank_columns}
        lines = [banks[c].drain_data if c in banks else Const(0) for c in range(self.spec.columns)]
        m.d.sync += self.drain.data.eq(Array(lines)[self.drain.column])
        for column in range(self.spec.columns):
            if column not in banks:
                m.d.comb += self.complete[column].eq(1)
        cycle = Signal(CYCLE_BITS)
        with m.If(flush):
            m.d.sync += [cycle.eq(0), self.last_output.eq(0)]
        with m.Elif(en):
            m.d.sync += cycle.eq(cycle + 1)
            with m.If(Cat(bank.stored for bank in banks.values()).any()):
                m.d.sync += self.last_output.eq(cycle)
        return m

    def _column(self, m: Module, column: int, en: Value, flush: Value) -> Any:
        bank, halves, clock = self._build_bank(self.spec), HalfCounter(), TileClock(len(self.period))
        m.submodules[f"bank{column}"] = bank
        m.submodules[f"halves{column}"] = halves
        m.submodules[f"clock{column}"] = clock
        m.d.comb += [
            bank.id.eq(tile_id(EDGE, column)),
            *(getattr(bank, f"i_cfg_{name}").eq(getattr(self, f"cfg_{name}")) for name in BUS),
            bank.en.eq(en),
            bank.flush.eq(flush),
            bank.begin.eq(_delayed(m, clock.begin, f"begin{column}")),
            bank.i_word.eq(self.o_stream[column]),
            self.i_stream[column].eq(bank.o_word),
        ]
        self._connect_root(m, column, bank, halves, clock)
        self._connect_memory(m, column, bank, halves)
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

    def _connect_root(self, m: Module, column: int, bank: Any, halves: HalfCounter,
                      clock: TileClock) -> None:
        m.d.comb += [
            clock.enable.eq(bank.enable),
            clock.first.eq(bank.first),
            clock.period.eq(self.period),
            clock.tiles.eq(self.tiles),
            clock.flush.eq(self.flush),
            clock.step.eq(self.en),
            halves.start.eq(self.en & clock.due),
            halves.finish.eq(bank.finish),
            self.enable[column].eq(bank.enable),
            self.output[column].eq(bank.output),
            self.blocked[column].eq(Mux(self.en, clock.begin, clock.due) & ~halves.ready),
            self.left[column].eq(clock.left | (bank.unfinished | bank.pending if self._elastic else bank.unfinished)),
            self.overrun[column].eq(bank.overrun),
        ]

    def _connect_memory(self, m: Module, column: int, bank: Any, halves: HalfCounter) -> None:
        m.d.comb += [
            halves.enable.eq(bank.enable),
            halves.output.eq(bank.output),
            halves.tiles.eq(self.tiles),
            halves.prepare.eq(self.flush),
            halves.claim.eq(self.claim[column]),
            halves.release.eq(self.release[column]),
            self.wanted[column].eq(halves.wanted),
            self.half[column].eq(halves.half),
            self.complete[column].eq(halves.complete),
            bank.fill.eq(self.fill.write & (self.fill.column == column)),
            bank.fill_half.eq(self.fill.half),
            bank.fill_line.eq(self.fill.line),
            bank.fill_data.eq(self.fill.data),
            bank.drain.eq(self.drain.read & (self.drain.column == column)),
            bank.drain_half.eq(self.drain.half),
            bank.drain_line.eq(self.drain.line),
        ]


def _delayed(m: Module, signal: Value, name: str) -> Value:
    """What was decided at the root, when it arrives at tiles and banks."""
    stages = Signal(EN_LATENCY, name=f"{name}_stages")
    m.d.sync += stages.eq(Cat(signal, stages[:-1]))
    return stages[-1]
