"""Configuration of the array: what each tile, edge stage and bank does, as words of the configuration bus.

A word is a 32-bit address and 32 bits of data. Address bits 31 to 16 are the tile (row << 8 | column; for the
north edge and the bank of a column 0x8000 | column, for its second bank 0x8100 | column), bits 15 to 8 the feature,
bits 7 to 0 the register. The first word of an image goes to `CLEAR_ADDRESS` and switches every unit off; registers not
written after it are zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from hw.fabric.bank_config import BankConfig
from hw.fabric.routing import (
    Network,
    Side,
    Source,
    TrackSource,
    connection_sources,
    core_inputs,
    switch_sources,
)
from hw.fabric.spec import FabricSpec, TileKind
from hw.lib.configuration import ConfigurationError, Field, Layout, Words
from hw.memtile import AddressedConfig, BuffetConfig, DualPortConfig, PubConfig
from hw.memtile.spec import for_kind
from hw.pe.config import PeConfig

__all__ = [
    "CLEAR_ADDRESS",
    "EDGE",
    "TILE_FEATURE",
    "ArrayConfig",
    "CoreConfig",
    "IoConfig",
    "TileConfig",
    "bank_id",
    "connection_field",
    "decode_array",
    "delay_field",
    "input_used_field",
    "io_layout",
    "select_field",
    "tile_id",
    "tile_layout",
    "used_field",
]

CLEAR_ADDRESS = 0xFFFF_0000
"""Address of the word that switches off every tile, edge stage and bank: the first word of an image."""

TILE_FEATURE = 0x01
"""Feature of the registers of a tile's switch boxes and input stages, and of an edge stage."""

EDGE = 0x80
"""The row, as far as addresses go, of the edge stages and the banks."""

CoreConfig = PeConfig | PubConfig | DualPortConfig | AddressedConfig | BuffetConfig
"""What the core of a tile does."""


def tile_id(row: int, column: int) -> int:
    """Address bits 31 to 16 of the words of a tile; `EDGE` is the row of edge stages and the first banks of columns."""
    return row << 8 | column


def bank_id(spec: FabricSpec, number: int) -> int:
    """Address bits 31 to 16 of the words of a bank, by its number (`FabricSpec.bank_slots`)."""
    second, column = divmod(number, spec.columns)
    return tile_id(EDGE + second, column)


def select_field(network: Network, side: Side, track: int) -> str:
    """Name of the field that selects the source of a switch-box output."""
    return f"{network} {side.name}{track} select"


def used_field(network: Network, side: Side, track: int) -> str:
    """Name of the field that lets a switch-box output follow its source."""
    return f"{network} {side.name}{track} used"


def connection_field(port: str) -> str:
    """Name of the field that selects the track of a core input."""
    return f"{port} track"


def delay_field(port: str) -> str:
    """Name of the field that holds the extra delay of a core input in cycles."""
    return f"{port} delay"


def input_used_field(port: str) -> str:
    """Name of the field that lets a core input follow its track."""
    return f"{port} used"


def _select_bits(count: int) -> int:
    return max(1, (count - 1).bit_length())


@lru_cache
def tile_layout(spec: FabricSpec, kind: TileKind) -> Layout:
    """Registers of a tile around its core."""
    fields = [Field("route", 1), Field("compute", 1)]
    for network in Network:
        outputs = [(side, track) for side in Side for track in range(spec.tracks)]
        fields += [Field(used_field(network, side, track), 1) for side, track in outputs]
        for side, track in outputs:
            bits = _select_bits(len(switch_sources(spec, kind, network, side, track)))
            fields.append(Field(select_field(network, side, track), bits))
    for network in Network:
        bits = _select_bits(len(connection_sources(spec, network)))
        for port in core_inputs(spec, kind, network):
            fields += [Field(input_used_field(port), 1), Field(connection_field(port), bits)]
            fields.append(Field(delay_field(port), _select_bits(spec.delay_depth)))
    return Layout(f"{kind.value} tile", TILE_FEATURE, tuple(fields))


