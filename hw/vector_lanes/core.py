"""The vector core: everything between the instruction queue, the scratchpad and the DMA engine's ports.

::

    entry -> queue -> dispatch -> sequencer -> interlock -> scratchpad -> lanes -> scratchpad
                         |                                      |
                        job                         dma_write, dma_read, dma_data

Instructions wait only at dispatch (for transfers) and at the interlock (for operands); what has been issued never
stops. Liu 2012, chapter 2.
"""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.scratchpad_align import Skid
from hw.vector_lanes.core_layouts import wave_layout
from hw.vector_lanes.core_ports import JOB, chunk_width, core_counters, dma_write_layout
from hw.vector_lanes.datapath import VectorDatapath, accumulate_latency, datapath_latency, datapath_sources
from hw.vector_lanes.dispatch import Dispatcher
from hw.vector_lanes.gather import GatherUnit, IndexReader
from hw.vector_lanes.hazards import Interlock
from hw.vector_lanes.isa import ENTRY
from hw.vector_lanes.mask import MaskUnit
from hw.vector_lanes.scratchpad import BYTE_BITS, Scratchpad, scratchpad_sources
from hw.vector_lanes.sequencer import Sequencer
from hw.vector_lanes.spec import VectorSpec

__all__ = ["VectorCore", "core_counters", "core_sources", "sum_lag", "write_lag"]

_STATUS_BITS = 4
_READ_CYCLES = 1


def core_sources(spec: VectorSpec) -> dict[str, str]:
    """Verilog files, by name, of the modules that a `VectorCore` instantiates by name."""
    return {**scratchpad_sources(spec), **datapath_sources(spec)}


def write_lag(spec: VectorSpec) -> int:
    """Cycles from a wavefront's issue to the writing of its results."""
    return datapath_latency(spec) + _READ_CYCLES


def sum_lag(spec: VectorSpec) -> int:
    """Cycles from the issue of a row's last wavefront to the writing of the row's sum."""
    return accumulate_latency(spec) + _READ_CYCLES


