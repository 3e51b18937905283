"""Moves tiles between main memory and the banks, and the configuration image to the loader."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.axi import Axi4Signature
from hw.dma.reader import BurstReader
from hw.dma.spec import TILE_JOB, DmaSpec
from hw.dma.tiles import TileSequencer
from hw.dma.writer import BurstWriter
from hw.fabric.bank import line_bits
from hw.fabric.control_registers import COLUMN_BITS, NO_BANK
from hw.fabric.global_buffer import DrainSignature, FillSignature
from hw.fabric.spec import FabricSpec
from hw.fabric.transfers import DrainPath, FillPath

__all__ = ["TransferEngine"]


class TransferEngine(wiring.Component):
    """One burst reader and one burst writer that the banks share in turns, band by band.

    Run control: `enable`: take up work; `prepare`: back to tile 0; `stop`: give up what is going on. `busy`: an
    engine has a job. `read_error`, `write_error`: pulse, a job has ended with an error of memory; `read_overflow`,
    `write_overflow`: pulse, a band is longer than half a bank; `bad_descriptor`: pulse. These concern the banks
    `read_bank`, `write_bank` (`NO_BANK` if none) and `descriptor_bank`. `read_busy`, `read_outstanding`, `write_busy`,
    `write_outstanding`: see the engines.

    Banks, one bit each: `wanted`, `output`, `claim`, `release` (see `BandCounter`); `last`, `fill`, `drain`.

    Descriptors: `index`, `word` (see `TileSequencer`). Loader: while `load_busy`, it has the
    reader, by `load_job`, `load_word`, `load_done`, `load_stop`. `m_axi`: memory.
    """

    def __init__(self, spec: FabricSpec, dma: DmaSpec):
        self.spec, self.dma = spec, dma
        banks = spec.bank_slots
        pulses = ("read_error", "write_error", "read_overflow", "write_overflow", "bad_descriptor", "load_done")
        self._sequencer = TileSequencer(banks, line_bits(spec))
        super().__init__({
            **{name: In(1) for name in ("enable", "prepare", "stop", "load_busy", "load_stop")},
            **{name: Out(1) for name in (*pulses, "busy", "read_busy", "write_busy")},
            **{name: Out(4) for name in ("read_outstanding", "write_outstanding")},
            **{name: Out(COLUMN_BITS) for name in ("read_bank", "write_bank", "descriptor_bank")},
            **{name: In(banks) for name in ("wanted", "output")},
            **{name: Out(banks) for name in ("claim", "release")},
            "last": Out(1),
            "fill": Out(FillSignature(spec)),
            "drain": Out(DrainSignature(spec)),
            "index": Out(len(self._sequencer.index)),
            "word": In(32),
            "load_job": In(stream.Signature(TILE_JOB)),
            "load_word": Out(stream.Signature(dma.word)),
            "m_axi": Out(Axi4Signature(data_width=dma.data_width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sequencer = self._sequencer
        m.submodules.reader = reader = BurstReader(self.dma)
        m.submodules.writer = writer = BurstWriter(self.dma)
        for engine, channels in ((reader, ("ar", "r")), (writer, ("aw", "w", "b"))):
            for channel in channels:
                connect(m, getattr(engine, channel), flipped(getattr(self.m_axi, channel)))
        self._connect_sequencer(m, reader, writer)
        filled, fill_column = self._connect_reader(m, reader)
        drained, drain_column = self._connect_writer(m, writer)
        m.d.comb += [
            self.release.eq((filled << fill_column) | (drained << drain_column)),
            self.busy.eq(reader.busy | writer.busy),
        ]
        return m

    def _connect_sequencer(self, m: Module, reader: BurstReader, writer: BurstWriter) -> None:
        sequencer = self._sequencer
        m.d.comb += [
            sequencer.enable.eq(self.enable),
            sequencer.prepare.eq(self.prepare),
            sequencer.wanted.eq(self.wanted),
            sequencer.output.eq(self.output),
            sequencer.read_idle.eq(~reader.busy),
            sequencer.write_idle.eq(~writer.busy),
            self.index.eq(sequencer.index),
            sequencer.word.eq(self.word),
            sequencer.job.ready.eq(Mux(sequencer.writes, writer.job.ready, reader.job.ready)),
            self.bad_descriptor.eq(sequencer.bad),
            self.descriptor_bank.eq(sequencer.stream),
            self.claim.eq(sequencer.claim << sequencer.stream),
            self.last.eq(sequencer.last),
        ]

    def _assignment(self, m: Module, name: str, claim: Value, release: Value) -> tuple[Signal, Signal, Signal]:
        """Remember whom an engine works for: bank and first line, which stay after the job, and whether it has one."""
        column = Signal(range(self.spec.bank_slots), name=f"{name}_column")
        line, busy = Signal(line_bits(self.spec), name=f"{name}_line"), Signal(name=f"{name}_for_bank")
        with m.If(claim):
            m.d.sync += [column.eq(self._sequencer.stream), line.eq(self._sequencer.line), busy.eq(1)]
        with m.Elif(release):
            m.d.sync += busy.eq(0)
        return column, line, busy

    def _connect_reader(self, m: Module, reader: BurstReader) -> tuple[Value, Value]:
        """The result is whether a bank's job ends well in this cycle, and whose."""
        sequencer = self._sequencer
        m.submodules.fill_path = path = FillPath(self.dma, line_bits(self.spec))
        claim = sequencer.claim & ~sequencer.writes
        column, line, busy = self._assignment(m, "read", claim, reader.done)
        m.d.sync += path.start.eq(claim)
        m.d.comb += [
            reader.stop.eq(self.stop | self.load_stop),
            reader.job.p.eq(Mux(self.load_busy, self.load_job.p, sequencer.job.p)),
            reader.job.valid.eq(Mux(self.load_busy, self.load_job.valid, sequencer.job.valid & ~sequencer.writes)),
            self.load_job.ready.eq(reader.job.ready),
            self.load_word.p.eq(reader.word.p),
            self.load_word.valid.eq(reader.word.valid & self.load_busy),
            self.load_done.eq(reader.done & self.load_busy),
            path.word.p.eq(reader.word.p),
            path.word.valid.eq(reader.word.valid & ~self.load_busy),
            reader.word.ready.eq(Mux(self.load_busy, self.load_word.ready, path.word.ready)),
            self.fill.column.eq(column),
            path.base.eq(line),
            *(getattr(self.fill, name).eq(getattr(path, name)) for name in ("write", "line", "data")),
            self.read_error.eq(reader.done & reader.error & busy),
            self.read_overflow.eq(path.overflow),
            self.read_bank.eq(Mux(busy, column, NO_BANK)),
            self.read_busy.eq(reader.busy),
            self.read_outstanding.eq(reader.outstanding),
        ]
        return reader.done & ~reader.error & ~self.stop & busy, column

    def _connect_writer(self, m: Module, writer: BurstWriter) -> tuple[Value, Value]:
        """The result is whether a bank's job ends well in this cycle, and whose."""
        sequencer = self._sequencer
        m.submodules.drain_path = path = DrainPath(self.dma, line_bits(self.spec))
        claim = sequencer.claim & sequencer.writes
        column, line, busy = self._assignment(m, "write", claim, writer.done)
        m.d.sync += path.start.eq(claim)
        connect(m, path.word, writer.word)
        m.d.comb += [
            writer.stop.eq(self.stop),
            writer.job.p.eq(sequencer.job.p),
            writer.job.valid.eq(sequencer.job.valid & sequencer.writes),
            self.drain.column.eq(column),
            path.base.eq(line),
            self.drain.read.eq(path.read),
            self.drain.line.eq(path.line),
            path.data.eq(self.drain.data),
            self.write_error.eq(writer.done & writer.error & busy),
            self.write_overflow.eq(path.overflow),
            self.write_bank.eq(Mux(busy, column, NO_BANK)),
            self.write_busy.eq(writer.busy),
            self.write_outstanding.eq(writer.outstanding),
        ]
        return writer.done & ~writer.error & ~self.stop & busy, column
