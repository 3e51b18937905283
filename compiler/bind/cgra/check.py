"""An independent look at a finished mapping: what the settings of the array do, against what the netlist asks for.

Shares nothing with placement, routing or retiming but their results: it walks from every sink backwards through the
multiplexers that the settings describe, counts the registers it passes, and recomputes every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.bind.cgra.netlist import Edge, MemNode, Netlist, Node, PeNode, Pin, StreamIn, StreamOut
from compiler.bind.cgra.sites import IO_ROW, Site, grid, kind_of
from hw.errors import SluiceError
from hw.fabric.routing import (
    CoreSource,
    Network,
    Side,
    TrackSource,
    Wire,
    connection_sources,
    core_inputs,
    core_outputs,
    neighbour,
    switch_sources,
)
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec, TileKind

if TYPE_CHECKING:
    from compiler.bind.cgra.place_and_route import Physical

__all__ = ["PhysicalError", "check"]


class PhysicalError(SluiceError):
    """A mapping breaks a rule of the array or does not do what its netlist says."""


def check(physical: Physical, spec: FabricSpec, original: Netlist | None = None) -> None:
    """Raise `PhysicalError` with the first violation found: sites, switch settings, connectivity, every delay.

    With `original`, also if the netlist is anything else than that one with units added that only pass.
    """
    physical.netlist.verify()
    if original is not None:
        _check_added(physical.netlist, original)
    _check_sites(physical, spec)
    used: set[Wire] = set()
    for edge in physical.netlist.edges:
        origin, wires = _walk(physical, spec, edge)
        if origin != edge.source:
            raise PhysicalError(f"{edge.sink} is connected to {origin}, not to {edge.source}")
        _check_time(physical, spec, edge, len(wires))
        used.update(wires)
    for wire in physical.routes.switches:
        if wire not in used:
            raise PhysicalError(f"{wire} is driven but leads nowhere")
    _check_streams(physical)
    _check_separations(physical)


def _check_added(netlist: Netlist, original: Netlist) -> None:
    """Every original edge is there, through units that only pass."""
    into = {edge.sink: edge for edge in netlist.edges}
    for name, node in original.nodes.items():
        if netlist.nodes.get(name) != node:
            raise PhysicalError(f"{name} is missing or changed")
    for wanted in original.edges:
        edge, distance = into.get(wanted.sink), 0
        while edge is not None and edge.source.node not in original.nodes:
            _check_pass(netlist.nodes[edge.source.node], edge)
            distance += edge.distance
            edge = into.get(Pin(edge.source.node, f"{edge.network}0"))
        if edge is None or edge.source != wanted.source or edge.distance + distance != wanted.distance:
            raise PhysicalError(f"{wanted} is missing or changed")
    added = len(netlist.nodes) - len(original.nodes)
    kept = (netlist.separations, netlist.starts) == (original.separations, original.starts)
    if not kept or len(into) != len(original.edges) + added:
        raise PhysicalError("the netlist has connections or bounds that the original has not")


def _check_pass(node: Node, edge: Edge) -> None:
    """The unit gives its first input of the edge's network on its output."""
    config = node.config if isinstance(node, PeNode) else None
    if config is not None and config.feedback is not None:
        raise PhysicalError(f"{node.name} is not in the original and takes its own result")
    if config is not None and edge.network == "word" and config.op == "pass" and config.constants[0] is None:
        return
    if config is not None and edge.network == "bit" and config.op == "lut3" and config.bit_constants == (None, 0, 0):
        first_two_entries = config.table & 0b11
        if first_two_entries == 0b10:
            return
    raise PhysicalError(f"{node.name} is not in the original and does more than pass")


def _check_sites(physical: Physical, spec: FabricSpec) -> None:
    taken: dict[Site, str] = {}
    for name, node in physical.netlist.nodes.items():
        site = physical.placement.sites.get(name)
        if site is None:
            raise PhysicalError(f"{name} has no site")
        if site in taken:
            raise PhysicalError(f"{name} and {taken[site]} are both at {site}")
        taken[site] = name
        if isinstance(node, StreamIn | StreamOut):
            banks = grid(spec, kind_of(node, spec))
            fits = site.row in banks.rows and site.column in banks.columns
        elif not (0 <= site.row < spec.rows and 0 <= site.column < spec.columns):
            fits = False
        else:
            wanted = TileKind.MEM if isinstance(node, MemNode) else TileKind.PE
            fits = spec.tile_kind(*site) is wanted
            if isinstance(node, MemNode):
                fits = fits and spec.mem_at(site.column).depth == (node.depth or spec.mem.depth)
        if not fits:
            raise PhysicalError(f"{name} cannot be at {site}")


