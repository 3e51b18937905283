"""From the configuration of a static mapping to that of the ready-valid array."""

from __future__ import annotations

from dataclasses import replace

from compiler.bind.cgra.elastic.buffet_config import buffet_program, table_program
from compiler.bind.cgra.elastic.initial_tokens import Starts, solve_initial_tokens
from compiler.bind.cgra.filled_tables import FilledTableError, fill_of
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.netlist import Netlist, Pin, StreamIn, StreamOut
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.timing import TimingSystem
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig, CoreConfig, TileConfig
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec
from hw.memtile import DualPortConfig

__all__ = ["to_elastic"]


def to_elastic(application: Application, physical: Physical, config: ArrayConfig, spec: FabricSpec) -> ArrayConfig:
    """The same units and routes; tokens at the inputs instead of delays, buffets instead of dual-port memories, and
    banks that count tokens. `spec` is that of the ready-valid array.

    Raises `ElasticError` for what it cannot hold.
    """
    netlist = physical.netlist
    system = TimingSystem(netlist, physical.routes.hops, spec.delay_depth, GLB_INPUT_LATENCY)
    starts = solve_initial_tokens(netlist, system, application.roms)
    tokens = _tokens(netlist, physical, starts)
    programs = _programs(application, physical, config, starts, spec)
    tiles = {place: TileConfig(tile.switches, tile.connections, tokens.get(place, {}), programs.get(place, tile.core))
             for place, tile in config.tiles.items()}
    return ArrayConfig(tiles, config.ios, _banks(physical, config, starts))


def _tokens(netlist: Netlist, physical: Physical, starts: Starts) -> dict[tuple[int, int], dict[str, int]]:
    """Tokens at the start, by tile and input."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    for edge in netlist.edges:
        count = starts.tokens(edge)
        if count and not isinstance(netlist.nodes[edge.sink.node], StreamOut):
            site = physical.placement[edge.sink.node]
            found.setdefault((site.row, site.column), {})[edge.sink.port] = count
    return found


def _start(physical: Physical, starts: Starts, pin: Pin) -> int:
    """Cycle of the static mapping in which a pin has the word of token 0."""
    return physical.retiming.times[pin] - starts.lead(pin)


def _programs(application: Application, physical: Physical, config: ArrayConfig, starts: Starts,
              spec: FabricSpec) -> dict[tuple[int, int], CoreConfig]:
    """Buffets by tile."""
    found: dict[tuple[int, int], CoreConfig] = {}
    held = {tile.name: tile for tile in application.memories}
    if application.filled:
        program = application.schedule.staged.program
        fill = fill_of(program, next(iter(application.filled.values())))
        raise FilledTableError(f"{fill} fills a table that data index, which buffets have no second input for; use "
                               "--memory pub or --memory dual-port")
    for name in (*held, *application.controls, *application.roms):
        site = physical.placement[name]
        core = config.tiles[site.row, site.column].core
        assert isinstance(core, DualPortConfig)
        shown = _start(physical, starts, Pin(name, "out0"))
        if name in held:
            filled = _start(physical, starts, Pin(name, "in0"))
            found[site.row, site.column] = buffet_program(held[name], core, (filled, shown), spec.mem)
        else:
            found[site.row, site.column] = table_program(core, shown)
    return found


def _banks(physical: Physical, config: ArrayConfig, starts: Starts) -> dict[int, BankConfig]:
    """Banks by column: their times are tokens, of which those before a tile are sent or dropped first."""
    found: dict[int, BankConfig] = {}
    for name, node in physical.netlist.nodes.items():
        if isinstance(node, StreamIn):
            first = _start(physical, starts, Pin(name, "out")) - GLB_INPUT_LATENCY
        elif isinstance(node, StreamOut):
            first = _start(physical, starts, Pin(name, "in"))
        else:
            continue
        column = physical.placement[name].column
        bank = config.banks[column]
        lead = bank.first - first
        found[column] = replace(bank, nest=replace(bank.nest, time_offset=lead), first=lead, lead=lead)
    return found
