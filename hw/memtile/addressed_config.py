"""Configuration of the memory core whose addresses come from outside, and its words on the configuration bus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from hw.lib.configuration import Field, Layout
from hw.memtile.contents import contents_words
from hw.memtile.spec import TILE_FEATURE, ConfigurationError, MemTileSpec
from hw.memtile.words import ALL_ONES, Words, check_kind, check_region, split_words

__all__ = ["AddressedConfig", "AddressedInput", "AddressedOutput", "addressed_layout"]


@dataclass(frozen=True)
class AddressedInput:
    """The input port: its word goes to ``base | (write_address & mask)``, in every cycle, or, if `gated`, in those in
    which `write_enable` is 1."""

    base: int = 0
    mask: int = ALL_ONES
    gated: bool = False


@dataclass(frozen=True)
class AddressedOutput:
    """The output port: it shows the word at ``base | (read_address & mask)``. If `chained`, words that another tile of
    the chain holds come from the chain input instead."""

    base: int = 0
    mask: int = ALL_ONES
    chained: bool = False


@dataclass(frozen=True)
class AddressedConfig:
    """Configuration of a memory of kind "dual-port-pe"; `chain_id`, `contents` and `rom` as in `PubConfig`."""

    inputs: tuple[AddressedInput | None, ...] = ()
    outputs: tuple[AddressedOutput | None, ...] = ()
    chain_id: int | None = None
    contents: tuple[int, ...] = ()
    rom: bool = False

    def words(self, spec: MemTileSpec) -> Words:
        """Configuration words. Raises `ConfigurationError` if they do not fit."""
        return addressed_layout(spec).encode(self._values(spec)) | contents_words(self.contents, spec)

    def _values(self, spec: MemTileSpec) -> dict[str, int]:
        check_kind("dual-port-pe", spec)
        if len(self.inputs) > 1 or len(self.outputs) > 1:
            raise ConfigurationError("a dual-port-pe memory tile has one input and one output")
        if self.rom and (any(self.inputs) or any(self.outputs)):
            raise ConfigurationError("ROM mode leaves no SRAM port for the memory tile's inputs and outputs")
        values = {"on": 1, "rom": int(self.rom), "chaining": int(self.chain_id is not None),
                  "chain_id": self.chain_id or 0}
        for port in (p for p in self.inputs if p):
            values |= {"write": 1, "gated": int(port.gated)} | _region(port, "input")
        for port in (p for p in self.outputs if p):
            values |= {"read": 1, "chained": int(port.chained)} | _region(port, "output")
            if port.chained and self.chain_id is None:
                raise ConfigurationError("a chained output needs a chain_id")
        return values

    @classmethod
    def decode(cls, words: Mapping[tuple[int, int], int], spec: MemTileSpec) -> AddressedConfig:
        """Inverse of `words`, in canonical form. Raises `ConfigurationError` for words that mean nothing."""
        _, _, contents = split_words(words, spec)
        values = addressed_layout(spec).decode(words)
        source = AddressedInput(values["input base"], values["input mask"], bool(values["gated"]))
        shown = AddressedOutput(values["output base"], values["output mask"], bool(values["chained"]))
        config = cls((source if values["write"] else None,), (shown if values["read"] else None,),
                     values["chain_id"] if values["chaining"] else None, contents, bool(values["rom"]))
        if addressed_layout(spec).encode(config._values(spec)) != addressed_layout(spec).encode(values):
            raise ConfigurationError("memory tile: a region or mode is set that is not in use")
        return config

    def canonical(self, spec: MemTileSpec) -> AddressedConfig:
        """The configuration that `decode` gives back for this one's words."""
        return replace(self, inputs=(next(iter(self.inputs), None),), outputs=(next(iter(self.outputs), None),))


def _region(port: AddressedInput | AddressedOutput, name: str) -> dict[str, int]:
    check_region(port.base, port.mask, name)
    return {f"{name} base": port.base, f"{name} mask": port.mask}


@lru_cache
def addressed_layout(spec: MemTileSpec) -> Layout:
    """Registers of the core: modes, then the region of each port."""
    modes = [Field(name, 1) for name in ("on", "rom", "write", "gated", "read", "chained", "chaining")]
    regions = [Field(f"{port} {part}", spec.ADDRESS_WIDTH) for port in ("input", "output") for part in ("base", "mask")]
    return Layout("memory tile", TILE_FEATURE, (*modes, Field("chain_id", spec.chain_bits), *regions))