def _walk(physical: Physical, spec: FabricSpec, edge: Edge) -> tuple[Pin, list[Wire]]:
    """From a sink back to the output pin whose word it gets, and the registers in between."""
    site = physical.placement[edge.sink.node]
    selected = physical.routes.connections.get(edge.sink)
    if isinstance(physical.netlist.nodes[edge.sink.node], StreamOut):
        legal = tuple(TrackSource(Side.S, track) for track in range(spec.tracks))
    else:
        kind = spec.tile_kind(*site)
        if edge.sink.port not in core_inputs(spec, kind, edge.network):
            raise PhysicalError(f"{edge.sink} is not a {edge.network} input")
        legal = connection_sources(spec, edge.network)
    if selected not in legal:
        raise PhysicalError(f"the connection box of {edge.sink} cannot select {selected}")
    wires: list[Wire] = []
    row, column = site
    while isinstance(selected, TrackSource):
        place = (0, column) if row <= IO_ROW else neighbour(spec, row, column, selected.side)
        if place is None:
            return _stream(physical, edge, row, column, selected.side), wires
        row, column = place
        wire = Wire(row, column, Network(edge.network), selected.side.opposite, selected.track)
        if wire in wires:
            raise PhysicalError(f"{edge.sink} is fed by a loop of tracks through {wire}")
        selected = physical.routes.switches.get(wire)
        if selected not in switch_sources(spec, spec.tile_kind(row, column), edge.network, wire.side, wire.track):
            raise PhysicalError(f"{wire} on the way to {edge.sink} cannot select {selected}")
        wires.append(wire)
    return _core(physical, spec, edge, row, column, selected), wires


def _stream(physical: Physical, edge: Edge, row: int, column: int, side: Side) -> Pin:
    """The input stream that enters the tile at the edge of the array."""
    if row == 0 and side is Side.N and edge.network == "word":
        for name, node in physical.netlist.nodes.items():
            if isinstance(node, StreamIn) and physical.placement[name].column == column:
                return Pin(name, "out")
    raise PhysicalError(f"{edge.sink} is fed from beyond the {side.name} edge at tile ({row}, {column})")


def _core(
    physical: Physical, spec: FabricSpec, edge: Edge, row: int, column: int, selected: CoreSource | None
) -> Pin:
    """The unit whose output the first wire takes."""
    if selected is None or selected.port not in core_outputs(spec, spec.tile_kind(row, column), edge.network):
        raise PhysicalError(f"{edge.sink} is fed by {selected} of tile ({row}, {column}), which is no such output")
    for name, site in physical.placement.sites.items():
        if site == (row, column):
            return Pin(name, selected.port)
    raise PhysicalError(f"{edge.sink} is fed by the empty tile ({row}, {column})")


def _check_time(physical: Physical, spec: FabricSpec, edge: Edge, registers: int) -> None:
    """The word of the right logical cycle is at the sink, within what the input stage can delay."""
    nodes, times, delays = physical.netlist.nodes, physical.retiming.times, physical.retiming.delays
    if edge.source not in times:
        raise PhysicalError(f"{edge.source} has no time")
    if isinstance(nodes[edge.source.node], PeNode):
        twins = {times[pin] for pin in times if pin.node == edge.source.node}
        if len(twins) > 1:
            raise PhysicalError(f"the outputs of {edge.source.node} have different times")
    delay = 0
    if not isinstance(nodes[edge.sink.node], StreamOut):
        if edge.sink not in delays:
            raise PhysicalError(f"{edge.sink} has no delay")
        delay = delays[edge.sink]
        if not 0 <= delay < spec.delay_depth:
            raise PhysicalError(f"{edge.sink} delays by {delay}, an input stage by 0 to {spec.delay_depth - 1}")
    # At the core: track, then the register of the input stage (or IO stage), then the extra delay.
    arrival = times[edge.source] + registers + 1 + delay - edge.distance
    if isinstance(node := nodes[edge.sink.node], PeNode):
        # What its operation takes beyond the input stage, by the array's specification.
        result = arrival + spec.pe.latency(node.config.op) - 1
        for pin, time in times.items():
            if pin.node == edge.sink.node and time != result:
                raise PhysicalError(f"{edge} arrives at {arrival}, the result {pin} is due at {time}")
    elif times.get(edge.sink) != arrival:
        raise PhysicalError(f"{edge} arrives at {arrival}, expected at {times.get(edge.sink)}")


def _check_streams(physical: Physical) -> None:
    nodes, times = physical.netlist.nodes, physical.retiming.times
    for pin, time in times.items():
        if isinstance(nodes[pin.node], StreamIn) and time < GLB_INPUT_LATENCY:
            raise PhysicalError(f"{pin} is due at {time}, a bank needs {GLB_INPUT_LATENCY} cycles")
    late = max((time for pin, time in times.items() if isinstance(nodes[pin.node], StreamOut)), default=None)
    if late is not None and late != physical.retiming.latest:
        raise PhysicalError(f"the latest output is at {late}, not {physical.retiming.latest}")


def _check_separations(physical: Physical) -> None:
    times = physical.retiming.times
    for pin, start in physical.netlist.starts.items():
        if times.get(pin, start) < start:
            raise PhysicalError(f"{pin} is due at {times[pin]}, its memory begins to fetch for {start}")
    for s in physical.netlist.separations:
        if s.output not in times or s.input not in times:
            raise PhysicalError(f"the separation of {s.output} and {s.input} has no times")
        apart = times[s.output] - times[s.input]
        if not s.minimum <= apart <= s.maximum:
            raise PhysicalError(
                f"{s.output} follows {s.input} by {apart} cycles, its memory allows {s.minimum} to {s.maximum}"
            )
