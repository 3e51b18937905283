"""Banks of the global buffer: buffers of bands between the burst engines and the array.

Memory fills or drains some bands of a bank as a stream, in its own time, while the array reads or writes others on its
static schedule. Liu 2023, section 6.2, has two bands of a tile each.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.fabric.bank_config import BANDS_BITS, BANK_NEST_FEATURE, CREDIT_BITS, bank_controller, bank_layout
from hw.fabric.bus import BusReceiver, BusSignature
from hw.fabric.spec import EN_LATENCY, FabricError, FabricSpec
from hw.lib.configuration import ConfigurationStore
from hw.limits import Limits
from hw.memtile.affine import ControllerRegister
from hw.memtile.controller import AffineController
from hw.memtile.spec import AffineSpec

__all__ = ["TILES_BITS", "BandCounter", "Bank", "BankSignature", "check_global_buffer", "line_bits"]

TILES_BITS = 16
"""Bits of a number of tiles."""

BUS_WIDTH = 64

LIMITS = {"bank_words": 1 << 20}
"""``bank_words``: words in half a bank."""

_LIMITS = Limits(LIMITS, FabricError)


def check_global_buffer(spec: FabricSpec) -> None:
    """Raise `FabricError` if there cannot be banks of the size that `spec` wants.

    The bus is 64 bits wide because configuration images come in pairs of 32-bit words.
    """
    words, lanes = spec.glb.half_words, spec.glb.bus_width // spec.width
    if spec.glb.bus_width != BUS_WIDTH:
        raise FabricError(f"the memory bus has to be {BUS_WIDTH} bits wide, not {spec.glb.bus_width}")
    if BUS_WIDTH % spec.width or lanes < 2:
        raise FabricError(f"a bus of {BUS_WIDTH} bits does not hold 2, 4, 8... words of {spec.width} bits")
    if words & (words - 1) or words < 2 * lanes:
        raise FabricError(f"half a bank cannot have {words} words; it needs a power of two from {2 * lanes} on")
    if words > _LIMITS.of("bank_words"):
        raise FabricError(f"half a bank of {words} words is more on-chip memory than its budget "
                          f"{_LIMITS.note('bank_words')}")


def line_bits(spec: FabricSpec) -> int:
    """Bits of the address of a line (one word of the memory bus) in a bank."""
    return (2 * spec.glb.half_words * spec.width // spec.glb.bus_width - 1).bit_length()


def _elastic_ports(spec: FabricSpec) -> dict[str, wiring.Member]:
    """What a bank of a ready-valid array has besides; see `hw.fabric.elastic_bank`."""
    flags = {"more": In(1), "i_valid": In(1), "o_ready": Out(1), "o_valid": Out(1), "i_ready": In(1), "pending": Out(1)}
    return {"period": In(bank_controller(spec.glb).time_width), **flags}


class BankSignature(wiring.Signature):
    """The ports of a `Bank`."""

    def __init__(self, spec: FabricSpec):
        lines = line_bits(spec)
        super().__init__({
            "id": In(16),
            "i_cfg": In(BusSignature()),
            "en": In(1),
            "flush": In(1),
            "begin": In(1),
            "i_word": In(spec.width),
            "o_word": Out(spec.width),
            "finish": Out(1),
            "unfinished": Out(1),
            "overrun": Out(1),
            "stored": Out(1),
            "fill": In(1),
            "fill_line": In(lines),
            "fill_data": In(spec.glb.bus_width),
            "drain": In(1),
            "drain_line": In(lines),
            "drain_data": Out(spec.glb.bus_width),
            "enable": Out(1),
            "output": Out(1),
            "first": Out(bank_controller(spec.glb).time_width),
            "bands": Out(BANDS_BITS),
            "band_cycles": Out(bank_controller(spec.glb).time_width),
            "lag": Out(CREDIT_BITS),
            "room": Out(CREDIT_BITS),
            **(_elastic_ports(spec) if spec.protocol == "ready-valid" else {}),
        })


class Bank(wiring.Component):
    """One bank: block RAM, and the controller of the array side.

    Array side, in cycles in which `en` is 1:

    * `begin`: a tile's first access is in the next such cycle (or, with `flush`, in the first one). The half
      in which address 0 lies changes from tile to tile; `flush` goes back to half 0 and forgets a tile that was begun.
    * An input bank: an access in cycle c puts its word on `o_word` in c + 1, where it stays.
    * An output bank: an access in cycle c stores `i_word` of cycle c.
    * `finish` (1): this cycle has a tile's last access. `unfinished` (1): a tile has accesses left. `overrun`: in this
      cycle a tile begins though the one before has accesses left. `stored`: an output bank has an access.

    Memory side: `fill` writes `fill_data` to line `fill_line`; `drain` reads line `drain_line`, on `drain_data` from
    the next cycle until the next `drain`. Lines are as wide as the memory bus, word address 0 in the low bits.

    Configuration: `id` and `i_cfg` as for a tile (`hw.fabric.bus`); `enable`, `output`, `first`, `bands`,
    `band_cycles`, `lag`, `room` are its registers (`hw.fabric.bank_config`). The controller's own register for the
    first cycle has no effect: tiles begin with `begin`.
    """

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        super().__init__(BankSignature(spec))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = BusReceiver()
        m.submodules.store = store = ConfigurationStore(bank_layout(self.spec))
        receiver.connect(m, self)
        receiver.serve(m, store)
        for name in ("enable", "output", "first", "bands", "band_cycles", "lag", "room"):
            m.d.comb += getattr(self, name).eq(store.value(name))
        self.step, self.restart = self.pace(m, store)
        address = self._controller(m, receiver)
        access, half = self._tiles(m, store.value("words"))
        self._memory(m, access, half, address)
        return m

    def pace(self, m: Module, store: ConfigurationStore) -> tuple[Value, Value]:
        """Whether the controller advances in this cycle, and whether a tile's first access is in its next one."""
        return self.en, self.begin

    def _controller(self, m: Module, receiver: BusReceiver) -> Value:
        """The controller restarts with every tile; the result is the word address of its event."""
        controller = AffineController(bank_controller(self.spec.glb))
        m.submodules.controller = ResetInserter(receiver.clear)(controller)
        offset = receiver.cfg.register == ControllerRegister.TIME + AffineSpec.OFFSET_ENTRY
        m.d.comb += [
            controller.cfg.valid.eq(receiver.cfg.valid & (receiver.cfg.feature == BANK_NEST_FEATURE)),
            controller.cfg.register.eq(receiver.cfg.register),
            controller.cfg.data.eq(Mux(offset, 0, receiver.cfg.data)),
            controller.en.eq(self.step),
            controller.flush.eq(self.restart),
        ]
        self._fire = controller.fire
        return controller.addresses[0]

    def _tiles(self, m: Module, words: Value) -> tuple[Signal, Signal]:
        """Count the accesses of a tile; the results are whether there is one in this cycle, and in which half."""
        left = Signal(len(words) + 1)  # accesses after the next one, -1 if there is no next one
        access, half = Signal(), Signal()
        m.d.comb += [
            access.eq(self.step & self._fire & self.unfinished),
            self.finish.eq(access & (left == 0)),
            self.overrun.eq(self.restart & ~self.flush & self.unfinished & ~self.finish),
            self.stored.eq(access & self.output),
        ]
        with m.If(access):
            m.d.sync += left.eq(left - 1)
        with m.If(self.finish):
            m.d.sync += [half.eq(~half), self.unfinished.eq(0)]
        with m.If(self.flush):
            m.d.sync += [half.eq(0), self.unfinished.eq(0)]
        with m.If(self.restart):
            m.d.sync += [left.eq(words - 1), self.unfinished.eq(self.enable)]
        return access, half

    def _memory(self, m: Module, access: Value, half: Value, address: Value) -> None:
        depth = 1 << len(self.fill_line)
        m.submodules.memory = memory = Memory(shape=self.spec.glb.bus_width, depth=depth, init=[])
        write, read = memory.write_port(granularity=self.spec.width), memory.read_port()
        lanes = len(write.en)
        lane_bits = (lanes - 1).bit_length()
        lane, line = address[:lane_bits], Cat(address[lane_bits:-1], address[-1] ^ half)
        with m.If(self.output):
            m.d.comb += [
                write.addr.eq(line),
                write.data.eq(self.i_word.replicate(lanes)),
                write.en.eq(access << lane),
                read.addr.eq(self.drain_line),
                read.en.eq(self.drain),
            ]
        with m.Else():
            m.d.comb += [
                write.addr.eq(self.fill_line),
                write.data.eq(self.fill_data),
                write.en.eq(self.fill.replicate(lanes)),
                read.addr.eq(line),
                read.en.eq(access),
            ]
        selected = Signal(lane_bits)
        with m.If(access):
            m.d.sync += selected.eq(lane)
        m.d.comb += self.drain_data.eq(read.data)
        m.d.comb += self.o_word.eq(read.data.word_select(selected, self.spec.width))