class VectorCore(wiring.Component):
    """The soft vector processor without its scalar core and DMA engine.

    * `entry`: instructions and control operations in program order; the queue behind it holds `queue_depth`.
    * `job` hands transfers to a DMA engine, `job_done` pulses for each one finished, in that order; the engine reads
      and writes the scratchpad by `dma_read`/`dma_data` and `dma_write` (see `Scratchpad`). `dma_error` (2): pulses
      for errors of reading and writing main memory.
    * `status` (4): ILLEGAL, ADDRESS, DMA_READ, DMA_WRITE; bits stick until `clear_status`, which those that arrive
      in the same cycle survive.
    * `vector_idle`: no vector instruction is queued or unfinished; `dma_idle`: no transfer. Both are 0 while anything
      is in the queue. `mask_waves`: active wavefronts of the mask, 0 without one. `counters`: see `core_counters`.

    Two wavefronts of which the second reads what the first one writes are issued `write_lag` + 1 cycles apart at least
    (`sum_lag` + 1 for a row's sum). All others follow each other in the next cycle, except that a wavefront waits for
    a cycle where its results would meet a row's sum at the write port.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        self._datapath = VectorDatapath(spec)
        self._lag, self._sum_lag = write_lag(spec), sum_lag(spec)
        super().__init__({
            "entry": In(stream.Signature(ENTRY)),
            "job": Out(stream.Signature(JOB)), "job_done": In(1), "dma_error": In(2),
            "dma_write": In(stream.Signature(dma_write_layout(spec))),
            "dma_read": In(stream.Signature(chunk_width(spec))),
            "dma_data": Out(stream.Signature(8 * spec.memory_bytes)),
            "status": Out(_STATUS_BITS), "clear_status": In(1), "vector_idle": Out(1), "dma_idle": Out(1),
            "mask_waves": Out(range(spec.mask_waves + 1)), "counters": Out(core_counters()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=ENTRY.size, depth=spec.queue_depth)
        m.submodules.dispatch = dispatch = Dispatcher(spec)
        m.submodules.sequencer = sequencer = Sequencer(spec)
        m.submodules.interlock = interlock = Interlock(spec, self._lag, self._sum_lag)
        m.submodules.gather = gather = GatherUnit(spec)
        m.submodules.skid = skid = Skid(wave_layout(spec))
        m.submodules.mask = mask = MaskUnit(spec, self._lag)
        m.submodules.scratchpad = scratchpad = Scratchpad(spec)
        m.submodules.datapath = self._datapath
        self._connect_queue(m, queue, dispatch)
        wiring.connect(m, dispatch.instruction, sequencer.instruction)
        wiring.connect(m, sequencer.wave, gather.request)
        # A register on the way, in both directions: making wavefronts and comparing them are a cycle each.
        wiring.connect(m, gather.wave, skid.input)
        wiring.connect(m, skid.output, interlock.wave)
        m.d.comb += [
            dispatch.sequencing.eq(sequencer.current), dispatch.sequencing_valid.eq(sequencer.busy),
            dispatch.retired.eq(interlock.retired),
        ]
        self._connect_mask(m, mask, sequencer, interlock)
        self._connect_dma(m, dispatch, scratchpad)
        self._connect_lanes(m, interlock, scratchpad, gather)
        m.d.comb += [
            gather.current.eq(sequencer.current), gather.base.eq(sequencer.base),
            gather.overlaps.eq(sequencer.overlaps),
        ]
        # A bubble asked for by the DMA engine is kept until it can be one.
        m.d.sync += interlock.pause.eq(scratchpad.bubble)
        self._report(m, queue, dispatch, interlock, mask, gather.outside)
        return m

    def _connect_queue(self, m: Module, queue: fifo.SyncFIFOBuffered, dispatch: Dispatcher) -> None:
        m.d.comb += [
            queue.w_data.eq(self.entry.payload.as_value()), queue.w_en.eq(self.entry.valid),
            self.entry.ready.eq(queue.w_rdy), dispatch.entry.payload.as_value().eq(queue.r_data),
            dispatch.entry.valid.eq(queue.r_rdy), queue.r_en.eq(dispatch.entry.ready),
        ]

    def _connect_mask(self, m: Module, mask: MaskUnit, sequencer: Sequencer, interlock: Interlock) -> None:
        wave = interlock.issue
        size = wave.mode.in_size
        wave_bits = (self.spec.row_bytes - 1).bit_length()
        m.d.comb += [
            sequencer.mask_number.eq(mask.number), sequencer.mask_bits.eq(mask.bits),
            sequencer.mask_last.eq(mask.last), sequencer.mask_empty.eq(mask.empty), sequencer.mask_ready.eq(mask.ready),
            mask.next.eq(sequencer.mask_next), mask.begin.eq(sequencer.mask_setup),
            mask.issued.eq(interlock.issued & wave.sets_mask), mask.issued_end.eq(wave.end),
            mask.issued_number.eq(wave.index << size >> wave_bits), mask.test.eq(self._datapath.test),
        ]

    def _connect_dma(self, m: Module, dispatch: Dispatcher, scratchpad: Scratchpad) -> None:
        wiring.connect(m, wiring.flipped(self.job), dispatch.job)
        wiring.connect(m, wiring.flipped(self.dma_write), scratchpad.dma_write)
        wiring.connect(m, wiring.flipped(self.dma_read), scratchpad.dma_read)
        wiring.connect(m, wiring.flipped(self.dma_data), scratchpad.dma_data)
        m.d.comb += [scratchpad.job_done.eq(self.job_done), dispatch.job_done.eq(scratchpad.job_finished)]

    def _connect_lanes(self, m: Module, interlock: Interlock, scratchpad: Scratchpad, gather: GatherUnit) -> None:
        lanes, wave, read = self._datapath, interlock.issue, Signal(wave_layout(self.spec))
        valid = Signal()
        m.d.sync += [read.eq(wave), valid.eq(interlock.issued)]
        m.d.comb += [
            scratchpad.a_address.eq(wave.a_address), scratchpad.a_enable.eq(interlock.issued & wave.a_used),
            scratchpad.b_address.eq(wave.b_address), scratchpad.b_enable.eq(interlock.issued & wave.b_used),
            lanes.valid.eq(valid & ~read.holds if self.spec.fuses else valid),
            lanes.a_offset.eq(read.a_address), lanes.b_offset.eq(read.b_address),
            lanes.d_offset.eq(read.d_address),
        ]
        holds = ("holds",) if self.spec.fuses else ()
        for name in ("mode", "first", "last", "scalar", "index", "count", "mask", *holds):
            m.d.comb += getattr(lanes, name).eq(read[name])
        m.submodules.indices = indices = IndexReader(self.spec)
        m.d.comb += [
            indices.row.eq(scratchpad.b_data), indices.address.eq(read.b_address), indices.read.eq(valid & read.fetch),
            gather.index.eq(indices.index), gather.index_done.eq(indices.done),
        ]
        self._connect_banks(m, scratchpad)
        m.d.comb += [
            scratchpad.write_address.eq(interlock.write_address), scratchpad.write_enable.eq(interlock.writes),
        ]

    def _connect_banks(self, m: Module, scratchpad: Scratchpad) -> None:
        """A bank's nine bits are the byte and its flag; the lanes have all bytes, then all flags."""
        lanes, banks = self._datapath, range(self.spec.row_bytes)
        for port in "ab":
            raw = getattr(scratchpad, f"{port}_data")
            words = [raw.word_select(bank, BYTE_BITS) for bank in banks]
            m.d.comb += [
                getattr(lanes, f"{port}_data").eq(Cat(word[:8] for word in words)),
                getattr(lanes, f"{port}_flags").eq(Cat(word[8] for word in words)),
            ]
        written = [Cat(lanes.write_data.word_select(bank, 8), lanes.write_flags[bank]) for bank in banks]
        m.d.comb += [
            scratchpad.write_data.eq(Cat(written)),
            scratchpad.write_strobe.eq(Mux(lanes.write_valid, lanes.write_strobe, 0)),
        ]

    def _report(
        self, m: Module, queue: fifo.SyncFIFOBuffered, dispatch: Dispatcher, interlock: Interlock, mask: MaskUnit,
        outside: Signal,
    ) -> None:
        events = Cat(dispatch.illegal, dispatch.address | outside, self.dma_error)
        m.d.sync += self.status.eq(Mux(self.clear_status, 0, self.status) | events)
        # From registers, as dispatch's part of it: what waits for it is far from here.
        quiet = Signal(init=1)
        comes, goes = queue.w_en & queue.w_rdy, queue.r_en & queue.r_rdy
        m.d.sync += quiet.eq(~comes & ((queue.level == 0) | ((queue.level == 1) & goes)))
        m.d.comb += [
            self.vector_idle.eq(quiet & dispatch.vector_idle), self.dma_idle.eq(quiet & dispatch.dma_idle),
            self.mask_waves.eq(Mux(dispatch.mask.valid & (dispatch.mask.length != 0), mask.waves, 0)),
        ]
        steps = {
            "cycles": 1, "busy": interlock.issued, "instructions": dispatch.dispatched, "bubbles": interlock.hazard,
            "dma_cycles": ~dispatch.dma_idle,
        }
        for name, step in steps.items():
            counter = getattr(self.counters, name)
            m.d.sync += counter.eq(counter + step)
