"""Ways to damage a correct mapping. Each yields damaged mappings, all of which compute something else or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from verify_mappings import Mapping

from hw.dma.descriptor import DmaLevel
from hw.fabric.routing import CoreSource, Network, TrackSource, switch_sources
from hw.memtile import (
    Affine,
    AffineNest,
    DualPortConfig,
    DualPortInput,
    DualPortOutput,
    PubConfig,
    PubInput,
    PubOutput,
)
from hw.memtile.affine import deltas, strides
from hw.pe.config import PeConfig

Place = tuple[int, int]
Port = PubInput | PubOutput | DualPortInput | DualPortOutput
Mutation = Callable[[Mapping], Iterator[tuple[str, Mapping]]]

ROLES = {"write": "inputs", "store": "inputs", "fetch": "outputs", "read": "outputs"}


def memories(mapping: Mapping) -> Iterator[tuple[Place, PubConfig | DualPortConfig]]:
    """Memory tiles in use."""
    for place, tile in mapping.config.tiles.items():
        if isinstance(tile.core, PubConfig | DualPortConfig):
            yield place, tile.core


def controllers(mapping: Mapping) -> Iterator[tuple[str, AffineNest, Callable[[AffineNest], Mapping]]]:
    """Name, nest and a way to change it, of every controller of a memory."""
    for place, core in memories(mapping):
        for role, side in ROLES.items():
            for number, port in enumerate(getattr(core, side)):
                if port is None or not hasattr(port, role):
                    continue

                def put(nest: AffineNest, place=place, core=core, role=role, side=side, number=number) -> Mapping:
                    ports = list(getattr(core, side))
                    ports[number] = replace(ports[number], **{role: nest})
                    return mapping.with_tile(place, core=replace(core, **{side: tuple(ports)}))

                yield f"{place} {role}{number}", getattr(port, role), put


def banks(mapping: Mapping) -> Iterator[tuple[str, AffineNest, Callable[[AffineNest], Mapping]]]:
    """The same of every bank."""
    for column, bank in mapping.config.banks.items():
        def put(nest: AffineNest, column=column) -> Mapping:
            return mapping.with_bank(column, nest=nest, first=nest.time_offset, words=nest.count)

        yield f"bank {column}", bank.nest, put


def schedule_offset(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A controller that starts a cycle early or late. (Some memory controllers have that freedom; see tests.)"""
    for name, nest, put in (*controllers(mapping), *banks(mapping)):
        if "store" in name or "fetch" in name:
            continue
        for change in (1, -1):
            if nest.time_offset + change >= 1:
                yield f"{name} {change:+}", put(replace(nest, time_offset=nest.time_offset + change))


