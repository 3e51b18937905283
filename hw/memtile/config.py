"""Configurations of the two memory cores, and their words on the configuration bus.

All times are unstalled cycles since the start; see `hw.memtile.wide_fetch` and `hw.memtile.dual_port` for what
each controller does in the cycle in which it fires. Liu 2023, sections 5.7 and 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from hw.memtile.affine import AffineNest
from hw.memtile.contents import contents_words
from hw.memtile.spec import TILE_FEATURE, ConfigurationError, MemKind, MemTileSpec, TileRegister
from hw.memtile.words import ALL_ONES, Words, check_kind, check_region, controller_words, split_words

__all__ = [
    "DualPortConfig",
    "DualPortInput",
    "DualPortOutput",
    "PubConfig",
    "PubInput",
    "PubOutput",
    "Words",
    "decode_config",
]


@dataclass(frozen=True)
class PubInput:
    """An input port of the wide-fetch buffer.

    `write` takes a word to the aggregator (address: AGG word), `store` takes a block of the aggregator to the SRAM
    (addresses: AGG block, SRAM wide word). The SRAM address is ``base | (address & mask)``.
    """

    write: AffineNest
    store: AffineNest
    base: int = 0
    mask: int = ALL_ONES


@dataclass(frozen=True)
class PubOutput:
    """An output port of the wide-fetch buffer.

    `fetch` takes an SRAM word to the transpose buffer (addresses: SRAM wide word, TB block), `read` takes a word of
    the transpose buffer to the output (address: TB word). If `chained`, words whose block another tile of the chain
    holds come from the chain input instead. If `passing`, the output takes the chain input in every cycle in which
    `read` does not fire: the tile is a multiplexer by schedule.
    """

    fetch: AffineNest
    read: AffineNest
    base: int = 0
    mask: int = ALL_ONES
    chained: bool = False
    passing: bool = False


@dataclass(frozen=True)
class DualPortInput:
    """An input port of the dual-port buffer: `write` takes a word to the SRAM (address: SRAM word)."""

    write: AffineNest
    base: int = 0
    mask: int = ALL_ONES


@dataclass(frozen=True)
class DualPortOutput:
    """An output port of the dual-port buffer: `read` takes an SRAM word to the output (address: SRAM word).

    It cannot fire in cycle 0 (`MemTileSpec.read_ahead`). `chained` and `passing` as in `PubOutput`.
    """

    read: AffineNest
    base: int = 0
    mask: int = ALL_ONES
    chained: bool = False
    passing: bool = False


@dataclass(frozen=True)
class PubConfig:
    """Configuration of a wide-fetch buffer. A port that is None is unused.

    `chain_id`: the tile's place in a chain; SRAM accesses happen only where the bits of the address above the
    tile's capacity equal it. None: no chaining, those bits are ignored.
    `contents`: words that the SRAM holds at the start, from word address 0 on.
    `rom`: `data_in[0]` is a word address in every cycle, `data_out[0]` follows `MemTileSpec.ROM_LATENCY` cycles
    later; no port may be used then but inputs from 1 on, which fill the memory before.
    """

    inputs: tuple[PubInput | None, ...] = ()
    outputs: tuple[PubOutput | None, ...] = ()
    chain_id: int | None = None
    contents: tuple[int, ...] = ()
    rom: bool = False

    def words(self, spec: MemTileSpec) -> Words:
        """Configuration words for a tile of kind "pub". Raises `ConfigurationError` if they do not fit."""
        return _words(self, spec)

    @staticmethod
    def decode(words: Mapping[tuple[int, int], int], spec: MemTileSpec) -> PubConfig:
        """Inverse of `words`, in canonical form. Raises `ConfigurationError` for words that mean nothing."""
        return _decode(PubConfig, words, spec)

    def canonical(self, spec: MemTileSpec) -> PubConfig:
        """The configuration that `decode` gives back for this one's words."""
        return _canonical(self, spec)


@dataclass(frozen=True)
class DualPortConfig:
    """Configuration of a dual-port buffer; fields as in `PubConfig`."""

    inputs: tuple[DualPortInput | None, ...] = ()
    outputs: tuple[DualPortOutput | None, ...] = ()
    chain_id: int | None = None
    contents: tuple[int, ...] = ()
    rom: bool = False

    def words(self, spec: MemTileSpec) -> Words:
        """Configuration words for a tile of kind "dual-port". Raises `ConfigurationError` if they do not fit."""
        return _words(self, spec)

    @staticmethod
    def decode(words: Mapping[tuple[int, int], int], spec: MemTileSpec) -> DualPortConfig:
        """Inverse of `words`, in canonical form. Raises `ConfigurationError` for words that mean nothing."""
        return _decode(DualPortConfig, words, spec)

    def canonical(self, spec: MemTileSpec) -> DualPortConfig:
        """The configuration that `decode` gives back for this one's words."""
        return _canonical(self, spec)


Config = PubConfig | DualPortConfig
AnyConfig = TypeVar("AnyConfig", PubConfig, DualPortConfig)
Input = PubInput | DualPortInput
Output = PubOutput | DualPortOutput

_KIND: dict[type, MemKind] = {PubConfig: "pub", DualPortConfig: "dual-port"}
_PORTS = {
    PubConfig: (PubInput, PubOutput, ("write", "store"), ("fetch", "read")),
    DualPortConfig: (DualPortInput, DualPortOutput, ("write",), ("read",)),
}
_SRAM_READER = {PubConfig: None, DualPortConfig: "read"}


def decode_config(words: Mapping[tuple[int, int], int], spec: MemTileSpec) -> Config:
    """Decode the words of a core of either kind."""
    return (PubConfig if spec.kind == "pub" else DualPortConfig).decode(words, spec)


