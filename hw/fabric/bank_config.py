"""Configuration of a bank of the global buffer: when it sends words to the array, or takes them from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast

from hw.lib.configuration import ConfigurationError, Field, Layout, Words
from hw.memtile import AffineNest, AffineSpec, decode_nest, encode_nest

if TYPE_CHECKING:
    from hw.fabric.spec import FabricSpec, GlobalBufferSpec

__all__ = ["BANDS_BITS", "BANK_FEATURE", "BANK_NEST_FEATURE", "CREDIT_BITS", "BankConfig", "bank_controller",
           "bank_layout"]

BANK_FEATURE = 0x10
"""Feature of a bank's own registers, see `bank_layout`."""

BANK_NEST_FEATURE = 0x11
"""Feature of a bank's affine controller, see `hw.memtile.affine`."""

BANDS_BITS = 16
"""Bits of the number of bands of a tile."""

CREDIT_BITS = 8
"""Bits of the number of bands that memory or the array may use."""

_DIRECTIONS = ("input", "output")


@lru_cache
def bank_layout(spec: FabricSpec) -> Layout:
    """Registers of a bank: enable, direction (1: output) and, for the run control, the fields of `BankConfig` with
    these names; `lead` where tracks are ready-valid."""
    width = bank_controller(spec.glb).time_width
    fields = (Field("enable", 1), Field("output", 1), Field("words", width), Field("first", width),
              Field("lag", CREDIT_BITS), Field("bands", BANDS_BITS), Field("room", CREDIT_BITS),
              Field("band_cycles", width))
    if spec.protocol == "ready-valid":
        fields = (*fields, Field("lead", width))
    return Layout("bank", BANK_FEATURE, fields)


@lru_cache
def bank_controller(glb: GlobalBufferSpec) -> AffineSpec:
    """Sizes of a bank's affine controller; its one address is a word address in the bank, both halves of it."""
    return AffineSpec(address_widths=((2 * glb.half_words - 1).bit_length(),), time_width=glb.time_width)


@dataclass(frozen=True)
class BankConfig:
    """What a bank does in each tile of a run.

    `direction`: "input" reads words for the array, "output" writes words that come from it. `nest`: cycle within
    the tile, and word address, of every access. `words`: number of accesses per tile. `first`: cycle within the tile of
    the first access.

    A tile of at most half a bank begins where a half does; a larger one takes the bank as a circular buffer (addresses
    are modulo the bank's size), and is the only tile of its run. A tile is transferred in `bands`: the array takes band
    e (filled if an input, free if an output) in cycle ``first + e * band_cycles`` of the tile, and from that cycle on
    has no use for band ``e - lag``; for the last `lag` ones it has none after the last access. The bank has `room` for
    so many bands; all is one band if not told otherwise.

    In a ready-valid array a tile is one band, times of the nest are numbers of tokens from the tile's first one on,
    `lead` tokens without a word come before the first tile, and `first` only says when the band must be ready.
    """

    direction: Literal["input", "output"]
    nest: AffineNest
    words: int
    first: int
    lead: int = 0
    bands: int = 1
    band_cycles: int = 0
    lag: int = 1
    room: int = 2

    def encode(self, spec: FabricSpec) -> dict[tuple[int, int], int]:
        """Configuration words. Raises `ConfigurationError` if the accesses do not fit the bank."""
        if self.direction not in _DIRECTIONS:
            raise ConfigurationError(f"bank: direction '{self.direction}' is neither 'input' nor 'output'")
        output = _DIRECTIONS.index(self.direction)
        values = {"enable": 1, "output": output, "words": self.words, "first": self.first, "lag": self.lag,
                  "bands": self.bands, "room": self.room, "band_cycles": self.band_cycles}
        if spec.protocol == "ready-valid":
            values["lead"] = self.lead
        elif self.lead:
            raise ConfigurationError("bank: only one of a ready-valid array can let tokens pass before its first tile")
        nest = encode_nest(self.nest, bank_controller(spec.glb))
        return bank_layout(spec).encode(values) | {
            (BANK_NEST_FEATURE, register): data for register, data in nest.items()
        }

    @classmethod
    def decode(cls, words: Words, spec: FabricSpec) -> BankConfig | None:
        """The configuration that `words` encode, with the nest in canonical form; None if the bank is off.

        Raises `ConfigurationError` if no configuration encodes to them.
        """
        for feature, _ in words:
            if feature not in (BANK_FEATURE, BANK_NEST_FEATURE):
                raise ConfigurationError(f"bank: there is no feature {feature:#04x}")
        values = bank_layout(spec).decode(words)
        registers = {register: data for (feature, register), data in words.items() if feature == BANK_NEST_FEATURE}
        nest = decode_nest(registers, bank_controller(spec.glb))
        if not values["enable"]:
            if any(values.values()) or nest is not None:
                raise ConfigurationError("bank: a register is set of a bank that is off")
            return None
        if nest is None:
            raise ConfigurationError("bank: it is on but has no accesses")
        direction = cast(Literal["input", "output"], _DIRECTIONS[values["output"]])
        return cls(direction, nest, values["words"], values["first"], values.get("lead", 0), values["bands"],
                   values["band_cycles"], values["lag"], values["room"])