def far_schedule_offset(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Stores and fetches that come much too late: blocks are overwritten before, or not there yet."""
    for name, nest, put in controllers(mapping):
        if "store" in name or "fetch" in name:
            yield name, put(replace(nest, time_offset=nest.time_offset + 9))


def time_stride(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A loop whose iterations are a cycle further apart."""
    for name, nest, put in (*controllers(mapping), *banks(mapping)):
        for d in range(len(nest.time)):
            steps = [step + (k == d) for k, step in enumerate(deltas(nest.ranges, nest.time))]
            yield f"{name} loop {d}", put(replace(nest, time=strides(nest.ranges, steps)))


def trip_count(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A bank that stops too soon."""
    for name, nest, put in banks(mapping):
        ranges = (*nest.ranges[:-1], nest.ranges[-1] - 1)
        yield name, put(replace(nest, ranges=ranges))


def buffer_modulo(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A circular region of half its size, at both ends or at one; and a mask that is none."""
    for place, core in memories(mapping):
        half = {side: tuple(p and _halved(p) for p in getattr(core, side)) for side in ("inputs", "outputs")}
        yield f"{place} both", mapping.with_tile(place, core=replace(core, **half))
        for side, ports in half.items():
            yield f"{place} {side}", mapping.with_tile(place, core=replace(core, **{side: ports}))
        odd = tuple(p and replace(p, mask=p.mask & ~1) for p in core.outputs)
        yield f"{place} odd", mapping.with_tile(place, core=replace(core, outputs=odd))


def _sram_nest(port: Port) -> tuple[str, AffineNest, int]:
    """Of the controller that addresses the SRAM: its role, its nest, and the number of that address."""
    if isinstance(port, PubInput):
        return "store", port.store, 1
    if isinstance(port, DualPortInput):
        return "write", port.write, 0
    return ("fetch", port.fetch, 0) if isinstance(port, PubOutput) else ("read", port.read, 0)


def _ring(nest: AffineNest, number: int) -> int:
    """Places of the ring that an evenly spaced nest goes round, 0 if it does not."""
    steps = nest.addresses[number].strides
    return nest.ranges[0] if len(steps) > 1 and not any(steps[1:]) else 0


def _halved(port: Port) -> Port:
    """A region of half its size, by mask or by turn."""
    role, nest, number = _sram_nest(port)
    turn = _ring(nest, number)
    if not turn:
        return replace(port, mask=port.mask >> 1)
    half, step = turn // 2, nest.time[0]
    addresses = [Affine((a.strides[0], a.strides[0] * half), a.offset) for a in nest.addresses]
    addresses[number] = Affine((1, 0), nest.addresses[number].offset)
    rounds = -(-nest.count // half)
    return replace(port, **{role: AffineNest((half, rounds), (step, step * half), nest.time_offset, tuple(addresses))})


def _moved(port: Port) -> Port:
    """A region that begins behind this one."""
    role, nest, number = _sram_nest(port)
    turn = _ring(nest, number)
    if not turn:
        return replace(port, base=port.mask + 1)
    addresses = list(nest.addresses)
    addresses[number] = replace(addresses[number], offset=addresses[number].offset + turn)
    return replace(port, **{role: replace(nest, addresses=tuple(addresses))})


def base(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """An output that reads another region than its input writes."""
    for place, core in memories(mapping):
        moved = tuple(p and _moved(p) for p in core.outputs)
        yield f"{place}", mapping.with_tile(place, core=replace(core, outputs=moved))


def output_port(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """The two outputs of a memory exchanged, in the memory or where its words enter the network."""
    for place, core in memories(mapping):
        if sum(p is not None for p in core.outputs):
            yield f"{place} core", mapping.with_tile(place, core=replace(core, outputs=core.outputs[::-1]))
        switches = mapping.config.tiles[place].switches
        for key, source in switches.items():
            if isinstance(source, CoreSource):
                other = CoreSource("out1" if source.port == "out0" else "out0")
                yield f"{place} {key}", mapping.with_tile(place, switches={**switches, key: other})


def input_delay(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """An input stage that delays a cycle more or less."""
    for place, tile in mapping.config.tiles.items():
        for port in tile.connections:
            delay = tile.delays.get(port, 0)
            for changed in (delay + 1, delay - 1):
                if 0 <= changed < mapping.spec.delay_depth:
                    yield f"{place} {port} {changed}", mapping.with_tile(place, delays={**tile.delays, port: changed})


def address_coefficient(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A stride or offset of an address that is one too large."""
    for name, nest, put in (*controllers(mapping), *banks(mapping)):
        for number, address in enumerate(nest.addresses):
            changed = [Affine(address.strides, address.offset + 1)]
            changed += [Affine((*address.strides[:d], s + 1, *address.strides[d + 1:]), address.offset)
                        for d, s in enumerate(address.strides)]
            for k, new in enumerate(changed):
                addresses = (*nest.addresses[:number], new, *nest.addresses[number + 1:])
                yield f"{name} address {number} change {k}", put(replace(nest, addresses=addresses))


def shared_port(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Two controllers of a memory that use the SRAM port in the same cycle."""
    found = list(controllers(mapping))
    for name, nest, put in found:
        if "fetch" in name:
            store = next(n for other, n, _ in found if other.split(" store")[0] == name.split(" fetch")[0]
                         and "store" in other)
            offset = nest.time_offset + (store.time_offset - nest.time_offset) % 4
            yield name, put(replace(nest, time_offset=offset))


def unit_shared(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Two units of the netlist on one site."""
    sites = mapping.physical.placement.sites
    names = [n for n in sites if not n.startswith(("in_", "out_"))]
    for first, second in pairwise(names):
        placement = replace(mapping.physical.placement, sites={**sites, first: sites[second]})
        yield f"{first} {second}", replace(mapping, physical=replace(mapping.physical, placement=placement))


def _pes(mapping: Mapping) -> Iterator[tuple[Place, PeConfig]]:
    for place, tile in mapping.config.tiles.items():
        if isinstance(tile.core, PeConfig):
            yield place, tile.core


def pe_constant(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A constant that is one too large."""
    for place, core in _pes(mapping):
        for k, value in enumerate(core.constants):
            if value is not None:
                constants = (*core.constants[:k], value + 1, *core.constants[k + 1:])
                yield f"{place} {k}", mapping.with_tile(place, core=replace(core, constants=constants))


def pe_opcode(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Another operation of the same form; and signed instead of unsigned where that matters."""
    other = {"add": "sub", "sub": "add", "mul": "mul_high", "mad": "select", "shr": "shl", "pass": "abs",
             "and": "or", "shl": "shr", "select": "mad"}
    for place, core in _pes(mapping):
        yield f"{place} {core.op}", mapping.with_tile(place, core=replace(core, op=other[core.op]))
        if core.op in ("shr", "lt"):
            yield f"{place} sign", mapping.with_tile(place, core=replace(core, signed=not core.signed))


def track_select(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A connection box or switch box that selects another source."""
    for place, tile in mapping.config.tiles.items():
        for port, source in tile.connections.items():
            changed = TrackSource(source.side, (source.track + 1) % mapping.spec.tracks)
            if source.side.name == "N" and place[0] == 0:
                changed = TrackSource(source.side.opposite, source.track)
            yield f"{place} {port}", mapping.with_tile(place, connections={**tile.connections, port: changed})
        for key, source in tile.switches.items():
            network, side, track = key
            kind = mapping.spec.tile_kind(*place)
            for other in switch_sources(mapping.spec, kind, network, side, track):
                if other != source and network is Network.WORD and not _same_stream(place, source, other):
                    yield f"{place} {key} {other}", mapping.with_tile(place, switches={**tile.switches, key: other})


def _same_stream(place: Place, first: object, second: object) -> bool:
    """Whether both are tracks on which a bank's words enter the array."""
    return place[0] == 0 and all(isinstance(s, TrackSource) and s.side.name == "N" for s in (first, second))


def descriptor(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A DMA descriptor that moves other elements."""
    for column, d in mapping.plan.banks.items():
        yield f"{column} base", mapping.with_descriptor(column, base=d.base + 2)
        yield f"{column} odd base", mapping.with_descriptor(column, base=d.base + 1)
        yield f"{column} row bytes", mapping.with_descriptor(column, row_bytes=d.row_bytes - 2)
        for name in ("rows", "planes"):
            level = getattr(d, name)
            if level.count > 1:
                changed = {name: DmaLevel(level.count, level.stride + 2)}
                yield f"{column} {name}", mapping.with_descriptor(column, **changed)
        for k, level in enumerate(d.tiles):
            if level.count > 1:
                changed = tuple(DmaLevel(t.count, t.stride + 2 * (j == k)) for j, t in enumerate(d.tiles))
                yield f"{column} tiles {k}", mapping.with_descriptor(column, tiles=changed)


def run_plan(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """A run that is too short, or whose tiles come at other times."""
    plan = mapping.plan
    yield "run_cycles", replace(mapping, plan=replace(plan, run_cycles=plan.run_cycles - 1))
    if plan.tiles > 1:
        yield "tiles", replace(mapping, plan=replace(plan, tiles=plan.tiles - 1))
        yield "period", replace(mapping, plan=replace(plan, period=plan.period + 1))
        yield "short period", replace(mapping, plan=replace(plan, period=plan.period - 1))


def bank_registers(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """What the run control is told about a bank; a bank that works in the other direction; a bank too many."""
    for column, bank in mapping.config.banks.items():
        yield f"{column} first", mapping.with_bank(column, first=bank.first + 1)
        yield f"{column} words", mapping.with_bank(column, words=bank.words - 1)
        other = "input" if bank.direction == "output" else "output"
        yield f"{column} direction", mapping.with_bank(column, direction=other)


def array_address(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """An array that is somewhere else in main memory, or on top of another."""
    for name, address in mapping.addresses.items():
        yield name, replace(mapping, addresses={**mapping.addresses, name: address + 64})


MUTATIONS: dict[str, Mutation] = {
    f.__name__: f
    for f in (schedule_offset, far_schedule_offset, time_stride, trip_count, buffer_modulo, base, output_port,
              input_delay, address_coefficient, shared_port, unit_shared, pe_constant, pe_opcode, track_select,
              descriptor, run_plan, bank_registers, array_address)
}