class BandCounter(wiring.Component):
    """Who may use how many bands of a bank: memory and the array hand them to each other.

    `prepare` starts a run of `tiles` tiles: all `room` of an input bank belongs to memory, that of a bank with `output`
    to the array. Array: `ready` if it has a band for the next cycle; `start` takes it, `first` with the first one of a
    tile; `finish` gives the last `lag` ones of a tile back, and each `start` the band `lag` before its own, as soon as
    the bank has come to that cycle. Memory: `wanted` if it has a band and tiles to transfer; `claim` takes it, `last`
    with the last one of a tile; `release` gives it to the array. `complete`: all tiles are transferred.
    """

    def __init__(self) -> None:
        pulses = ("prepare", "start", "first", "finish", "claim", "last", "release")
        super().__init__({
            "enable": In(1),
            "output": In(1),
            "tiles": In(TILES_BITS),
            "room": In(CREDIT_BITS),
            "lag": In(CREDIT_BITS),
            **{name: In(1) for name in pulses},
            "ready": Out(1),
            "wanted": Out(1),
            "complete": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        array, memory = Signal(CREDIT_BITS), Signal(CREDIT_BITS)
        jobs, transferring = Signal(TILES_BITS), Signal()
        given = self._given(m)
        m.d.sync += [
            array.eq(array + self.release - self.start),
            memory.eq(memory + given + Mux(self.finish, self.lag, 0) - self.claim),
            jobs.eq(jobs - (self.claim & self.last)),
        ]
        with m.If(self.claim | self.release):
            m.d.sync += transferring.eq(self.claim)
        with m.If(self.prepare):
            m.d.sync += [
                array.eq(Mux(self.output, self.room, 0)),
                memory.eq(Mux(self.output, 0, self.room)),
                jobs.eq(Mux(self.enable, self.tiles, 0)),
                transferring.eq(0),
            ]
        m.d.comb += [
            # A band that memory gives back in this cycle counts from the next one on, to keep the path short.
            self.ready.eq((array[1:] != 0) | (array[0] & ~self.start)),
            self.wanted.eq((memory != 0) & (jobs != 0)),
            self.complete.eq((jobs == 0) & ~transferring),
        ]
        return m

    def _given(self, m: Module) -> Value:
        """Whether the bank comes to a cycle from which on the array has no use for another band of this tile."""
        kept, stages = Signal(CREDIT_BITS), Signal(EN_LATENCY)
        early = self.start & ~self.first & (kept == 0)
        with m.If(self.start & self.first):
            m.d.sync += kept.eq(self.lag - 1)
        with m.Elif(self.start & (kept != 0)):
            m.d.sync += kept.eq(kept - 1)
        m.d.sync += stages.eq(Mux(self.prepare, 0, Cat(early, stages[:-1])))
        return stages[-1]
