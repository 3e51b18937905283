"""Configuration of a buffet and its words on the configuration bus. Liu 2023, section 6.2.

Registers of the tile feature (`hw.memtile.spec`): 0 = mode (bit 0 lookup, bit 1 table), 1 = `ahead`, 2 = `present`.
Controllers and contents are where those of the other memories are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hw.memtile.affine import AffineNest
from hw.memtile.contents import contents_words
from hw.memtile.spec import TILE_FEATURE, ConfigurationError, MemTileSpec
from hw.memtile.words import Words, check_kind, controller_words, split_words

__all__ = ["AHEAD_BITS", "BuffetConfig", "BuffetMode", "BuffetRegister"]

AHEAD_BITS = 16
"""Bits of the number of reads that may be ahead of the updates."""

_ROLES = ("fill", "update", "read", "shrink")


class BuffetRegister:
    """Registers of the tile feature."""

    MODE = 0x00
    AHEAD = 0x01
    PRESENT = 0x02


class BuffetMode:
    """Bits of the mode."""

    LOOKUP = 0
    TABLE = 1


@dataclass(frozen=True)
class BuffetConfig:
    """What a buffet does. Times of its nests are numbers of tokens, from 0, of one of its three streams.

    `fill`: which tokens of the fill stream are appended; all others are taken and forgotten. `update`: which tokens
    of the update stream replace a word, and which one. `read`: which tokens of the output carry a word, and which
    one; all others are place holders. `shrink`: after which tokens of the output the words before an address are
    given up. Addresses count the words that have been filled since the start, after the first `present`, which are live
    from the start and mean nothing, modulo 2^16.

    `ahead`: so many reads at most may come before their updates, so a read of one round waits for the update of the
    round before; 0 for no limit. `contents`: words at the start from address 0 on; then nothing is filled, and reads
    wait for nothing (a table). With `lookup` tokens of the fill stream are addresses in the contents, and the output
    has the word of each.
    """

    fill: AffineNest | None = None
    update: AffineNest | None = None
    read: AffineNest | None = None
    shrink: AffineNest | None = None
    ahead: int = 0
    contents: tuple[int, ...] = ()
    lookup: bool = False
    present: int = 0

    @property
    def table(self) -> bool:
        """Whether its words are there from the start."""
        return bool(self.contents) and not self.lookup

    def words(self, spec: MemTileSpec) -> Words:
        """Configuration words for a tile of kind "buffet". Raises `ConfigurationError` if they do not fit."""
        self._check(spec)
        mode = int(self.lookup) << BuffetMode.LOOKUP | int(self.table) << BuffetMode.TABLE
        words = {(TILE_FEATURE, BuffetRegister.MODE): mode, (TILE_FEATURE, BuffetRegister.AHEAD): self.ahead,
                 (TILE_FEATURE, BuffetRegister.PRESENT): self.present}
        nests = [(f"{role}0", role, getattr(self, role)) for role in _ROLES if getattr(self, role) is not None]
        return words | controller_words(nests, spec) | contents_words(self.contents, spec)

    def _check(self, spec: MemTileSpec) -> None:
        check_kind("buffet", spec)
        if self.lookup and any(getattr(self, role) is not None for role in _ROLES):
            raise ConfigurationError("a buffet that looks words up neither fills, reads, updates nor shrinks")
        if self.table and self.fill is not None:
            raise ConfigurationError("a buffet with contents cannot be filled")
        if not 0 <= self.ahead < 1 << AHEAD_BITS:
            raise ConfigurationError(f"a buffet cannot read {self.ahead} words ahead of its updates")
        if not 0 <= self.present <= spec.capacity_words:
            raise ConfigurationError(f"a buffet of {spec.capacity_words} words cannot have {self.present} at the start")

    @staticmethod
    def decode(words: Mapping[tuple[int, int], int], spec: MemTileSpec) -> BuffetConfig:
        """Inverse of `words`, in canonical form. Raises `ConfigurationError` for words that mean nothing."""
        check_kind("buffet", spec)
        tile, controllers, contents = split_words(words, spec)
        nests = {role: controllers[f"{role}0"] for role in _ROLES}
        mode, ahead, present = (tile.pop(register, 0) for register in (
            BuffetRegister.MODE, BuffetRegister.AHEAD, BuffetRegister.PRESENT))
        if tile:
            raise ConfigurationError(f"a buffet has no register 0x{min(tile):02x}")
        config = BuffetConfig(**nests, ahead=ahead, contents=contents, lookup=bool(mode >> BuffetMode.LOOKUP & 1),
                              present=present)
        if mode != int(config.lookup) << BuffetMode.LOOKUP | int(config.table) << BuffetMode.TABLE:
            raise ConfigurationError(f"a buffet has no mode 0x{mode:x} with {len(contents)} words of contents")
        config._check(spec)
        return config

    def canonical(self, spec: MemTileSpec) -> BuffetConfig:
        """The configuration that `decode` gives back for this one's words."""
        nests = {role: getattr(self, role) and getattr(self, role).canonical(spec.controllers[f"{role}0"])
                 for role in _ROLES}
        return replace(self, **nests)
