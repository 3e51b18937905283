"""Tiles: a processing element or a memory, with the switch boxes and input stages that surround it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.bus import BusReceiver, BusSignature
from hw.fabric.config import (
    connection_field,
    delay_field,
    input_used_field,
    select_field,
    tile_layout,
    used_field,
)
from hw.fabric.connection_box import ConnectionBox, DelayLine
from hw.fabric.routing import Network, Side, connection_sources, core_inputs, core_outputs
from hw.fabric.spec import FabricSpec, TileKind
from hw.fabric.switch_box import SwitchBox, network_width
from hw.lib.configuration import ConfigurationStore
from hw.lib.multiplexer import hold
from hw.memtile.addressed import AddressedBuffer
from hw.memtile.dual_port import DualPortBuffer
from hw.memtile.multi_port import MultiPortBuffer
from hw.memtile.spec import for_kind
from hw.memtile.wide_fetch import WideFetchBuffer
from hw.pe.core import Pe

__all__ = ["MemTile", "PeTile", "StaticTile", "Tile", "track_ports"]


def track_ports(spec: FabricSpec) -> dict[str, int]:
    """Names and widths of the tracks of one direction: a port for each word track, one per side for the bits.

    With ready and valid also one of each per side, for the word tracks and then the bit tracks. What comes in as
    `ready` at a side is that of the tracks that go out there.
    """
    words = {f"word_{side.name.lower()}{track}": spec.width for side in Side for track in range(spec.tracks)}
    ports = words | {f"bit_{side.name.lower()}": spec.tracks for side in Side}
    if spec.protocol == "ready-valid":
        ports |= {f"{name}_{side.name.lower()}": 2 * spec.tracks for name in ("valid", "ready") for side in Side}
    return ports


class Tile(wiring.Component, ABC):
    """What tiles of both kinds and all arrays have; a subclass adds what is between the tracks.

    Ports:

    * `i_*` and `o_*` for the tracks (see `track_ports`); outgoing ones are registers.
    * `id` (16): the tile's address.
    * `i_cfg` (`hw.fabric.bus.BusSignature`): the configuration bus, passed on one cycle later as `o_cfg`. A word is
      in effect in the second cycle after it came in.
    * `en` and `flush`: obeyed one cycle later, by way of the tile's own registers.
    * `i_conflict` and `o_conflict`, of a memory's tile: some memory of this column, from the south edge up to this
      tile, has two controllers that wanted one port in one cycle since the last `flush`; out one cycle later than in.
    """

    kind: TileKind

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        ports = {"id": In(16), "en": In(1), "flush": In(1)}
        for name, width in track_ports(spec).items():
            ports |= {f"i_{name}": In(width), f"o_{name}": Out(width)}
        ports |= {"i_cfg": In(BusSignature()), "o_cfg": Out(BusSignature())}
        if self.kind is TileKind.MEM:
            ports |= {"i_conflict": In(1), "o_conflict": Out(1)}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = self.receiver = BusReceiver()
        m.submodules.store = self.store = ConfigurationStore(tile_layout(self.spec, self.kind))
        self.receiver.connect(m, self)
        self.receiver.serve(m, self.store)
        self.route_en = Signal()
        self.core_en = Signal()
        m.d.sync += [
            self.route_en.eq(self.en & self.store.value("route")),
            self.core_en.eq(self.en & self.store.value("compute")),
        ]
        self.add_parts(m)
        return m

    @abstractmethod
    def add_parts(self, m: Module) -> None:
        """Add the core, what its inputs pass and what drives the outgoing tracks."""

    def incoming(self, network: Network, side: Side, track: int) -> Value:
        """The signal of an incoming track."""
        if network is Network.WORD:
            return getattr(self, f"i_word_{side.name.lower()}{track}")
        return getattr(self, f"i_bit_{side.name.lower()}")[track]

    def outgoing(self, m: Module, network: Network, side: Side, tracks: list[Value]) -> None:
        """Drive the outgoing tracks of a side."""
        if network is Network.BIT:
            m.d.comb += getattr(self, f"o_bit_{side.name.lower()}").eq(Cat(tracks))
            return
        for track, value in enumerate(tracks):
            m.d.comb += getattr(self, f"o_word_{side.name.lower()}{track}").eq(value)


class StaticTile(Tile):
    """What tiles of both kinds of the static array have: every input of the core passes a connection box and a delay
    line, every outgoing track is a register of a switch box."""

    def add_parts(self, m: Module) -> None:
        outputs = self.add_core(m, self._inputs(m))
        for network in Network:
            self._switch_box(m, network, outputs)

    @abstractmethod
    def add_core(self, m: Module, inputs: dict[str, Value]) -> dict[str, Value]:
        """Add the core and the registers of its `inputs`; the result is the core's outputs, all by name of the port."""

    def _inputs(self, m: Module) -> dict[str, Value]:
        """Connection box and delay line for every input of the core; zero for an input that is not connected."""
        slot = Signal(range(self.spec.delay_depth))
        m.d.sync += slot.eq(slot + self.core_en)
        outputs: dict[str, Value] = {}
        for network in Network:
            sources = connection_sources(self.spec, network)
            for port in core_inputs(self.spec, self.kind, network):
                width = network_width(self.spec, network)
                m.submodules[f"connect_{port}"] = box = ConnectionBox(width, len(sources))
                m.submodules[f"delay_{port}"] = line = DelayLine(width, self.spec.delay_depth)
                for signal, source in zip(box.i, sources, strict=True):
                    m.d.comb += signal.eq(self.incoming(network, source.side, source.track))
                m.d.comb += [
                    box.select.eq(self.store.value(connection_field(port))),
                    line.en.eq(self.core_en),
                    line.slot.eq(slot),
                    line.used.eq(self.store.value(input_used_field(port))),
                    line.delay.eq(self.store.value(delay_field(port))),
                    line.i.eq(box.o),
                ]
                outputs[port] = line.o
        return outputs

    def _switch_box(self, m: Module, network: Network, outputs: dict[str, Value]) -> None:
        m.submodules[f"{network}_switch"] = box = SwitchBox(self.spec, self.kind, network)
        m.d.comb += box.en.eq(self.route_en)
        for signal, port in zip(box.core, core_outputs(self.spec, self.kind, network), strict=True):
            m.d.comb += signal.eq(outputs[port])
        for side in Side:
            for track in range(self.spec.tracks):
                m.d.comb += [
                    box.i[side][track].eq(self.incoming(network, side, track)),
                    box.select[side][track].eq(self.store.value(select_field(network, side, track))),
                    box.used[side][track].eq(self.store.value(used_field(network, side, track))),
                ]
            self.outgoing(m, network, side, box.o[side])