def _words(config: Config, spec: MemTileSpec) -> Words:
    check_kind(_KIND[type(config)], spec)
    _check_mode(config, spec)
    words = _tile_words(config, spec) | controller_words(_controllers(config), spec)
    return words | contents_words(config.contents, spec)


def _check_mode(config: Config, spec: MemTileSpec) -> None:
    for name, ports, limit in (("inputs", config.inputs, spec.inputs), ("outputs", config.outputs, spec.outputs)):
        if len(ports) > limit:
            raise ConfigurationError(f"{len(ports)} {name} for a memory tile with {limit}")
    if config.rom and (any(config.inputs[:1]) or any(config.outputs)):
        raise ConfigurationError("ROM mode takes input 0 and the outputs of the memory tile")
    if config.chain_id is not None and not 0 <= config.chain_id < 1 << spec.chain_bits:
        raise ConfigurationError(f"chain_id {config.chain_id} is not in 0..{(1 << spec.chain_bits) - 1}")
    if config.chain_id is None and any(port is not None and port.chained for port in config.outputs):
        raise ConfigurationError("a chained output needs a chain_id")


def _tile_words(config: Config, spec: MemTileSpec) -> Words:
    chaining = config.chain_id is not None
    mode = int(config.rom) | int(chaining) << 1 | (config.chain_id or 0) << 16
    registers = {TileRegister.MODE: mode, TileRegister.CHAINED: 0}
    for number, port in _used(config.outputs):
        registers[TileRegister.CHAINED] |= int(port.chained) << number
        registers[TileRegister.CHAINED] |= int(port.passing) << TileRegister.PASSING_BIT + number
        registers[TileRegister.OUTPUT_REGION + number] = _region(port, f"output {number}")
    for number, port in _used(config.inputs):
        registers[TileRegister.INPUT_REGION + number] = _region(port, f"input {number}")
    return {(TILE_FEATURE, register): data for register, data in registers.items()}


def _used(ports: tuple) -> Iterator[tuple[int, Input | Output]]:
    return ((number, port) for number, port in enumerate(ports) if port is not None)


def _region(port: Input | Output, name: str) -> int:
    check_region(port.base, port.mask, name)
    return port.mask << 16 | port.base


def _controllers(config: Config) -> Iterator[tuple[str, str, AffineNest]]:
    """Name in the specification, name for messages, and nest of every controller that is used."""
    _, _, input_roles, output_roles = _PORTS[type(config)]
    for side, ports, roles in (("input", config.inputs, input_roles), ("output", config.outputs, output_roles)):
        for number, port in _used(ports):
            for role in roles:
                yield f"{role}{number}", f"{side} {number} {role}", getattr(port, role)


def _canonical(config: AnyConfig, spec: MemTileSpec) -> AnyConfig:
    def port(kind: type, number: int, ports: tuple, roles: tuple[str, ...]) -> Input | Output | None:
        if number >= len(ports) or ports[number] is None:
            return None
        nests = {r: getattr(ports[number], r).canonical(spec.controllers[f"{r}{number}"]) for r in roles}
        return replace(ports[number], **nests)

    input_kind, output_kind, input_roles, output_roles = _PORTS[type(config)]
    padding = -len(config.contents) % spec.contents_pack
    return replace(
        config,
        inputs=tuple(port(input_kind, i, config.inputs, input_roles) for i in range(spec.inputs)),
        outputs=tuple(port(output_kind, o, config.outputs, output_roles) for o in range(spec.outputs)),
        contents=config.contents + (0,) * padding,
    )


def _decode(kind: type[AnyConfig], words: Mapping[tuple[int, int], int], spec: MemTileSpec) -> AnyConfig:
    check_kind(_KIND[kind], spec)
    tile, controllers, contents = split_words(words, spec)
    mode = tile.pop(TileRegister.MODE, 0)
    passing, chained = divmod(tile.pop(TileRegister.CHAINED, 0), 1 << TileRegister.PASSING_BIT)
    if mode & 0xFFFC or mode >> 16 >> spec.chain_bits or mode >> 32:
        raise ConfigurationError(f"memory tile: mode 0x{mode:x} has bits that mean nothing")
    if chained >> spec.outputs:
        raise ConfigurationError(f"memory tile: chained outputs 0x{chained:x} for {spec.outputs} outputs")
    if passing >> spec.outputs:
        raise ConfigurationError(f"memory tile: passing outputs 0x{passing:x} for {spec.outputs} outputs")
    input_kind, output_kind, input_roles, output_roles = _PORTS[kind]

    def port(make: type, roles: tuple[str, ...], number: int, register: int, **fields: bool) -> object:
        nests = {role: controllers.get(f"{role}{number}") for role in roles}
        region = tile.pop(register + number, ALL_ONES << 16)
        if all(nest is None for nest in nests.values()):
            return None
        missing = [role for role, nest in nests.items() if nest is None]
        if missing:
            raise ConfigurationError(f"memory tile: port {number} has no {missing[0]} controller")
        return make(**nests, base=region & 0xFFFF, mask=region >> 16, **fields)

    inputs = tuple(port(input_kind, input_roles, i, TileRegister.INPUT_REGION) for i in range(spec.inputs))
    outputs = tuple(
        port(output_kind, output_roles, o, TileRegister.OUTPUT_REGION, chained=bool(chained >> o & 1),
             passing=bool(passing >> o & 1))
        for o in range(spec.outputs)
    )
    if tile:
        raise ConfigurationError(f"memory tile has no register 0x{min(tile):02x}")
    chain_id = mode >> 16 if mode & 2 else None
    config = kind(inputs, outputs, chain_id, contents, bool(mode & 1))  # pyright: ignore[reportArgumentType]
    config.words(spec)  # the checks of the fields
    return config
