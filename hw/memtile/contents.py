"""Words that an SRAM holds at the start, as configuration words; see the map in `hw.memtile.spec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hw.memtile.spec import CONTENTS_FEATURE, REGISTERS_PER_FEATURE, ConfigurationError, MemTileSpec

__all__ = ["contents_words", "unpack_contents"]


def contents_words(contents: Sequence[int], spec: MemTileSpec) -> dict[tuple[int, int], int]:
    """Configuration words that put `contents` into the SRAM from word address 0 on.

    Raises `ConfigurationError` if they do not fit.
    """
    if len(contents) > spec.capacity_words:
        raise ConfigurationError(f"{len(contents)} words of contents, {spec.capacity_words} fit")
    for address, word in enumerate(contents):
        if not 0 <= word < 1 << spec.word_width:
            raise ConfigurationError(f"contents word {address} is {word}, not a number of {spec.word_width} bits")
    pack = spec.contents_pack
    words: dict[tuple[int, int], int] = {}
    for register in range(-(-len(contents) // pack)):
        chunk = contents[register * pack : (register + 1) * pack]
        data = sum(word << i * spec.word_width for i, word in enumerate(chunk))
        feature, low = divmod(register, REGISTERS_PER_FEATURE)
        words[CONTENTS_FEATURE + feature, low] = data
    return words


def unpack_contents(features: Mapping[int, Mapping[int, int]], spec: MemTileSpec) -> tuple[int, ...]:
    """Inverse of `contents_words`, from registers by feature. Raises `ConfigurationError` for what is no contents."""
    packed: dict[int, int] = {}
    for feature in sorted(features):
        if feature < CONTENTS_FEATURE:
            raise ConfigurationError(f"memory tile has no feature 0x{feature:02x}")
        base = (feature - CONTENTS_FEATURE) * REGISTERS_PER_FEATURE
        packed |= {base + register: data for register, data in features[feature].items()}
    if not packed:
        return ()
    if max(packed) >= spec.contents_registers:
        raise ConfigurationError(f"contents register {max(packed)} is not in 0..{spec.contents_registers - 1}")
    ones = (1 << spec.word_width) - 1
    values: list[int] = []
    for register in range(max(packed) + 1):
        data = packed.get(register, 0)
        if data >> spec.word_width * spec.contents_pack:
            raise ConfigurationError(f"contents register {register}: 0x{data:x} has too many bits")
        values += [data >> i * spec.word_width & ones for i in range(spec.contents_pack)]
    return tuple(values)
