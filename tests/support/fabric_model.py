"""Software model of the array in unstalled cycles, written from the documented timing, not from the hardware.

It takes configurations as the compiler makes them. Registers and delay lines keep their words from one configuration
to the next, as the hardware's do.
"""

from __future__ import annotations

from collections.abc import Mapping

from pe_reference import Operands, operand_values, result

from hw.fabric.config import ArrayConfig, TileConfig
from hw.fabric.routing import CoreSource, Network, Side, Source, core_inputs, core_outputs, neighbour
from hw.fabric.spec import FabricSpec, TileKind
from hw.ops import Kind
from hw.pe.config import PeConfig

Track = tuple[Network, Side, int]


class TileModel:
    """A tile whose core is a processing element or off. `tracks`: what leaves the tile in this cycle."""

    def __init__(self, spec: FabricSpec, kind: TileKind):
        self.spec = spec
        self.network = {port: network for network in Network for port in core_inputs(spec, kind, network)}
        self.tracks: dict[Track, int] = {
            (network, side, track): 0 for network in Network for side in Side for track in range(spec.tracks)
        }
        self.core = {port: 0 for network in Network for port in core_outputs(spec, kind, network)}
        self.operands: dict[Kind, list[int]] = {kind: [0, 0, 0] for kind in Kind}
        self.lines = {port: [0] * spec.delay_depth for port in self.network}
        self.slot = 0
        self.config = TileConfig()

    def step(self, incoming: Mapping[Track, int]) -> None:
        """One unstalled cycle. `incoming`: what arrives, by the side it arrives from."""
        tracks = {key: self._value(key[0], source, incoming) for key, source in self.config.switches.items()}
        core = self._compute()
        inputs = {port: self._input(port, incoming) for port in self.config.connections}
        if self.config.connections or self.config.core is not None:
            self.slot = (self.slot + 1) % self.spec.delay_depth
        if isinstance(self.config.core, PeConfig):
            words, bits = (tuple(inputs.get(f"{network}{i}", 0) for i in range(3)) for network in Network)
            self.operands = operand_values(self.config.core, Operands(words, bits), self.spec.width)
        self.tracks |= tracks
        self.core |= core

    def _value(self, network: Network, source: Source, incoming: Mapping[Track, int]) -> int:
        if isinstance(source, CoreSource):
            return self.core[source.port]
        return incoming[network, source.side, source.track]

    def _compute(self) -> dict[str, int]:
        if not isinstance(self.config.core, PeConfig):
            return {}
        word, bit = result(self.config.core, self.operands, self.spec.width)
        return {"word0": word, "bit0": bit}

    def _input(self, port: str, incoming: Mapping[Track, int]) -> int:
        source = self.config.connections[port]
        value = incoming[self.network[port], source.side, source.track]
        delay = self.config.delays.get(port, 0)
        if delay == 0:
            return value
        line = self.lines[port]
        line[self.slot] = value
        return line[(self.slot - delay) % self.spec.delay_depth]


class ArrayModel:
    """An array of processing-element tiles (memories are off) and the edge stages."""

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        self.tiles = {place: TileModel(spec, spec.tile_kind(*place)) for place in spec.tiles()}
        self.entering = [0] * spec.columns
        self.leaving = [0] * spec.columns
        self.config = ArrayConfig()

    def configure(self, config: ArrayConfig) -> None:
        self.config = config
        for place, tile in self.tiles.items():
            tile.config = config.tiles.get(place, TileConfig())

    def step(self, streams: list[int]) -> list[int]:
        """One unstalled cycle: words from the global buffer in, words to it (as of before the cycle) out."""
        shown = list(self.leaving)
        incoming = {place: self._incoming(place) for place in self.tiles}
        for column, edge in self.config.ios.items():
            self.leaving[column] = self.tiles[0, column].tracks[Network.WORD, Side.N, edge.track]
        self.entering = list(streams)
        for place, tile in self.tiles.items():
            tile.step(incoming[place])
        return shown

    def _incoming(self, place: tuple[int, int]) -> dict[Track, int]:
        values: dict[Track, int] = {}
        for side in Side:
            other = neighbour(self.spec, *place, side)
            for network in Network:
                for track in range(self.spec.tracks):
                    values[network, side, track] = self._arriving(place, other, network, side, track)
        return values

    def _arriving(
        self, place: tuple[int, int], other: tuple[int, int] | None, network: Network, side: Side, track: int
    ) -> int:
        if other is not None:
            return self.tiles[other].tracks[network, side.opposite, track]
        return self.entering[place[1]] if side is Side.N and network is Network.WORD else 0

