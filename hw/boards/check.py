"""The self-check of a board: are the results in memory the ones that were expected?"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.designs.directory import OutputRegion
from hw.lib.crc import CRC32_INITIAL, crc32_step

__all__ = ["OutputCheck"]


class OutputCheck(wiring.Component):
    """Clears regions of memory before a run, and compares their CRC-32 with the expected ones after it.

    One byte per cycle and 5 cycles per region. Only regions with an expected checksum count; without any, `clear`
    and `check` are `done` at once and nothing ever passes.

    Clearing matters: on-chip memory keeps its contents over a reset, and the results of the run before must not
    pass for those of this one.

    Ports:
        clear, check: begin one or the other; at most one in a cycle, ignored while at work.
        done: one cycle at the end.
        passed: all regions were right in the last check.
        side_request, side_address, side_clear, side_data: the side port of `OnChipMemory` with the same `beat_bytes`.
    """

    def __init__(self, regions: Sequence[OutputRegion], beat_bytes: int = 8):
        self._regions = [
            (region.address, region.length, region.crc32) for region in regions if region.crc32 is not None
        ]
        self._beat_bytes = beat_bytes
        super().__init__({
            "clear": In(1),
            "check": In(1),
            "done": Out(1),
            "passed": Out(1),
            "side_request": Out(1),
            "side_address": Out(32),
            "side_clear": Out(1),
            "side_data": In(8 * beat_bytes),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if not self._regions:
            m.d.comb += self.done.eq(self.clear | self.check)
            return m
        checking = Signal()
        index = Signal(range(len(self._regions) + 1))
        left = Signal(32)
        region = self._rom(m, index)
        crc = self._accumulator(m, checking & self.side_request, region.start)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.clear | self.check):
                    m.d.sync += [checking.eq(self.check), index.eq(0), self.passed.eq(self.check)]
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.comb += region.start.eq(1)
                m.d.sync += [self.side_address.eq(region.address), left.eq(region.length)]
                m.next = "WALK"
            with m.State("WALK"):
                m.d.comb += [self.side_request.eq(1), self.side_clear.eq(~checking)]
                m.d.sync += [self.side_address.eq(self.side_address + 1), left.eq(left - 1)]
                with m.If(left == 1):
                    m.next = "LAST"
            with m.State("LAST"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                with m.If(~crc != region.crc):
                    m.d.sync += self.passed.eq(0)
                m.d.sync += index.eq(index + 1)
                m.next = "FETCH"
                with m.If(index == len(self._regions) - 1):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        return m

    def _rom(self, m: Module, index: Signal) -> _Region:
        init = [address | length << 32 | crc << 64 for address, length, crc in self._regions]
        m.submodules.rom = rom = Memory(shape=96, depth=max(2, len(init)), init=init)
        port = rom.read_port()
        m.d.comb += port.addr.eq(index)
        return _Region(port.data)

    def _accumulator(self, m: Module, reading: Value, start: Value) -> Signal:
        """The running checksum (not yet complemented) of the bytes that are read."""
        crc = Signal(32)
        valid = Signal()
        lane = Signal(range(self._beat_bytes))
        m.d.sync += [valid.eq(reading), lane.eq(self.side_address)]
        with m.If(start):
            m.d.sync += crc.eq(CRC32_INITIAL)
        with m.Elif(valid):
            m.d.sync += crc.eq(crc32_step(crc, self.side_data.word_select(lane, 8)))
        return crc


class _Region:
    """The fields of the current entry of the table, and the order to begin with it."""

    def __init__(self, entry: Value):
        self.address, self.length, self.crc = entry[:32], entry[32:64], entry[64:]
        self.start = Signal(name="region_start")