@lru_cache
def io_layout(spec: FabricSpec) -> Layout:
    """Registers of an edge stage."""
    return Layout("edge stage", TILE_FEATURE, (Field("used", 1), Field("track", _select_bits(spec.tracks))))


@dataclass(frozen=True)
class TileConfig:
    """Configuration of one tile.

    `switches`: source of each switch-box output (network, side, track) that is in use. `connections`: the track
    that each connected core input takes. `delays`: extra cycles of connected core inputs, where not 0; in a ready-valid
    array the tokens, without a value, that are there at the start. `core`: what
    the processing element or memory does, None if it is off.
    """

    switches: Mapping[tuple[Network, Side, int], Source] = field(default_factory=dict)
    connections: Mapping[str, TrackSource] = field(default_factory=dict)
    delays: Mapping[str, int] = field(default_factory=dict)
    core: CoreConfig | None = None

    def words(self, spec: FabricSpec, kind: TileKind) -> dict[tuple[int, int], int]:
        """Configuration words. Raises `ConfigurationError` for what this kind of tile cannot do."""
        compute = bool(self.connections) or self.core is not None
        values = {"route": int(bool(self.switches)), "compute": int(compute)}
        for key, source in self.switches.items():
            values |= {used_field(*key): 1, select_field(*key): _switch_index(spec, kind, key, source)}
        for port, source in self.connections.items():
            index = _connection_index(spec, kind, port, source)
            values |= {input_used_field(port): 1, connection_field(port): index}
        for port, delay in self.delays.items():
            if port not in self.connections:
                raise ConfigurationError(f"{kind.value} tile: input {port} has a delay but no track")
            if not 0 <= delay < spec.delay_depth:
                raise ConfigurationError(f"{kind.value} tile: the delay of input {port} cannot be {delay}")
            values[delay_field(port)] = delay
        return tile_layout(spec, kind).encode(values) | self._core_words(spec, kind)

    def _core_words(self, spec: FabricSpec, kind: TileKind) -> dict[tuple[int, int], int]:
        if self.core is None:
            return {}
        if isinstance(self.core, PeConfig):
            if kind is not TileKind.PE:
                raise ConfigurationError("mem tile: it cannot be configured as a processing element")
            return self.core.words(spec.pe)
        if kind is not TileKind.MEM:
            raise ConfigurationError("pe tile: it cannot be configured as a memory")
        return dict(self.core.words(spec.mem))

    @classmethod
    def decode(cls, words: Words, spec: FabricSpec, kind: TileKind) -> TileConfig:
        """The configuration that `words` encode. Raises `ConfigurationError` if there is none."""
        values = tile_layout(spec, kind).decode(words)
        switches = {
            (network, side, track): _switch_source(spec, kind, (network, side, track), values)
            for network in Network
            for side in Side
            for track in range(spec.tracks)
            if values[used_field(network, side, track)]
        }
        ports = [
            (network, port)
            for network in Network
            for port in core_inputs(spec, kind, network)
            if values[input_used_field(port)]
        ]
        connections = {port: _connection_source(spec, kind, network, port, values) for network, port in ports}
        delays = {port: values[delay_field(port)] for _, port in ports if values[delay_field(port)]}
        core_words = {key: data for key, data in words.items() if key[0] != TILE_FEATURE}
        config = cls(switches, connections, delays, _decode_core(core_words, spec, kind))
        if tile_layout(spec, kind).encode(values) != config._tile_words(spec, kind):
            raise ConfigurationError(f"{kind.value} tile: a switch, track or delay is set that is not in use")
        return config

    def _tile_words(self, spec: FabricSpec, kind: TileKind) -> dict[tuple[int, int], int]:
        return {key: data for key, data in self.words(spec, kind).items() if key[0] == TILE_FEATURE}


