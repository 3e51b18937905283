"""From a placed, routed and retimed application to the configuration of every tile, edge stage and bank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.bind.cgra.bands import LEAST_LINES, Bands
from compiler.bind.cgra.filled_tables import FILL_PORT, fill_of, plan_filled
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.memories import PortContention, configure_memory
from compiler.bind.cgra.netlist import PeNode, Pin, StreamOut
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.predicate_tables import plan_control
from compiler.bind.cgra.transfers import bands_of, bank_config, blocks_of
from compiler.ir.program import Table
from compiler.sched.static.schedule import Schedule
from compiler.sched.streams.streams import Footprint
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig, IoConfig, TileConfig
from hw.fabric.routing import Network, Side, Source, TrackSource
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec
from hw.memtile import AddressedConfig, DualPortConfig, PubConfig
from hw.memtile.spec import for_kind
from hw.pe.config import PeConfig

__all__ = ["configure", "configure_banks", "plan_bands"]

_BLOCKS = (4, 8, 16, 32)
"""Columns of the blocks in which matrices that are walked by columns are moved."""

Core = PeConfig | PubConfig | DualPortConfig | AddressedConfig

_MEMORIES = {"pub": PubConfig, "dual-port": DualPortConfig, "dual-port-pe": AddressedConfig}


@dataclass
class _Tile:
    switches: dict[tuple[Network, Side, int], Source] = field(default_factory=dict)
    connections: dict[str, TrackSource] = field(default_factory=dict)
    delays: dict[str, int] = field(default_factory=dict)
    core: Core | None = None


def configure(application: Application, physical: Physical, spec: FabricSpec) -> ArrayConfig:
    """Configuration of the whole array, without its banks. Raises `AccessPatternError` where a memory cannot do it,
    `PortContention` with the buffers of all memories that cannot where those that hold several are among them."""
    tiles: defaultdict[tuple[int, int], _Tile] = defaultdict(_Tile)
    ios: dict[int, IoConfig] = {}
    for wire, source in physical.routes.switches.items():
        tiles[wire.row, wire.column].switches[wire.network, wire.side, wire.track] = source
    for pin, source in physical.routes.connections.items():
        site = physical.placement[pin.node]
        assert isinstance(source, TrackSource)
        if isinstance(physical.netlist.nodes[pin.node], StreamOut):
            ios[site.column] = IoConfig(source.track)
        else:
            tiles[site.row, site.column].connections[pin.port] = source
    for pin, delay in physical.retiming.delays.items():
        if delay:
            site = physical.placement[pin.node]
            tiles[site.row, site.column].delays[pin.port] = delay
    for name, core in _cores(application, physical, spec).items():
        site = physical.placement[name]
        tiles[site.row, site.column].core = core
    made = {place: TileConfig(t.switches, t.connections, t.delays, t.core) for place, t in tiles.items()}
    return ArrayConfig(made, ios)


def _cores(application: Application, physical: Physical, spec: FabricSpec) -> Mapping[str, Core]:
    cores: dict[str, Core] = {n: node.config for n, node in physical.netlist.nodes.items() if isinstance(node, PeNode)}
    cores |= application.addresses.configurations(physical.retiming.times)
    crowded: list[PortContention] = []
    for tile in application.memories:
        try:
            cores[tile.name] = configure_memory(tile, physical.retiming.times,
                                                replace(spec.mem, depth=tile.depth))
        except PortContention as error:
            crowded.append(error)
    if crowded:
        raise PortContention(str(crowded[0]), frozenset().union(*(error.buffers for error in crowded)))
    schedule = application.schedule
    for name, table in application.controls.items():
        shift = physical.retiming.times[Pin(name, "out0")] - 1
        cores[name] = plan_control(table, shift, schedule.staged.tiles, schedule.period, spec.mem)
    program = schedule.staged.program
    for name, table in application.roms.items():
        cores[name] = _rom(program.table(table), spec)
    for name, memory in application.filled.items():
        shift = physical.retiming.times[Pin(name, f"in{FILL_PORT}")]
        cores[name] = plan_filled(schedule.statements[fill_of(program, memory).name], shift, spec.mem)
    return cores


def _rom(table: Table, spec: FabricSpec) -> Core:
    """A memory tile that looks words up."""
    contents = tuple(value & ((1 << spec.mem.word_width) - 1) for value in table.values)
    return for_kind(_MEMORIES, spec.mem.kind, "tables of constants (compiler.bind.cgra.configuration)")(
        contents=contents, rom=True)


def configure_banks(application: Application, physical: Physical, spec: FabricSpec,
                    bands: Mapping[str, Bands]) -> dict[int, BankConfig]:
    """Configuration of every bank in use, by number; `bands` by array."""
    schedule, times = application.schedule, physical.retiming.times
    banks: dict[int, BankConfig] = {}
    for footprint in (f for f in schedule.staged.inputs if f.array in application.streams_in):
        name = application.streams_in[footprint.array]
        shift = times[Pin(name, "out")] - GLB_INPUT_LATENCY
        entry, mine = schedule.statements[footprint.statement], bands[footprint.array]
        banks[physical.placement[name].bank(spec)] = bank_config(footprint, entry, shift, "input", mine)
    for footprint in schedule.staged.outputs:
        name = application.streams_out[footprint.array]
        shift = times[Pin(name, "in")]
        entry, mine = schedule.statements[footprint.statement], bands[footprint.array]
        banks[physical.placement[name].bank(spec)] = bank_config(footprint, entry, shift, "output", mine)
    return banks


def plan_bands(schedule: Schedule, spec: FabricSpec, lengths: Sequence[int] = LEAST_LINES) -> list[dict[str, Bands]]:
    """Bands of every array, by name, in several lengths; those of outputs also with inputs in the longest ones, for
    reads that wait for whole arrays.

    Raises `StreamError` for a tile that the global buffer cannot take.
    """
    staged, statements = schedule.staged, schedule.statements
    found: list[dict[str, Bands]] = []

    def planned(footprints: Iterable[Footprint], least: int) -> dict[str, Bands]:
        return {f.array: bands_of(staged, f, statements[f.statement], spec.glb, least) for f in footprints}

    outputs = {least: planned(staged.outputs, least) for least in lengths}
    inputs = {least: planned(staged.inputs, least) for least in lengths}
    for least, longest in (*((n, n) for n in lengths), *((n, lengths[-1]) for n in lengths)):
        bands = inputs[longest] | outputs[least]
        if bands not in found:
            found.append(bands)
    for block in _BLOCKS if len(lengths) > 1 else ():
        blocked = {f.array: bands for f in staged.inputs if (bands := blocks_of(
            f, staged.program.array(f.array), statements[f.statement], spec.glb, block)) is not None}
        found += [inputs[lengths[-1]] | blocked | bands for bands in outputs.values()] if blocked else []
    return found