class PeTile(StaticTile):
    """A tile with a processing element. From a word on a track to the result at the switch boxes it takes
    `hw.pe.PeSpec.latency` cycles and the delay of the input."""

    kind = TileKind.PE

    def add_core(self, m: Module, inputs: dict[str, Value]) -> dict[str, Value]:
        m.submodules.core = core = Pe(self.spec.pe)
        self.receiver.serve(m, core)
        m.d.comb += core.en.eq(self.core_en)
        if self.spec.pe.counter:
            flush = Signal()
            m.d.sync += flush.eq(self.flush)
            m.d.comb += core.flush.eq(flush)
        for port, value in inputs.items():
            m.d.comb += getattr(core, f"i_{port}").eq(value)
        return {"word0": core.o_word, "bit0": core.o_bit}


class MemTile(StaticTile):
    """A tile with a memory core of the kind that `spec.mem` names. A word on a track is at the core `INPUT_LATENCY`
    cycles later, and the delay of the input."""

    kind = TileKind.MEM

    def add_core(self, m: Module, inputs: dict[str, Value]) -> dict[str, Value]:
        dual_port = DualPortBuffer if self.spec.mem.sram_ports == 1 else MultiPortBuffer
        cores = {"pub": WideFetchBuffer, "dual-port": dual_port, "dual-port-pe": AddressedBuffer}
        core = for_kind(cores, self.spec.mem.kind, "core for static tiles (hw.fabric.tile)")(self.spec.mem)
        m.submodules.core = ResetInserter(self.receiver.clear)(core)
        self.receiver.serve(m, core)
        flush = Signal()
        m.d.sync += [flush.eq(self.flush), self.o_conflict.eq(self.i_conflict | core.conflict)]
        m.d.comb += [core.en.eq(self.core_en), core.flush.eq(flush)]
        named = {f"in{index}": signal for index, signal in enumerate(core.data_in)}
        named |= {f"chain{index}": signal for index, signal in enumerate(core.chain_in)}
        for port, value in inputs.items():
            signal = named[port] if port in named else getattr(core, port)
            register = Signal.like(signal, name=f"{port}_register")
            m.d.sync += register.eq(hold(register, self.core_en, value))
            m.d.comb += signal.eq(register)
        bits = {port: getattr(core, port) for port in core_outputs(self.spec, self.kind, Network.BIT)}
        return {f"out{index}": signal for index, signal in enumerate(core.data_out)} | bits