def _decode_core(words: Words, spec: FabricSpec, kind: TileKind) -> CoreConfig | None:
    if not words:
        return None
    if kind is TileKind.PE:
        return PeConfig.decode(words, spec.pe)
    memories = {"pub": PubConfig, "dual-port": DualPortConfig, "dual-port-pe": AddressedConfig,
                "buffet": BuffetConfig}
    return for_kind(memories, spec.mem.kind, "configuration (hw.fabric.config)").decode(words, spec.mem)


def _switch_index(
    spec: FabricSpec, kind: TileKind, key: tuple[Network, Side, int], source: Source
) -> int:
    network, side, track = key
    if not 0 <= track < spec.tracks:
        raise ConfigurationError(f"{kind.value} tile: there is no {network} track {track}")
    sources = switch_sources(spec, kind, network, side, track)
    if source not in sources:
        raise ConfigurationError(
            f"{kind.value} tile: {network} track {track} to {side.name} cannot take {_describe(source)}"
        )
    return sources.index(source)


def _switch_source(
    spec: FabricSpec, kind: TileKind, key: tuple[Network, Side, int], values: Mapping[str, int]
) -> Source:
    network, side, track = key
    return _choice(
        switch_sources(spec, kind, network, side, track),
        values[select_field(*key)],
        f"{kind.value} tile: {network} track {track} to {side.name}",
    )


def _connection_index(spec: FabricSpec, kind: TileKind, port: str, source: TrackSource) -> int:
    for network in Network:
        if port in core_inputs(spec, kind, network):
            sources = connection_sources(spec, network)
            if source not in sources:
                raise ConfigurationError(f"{kind.value} tile: input {port} cannot take {_describe(source)}")
            return sources.index(source)
    raise ConfigurationError(f"{kind.value} tile: there is no input {port}")


def _connection_source(
    spec: FabricSpec, kind: TileKind, network: Network, port: str, values: Mapping[str, int]
) -> TrackSource:
    sources = connection_sources(spec, network)
    return _choice(sources, values[connection_field(port)], f"{kind.value} tile: input {port}")


_Choice = TypeVar("_Choice")


def _choice(sources: tuple[_Choice, ...], index: int, what: str) -> _Choice:
    if index >= len(sources):
        raise ConfigurationError(f"{what} has no source number {index}")
    return sources[index]


def _describe(source: Source) -> str:
    if isinstance(source, TrackSource):
        return f"track {source.track} from {source.side.name}"
    return f"core output {source.port}"


@dataclass(frozen=True)
class IoConfig:
    """Configuration of the edge stage of a column: which word track that leaves row 0 to the north it sends on."""

    track: int

    def words(self, spec: FabricSpec) -> dict[tuple[int, int], int]:
        """Configuration words. Raises `ConfigurationError` if there is no such track."""
        if not 0 <= self.track < spec.tracks:
            raise ConfigurationError(f"edge stage: there is no word track {self.track}")
        return io_layout(spec).encode({"used": 1, "track": self.track})

    @classmethod
    def decode(cls, words: Words, spec: FabricSpec) -> IoConfig | None:
        """The configuration that `words` encode, None for off. Raises `ConfigurationError` if there is none."""
        values = io_layout(spec).decode(words)
        if values["used"]:
            return cls(_choice(tuple(range(spec.tracks)), values["track"], "edge stage"))
        if values["track"]:
            raise ConfigurationError("edge stage: a track is set that is not in use")
        return None


