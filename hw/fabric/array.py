"""The array: tiles by the module name of their kind, their tracks joined, configuration and control distributed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.bus import BusSignature
from hw.fabric.config import CLEAR_ADDRESS, EDGE, tile_id
from hw.fabric.edge_stage import EdgeStage
from hw.fabric.elastic_edge import ElasticEdgeStage
from hw.fabric.elastic_tile import ElasticMemTile, ElasticPeTile
from hw.fabric.handshakes import handshakes
from hw.fabric.routing import Side, neighbour
from hw.fabric.spec import FabricSpec, TileKind
from hw.fabric.tile import MemTile, PeTile, track_ports
from hw.lib.configuration import passed_on
from hw.verilog import convert, convert_files

__all__ = ["ARRAY_MODULE", "EDGE_MODULE", "TILE_MODULES", "CgraArray", "emit_array", "emit_tiles",
           "tile_module"]

ARRAY_MODULE = "cgra_array"
"""Name of the array's Verilog module."""

EDGE_MODULE = "edge_stage"
TILE_MODULES = {TileKind.PE: "pe_tile", TileKind.MEM: "mem_tile"}
"""Names of the Verilog modules that it instantiates."""

_PARTS = {
    "static": (EdgeStage, PeTile, MemTile),
    "ready-valid": (ElasticEdgeStage, ElasticPeTile, ElasticMemTile),
}
"""Edge stage and tiles by the protocol of the tracks."""

COLUMN_GROUP = 8
ROW_GROUP = 4
"""Columns, and rows, that share a register of the tree that distributes `en` and `flush`."""


