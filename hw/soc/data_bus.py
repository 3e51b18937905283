"""From the core's data bus to main memory and to the peripherals."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.soc.line_buffer import LineBuffer, line_beats, memory_bus, word_bits
from hw.soc.store_queue import STORE, StoreQueue
from hw.soc.wishbone import CycleType, WishboneSignature

__all__ = ["PERIPHERAL_PORT", "PERIPHERAL_REGION", "DataBus"]

PERIPHERAL_PORT = stream.Signature(data.StructLayout({"address": 28, "write": 1, "data": 32, "sel": 4}))
"""An access to a peripheral: byte address inside the region, and data and byte strobes as on the bus."""

PERIPHERAL_REGION = 0xF
"""Bits 31 to 28 of the addresses of peripherals. All other addresses are main memory, without their bit 31."""

_QUIET = 2
"""Cycles without a store on the bus that make sure that none is between the core's pipeline and the bus."""


class DataBus(wiring.Component):
    """Loads and stores of the core. Stores wait in a `StoreQueue`; a load passes them unless it reads the same line.

    bus: the core's. axi: main memory. enable: the core runs; loads that are under way while it falls are finished and
    dropped. stored, stored_line: a word goes into that line (byte address / 32).
    peripheral (`PERIPHERAL_PORT`): valid while the core accesses one, from the cycle after it asked until ready;
    peripheral_data: what it reads then.
    drained: every store is in main memory, also those whose instruction has left the core's pipeline just now.
    load_error, store_error: memory refused a word. waiting: the core waits. idle: no transaction is outstanding.
    """

    def __init__(self, beat_bytes: int):
        self._beat_bytes = beat_bytes
        super().__init__({
            "bus": In(WishboneSignature()),
            "axi": Out(memory_bus(beat_bytes)),
            "enable": In(1),
            "stored": Out(1),
            "stored_line": Out(27),
            "peripheral": Out(PERIPHERAL_PORT),
            "peripheral_data": In(32),
            "drained": Out(1),
            "load_error": Out(1),
            "store_error": Out(1),
            "waiting": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stores = stores = StoreQueue(self._beat_bytes)
        m.submodules.loads = loads = LineBuffer(self._beat_bytes, line_beats(self._beat_bytes))
        for name, part in (("ar", loads), ("aw", stores), ("w", stores)):
            connect(m, getattr(part, name), flipped(getattr(self.axi, name)))
        for name, part in (("r", loads), ("b", stores)):
            connect(m, flipped(getattr(self.axi, name)), getattr(part, name))
        bus = self.bus
        wanted, is_peripheral = Signal(), Signal()
        m.d.comb += [
            wanted.eq(bus.cyc & bus.stb & self.enable),
            is_peripheral.eq(bus.adr[-4:] == PERIPHERAL_REGION),
            self.store_error.eq(stores.error),
            self.waiting.eq(wanted & ~bus.ack),
            self.idle.eq(stores.empty & loads.idle & ~loads.request.valid),
        ]
        stored = self._store(m, stores, wanted & ~is_peripheral & bus.we)
        loaded = self._load(m, loads, stores, wanted & ~is_peripheral & ~bus.we)
        served = self._peripheral(m, wanted & is_peripheral)
        m.d.comb += [
            bus.ack.eq(stored | loaded | served),
            bus.dat_r.eq(Mux(is_peripheral, self.peripheral_data, self._word(loads))),
        ]
        self._watch(m, stores, bus.cyc & bus.we & ~is_peripheral)
        return m

    def _word(self, loads: LineBuffer) -> Value:
        low = self.bus.adr[: word_bits(self._beat_bytes)]
        return loads.beat.word_select(low, 32) if len(low) else loads.beat

    def _store(self, m: Module, stores: StoreQueue, wanted: Value) -> Signal:
        bus, stored = self.bus, Signal()
        values = {"address": bus.adr[:29], "data": bus.dat_w, "sel": bus.sel}
        m.d.comb += [
            stores.store.valid.eq(wanted),
            *(stores.store.p[name].eq(values[name]) for name in STORE.members),
            stored.eq(wanted & stores.store.ready),
            self.stored.eq(stored),
            self.stored_line.eq(bus.adr[3:29]),
        ]
        return stored

    def _load(self, m: Module, loads: LineBuffer, stores: StoreQueue, wanted: Value) -> Signal:
        """A burst for a whole line, or one beat for a single word; the next one when all of it was taken."""
        bus, loaded = self.bus, Signal()
        shift = word_bits(self._beat_bytes)
        low = bus.adr[:shift]
        refill, under_way, ask = Signal(), Signal(), Signal()
        address = Signal(32)
        length = Signal(8)
        m.d.comb += [
            refill.eq(bus.cti != CycleType.CLASSIC),
            stores.line.eq(bus.adr[3:29]),
            loads.request.valid.eq(ask),
            loads.request.p.address.eq(address),
            loads.request.p.len.eq(length),
            loaded.eq(wanted & under_way & loads.valid),
            loads.release.eq(loaded & (~refill | (low.all() if shift else 1))),
            self.load_error.eq(loaded & loads.error),
        ]
        with m.If(ask):
            m.d.sync += ask.eq(~loads.request.ready)
        with m.Elif(wanted & ~under_way & ~stores.hit):
            m.d.sync += [
                ask.eq(1), under_way.eq(1),
                address.eq(Mux(refill, bus.adr[3:29] << 5, bus.adr[shift:29] << (shift + 2))),
                length.eq(Mux(refill, line_beats(self._beat_bytes) - 1, 0)),
            ]  # fmt: skip
        with m.If(loaded & (~refill | bus.adr[:3].all())):
            m.d.sync += under_way.eq(0)
        with m.If(~self.enable & ~ask):
            m.d.comb += loads.flush.eq(1)
            m.d.sync += under_way.eq(0)
        return loaded

    def _peripheral(self, m: Module, wanted: Value) -> Signal:
        """Accesses reach a peripheral from registers, a cycle after they are on the bus."""
        bus, served, port = self.bus, Signal(), self.peripheral
        m.d.comb += served.eq(port.valid & port.ready)
        m.d.sync += [
            port.valid.eq(wanted & ~served),
            port.p.address.eq(bus.adr[:26] << 2),
            port.p.write.eq(bus.we),
            port.p.data.eq(bus.dat_w),
            port.p.sel.eq(bus.sel),
        ]
        return served

    def _watch(self, m: Module, stores: StoreQueue, storing: Value) -> None:
        """The core's stall depends on `drained`, so what is known a cycle before is worked out then."""
        quiet = Signal(range(_QUIET + 1))
        busy, settled = Signal(), Signal()
        m.d.comb += [busy.eq(~stores.empty | storing), self.drained.eq(settled & ~storing)]
        m.d.sync += settled.eq((quiet >= _QUIET - 1) & ~busy)
        with m.If(busy):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != _QUIET):
            m.d.sync += quiet.eq(quiet + 1)