@dataclass(frozen=True)
class ArrayConfig:
    """Configuration of the array and the global buffer: tiles by (row, column), edge stages by column, banks by
    number (their column, or `FabricSpec.bank_number`)."""

    tiles: Mapping[tuple[int, int], TileConfig] = field(default_factory=dict)
    ios: Mapping[int, IoConfig] = field(default_factory=dict)
    banks: Mapping[int, BankConfig] = field(default_factory=dict)

    def words(self, spec: FabricSpec) -> list[tuple[int, int]]:
        """The image: (address, data) in the order to write them, the clear first.

        Raises `ConfigurationError` or `FabricError` for what the array cannot do.
        """
        units = [
            (tile_id(*place), config.words(spec.local(place[1]), spec.tile_kind(*place)))
            for place, config in self.tiles.items()
        ]
        for column in self.ios:
            _check_column(spec, column, spec.columns)
        for number, config in self.banks.items():
            _check_column(spec, number, spec.bank_slots)
            _check_direction(spec, number, config)
        units += [(tile_id(EDGE, column), config.words(spec)) for column, config in self.ios.items()]
        units += [(bank_id(spec, number), config.encode(spec)) for number, config in self.banks.items()]
        image = [
            (unit << 16 | feature << 8 | register, data)
            for unit, words in units
            for (feature, register), data in words.items()
        ]
        return [(CLEAR_ADDRESS, 0), *sorted(image)]


def _check_column(spec: FabricSpec, column: int, count: int) -> None:
    """A column, or a bank by its number, of which there are `count`."""
    if not 0 <= column < count:
        raise ConfigurationError(f"the {spec} array has no column {column}")


def _check_direction(spec: FabricSpec, number: int, config: BankConfig) -> None:
    if spec.bank_number(number % spec.columns, config.direction) != number:
        raise ConfigurationError(f"bank {number} cannot be an {config.direction} bank: of the two in a column of the "
                                 f"{spec} array the first is for inputs, the second for outputs")


def decode_array(words: Iterable[tuple[int, int]], spec: FabricSpec) -> ArrayConfig:
    """The configuration that an image encodes; the inverse of `ArrayConfig.words`.

    Raises `ConfigurationError` if no configuration encodes to it, or if it does not begin with the clear.
    """
    image = list(words)
    if not image or image[0][0] != CLEAR_ADDRESS:
        raise ConfigurationError("the configuration does not begin with the word that clears the array")
    units: dict[int, dict[tuple[int, int], int]] = {}
    for address, data in image[1:]:
        unit, key = address >> 16, (address >> 8 & 0xFF, address & 0xFF)
        if key in units.setdefault(unit, {}):
            raise ConfigurationError(f"the configuration writes address {address:#010x} twice")
        units[unit][key] = data
    tiles: dict[tuple[int, int], TileConfig] = {}
    ios: dict[int, IoConfig] = {}
    banks: dict[int, BankConfig] = {}
    for unit, registers in units.items():
        row, column = unit >> 8, unit & 0xFF
        if row == EDGE:
            _check_column(spec, column, spec.columns)
            _decode_edge(spec, column, registers, ios, banks)
        elif row == EDGE + 1 and spec.glb.paired:
            _check_column(spec, column, spec.columns)
            _decode_bank(spec, spec.columns + column, registers, banks)
        elif row < spec.rows and column < spec.columns:
            tiles[row, column] = TileConfig.decode(registers, spec.local(column), spec.tile_kind(row, column))
        else:
            raise ConfigurationError(f"the {spec} array has no tile at row {row}, column {column}")
    return ArrayConfig(tiles, ios, banks)


def _decode_edge(
    spec: FabricSpec, column: int, words: Words, ios: dict[int, IoConfig], banks: dict[int, BankConfig]
) -> None:
    edge = IoConfig.decode({key: data for key, data in words.items() if key[0] == TILE_FEATURE}, spec)
    if edge is not None:
        ios[column] = edge
    _decode_bank(spec, column, {key: data for key, data in words.items() if key[0] != TILE_FEATURE}, banks)


def _decode_bank(spec: FabricSpec, number: int, words: Words, banks: dict[int, BankConfig]) -> None:
    bank = BankConfig.decode(words, spec)
    if bank is not None:
        _check_direction(spec, number, bank)
        banks[number] = bank
