"""Tiles of the ready-valid array: the same configuration, multiplexers and cores, between queues and relays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from amaranth.hdl import Cat, Const, Module, ResetInserter, Signal, Value

from hw.fabric.config import connection_field, delay_field, input_used_field, select_field, used_field
from hw.fabric.elastic import Queue, Relay
from hw.fabric.routing import (
    CoreSource,
    Network,
    Side,
    Source,
    TrackSource,
    connection_sources,
    core_inputs,
    core_outputs,
    switch_sources,
)
from hw.fabric.spec import TileKind
from hw.fabric.switch_box import network_width
from hw.fabric.tile import Tile
from hw.lib.multiplexer import multiplex
from hw.memtile.buffet import Buffet
from hw.pe.core import Pe

__all__ = ["ElasticMemTile", "ElasticPeTile", "ElasticTile"]


@dataclass(frozen=True)
class _Taker:
    """A relay or queue that takes one of `sources`, if `used` the one that `select` numbers."""

    part: Relay | Queue
    used: Value
    select: Value
    sources: Sequence[Source]


@dataclass
class _Interconnect:
    """One network of a tile: who takes tokens, which sources all their takers have room for, and which tokens move."""

    takers: list[_Taker] = field(default_factory=list)
    relays: dict[tuple[Side, int], Relay] = field(default_factory=dict)
    room: dict[Source, Signal] = field(default_factory=dict)
    moves: dict[Source, Signal] = field(default_factory=dict)
    values: dict[Source, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class _Output:
    """An output of the core: a `value` that is passed on in the cycles in which `moves` is 1."""

    value: Value
    moves: Value


class ElasticTile(Tile):
    """What ready-valid tiles of both kinds have; a subclass adds the core.

    Ports as for `Tile`, with `valid` and `ready` of all tracks. A token moves along a track, and to all takers of it
    in the next tile at once, in a cycle in which it is valid and ready. An outgoing track is a `Relay`, an input of the
    core a `Queue`, which after `flush` holds as many tokens as its delay is configured.
    """

    queued: tuple[str, ...] | None = None
    """Inputs of the core that there are, None for all."""

    def add_parts(self, m: Module) -> None:
        flush, restart = Signal(), Signal()
        m.d.sync += flush.eq(self.flush)
        m.d.comb += restart.eq(flush | self.receiver.clear)
        networks = {network: _Interconnect() for network in Network}
        queues: dict[str, Queue] = {}
        for network, parts in networks.items():
            self._add_relays(m, network, parts, restart)
            queues |= self._add_queues(m, network, parts, restart)
            self._find_room(m, network, parts)
        rooms = {s.port: signal for parts in networks.values() for s, signal in parts.room.items()
                 if isinstance(s, CoreSource)}
        outputs = self.add_elastic_core(m, queues, rooms, flush, restart)
        for network, parts in networks.items():
            self._move(m, network, parts, outputs)
        for side in Side:
            self._connect_side(m, side, networks)

    @abstractmethod
    def add_elastic_core(self, m: Module, queues: dict[str, Queue], rooms: dict[str, Signal], flush: Signal,
                         restart: Signal) -> dict[str, _Output]:
        """Add the core; the result is its outputs by port. `queues` by input, `rooms` by output."""

    def present(self, port: str, queue: Queue) -> Value:
        """Whether an input has a token, or needs none."""
        return ~self.store.value(input_used_field(port)) | queue.valid

    def _add_relays(self, m: Module, network: Network, parts: _Interconnect, restart: Signal) -> None:
        for side in Side:
            for track in range(self.spec.tracks):
                name = f"{network}_{side.name.lower()}{track}"
                m.submodules[f"relay_{name}"] = relay = Relay(network_width(self.spec, network))
                m.d.comb += [relay.en.eq(self.route_en), relay.restart.eq(restart)]
                parts.relays[side, track] = relay
                parts.takers.append(_Taker(
                    relay, self.store.value(used_field(network, side, track)),
                    self.store.value(select_field(network, side, track)),
                    switch_sources(self.spec, self.kind, network, side, track)))

    def _add_queues(self, m: Module, network: Network, parts: _Interconnect, restart: Signal) -> dict[str, Queue]:
        queues: dict[str, Queue] = {}
        for port in core_inputs(self.spec, self.kind, network):
            if self.queued is not None and port not in self.queued:
                continue
            m.submodules[f"queue_{port}"] = queue = Queue(network_width(self.spec, network), self.spec.delay_depth)
            m.d.comb += [queue.en.eq(self.core_en), queue.restart.eq(restart),
                         queue.tokens.eq(self.store.value(delay_field(port)))]
            queues[port] = queue
            parts.takers.append(_Taker(queue, self.store.value(input_used_field(port)),
                                       self.store.value(connection_field(port)),
                                       connection_sources(self.spec, network)))
        return queues

    def _find_room(self, m: Module, network: Network, parts: _Interconnect) -> None:
        """For every source whether all its takers have room; a source without takers is not waited for."""
        sources: list[Source] = [TrackSource(side, track) for side in Side for track in range(self.spec.tracks)]
        sources += [CoreSource(port) for port in core_outputs(self.spec, self.kind, network)]
        for source in sources:
            parts.room[source] = room = Signal(name=f"room_{network}_{_label(source)}")
            parts.moves[source] = Signal(name=f"moves_{network}_{_label(source)}")
            blocked = [taker.used & (taker.select == taker.sources.index(source)) & ~taker.part.room
                       for taker in parts.takers if source in taker.sources]
            m.d.comb += room.eq(~Cat(blocked).any())

    def _move(self, m: Module, network: Network, parts: _Interconnect, outputs: dict[str, _Output]) -> None:
        """Pass the tokens on that move: all takers of a source take them in the same cycle."""
        for source, moves in parts.moves.items():
            if isinstance(source, CoreSource):
                parts.values[source] = outputs[source.port].value
                m.d.comb += moves.eq(outputs[source.port].moves)
            else:
                parts.values[source] = self.incoming(network, source.side, source.track)
                valid = getattr(self, f"i_valid_{source.side.name.lower()}")[self._bit(network, source.track)]
                m.d.comb += moves.eq(valid & parts.room[source])
        for taker in parts.takers:
            m.d.comb += [
                taker.part.i.eq(multiplex(taker.select, [parts.values[s] for s in taker.sources])),
                taker.part.push.eq(taker.used & multiplex(taker.select, [parts.moves[s] for s in taker.sources])),
            ]

    def _bit(self, network: Network, track: int) -> int:
        """Place of a track among the `valid` or `ready` of a side."""
        return track + (0 if network is Network.WORD else self.spec.tracks)

    def _connect_side(self, m: Module, side: Side, networks: dict[Network, _Interconnect]) -> None:
        name, tracks = side.name.lower(), range(self.spec.tracks)
        ready = getattr(self, f"i_ready_{name}")
        for network, parts in networks.items():
            for track in tracks:
                relay = parts.relays[side, track]
                m.d.comb += relay.pop.eq(relay.valid & ready[self._bit(network, track)])
            self.outgoing(m, network, side, [parts.relays[side, track].o for track in tracks])
        words, bits = (networks[network].relays for network in (Network.WORD, Network.BIT))
        m.d.comb += [
            getattr(self, f"o_valid_{name}").eq(Cat(relays[side, t].valid for relays in (words, bits) for t in tracks)),
            getattr(self, f"o_ready_{name}").eq(
                Cat(networks[n].room[TrackSource(side, t)] for n in (Network.WORD, Network.BIT) for t in tracks)),
        ]


class ElasticPeTile(ElasticTile):
    """A tile with a processing element that fires when all its connected inputs have a token. From a token on a track
    to the result at the switch boxes it takes `hw.pe.PE_LATENCY` cycles, as in the static array."""

    kind = TileKind.PE

    def add_elastic_core(self, m: Module, queues: dict[str, Queue], rooms: dict[str, Signal], flush: Signal,
                         restart: Signal) -> dict[str, _Output]:
        m.submodules.core = core = Pe(self.spec.pe, staged=True)
        self.receiver.serve(m, core)
        operands, result, fire, leaves, forward = (
            Signal(name=name) for name in ("operands", "result", "fire", "leaves", "forward"))
        present = Cat(self.present(port, queue) for port, queue in queues.items()).all()
        m.d.comb += [
            leaves.eq(result & rooms["word0"] & rooms["bit0"]),
            forward.eq(operands & (~result | leaves)),
            fire.eq(present & (~operands | forward)),
            core.en.eq(self.core_en & fire),
            core.en_result.eq(self.core_en & forward),
        ]
        with m.If(restart):
            m.d.sync += [operands.eq(0), result.eq(0)]
        with m.Elif(self.core_en):
            m.d.sync += [operands.eq(fire | (operands & ~forward)), result.eq(forward | (result & ~leaves))]
        for port, queue in queues.items():
            m.d.comb += getattr(core, f"i_{port}").eq(queue.o)
            m.d.comb += queue.pop.eq(fire & self.store.value(input_used_field(port)))
        return {"word0": _Output(core.o_word, leaves), "bit0": _Output(core.o_bit, leaves)}


class ElasticMemTile(ElasticTile):
    """A tile with a buffet: input `in0` fills, `in1` updates, output `out0` gives what is read. Nothing conflicts."""

    kind = TileKind.MEM
    queued = ("in0", "in1")

    def add_elastic_core(self, m: Module, queues: dict[str, Queue], rooms: dict[str, Signal], flush: Signal,
                         restart: Signal) -> dict[str, _Output]:
        core = Buffet(self.spec.mem)
        m.submodules.core = ResetInserter(self.receiver.clear)(core)
        self.receiver.serve(m, core)
        m.d.sync += self.o_conflict.eq(self.i_conflict)
        m.d.comb += [core.en.eq(self.core_en), core.flush.eq(flush), core.out.ready.eq(rooms["out0"])]
        for port, stream in (("in0", core.fill), ("in1", core.update)):
            queue = queues[port]
            m.d.comb += [
                stream.valid.eq(self.store.value(input_used_field(port)) & queue.valid),
                stream.payload.eq(queue.o),
                queue.pop.eq(stream.valid & stream.ready),
            ]
        nothing = _Output(Const(0, self.spec.width), Const(0))
        outputs = dict.fromkeys(core_outputs(self.spec, self.kind, Network.WORD), nothing)
        return outputs | {"out0": _Output(core.out.payload, core.out.valid & core.out.ready)}


def _label(source: Source) -> str:
    if isinstance(source, CoreSource):
        return source.port
    return f"{source.side.name.lower()}{source.track}"
