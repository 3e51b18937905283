"""Configuration words of a memory core: what all kinds have in common. See the map in `hw.memtile.spec`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hw.memtile.affine import AffineNest, decode_nest, encode_nest
from hw.memtile.contents import unpack_contents
from hw.memtile.spec import TILE_FEATURE, ConfigurationError, MemKind, MemTileSpec

__all__ = ["ALL_ONES", "Words", "check_kind", "check_region", "controller_words", "split_words"]

Words = dict[tuple[int, int], int]
"""Configuration words of a core: (feature, register) -> 32-bit data."""

ALL_ONES = (1 << MemTileSpec.ADDRESS_WIDTH) - 1


def check_kind(kind: MemKind, spec: MemTileSpec) -> None:
    """Raise `ConfigurationError` if a configuration for a memory of `kind` is not for one of `spec`."""
    if kind != spec.kind:
        raise ConfigurationError(f"a {kind} configuration for a {spec.kind} memory tile")


def check_region(base: int, mask: int, name: str) -> None:
    """Raise `ConfigurationError` if ``base | (address & mask)`` is no region of addresses. `name`: the port's."""
    for field, value in (("base", base), ("mask", mask)):
        if not 0 <= value <= ALL_ONES:
            raise ConfigurationError(f"{name}: {field} {value} is not in 0..{ALL_ONES}")
    if base & mask:
        raise ConfigurationError(f"{name}: base 0x{base:x} and mask 0x{mask:x} overlap")


def controller_words(controllers: Iterable[tuple[str, str, AffineNest]], spec: MemTileSpec) -> Words:
    """Words of controllers that are used: name in the specification, name for messages, and nest of each.

    Raises `ConfigurationError` for a nest that a controller cannot have.
    """
    words: Words = {}
    for controller, name, nest in controllers:
        try:
            if controller.startswith("read"):
                nest = _advance(nest, spec.read_ahead)
            registers = encode_nest(nest, spec.controllers[controller])
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}: {error}") from None
        feature = spec.feature(controller)
        words |= {(feature, register): data for register, data in registers.items()}
    return words


def _advance(nest: AffineNest, cycles: int) -> AffineNest:
    if nest.time_offset < cycles:
        raise ConfigurationError(f"first event is in cycle {nest.time_offset}, at least {cycles} is needed")
    return replace(nest, time_offset=nest.time_offset - cycles)


def split_words(
    words: Mapping[tuple[int, int], int], spec: MemTileSpec
) -> tuple[dict[int, int], dict[str, AffineNest | None], tuple[int, ...]]:
    """Tile registers, nests by controller name, and contents. Raises `ConfigurationError` for any other words."""
    features: dict[int, dict[int, int]] = {}
    for (feature, register), data in words.items():
        features.setdefault(feature, {})[register] = data
    tile = features.pop(TILE_FEATURE, {})
    registers = {name: features.pop(spec.feature(name), {}) for name in spec.controllers}
    nests = {name: _decode_controller(name, values, spec) for name, values in registers.items()}
    return tile, nests, unpack_contents(features, spec)


def _decode_controller(name: str, registers: dict[int, int], spec: MemTileSpec) -> AffineNest | None:
    try:
        nest = decode_nest(registers, spec.controllers[name])
    except ConfigurationError as error:
        raise ConfigurationError(f"memory tile {name}: {error}") from None
    if nest is None or not name.startswith("read"):
        return nest
    return replace(nest, time_offset=nest.time_offset + spec.read_ahead)