class CgraArray(wiring.Component):
    """An array of tiles with an edge stage per column. Its tiles are separate Verilog modules: `emit_tiles`.

    Ports:

    * `cfg` (`hw.fabric.bus.BusSignature`): configuration, a word in each cycle in which `valid` is 1, in effect after
      `FabricSpec.config_latency` cycles whatever `en` is. Reset clears the configuration.
    * `en`: the array advances; `flush`: every controller restarts. Obeyed `EN_LATENCY` cycles later.
    * `i_stream[c]`, `o_stream[c]`: words from and to the global buffer at column c. A word that comes in is on all
      tracks into row 0 `IO_INPUT_LATENCY` cycles later; one that goes out left its track `IO_OUTPUT_LATENCY`
      cycles before.
    * with ready and valid: a bit for each column of `i_stream_valid`, `o_stream_ready` and `o_stream_valid`,
      `i_stream_ready`; words pass in cycles in which both are 1 and the tiles obey an `en` of 1.
    * `conflict`: in some memory, two controllers wanted one port in one cycle since the last `flush`; up to
      rows + 2 cycles late.
    """

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        self._elastic = spec.protocol == "ready-valid"
        super().__init__(
            {
                "cfg": In(BusSignature()),
                "en": In(1),
                "flush": In(1),
                "i_stream": In(spec.width).array(spec.columns),
                "o_stream": Out(spec.width).array(spec.columns),
                "conflict": Out(1),
                **({name: port.flip() for name, port in handshakes(spec).items()}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._tracks = {place: self._outgoing(*place) for place in self.spec.tiles()}
        root = self._register(m, "root", self.en, self.flush)
        bus = self._bus_root(m)
        groups = range(0, self.spec.columns, COLUMN_GROUP)
        columns = [self._register(m, f"columns{first}", *root) for first in groups]
        conflicts = []
        for column in range(self.spec.columns):
            control = self._register(m, f"column{column}", *columns[column // COLUMN_GROUP])
            conflicts.append(self._column(m, column, control, self._bus_column(m, column, bus)))
        m.d.sync += self.conflict.eq(Cat(conflicts).any())
        return m

    def _outgoing(self, row: int, column: int) -> dict[str, Signal]:
        return {
            name: Signal(width, name=f"tile_{row}_{column}_{name}")
            for name, width in track_ports(self.spec).items()
        }

    def _register(self, m: Module, name: str, en: Value, flush: Value) -> tuple[Signal, Signal]:
        """One level of the tree that distributes `en` and `flush`."""
        outputs = Signal(name=f"en_{name}"), Signal(name=f"flush_{name}")
        m.d.sync += [outputs[0].eq(en), outputs[1].eq(flush)]
        return outputs

    def _bus_root(self, m: Module) -> Any:
        """First register of the bus. Tiles have no reset: reset makes this register send the word that clears."""
        bus = BusSignature(clearing=True).create(path=("cfg_root",))
        m.d.sync += passed_on(self.cfg, bus)
        return bus

    def _bus_column(self, m: Module, column: int, root: Any) -> Any:
        """The bus into a column: only words for its units pass."""
        bus = BusSignature().create(path=(f"cfg_{column}",))
        unit = root.address[16:]
        mine = Signal(name=f"cfg_{column}_mine")
        m.d.comb += mine.eq(root.valid & ((unit[:8] == column) | (unit == CLEAR_ADDRESS >> 16)))
        m.d.sync += bus.valid.eq(mine)
        with m.If(mine):
            m.d.sync += [bus.address.eq(root.address), bus.data.eq(root.data)]
        return bus

    def _column(self, m: Module, column: int, control: tuple[Signal, Signal], bus: Any) -> Value:
        """Tiles and edge stage of a column; the result is whether a memory in it reports a conflict."""
        groups = [
            self._register(m, f"column{column}_rows{first}", *control)
            for first in range(0, self.spec.rows, ROW_GROUP)
        ]
        north = self._edge_stage(m, column, groups[0], bus)
        conflicts = [Signal(name=f"conflict_{row}_{column}") for row in range(self.spec.rows)]
        for row in range(self.spec.rows):
            below = conflicts[row + 1] if row + 1 < self.spec.rows else Const(0)
            ports = self._control_ports(row, column, groups[row // ROW_GROUP])
            ports |= self._track_connections(row, column, north)
            bus = self._bus_ports(row, column, bus, ports)
            kind = self.spec.tile_kind(row, column)
            if kind is TileKind.MEM:
                ports |= {"i_i_conflict": below, "o_o_conflict": conflicts[row]}
            m.submodules[f"tile_{row}_{column}"] = Instance(tile_module(self.spec, kind, column), **ports)
        return conflicts[0]

    def _edge_stage(self, m: Module, column: int, control: tuple[Signal, Signal], bus: Any) -> dict[str, Value]:
        """The edge stage of a column; the result is what enters row 0, by the name of the tile's port."""
        stream = Signal(self.spec.width, name=f"stream_{column}")
        tracks = self._tracks[0, column]
        handshake, north = self._handshake(column, control[1]) if self._elastic else ({}, {})
        m.submodules[f"edge_{column}"] = Instance(
            EDGE_MODULE,
            i_clk=ClockSignal(),
            i_id=Const(tile_id(EDGE, column), 16),
            i_en=control[0],
            **_interface("i_i_cfg", bus),
            i_i_stream=self.i_stream[column],
            o_o_stream=self.o_stream[column],
            **{f"i_i_track{track}": tracks[f"word_n{track}"] for track in range(self.spec.tracks)},
            o_o_track=stream,
            **handshake,
        )
        return north | {f"word_n{track}": stream for track in range(self.spec.tracks)}

    def _handshake(self, column: int, flush: Value) -> tuple[dict[str, Value], dict[str, Value]]:
        """Ports of an edge stage for ready and valid, and what they give to the tile below."""
        tracks, outgoing = self.spec.tracks, self._tracks[0, column]
        valid, ready = (Signal(tracks, name=f"{name}_{column}") for name in ("stream_valid", "track_ready"))
        ports = {
            "i_flush": flush,
            "i_i_stream_valid": self.i_stream_valid[column],
            "o_o_stream_ready": self.o_stream_ready[column],
            "o_o_stream_valid": self.o_stream_valid[column],
            "i_i_stream_ready": self.i_stream_ready[column],
            "i_i_track_valid": outgoing["valid_n"][:tracks],
            "o_o_track_ready": ready,
            "o_o_track_valid": valid,
            "i_i_track_ready": outgoing["ready_n"][:tracks],
        }
        none = Const(0, tracks)
        return ports, {"valid_n": Cat(valid, none), "ready_n": Cat(ready, none)}

    def _control_ports(self, row: int, column: int, control: tuple[Signal, Signal]) -> dict[str, Value]:
        return {
            "i_clk": ClockSignal(),
            "i_id": Const(tile_id(row, column), 16),
            "i_en": control[0],
            "i_flush": control[1],
        }

    def _bus_ports(self, row: int, column: int, bus: Any, ports: dict[str, Value]) -> Any:
        """Add the bus to a tile's `ports`; the result is the bus for the tile below."""
        following = BusSignature().create(path=(f"cfg_{row}_{column}",))
        ports |= _interface("i_i_cfg", bus) | _interface("o_o_cfg", following)
        return following

    def _track_connections(self, row: int, column: int, north: dict[str, Value]) -> dict[str, Value]:
        ports: dict[str, Value] = {}
        for name, width in track_ports(self.spec).items():
            ports[f"o_o_{name}"] = self._tracks[row, column][name]
            ports[f"i_i_{name}"] = self._incoming(row, column, name, width, north)
        return ports

    def _incoming(self, row: int, column: int, name: str, width: int, north: dict[str, Value]) -> Value:
        """What comes in at a port: the neighbour's track, `north` at the north edge, zero at the others."""
        network, end = name.split("_")
        side = Side[end[0].upper()]
        place = neighbour(self.spec, row, column, side)
        if place is not None:
            return self._tracks[place][f"{network}_{side.opposite.name.lower()}{end[1:]}"]
        return north.get(name, Const(0, width))


def _interface(prefix: str, signals: Any) -> dict[str, Value]:
    """Ports of an `Instance`, by the names that an interface called `prefix` has in Verilog."""
    return {f"{prefix}__{name}": getattr(signals, name) for name in signals.signature.members}


def tile_module(spec: FabricSpec, kind: TileKind, column: int) -> str:
    """Name of the module of the tiles of a kind in a column: memories that are smaller than others have their own."""
    depth = spec.mem_at(column).depth if kind is TileKind.MEM else spec.mem.depth
    return TILE_MODULES[kind] if depth == spec.mem.depth else f"{TILE_MODULES[kind]}_{depth}"


@lru_cache(maxsize=8)
def emit_tiles(spec: FabricSpec) -> dict[str, str]:
    """Verilog files by name of the modules that `CgraArray` instantiates; made once per process, not to be changed."""
    edge, pe, mem = _PARTS[spec.protocol]
    modules = {EDGE_MODULE: edge(spec), TILE_MODULES[TileKind.PE]: pe(spec)}
    for column in sorted({column for _, column in spec.tiles(TileKind.MEM)}):
        name = tile_module(spec, TileKind.MEM, column)
        if name not in modules:
            modules[name] = mem(spec.local(column))
    # A tile is cleared by the configuration bus: no reset is distributed.
    return convert_files(modules, missing_domain=lambda domain: ClockDomain(domain, reset_less=True))


def emit_array(spec: FabricSpec) -> dict[str, str]:
    """Verilog files, by name, of an array whose top module is `cgra_array` (clock `clk`, reset `rst`)."""
    top = convert(CgraArray(spec), ARRAY_MODULE)
    return {f"{ARRAY_MODULE}.v": top, **emit_tiles(spec)}
